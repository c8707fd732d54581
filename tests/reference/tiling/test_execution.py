"""The second wall: a proof alone is no verdict. A proof of another file stands in for one that is wrong."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from reference._tiling import execution, report
from reference._tiling.execution import execute
from reference._tiling.node_kinds import disagreement
from reference._tiling.prove import prove
from reference._tiling.report import findings_of
from reference._tiling.rounding import sizes_of_terms
from reference._tiling.runtimes import by_onnxruntime, by_reference
from tests.reference.tiling.conftest import DECLARED, tries
from tests.reference.tiling.networks import mlp, save
from tests.reference.tiling.right_ways import WAYS
from tests.reference.tiling.tilings import Way, tiled

NAMES = frozenset(DECLARED)


@pytest.fixture(params=["onnxruntime", "the reference implementation"])
def either(request, monkeypatch):
    """Both ways of running a file."""
    if request.param != "onnxruntime":
        monkeypatch.setattr(execution, "_MOST_NODES", 0)


@pytest.fixture
def original():
    return mlp([100, 70, 9], batch=2, seed=4)


def test_the_original_may_be_a_link_or_not_be_mapped(tmp_path, monkeypatch):
    large = mlp([100, 300, 9], batch=2, seed=4)
    path, beside = save(tiled(large, Way()), tmp_path / "s.onnx"), tmp_path / "beside"
    beside.mkdir()
    save(large, beside / "o.onnx")
    (tmp_path / "o.onnx").symlink_to(beside / "o.onnx")
    (tmp_path / "hard.onnx").hardlink_to(beside / "o.onnx")
    given = []
    for reference in (beside / "o.onnx", tmp_path / "o.onnx", tmp_path / "hard.onnx"):
        proof = prove(path, reference, declared=DECLARED)
        given.clear()
        monkeypatch.setattr(execution, "by_onnxruntime", lambda *a, **b: given.append(a[0]) or by_onnxruntime(*a, **b))
        assert execute(path, reference, proof, NAMES).outcome == "agrees"
        assert isinstance(given[0], bytes)
        assert given[1:] == [str(path)], "the original is mapped, and so not read a second time"
        monkeypatch.setattr(execution, "mapped", lambda at: at.with_name("none").name.encode())  # as an older runtime
        assert execute(path, reference, proof, NAMES).outcome == "agrees"
        monkeypatch.undo()


@pytest.fixture
def found(tmp_path, original):
    """What is said of a file of which a right one's proof is believed."""

    def of(submitted, way=None):
        right = save(tiled(original, way or Way()), tmp_path / "right.onnx")
        reference = save(original, tmp_path / "o.onnx")
        proof = prove(right, reference, declared=DECLARED)
        assert proof.is_proved
        path = tmp_path / "s.onnx"
        path.write_bytes(submitted.SerializeToString())
        return findings_of(proof, path, reference, 64, NAMES)

    return of


@pytest.mark.usefixtures("either")
def test_what_agrees_is_right(found, original):
    assert found(tiled(original, Way())) == []


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("name", ["product custom", "product custom with transB", "product custom in ONNX's domain"])
def test_declared_products_run(tmp_path, original, name):
    path, reference = save(WAYS[name](original), tmp_path / "s.onnx"), save(original, tmp_path / "o.onnx")
    done = execute(path, reference, prove(path, reference, declared=DECLARED), NAMES)
    assert done.outcome == "agrees", done.says


@pytest.mark.usefixtures("either")
def test_a_run_that_differs_is_a_fault_with_what_it_takes_to_run_it_again(found, original):
    submitted = tiled(original, Way())
    weight = max(submitted.graph.initializer, key=lambda each: len(each.raw_data))
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(1.1), weight.name))
    (finding,) = found(submitted)
    assert (finding["kind"], finding["certain"]) == ("fault", False)
    assert "is off by up to" in finding["says"]
    assert "seed " in finding["says"]


@pytest.fixture
def said_of(tmp_path, original):
    """What is said of a file in which each sum is computed by an operator that the proof has no words for."""

    def of(op, **attributes):
        submitted = tiled(original, Way())
        for node in [node for node in submitted.graph.node if node.op_type == "Sum"]:
            (made,) = node.output
            node.output[0] = f"{made} before"
            submitted.graph.node.insert(
                list(submitted.graph.node).index(node) + 1,
                helper.make_node(op, [f"{made} before"], [made], **attributes),
            )
        path, reference = save(submitted, tmp_path / "s.onnx"), save(original, tmp_path / "o.onnx")
        return findings_of(prove(path, reference), path, reference, 64, NAMES)

    return of


@pytest.mark.usefixtures("either")
def test_what_can_t_be_followed_is_wrong_where_a_run_is_far_off(said_of):
    first, *others = said_of("Tanh")
    assert first["certain"]
    assert "it does not compute what the original does" in first["says"]
    assert not any(each["certain"] for each in others)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("Celu", {"alpha": 1e20}),  # the same but for rounding
        ("LeakyRelu", {"alpha": 0.999}),  # a little off: nobody is told that it is certain
        ("RandomNormalLike", {}),  # two runtimes draw different numbers
    ],
)
def test_what_can_t_be_followed_waits_where_no_run_shows_it_wrong(said_of, op, attributes):
    found = said_of(op, **attributes)
    assert found
    assert not any(each["certain"] for each in found)


