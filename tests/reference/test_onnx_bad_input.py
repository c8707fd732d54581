"""Files that are no model, or not a valid one: each is refused in words that name the node or the field."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from labgrade.subjects import onnx_small
from reference._onnx.wire import without_weights
from reference.onnx_memory import onnx_activation_bytes, onnx_traffic_bytes
from reference.onnx_nodes import onnx_attributes, onnx_operator_total

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MUTATED = int(os.environ.get("LABGRADE_FUZZ", "200"))


def model_of(nodes, weights=(), opset=17, inputs=(("x", [1, 3, 8, 8]),), outputs=("y",)):
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs]
    graph = helper.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name=name) for name in outputs], list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def saved(tmp_path, model):
    path = tmp_path / "model.onnx"
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return path


def relu(given="x", made="y", **more):
    return helper.make_node("Relu", [given], [made], name="r", **more)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"hello, this is my homework", "this is not an ONNX model"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"\x08\x08", "it has no graph"),
        (b"\x3a\xff\xff\xff\xff\x07abc", "truncated or damaged: field 7 of model ends"),
        (b"\x3a\xff", "truncated or damaged"),
        (b"\x08" + b"\xff" * 12, "never ends"),
        (b"\x0b\x0c", "stands no field of protobuf"),
    ],
)
def test_what_is_no_model_is_named(tmp_path, content, words):
    with pytest.raises(ValueError, match=words):
        onnx_traffic_bytes(saved(tmp_path, content))


def test_a_truncated_file_names_the_field_that_ends_too_early(tmp_path):
    onnx_small.make("dynamic_batch", tmp_path / "whole.onnx")
    content = (tmp_path / "whole.onnx").read_bytes()
    for size in range(1, len(content), 97):
        with pytest.raises(ValueError, match=r"truncated|not an ONNX model"):
            onnx_operator_total(saved(tmp_path, content[:size]))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (model_of([relu("nowhere")]), r"node 'r' \(Relu\) reads 'nowhere', which nothing before it makes"),
        (model_of([relu("z", "y"), relu("x", "z")]), r"node 'r' \(Relu\) reads 'z', which nothing before it makes"),
        (model_of([relu(), relu()]), r"node 'r' \(Relu\) makes 'y', which is there already"),
        (model_of([relu(made="z")]), "the graph's output 'y' is made by no node"),
        (model_of([helper.make_node("Rleu", ["x"], ["y"], name="r")]), r"node 'r' \(Rleu\): there is no operator"),
        (model_of([helper.make_node("Upsample", ["x"], ["y"], name="u")]), "opset 17 no longer has this operator"),
        (
            model_of([helper.make_node("Fused", ["x"], ["y"], name="f", domain="com.acme")]),
            r"node 'f' \(com.acme::Fused\) is of the domain 'com.acme', which ONNX does not define",
        ),
        (
            model_of([helper.make_node("MaxPool", ["x"], ["y"], name="p", kernel_shape=[2, 2], strides=[0, 0])]),
            r"node 'p' \(MaxPool\): its attribute 'strides' is \[0, 0\]",
        ),
        (
            model_of(
                [helper.make_node("MatMul", ["x", "w"], ["y"], name="m")],
                [numpy_helper.from_array(np.zeros((5, 5), np.float32), "w")],
            ),
            r"node 'm' \(MatMul\) is not valid: .*[Ii]ncompatible dimensions",
        ),
        (model_of([relu()], inputs=(("x", [1 << 40, 1 << 40]),)), "'x' can't have the shape"),
        (
            model_of([relu()], [TensorProto(name="w", data_type=1, dims=[4], raw_data=b"12")]),
            r"the tensor 'w' holds 2 bytes where its shape \[4\] needs 16",
        ),
        (
            model_of([helper.make_node("Loop", ["big", ""], [], name="l", body=helper.make_graph([
                helper.make_node("Identity", ["go"], ["on"])], "b",
                [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("go", 9, [])],
                [helper.make_tensor_value_info("on", 9, [])])), relu()],
                [numpy_helper.from_array(np.array(10**12), "big")]),
            "more than 20,000 nodes have run in loops",
        ),
    ],
)  # fmt: skip
def test_an_invalid_graph_is_named_by_its_node(tmp_path, model, words):
    with pytest.raises(ValueError, match=words):
        onnx_traffic_bytes(saved(tmp_path, model))


@pytest.mark.parametrize("measure", [onnx_attributes, onnx_operator_total, onnx_traffic_bytes])
@pytest.mark.parametrize("name", [b"Relu", b"acme.r", b"r-node"])
def test_a_name_that_is_no_text_is_said(tmp_path, measure, name):
    model = model_of([helper.make_node("Relu", ["x"], ["y"], name="r-node", domain="acme.r")])
    content = model.SerializeToString()
    assert content.count(name) == 1
    with pytest.raises(ValueError, match="a name in the file is not UTF-8"):
        measure(saved(tmp_path, content.replace(name, b"\xff" + name[1:])))


def test_no_opset_is_said(tmp_path):
    model = model_of([relu()])
    del model.opset_import[:]
    with pytest.raises(ValueError, match="opset_import is empty"):
        onnx_traffic_bytes(saved(tmp_path, model))


def test_a_function_that_calls_itself_ends(tmp_path):
    function = helper.make_function(
        "own", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="own")], [helper.make_opsetid("own", 1)]
    )
    model = model_of([helper.make_node("F", ["x"], ["y"], domain="own")])
    model.functions.append(function)
    with pytest.raises(ValueError, match="nested more than 40 deep"):
        onnx_traffic_bytes(saved(tmp_path, model))


def external(tmp_path, location, **more):
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[8, 8], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **more}.items():
        weight.external_data.add(key=key, value=value)
    return saved(tmp_path, model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], [weight]))


@pytest.mark.parametrize(
    ("location", "more", "words"),
    [
        ("../secret.bin", {}, r"tensor 'w' lies outside the model's folder: '../secret.bin'"),
        ("/etc/passwd", {}, "outside the model's folder"),
        ("link.bin", {}, "outside the model's folder"),
        ("", {}, "outside the model's folder"),
        ("gone.bin", {}, "there is no 'gone.bin' beside the model"),
        ("short.bin", {}, "'short.bin' holds 10 bytes"),
        ("long.bin", {"offset": "900"}, "does not fit"),
        ("long.bin", {"offset": "-4"}, "does not fit"),
        ("long.bin", {"length": "many"}, "does not fit"),
        ("long.bin", {"length": "12"}, "the file says 12, its shape needs 256"),
    ],
)
def test_external_data_lies_beside_the_model_and_fits(tmp_path, location, more, words):
    (tmp_path / "short.bin").write_bytes(bytes(10))
    (tmp_path / "long.bin").write_bytes(bytes(1000))
    (tmp_path / "link.bin").symlink_to("/etc/passwd")
    with pytest.raises(ValueError, match=words):
        onnx_traffic_bytes(external(tmp_path, location, **more))


def test_external_data_that_fits_is_taken(tmp_path):
    (tmp_path / "long.bin").write_bytes(bytes(1000))
    path = external(tmp_path, "long.bin", offset="100", length="256")
    assert onnx_traffic_bytes(path) - onnx_traffic_bytes(path, policy="activations_only") == 256


def test_two_gigabytes_are_refused_at_once(tmp_path):
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 31)  # sparse: it takes no room
    with pytest.raises(ValueError, match=r"2.15 GB; protobuf ends at 2 GiB"):
        onnx_traffic_bytes(path)


def test_many_tiny_fields_end_soon(tmp_path):
    with pytest.raises(ValueError, match="more than 2,000,000 fields"):
        onnx_traffic_bytes(saved(tmp_path, b"\x08\x08" * 2_500_000))


def test_what_is_left_of_a_file_is_the_file_without_its_large_tensors(tmp_path):
    onnx_small.make("branch_and_loop", tmp_path / "small.onnx")
    content = (tmp_path / "small.onnx").read_bytes()
    large = numpy_helper.from_array(np.ones((100, 100), np.float32), "large")
    model = onnx.ModelProto.FromString(content)
    model.graph.initializer.append(large)
    constant = helper.make_node("Constant", [], ["c"], value=large)
    model.graph.node.append(constant)
    left = onnx.ModelProto.FromString(without_weights(model.SerializeToString()))
    assert left.ByteSize() < 4000
    for tensor in (left.graph.initializer[-1], left.graph.node[-1].attribute[0].t):
        assert (list(tensor.dims), tensor.data_type, tensor.name) == ([100, 100], 1, "large")
        assert not tensor.raw_data
    del left.graph.initializer[-1], left.graph.node[-1]
    original = onnx.ModelProto.FromString(content)
    assert [node.op_type for node in left.graph.node] == [node.op_type for node in original.graph.node]
    assert left.graph.node[3].attribute == original.graph.node[3].attribute


# ---- mutated files ---------------------------------------------------------------------------------------------


def mutated(content, chance):
    """A few bytes changed, a piece cut out, doubled, or put elsewhere."""
    data = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 4, 16])):
        at, size = chance.randrange(len(data)), chance.randrange(1, 24)
        match chance.randrange(5):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                del data[at : at + size]
            case 3:
                data[at:at] = data[at : at + size]
            case _:
                data[at : at + size] = chance.randbytes(size)
        data = data or bytearray(b"\0")
    return bytes(data)


def fuzz(start, count, folder):
    """Analyse mutated files; returns how many were analysed all the same. Anything but a ValueError ends it."""
    originals = []
    for name in onnx_small.FILES:
        onnx_small.make(name, folder / f"{name}.onnx")
        originals.append((folder / f"{name}.onnx").read_bytes())
    analysed = 0
    for seed in range(start, start + count):
        chance = random.Random(seed)  # noqa: S311 - reproducible, no secret
        path = folder / f"m{seed}.onnx"
        path.write_bytes(mutated(chance.choice(originals), chance))
        (folder / "seed").write_text(str(seed))
        for measure in (onnx_operator_total, onnx_attributes, onnx_activation_bytes):
            try:
                measure(path, **({"input_shape": [1, 3, 12, 12]} if measure is not onnx_operator_total else {}))
                analysed += 1
            except ValueError:
                continue
        path.unlink()
    return analysed


def test_no_mutated_file_crashes_or_hangs_the_analysis(tmp_path):
    """In a process of its own, so that a crash of a library is seen, and names its file."""
    code = (
        "import sys, resource; resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)); sys.path.append('tests')\n"
        "from pathlib import Path; from tests.reference.test_onnx_bad_input import fuzz\n"
        f"print(fuzz(0, {MUTATED}, Path({str(tmp_path)!r})))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=600 + 10 * MUTATED, check=False
    )
    where = (tmp_path / "seed").read_text() if (tmp_path / "seed").exists() else "none"
    assert run.returncode == 0, f"seed {where}: {run.returncode} {run.stderr[-2000:]}"
    assert 0 < int(run.stdout) < 3 * MUTATED
