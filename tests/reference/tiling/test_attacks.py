"""Graphs made to be accepted without being right, or to take a grader down. None is proved, and none takes long."""

import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from reference._onnx.problems import ModelError
from reference._tiling.original import OriginalError
from reference._tiling.prove import prove
from tests.reference.tiling.conftest import tries
from tests.reference.tiling.networks import classifier, mlp, model, save
from tests.reference.tiling.right_ways import WAYS
from tests.reference.tiling.tilings import Way, tiled

pytestmark = pytest.mark.slow

SECONDS = 10


@pytest.fixture
def original():
    return mlp([100, 70], seed=4)


@pytest.fixture
def refused(proof, original):
    """The findings of a graph that must not be proved, nor take long."""

    def of(submitted):
        start = time.process_time()
        found = proof(submitted, original)
        assert time.process_time() - start < SECONDS
        assert not found.is_proved
        return " / ".join(finding.says for finding in found.findings)

    return of


def floats(name, *shape, value=0.0):
    return numpy_helper.from_array(np.full(shape, value, np.float32), name)


def numbers(name, *values):
    return numpy_helper.from_array(np.asarray(values, np.int64), name)


def test_a_constant_of_a_terabyte(refused):
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["huge"], name="bomb"),
        helper.make_node("Slice", ["huge", "from", "to", "axes"], ["weight"], name="cut"),
        helper.make_node("MatMul", ["x", "weight"], ["y"], name="p"),
    ]
    weights = [numbers("size", 1 << 20, 1 << 18), numbers("from", 0, 0), numbers("to", 100, 70), numbers("axes", 0, 1)]
    assert "takes more bytes" in refused(model(nodes, weights, [1, 100], [1, 70]))


def test_a_view_of_a_terabyte(refused):
    nodes = [
        helper.make_node("Expand", ["one", "size"], ["huge"], name="bomb"),
        helper.make_node("Concat", ["huge", "huge"], ["weight"], name="join", axis=0),
        helper.make_node("MatMul", ["x", "weight"], ["y"], name="p"),
    ]
    weights = [floats("one", 1), numbers("size", 1 << 20, 1 << 18)]
    assert "takes more bytes" in refused(model(nodes, weights, [1, 100], [1, 70]))


def test_functions_that_call_functions(refused, original):
    functions = []
    for level in range(7):
        inner = f"f{level - 1}" if level else "MatMul"
        body, at = [], "A"
        for step in range(30):
            body.append(helper.make_node(inner, [at, "B"], [f"t{step}"], domain="lab" if level else ""))
            at = f"t{step}"
        body.append(helper.make_node("Identity", [at], ["C"]))
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("lab", 1)]
        functions.append(helper.make_function("lab", f"f{level}", ["A", "B"], ["C"], body, imports))
    nodes = [helper.make_node("f6", ["x", "w"], ["y"], domain="lab", name="bomb")]
    weight = numpy_helper.from_array(np.eye(100, dtype=np.float32), "w")
    submitted = model(nodes, [weight], [1, 100], [1, 70])
    submitted.opset_import.append(helper.make_opsetid("lab", 1))
    submitted.functions.extend(functions)
    assert refused(submitted)


def test_a_function_that_calls_itself(refused):
    body = [helper.make_node("f", ["A"], ["C"], domain="lab")]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("lab", 1)]
    submitted = model([helper.make_node("f", ["x"], ["y"], domain="lab")], [], [1, 100], [1, 70])
    submitted.opset_import.append(helper.make_opsetid("lab", 1))
    submitted.functions.append(helper.make_function("lab", "f", ["A"], ["C"], body, imports))
    assert refused(submitted)


def test_sums_that_double(refused, original):
    submitted = tiled(original, Way())
    total = next(node for node in submitted.graph.node if node.op_type == "Sum")
    place = list(submitted.graph.node).index(total)
    at = total.output[0]
    doubled = []
    for step in range(40):
        doubled.append(helper.make_node("Sum", [at, at], [f"twice{step}"], name=f"twice{step}"))
        at = f"twice{step}"
    for node in submitted.graph.node:
        for slot, name in enumerate(node.input):
            if name == total.output[0]:
                node.input[slot] = at
    for offset, node in enumerate(doubled):
        submitted.graph.node.insert(place + 1 + offset, node)
    assert "takes more addends" in refused(submitted)


