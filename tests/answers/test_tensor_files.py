"""Tensors in files: .safetensors, plain bytes, and what torch saves."""

import json
import struct

import numpy as np
import pytest
from helpers import own_course
from helpers.handed_in import read

from labgrade.answers import file
from labgrade.core.results import Answer
from labgrade.core.task import FileForm, TableOfType

WHOLE = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
TABLE = TableOfType(kind="tensor")


def safetensors(parts, more=b"", **header):
    body, places = b"", {}
    for name, (kind, shape, data) in parts.items():
        places[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps({**places, "__metadata__": {"format": "pt"}, **header}).encode()
    return struct.pack("<Q", len(text)) + text + body + more


def bfloat16(values):
    return (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()


def obtained(folder, name, content, kind=TABLE, **form):
    (folder / name).write_bytes(content)
    return file.obtain(kind, FileForm(pattern=name, **form), read(folder, "someone"))


def test_safetensors_are_read_with_each_type(tmp_path):
    parts = {
        "w": ("F32", [2, 3], WHOLE.tobytes()),
        "half": ("BF16", [2, 3], bfloat16(WHOLE)),
        "ids": ("I64", [3], np.array([1, 2, 3]).tobytes()),
    }
    found = obtained(tmp_path, "model.safetensors", safetensors(parts))
    assert isinstance(found, Answer)
    assert list(found.value) == ["w", "half", "ids"]
    assert (found.value["w"] == WHOLE).all()
    assert (found.value["half"] == WHOLE).all()
    assert found.value["ids"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no .safetensors file that can be read: bad header"),
        (b"\xff" * 40, "bad header"),
        (struct.pack("<Q", 2) + b"[]", "bad header"),
        (struct.pack("<Q", 9000) + b"[" * 9000, "bad header"),
        (safetensors({"w": ("F32", [2, 3], WHOLE.tobytes())})[:-4], "has 20 bytes; [2, 3] of float32 takes 24"),
        (safetensors({"w": ("F32", [1 << 62, 3], b"")}), "takes 55,340,232,221,128,654,848"),
        (safetensors({"w": ("O8", [1], b"12345678")}), "'w', whose type, shape or place is none that is read"),
        (safetensors({"w": ("F32", [-1], b"1234")}), "whose type, shape or place is none that is read"),
        (safetensors({}, w={"dtype": "F32", "shape": [1], "data_offsets": [0, 1e9]}), "none that is read"),
    ],
)
def test_a_broken_safetensors_file_is_refused(tmp_path, content, said):
    found = obtained(tmp_path, "model.safetensors", content)
    assert said in found.verdict.reason
    assert found.verdict.outcome.name == "INCORRECT"


def test_bytes_are_what_the_spec_says(tmp_path):
    found = obtained(tmp_path, "w.bin", WHOLE.tobytes(), "tensor", dtype="float32", shape=(2, 3))
    assert (found.value == WHOLE).all()
    half = obtained(tmp_path, "h.bin", bfloat16(WHOLE), "tensor", dtype="bfloat16", shape=(3, 2))
    assert (half.value == WHOLE.reshape(3, 2)).all()
    short = obtained(tmp_path, "w.bin", WHOLE.tobytes()[:-1], "tensor", dtype="float32", shape=(2, 3))
    assert short.verdict.reason == "'w.bin' has 23 bytes; [2, 3] of float32 takes 24"


TASK = """
id: task
title: A task
points: 2
statement: Save it.
answers:
  weights: {type: {table_of: tensor}, from: [{file: weights.pth}]}
  raw: {type: tensor, from: [{file: w.bin, dtype: int8, shape: [3]}]}
checks:
  - {id: weights, points: 1, answer: weights, checker: close, expected: {literal: {"fc.w": [[1, 2], [3, 4]]}}}
  - {id: raw, points: 1, answer: raw, checker: close, expected: [1, 2, 3]}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("dtype: int8, shape: [3]", "dtype: int8", "a .bin file holds bytes alone: give 'dtype' and 'shape'"),
        ("w.bin, ", "w.npy, ", "'dtype' is of a .bin file; others say it themselves"),
        ("dtype: int8", "dtype: int9", "did you mean 'int8'"),
    ],
)
def test_bytes_of_which_nobody_says_what_they_are_are_told(tmp_path, old, new, said):
    own_course.write(tmp_path, {"specs/lab/task.yaml": TASK.replace(old, new)})
    assert said in " ".join(own_course.findings(tmp_path))


@pytest.mark.slow
def test_weights_that_torch_saved_are_read_and_objects_are_not(tmp_path):
    import torch

    hostile = b"\x80\x02cos\nsystem\nq\x00X\x0c\x00\x00\x00touch hackedq\x01\x85q\x02Rq\x03."
    files = {"specs/lab/task.yaml": TASK}
    for who, content in {"right": b"", "hostile": hostile, "nothing": None}.items():
        files[f"submissions/{who}/w.bin"] = bytes([1, 2, 3])
        if content is not None:
            files[f"submissions/{who}/weights.pth"] = content
    own_course.write(tmp_path, files)
    torch.save({"fc": {"w": torch.tensor([[1.0, 2], [3, 4]])}, "epoch": 3}, tmp_path / "submissions/right/weights.pth")
    with own_course.grading(tmp_path) as grade:
        right, bad, nothing = grade("right"), grade("hostile"), grade("nothing")
    assert [each.outcome.name for each in right.values()] == ["CORRECT", "CORRECT"], right
    assert bad["task.weights"].outcome.name == "INCORRECT"
    assert "'weights.pth': this is no file of tensors that torch.save wrote" in bad["task.weights"].reason
    assert not list(tmp_path.rglob("hacked"))
    assert nothing["task.weights"].outcome.name == "MISSING"