def test_a_file_that_the_runtime_refuses_is_invalid_in_its_words(found, original):
    submitted = tiled(original, Way())
    submitted.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    (finding,) = found(submitted)
    assert (finding["kind"], finding["certain"]) == ("invalid", True)
    assert finding["says"].startswith("the file does not run: onnxruntime refuses the file: ")
    assert "tensor(double)" in finding["says"]


def values_of(model, feeds):
    return by_reference(model, feeds, NAMES)


def test_a_kind_of_node_that_onnxruntime_refuses_is_named(original):
    submitted = tiled(original, Way())
    values = values_of(submitted, {"x": np.ones((2, 100), np.float32)})
    weight = next(each.name for each in submitted.graph.initializer if len(each.dims) == 2)
    values[weight] = values[weight].astype(np.float64)
    assert "onnxruntime refuses the file" in disagreement(submitted, values, NAMES)


def test_a_kind_of_node_that_onnxruntime_computes_otherwise_is_named(original):
    submitted = tiled(original, Way())
    values = values_of(submitted, {"x": np.ones((2, 100), np.float32)})
    product = next(node for node in submitted.graph.node if node.op_type == "MatMul")
    values[product.output[0]] = values[product.output[0]] + 1
    said = disagreement(submitted, values, NAMES)
    assert said == f"onnxruntime computes node '{product.name}' otherwise than the reference implementation"


@pytest.mark.usefixtures("either")
def test_operands_of_two_types_do_not_run(found, original):
    submitted = tiled(original, Way())
    weight = next(each for each in submitted.graph.initializer if len(each.dims) == 2)
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float64), weight.name))
    (finding,) = found(submitted)
    assert (finding["kind"], finding["certain"]) == ("invalid", True)


def test_two_nodes_of_one_name_are_named(original):
    submitted = tiled(original, Way())
    submitted.graph.node[1].name = submitted.graph.node[0].name
    feeds = {"x": np.ones((2, 100), np.float32)}
    assert disagreement(submitted, values_of(submitted, feeds), NAMES).startswith("two nodes have the name")


def test_each_kind_of_node_is_run_once(original):
    submitted = tiled(original, Way(total="chain"))
    feeds = {"x": np.random.default_rng(1).standard_normal((2, 100)).astype(np.float32)}
    assert disagreement(submitted, values_of(submitted, feeds), NAMES) == ""


def test_a_run_that_takes_too_long_is_stopped(tmp_path, original):
    path, reference = save(tiled(original, Way()), tmp_path / "s.onnx"), save(original, tmp_path / "o.onnx")
    done = execute(path, reference, prove(path, reference), NAMES, seconds=1e-6)
    assert done.outcome in ("unsure", "agrees")  # it may be done before it is interrupted


def test_files_stay_as_they_are(tmp_path, original):
    path, reference = save(WAYS["product custom"](original), tmp_path / "s.onnx"), save(original, tmp_path / "o.onnx")
    before = path.read_bytes()
    execute(path, reference, prove(path, reference, declared=DECLARED), NAMES)
    assert path.read_bytes() == before
    assert onnx.load(path).graph.node


def test_a_refusal_names_the_product_that_was_written(found, original):
    """onnxruntime is given MatMul for it, and a student who wrote none would look for it in vain."""
    submitted = WAYS["product custom"](original)
    weights = [weight for weight in submitted.graph.initializer if len(weight.dims) == 2]
    weights[0].CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights[0]).astype(np.float64), weights[0].name))
    (finding,) = found(submitted)
    assert "2DMM_64x64x64" in finding["says"]
    assert "MatMul" not in finding["says"]


def test_a_product_of_four_operands_has_no_meaning(tmp_path, original):
    submitted = WAYS["product custom"](original)
    product = next(node for node in submitted.graph.node if "2DMM" in node.op_type)
    product.input.extend(["nothing", "nothing"])
    submitted.graph.initializer.append(numpy_helper.from_array(np.zeros(1, np.float32), "nothing"))
    proof = prove(save(submitted, tmp_path / "s.onnx"), save(original, tmp_path / "o.onnx"), declared=DECLARED)
    assert "4 operands" in proof.findings[0].says
    assert not proof.findings[0].certain