def test_if_that_looks_at_the_input(refused, original):
    then = helper.make_graph(
        [helper.make_node("Identity", ["honest"], ["t"])], "t", [], [helper.make_empty_tensor_value_info("t")]
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["fake"], ["e"])], "e", [], [helper.make_empty_tensor_value_info("e")]
    )
    submitted = tiled(original, Way())
    last = submitted.graph.node[-1]
    last.output[0] = "honest"
    submitted.graph.initializer.extend([floats("fake", 1, 70), floats("zero", 1)])
    look = [("ReduceMax", ["x"], "most"), ("Greater", ["most", "zero"], "many"), ("Squeeze", ["many"], "yes")]
    submitted.graph.node.extend(helper.make_node(op, taken, [made], name=made) for op, taken, made in look)
    submitted.graph.node.append(helper.make_node("If", ["yes"], ["y"], name="spy", then_branch=then, else_branch=other))
    assert "'most' (ReduceMax" in refused(submitted)


def test_a_weight_that_becomes_an_index(refused):
    """The file is proved with the weights that it holds, so that an index made of one is a constant like any other."""
    nodes = [
        helper.make_node("Cast", ["w"], ["index"], name="look", to=TensorProto.INT64),
        helper.make_node("Reshape", ["x", "index"], ["y"], name="use"),
    ]
    weight = numpy_helper.from_array(np.asarray([1, 100], np.float32), "w")
    assert "the output 'y' has the shape [1, 100]" in refused(model(nodes, [weight], [1, 100], [1, 70]))


@pytest.mark.parametrize("name", ["MagicMatMul", "MatMul", "Identity"])
def test_an_operator_of_another_domain_has_no_meaning(refused, original, name):
    submitted = tiled(original, Way(product="custom"))
    for node in submitted.graph.node:
        if node.domain == "lab":
            node.op_type = name
    assert "nothing says what this operator does" in refused(submitted)


def test_padded_with_infinity(refused):
    """Zero times infinity is not zero."""
    original = mlp([60, 50], seed=4, bias=False)
    whole = numpy_helper.to_array(original.graph.initializer[0]).T
    padded = np.concatenate([whole, np.full((4, 50), np.inf, np.float32)])
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["wide"], name="pad"),
        helper.make_node("MatMul", ["wide", "w"], ["y"], name="p"),
    ]
    weights = [numbers("pads", 0, 0, 0, 4), numpy_helper.from_array(padded, "w")]
    submitted = model(nodes, weights, [1, 60], [1, 50])
    assert "is more than a part of a layer's input" in refused_of(submitted, original)
    padded[60:] = 5
    weights[1].CopyFrom(numpy_helper.from_array(padded, "w"))
    assert refused_of(model(nodes, weights, [1, 60], [1, 50]), original) == ""


def refused_of(submitted, original):
    with tempfile.TemporaryDirectory() as place:
        found = prove(save(submitted, Path(place) / "s.onnx"), save(original, Path(place) / "o.onnx"))
    return " / ".join(finding.says for finding in found.findings)


@pytest.mark.parametrize("place", ["graph", "function", "function of a function"])
def test_an_operator_of_many_that_lacks_an_operand(refused, original, place):
    """onnxruntime follows a null pointer there, so the file must not come to be run."""
    submitted = WAYS["product function of einsum"](original)
    if place == "graph":
        submitted.graph.node.append(helper.make_node("Sum", [submitted.graph.input[0].name, ""], ["more"]))
    else:
        call = next(node for node in reversed(submitted.graph.node) if node.op_type == "Tile")
        if place == "function of a function":
            outer = submitted.functions.add()
            outer.CopyFrom(submitted.functions[0])
            outer.name = "Outer"
            outer.node[0].CopyFrom(helper.make_node("Tile", list(outer.input), list(outer.output), domain=outer.domain))
            outer.opset_import.append(helper.make_opsetid(outer.domain, 1))
            call.op_type = "Outer"
        del call.input[1:]
    assert "the graph is not valid: an operand of" in refused(submitted)


def test_two_initializers_of_one_name(refused, original):
    submitted = tiled(original, Way())
    first = submitted.graph.initializer[0]
    again = submitted.graph.initializer.add()
    again.CopyFrom(floats(first.name, *first.dims))
    assert "two initializers have the same name" in refused(submitted)


def test_a_tensor_defined_twice(refused, original):
    submitted = tiled(original, Way())
    product = next(node for node in submitted.graph.node if node.op_type == "MatMul")
    again = submitted.graph.node.add()
    again.CopyFrom(product)
    again.name = "again"
    assert "the graph is not valid" in refused(submitted)


