"""onnx's own tests: shapes, types and bytes of what each model puts out, against the outputs that onnx recorded."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers.soak import soak
from onnx import numpy_helper

from reference._onnx.problems import ModelError
from reference._onnx.run import run
from reference._onnx.wire import size_of
from tests.reference import package_files
from tests.reference.package_files import HERE, all_files, compared

pytestmark = pytest.mark.slow

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
PAGE = Path(__file__).parents[2] / "docs" / "onnx-files.md"
LARGEST = 1024  # elements of an input of which the value is said
STORED = ["pytorch-converted", "pytorch-operator", "simple"]


def node_tests():
    from onnx.backend.test.case import node

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return node.collect_testcases(None)


def plain(array):
    if array.dtype.kind in "OSU":
        text = np.vectorize(lambda each: each.decode() if isinstance(each, bytes) else str(each), otypes=[object])
        return text(array)
    return array if array.dtype.kind in "iubf" else array.astype(np.float32)


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def said(info, value):
    """What a person would say of an input."""
    if value is None:
        return f"{info.name}=none"
    optional = info.type.HasField("optional_type")
    if optional and info.type.optional_type.elem_type.HasField("tensor_type"):
        value = value[0] if isinstance(value, list) else value
    if isinstance(value, list):
        return f"{info.name}=" + "+".join(shape_said(each) for each in value)
    array = as_array(value)
    small = 0 < array.size <= LARGEST and array.dtype.kind != "c"
    if info.type.HasField("tensor_type") and small:
        return f"{info.name}={json.dumps(plain(array).tolist())}"
    return f"{info.name}={shape_said(array)}"


def shape_said(value):
    return ",".join(map(str, np.asarray(value).shape)) or "scalar"


def wrong_outputs(path, inputs, recorded):
    """Names of outputs of which labgrade says another shape, type or size than was recorded."""
    found = run(path, None, inputs).whole().outputs
    return [each.name for each, value in zip(found, recorded, strict=True) if not agrees(each, value)]


def agrees(tensor, value):
    if value is None:
        return tensor.absent
    if isinstance(value, list) and tensor.items is None:
        value = value[0]
    if isinstance(value, list):
        pairs = zip(tensor.items, value, strict=True)
        return all(agrees(each, one) for each, one in pairs)
    if isinstance(value, onnx.TensorProto):
        shape, kind = tuple(value.dims), value.data_type
    else:
        shape, kind = np.asarray(value).shape, onnx.helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype)
    if kind == onnx.TensorProto.STRING:
        return (tensor.shape, tensor.data_type) == (shape, kind)
    return (tensor.shape, tensor.data_type, tensor.size) == (shape, kind, size_of(kind, shape))


def refused_in_the_docs():
    """Of the table in the docs, the reason by test."""
    rows = re.findall(r"^\| `(test_\w+)` \| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(rows)


def test_each_node_test_puts_out_what_onnx_recorded(tmp_path):
    """All 1,884 and more: 0 wrong, fewer than 30 refused, and the docs name each of them with its reason."""
    cases, wrong, refused = node_tests(), {}, {}
    for at, case in enumerate(cases):
        inputs, recorded = case.data_sets[0]
        path = tmp_path / f"{at}.onnx"
        path.write_bytes(case.model.SerializeToString())
        try:
            given = [said(*pair) for pair in zip(case.model.graph.input, inputs, strict=False)]
            names = wrong_outputs(path, given, recorded)
        except ModelError as error:
            refused[case.name] = str(error)
            continue
        if names:
            wrong[case.name] = names
        path.unlink()
    assert len(cases) > 1800
    assert wrong == {}
    documented = refused_in_the_docs()
    assert refused.keys() == documented.keys()
    assert len(refused) < 30
    assert [name for name, reason in documented.items() if reason.strip("`") not in refused[name]] == []


@pytest.mark.parametrize("suite", STORED)
def test_each_stored_test_puts_out_what_onnx_recorded(suite):
    count = 0
    for folder in sorted((DATA / suite).iterdir()):
        path = folder / "model.onnx"
        declared = {each.name: each for each in onnx.load(path).graph.input}
        weights = {each.name for each in onnx.load(path).graph.initializer}
        names = [name for name in declared if name not in weights]
        for data in sorted(folder.glob("test_data_set_*")):
            inputs = read(data, "input")
            said_of = [said(declared[name], value) for name, value in zip(names, inputs, strict=False)]
            assert wrong_outputs(path, said_of, read(data, "output")) == [], path
            count += 1
    assert count >= {"pytorch-converted": 80, "pytorch-operator": 30, "simple": 15}[suite]


def read(folder, which):
    """The arrays of a data set: tensors, or sequences of them."""
    found = []
    for at in range(len(list(folder.glob(f"{which}_*.pb")))):
        content = (folder / f"{which}_{at}.pb").read_bytes()
        tensor = onnx.TensorProto()
        try:
            tensor.ParseFromString(content)
            found.append(tensor if which == "output" else numpy_helper.to_array(tensor))
        except Exception:  # noqa: BLE001 - then it is a sequence
            sequence = onnx.SequenceProto.FromString(content)
            found.append([numpy_helper.to_array(each) for each in sequence.tensor_values])
    return found


# ---- model files of packages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", package_files.FILES[HERE, ""])
def test_files_that_installed_packages_bring(name):
    """The 21 values of each, against onnxruntime's run, node by node."""
    path = Path(onnx.__file__).parents[1] / name
    found = compared(path, package_files.FILES[HERE, ""][name])
    expected = "refused: " if "logreg" in name else "equal"
    assert {value: word for value, word in found.items() if not word.startswith(("equal", expected))} == {}
    assert sum(word == "equal" for word in found.values()) >= 10


@soak
def test_files_that_packages_on_pypi_bring(capsys):
    """Fetched at pinned versions; where there is no network, what was fetched before."""
    with capsys.disabled():
        assert package_files.main() == 0
    assert len(list(all_files())) >= 25