def endless(original):
    """Something that the proof has no words for, and a Loop that never ends."""
    submitted = tiled(original, Way())
    values = [helper.make_tensor_value_info("in", TensorProto.FLOAT, None)]
    turns = [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("on", 9, [])]
    body = helper.make_graph(
        [helper.make_node("Identity", ["on"], ["still"]), helper.make_node("Identity", ["in"], ["out"])], "body",
        [*turns, *values],
        [helper.make_tensor_value_info("still", 9, []), helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
    )  # fmt: skip
    last = submitted.graph.output[0].name
    next(node for node in submitted.graph.node if last in node.output).output[0] = "whole"
    submitted.graph.initializer.append(numpy_helper.from_array(np.asarray(1 << 60), "turns"))
    submitted.graph.node.append(helper.make_node("Round", ["whole"], ["round"], name="round"))
    submitted.graph.node.append(helper.make_node("Loop", ["turns", "", "round"], [last], name="loop", body=body))
    return submitted


def test_a_run_that_never_ends_is_stopped(tmp_path, original, monkeypatch):
    monkeypatch.setattr(report, "_EVIDENCE_SECONDS", 0.5)
    path, reference = save(endless(original), tmp_path / "s.onnx"), save(original, tmp_path / "o.onnx")
    (finding,) = findings_of(prove(path, reference, declared=DECLARED), path, reference, 64, NAMES)
    assert not finding["certain"]
    assert finding["opinion"] == "the run took more than 0.5 s and was stopped"


def test_functions_that_double_thirty_times_are_not_run(tmp_path, original):
    """onnxruntime writes out every call before it looks at a clock."""
    submitted = tiled(original, Way())
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    submitted.opset_import.append(imports[1])
    for depth in range(30):
        op, domain = (f"F{depth - 1}", "d") if depth else ("Identity", "")
        nodes = [helper.make_node(op, [one], [other], domain=domain) for one, other in ("at", "tb")]
        submitted.functions.append(helper.make_function("d", f"F{depth}", ["a"], ["b"], nodes, imports))
    last = submitted.graph.output[0].name
    next(node for node in submitted.graph.node if last in node.output).output[0] = "whole"
    submitted.graph.node.append(helper.make_node("F29", ["whole"], [last], name="bomb", domain="d"))
    path, reference = save(submitted, tmp_path / "s.onnx"), save(original, tmp_path / "o.onnx")
    (finding,) = findings_of(prove(path, reference, declared=DECLARED), path, reference, 64, NAMES)
    assert finding["opinion"] == "its functions are too many nodes to be run"


def cancelling(sizes, *, pairs=False):
    """A network of few outputs, of which some draw nearly cancels; with `pairs` every draw does, at any input."""
    model = mlp(sizes, batch=1, seed=3, bias=not pairs)
    weights = [each for each in model.graph.initializer if len(each.dims) == 2]
    if pairs:  # each unit twice, once with and once without its sign
        first, second = (numpy_helper.to_array(each).copy() for each in weights)
        half = first.shape[0] // 2
        first[half : 2 * half], second[:, half : 2 * half] = first[:half], -second[:, :half]
        second[:, 2 * half :] = 0
        for weight, array in zip(weights, (first, second), strict=True):
            weight.CopyFrom(numpy_helper.from_array(array, weight.name))
    return model


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "pairs"), [([63, 1], False), ([130, 1], False), ([700, 1], False), ([100, 130, 1], True)]
)
def test_no_draw_makes_a_right_file_of_outputs_that_cancel_a_fault(tmp_path, monkeypatch, sizes, pairs):
    original = cancelling(sizes, pairs=pairs)
    path, reference = save(tiled(original, Way()), tmp_path / "s.onnx"), save(original, tmp_path / "o.onnx")
    proof = prove(path, reference, declared=DECLARED)
    assert proof.is_proved
    for seed in range(tries("draws", 150)):
        monkeypatch.setattr(execution.secrets, "randbits", lambda _, seed=seed: seed)
        done = execute(path, reference, proof, NAMES)
        assert done.outcome == "agrees", (seed, done.says)


@pytest.mark.parametrize("sizes", [[63, 1], [700, 1], [100, 130, 1]])
def test_a_wrong_file_of_outputs_that_cancel_is_seen_all_the_same(tmp_path, monkeypatch, sizes):
    original = cancelling(sizes)
    right, reference = save(tiled(original, Way()), tmp_path / "s.onnx"), save(original, tmp_path / "o.onnx")
    proof = prove(right, reference, declared=DECLARED)
    submitted = onnx.load(str(right))
    weight = max(submitted.graph.initializer, key=lambda each: len(each.raw_data))
    array = numpy_helper.to_array(weight).copy()
    array.flat[:: 1 if len(sizes) == 2 else 5] += np.float32(0.02)  # of a single tile
    weight.CopyFrom(numpy_helper.from_array(array, weight.name))
    wrong = save(submitted, tmp_path / "wrong.onnx")
    seen = 0
    for seed in range(20):
        monkeypatch.setattr(execution.secrets, "randbits", lambda _, seed=seed: seed)
        seen += execute(wrong, reference, proof, NAMES).outcome == "differs"
    assert seen == 20 if len(sizes) == 2 else seen >= 5  # behind a ReLU a unit is often off


def test_the_size_of_terms_is_the_sum_of_their_absolute_values():
    model = mlp([5, 3], batch=2, seed=1)
    x = np.random.default_rng(1).standard_normal((2, 5)).astype(np.float32)
    weight, bias = (numpy_helper.to_array(each) for each in model.graph.initializer)
    weight = weight if weight.shape[0] == 5 else weight.T
    size = sizes_of_terms(model, {"x": x})[model.graph.output[0].name]
    assert size == pytest.approx(float((np.abs(x) @ np.abs(weight) + np.abs(bias)).max()))