def test_an_initializer_that_is_also_made_by_a_node(refused, original):
    submitted = tiled(original, Way())
    product = next(node for node in submitted.graph.node if node.op_type == "MatMul")
    submitted.graph.initializer.append(floats(product.output[0], 1, 64))
    assert refused(submitted)


def test_an_input_that_has_a_default_is_proved_with_it(proof, original):
    """Older exporters list the initializers as inputs; the claim is about the graph as it is called without them."""
    submitted = tiled(original, Way())
    weight = submitted.graph.initializer[0]
    submitted.graph.input.append(helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims))
    assert proof(submitted, original).is_proved


def test_external_data_elsewhere(tmp_path, original):
    submitted = tiled(original, Way())
    outside = tmp_path / "inner"
    outside.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(1 << 20))
    weight = next(w for w in submitted.graph.initializer if w.data_type == TensorProto.FLOAT)
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="../secret.bin")
    path = outside / "s.onnx"
    path.write_bytes(submitted.SerializeToString())
    found = prove(path, save(original, tmp_path / "o.onnx"))
    assert [finding.kind for finding in found.findings] == ["file"]
    assert "lies outside the model's folder" in found.findings[0].says


def test_a_doc_string_can_t_move_a_weight(proof):
    """The reader notes in doc_string where a payload lies; a file's own doc_string must not be taken for that."""
    original = mlp([100, 70], seed=4)
    submitted = tiled(original, Way())
    for weight in submitted.graph.initializer:
        weight.doc_string = "9 0 16384"
    assert proof(submitted, original).is_proved


def test_the_weights_of_the_original_changed_with_the_tiles(proof):
    original = mlp([100, 70], seed=4)
    assert not proof(tiled(mlp([100, 70], seed=5), Way()), original).is_proved


def test_a_matrix_product_the_wrong_way_round(proof):
    """For a square layer X @ W and X @ W.T have the same shapes."""
    original = mlp([64, 64], seed=4, bias=False)
    weight = numpy_helper.from_array(numpy_helper.to_array(original.graph.initializer[0]).copy(), "w")
    submitted = model([helper.make_node("MatMul", ["x", "w"], ["y"], name="p")], [weight], [1, 64], [1, 64])
    assert "the tile is transposed" in proof(submitted, original).findings[0].says


def test_an_original_outside_the_proof_is_the_author_s(tmp_path):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="p")]
    wide = model(nodes, [floats("w", 8, 8, value=1.0)], [2, 3, 8], [2, 3, 8])
    path = save(wide, tmp_path / "o.onnx")
    with pytest.raises(OriginalError, match="outside what can be proved: node 'p'"):
        prove(path, path)


@pytest.mark.parametrize("start", range(0, tries("corrupted", 500), 50))
def test_corrupted_files_end_in_findings_or_mean_the_same(tmp_path, start):
    original = classifier(batch=2)
    save(original, tmp_path / "o.onnx")
    content = bytearray(tiled(original, Way(total="chain")).SerializeToString())
    whole = onnx.load_model_from_string(bytes(content))
    for seed in range(start, start + 50):
        rng = np.random.default_rng(seed)
        broken = corrupt(bytearray(content), rng)
        (tmp_path / "s.onnx").write_bytes(broken)
        try:
            found = prove(tmp_path / "s.onnx", tmp_path / "o.onnx")
        except ModelError as error:
            pytest.fail(f"seed {seed}: {error}")
        if found.is_proved:
            assert means_the_same(onnx.load_model_from_string(bytes(broken)), whole), seed


def corrupt(content, rng):
    match rng.integers(4):
        case 0:
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        case 1:
            place = int(rng.integers(len(content) - 8))
            content[place : place + 8] = rng.bytes(8)
        case 2:
            del content[int(rng.integers(len(content))) :]
        case _:
            start, stop = sorted(int(at) for at in rng.integers(len(content), size=2))
            del content[start : min(stop, start + 40)]
    return content


def means_the_same(one, other):
    """The same but for names, documentation and versions."""
    from onnx.reference import ReferenceEvaluator

    data = np.random.default_rng(3).standard_normal((2, 3, 10, 10)).astype(np.float32)
    name = one.graph.input[0].name
    (got,) = ReferenceEvaluator(one).run(None, {name: data})
    (wanted,) = ReferenceEvaluator(other).run(None, {"x": data})
    return np.allclose(got, wanted, rtol=1e-4, atol=1e-5)
