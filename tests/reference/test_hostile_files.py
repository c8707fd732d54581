"""Of any file that is handed in a quantity gives a value, or a ValueError says what is wrong: the rest are faults."""

import contextlib
import gzip
import io
import json
import pickle
import zipfile

import pytest
import torch
from helpers.direct import COURSE
from torch import nn

from labgrade.files.cache import missing
from labgrade.subjects import models

WITH = {
    **dict.fromkeys(("macs", "weight_bytes", "peak_bytes", "peak", "bandwidth"), 1000),
    "network": "alexnet",
    "operators": ["aten::conv2d"],
    "operator": "aten::conv2d",
    "record": "float",
    "input_shape": [1, 3, 64, 64],
    "layers": ["Conv2d_1"],
}
FILES_OF_A_LAYER = ("input", "golden", "raw", "weight", "program", "made", "table")
OF_GROUPS = {
    **dict.fromkeys(["recorded_layer_findings", "program_findings", "program_output_findings"], FILES_OF_A_LAYER),
    "comparison_findings": FILES_OF_A_LAYER,
    "quantised_file_findings": ("before", "after"),
}


def packed(name, data):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


def saved(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def event(**changes):
    return json.dumps({"traceEvents": [{"ph": "X", "name": "aten::conv2d", **changes}]}).encode()


FILES = {
    "empty": b"",
    "noise": bytes(range(256)) * 40,
    "deep": b"[" * 200_000,
    "comments": b"<!--" * 200_000,
    "unclosed": b"[0.5, " * 100_000,
    "gz": gzip.compress(b"{}" * 999)[:30],
    "gz-damaged": b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\xee" * 90,
    "zip": packed("archive/data.pkl", b"\x80\x02}."),
    "pickle": pickle.dumps({"w": nn.ReLU}),
    "png": b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x02" * 3,
    "onnx": b"\x08\x07\x3a\x80\x80\x80\x80\x10",
    "tensors": saved({"a.weight": torch.ones(3, 3), "b": torch.ones(2).to_sparse()}),
    "cut": saved({"a.weight": torch.ones(3, 3)})[:400],
    "numbers": b"Linear_1: 1e999\nLinear_1: nan\n[[1, 2], [3" + b"9" * 5000 + b"]]\n",
    "trace-list": b'{"traceEvents": [1, [], null]}',
    "trace-args": event(args="no"),
    "trace-ts": event(ts=[], args={"Input Dims": [[1, None]]}),
    "trace-dims": event(ts="x", args={"Input Dims": [["a", 1e400]]}),
}


FUZZED = ("tiling", "onnx")  # by files of their own: tests/reference/test_onnx_bad_input.py, tests/reference/tiling
QUANTITIES = [
    entry
    for entry in COURSE.quantities.entries.values()
    if entry.takes[:1] == ("artifact",) and not entry.name.startswith(FUZZED) and entry.file.stem != "tiling"
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    models.import_torchvision()
    where = tmp_path_factory.mktemp("files")
    for name, content in FILES.items():
        (where / name).write_bytes(content)
    torch.jit.script(nn.Linear(64, 2)).save(where / "subject.pt")
    return where


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", QUANTITIES, ids=lambda entry: entry.name)
def test_a_file_that_says_nothing_is_no_fault(entry, folder):
    groups = next((each for name, each in OF_GROUPS.items() if name == entry.name), None)
    given = {name: value for name, value in WITH.items() if name in entry.parameters}
    if "original" in entry.parameters:
        given["original"] = "subject.pt"
    if missing(["executorch"]) and entry.file.stem in {"programs", "layer_files"}:
        pytest.skip("needs ExecuTorch: docs/labs.md says how to install it")
    for name in FILES:
        artifact = folder / name if groups is None else {key: [folder / name] for key in groups}
        with contextlib.suppress(ValueError):
            entry.load()(artifact, **given)
