"""Random edits of right tilings, judged by running both graphs in float64: what differs must not be proved."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.reference.tiling.conftest import tries
from tests.reference.tiling.networks import mlp
from tests.reference.tiling.tilings import Way, as_plain, random_way, tiled

pytestmark = pytest.mark.slow

CHUNK = 10
DIFFERENT = 1e-9


@pytest.mark.parametrize("start", range(0, tries("edits", 200), CHUNK))
def test_an_edit_that_changes_the_outputs_is_not_proved(proof, start):
    for seed in range(start, start + CHUNK):
        rng = np.random.default_rng(10_000 + seed)
        original = mlp(
            [int(rng.integers(20, 140)), int(rng.integers(20, 100)), 9], batch=int(rng.integers(1, 5)), seed=seed
        )
        way = random_way(rng)
        submitted = tiled(original, way)
        what = edit(submitted, rng)
        found = proof(submitted, original)
        if not same_outputs(submitted, original, seed):
            assert not found.is_proved, (seed, way, what)


def test_the_judge_tells_right_from_wrong():
    original = mlp([100, 70, 9], batch=3)
    submitted = tiled(original, random_way(np.random.default_rng(5)))
    assert same_outputs(submitted, original, 0)
    weight = max(submitted.graph.initializer, key=lambda w: len(w.raw_data))
    values = numpy_helper.to_array(weight).copy()
    values.flat[0] += 1
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    assert not same_outputs(submitted, original, 0)


def edit(model, rng):
    """One change at a random place; what it was."""
    kinds = [_retarget, _exchange, _drop_input, _repeat_input, _change_number, _change_weight, _change_operator, _axis]
    for _ in range(50):
        done = kinds[rng.integers(len(kinds))](model.graph, rng)
        if done:
            return done
    return "nothing"


def _any(items, rng):
    return items[rng.integers(len(items))] if items else None


def _retarget(graph, rng):
    """An input becomes another tensor that was made before."""
    place = int(rng.integers(1, len(graph.node)))
    node = graph.node[place]
    made = [name for earlier in graph.node[:place] for name in earlier.output]
    if not node.input:
        return ""
    slot = int(rng.integers(len(node.input)))
    node.input[slot] = _any(made, rng)
    return f"input {slot} of {node.name} is {node.input[slot]}"


def _exchange(graph, rng):
    """Two nodes of one operator exchange an input."""
    one = _any(list(graph.node), rng)
    others = [n for n in graph.node if n.op_type == one.op_type and len(n.input) == len(one.input) and n is not one]
    other = _any(others, rng)
    if other is None or not one.input:
        return ""
    slot = int(rng.integers(len(one.input)))
    one.input[slot], other.input[slot] = other.input[slot], one.input[slot]
    return f"{one.name} and {other.name} exchange input {slot}"


def _drop_input(graph, rng):
    node = _any([n for n in graph.node if n.op_type in ("Sum", "Concat") and len(n.input) > 1], rng)
    if node is None:
        return ""
    del node.input[int(rng.integers(len(node.input)))]
    return f"{node.name} has an input less"


def _repeat_input(graph, rng):
    node = _any([n for n in graph.node if n.op_type == "Sum"], rng)
    if node is None:
        return ""
    node.input.append(node.input[int(rng.integers(len(node.input)))])
    return f"{node.name} has an input twice"


def _change_number(graph, rng):
    weight = _any([w for w in graph.initializer if w.data_type == TensorProto.INT64], rng)
    if weight is None:
        return ""
    values = numpy_helper.to_array(weight).copy()
    values.flat[rng.integers(values.size)] += int(rng.choice([-1, 1]))
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    return f"{weight.name} is {values.tolist()}"


def _change_weight(graph, rng):
    weight = _any([w for w in graph.initializer if w.data_type == TensorProto.FLOAT], rng)
    values = numpy_helper.to_array(weight).copy()
    values.flat[rng.integers(values.size)] += np.float32(rng.standard_normal() * 0.1)
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    return f"{weight.name} has another value"


def _change_operator(graph, rng):
    swaps = {"Add": "Sub", "Sum": "Max", "Relu": "Identity", "Identity": "Neg", "Transpose": "Identity", "Sub": "Add"}
    node = _any([n for n in graph.node if n.op_type in swaps], rng)
    if node is None:
        return ""
    node.op_type = swaps[node.op_type]
    del node.attribute[:]
    return f"{node.name} is {node.op_type}"


def _axis(graph, rng):
    node = _any([n for n in graph.node if any(a.name == "axis" for a in n.attribute)], rng)
    if node is None:
        return ""
    attribute = next(a for a in node.attribute if a.name == "axis")
    attribute.i = 1 - attribute.i
    return f"{node.name} has axis {attribute.i}"


def same_outputs(submitted, original, seed):
    """Whether both graphs give the same outputs for a random input, in float64; a graph that can't run gives none."""
    taken = tuple(dim.dim_value for dim in original.graph.input[0].type.tensor_type.shape.dim)
    data = np.random.default_rng(seed + 77).standard_normal(taken)
    (wanted,) = ReferenceEvaluator(in_float64(original)).run(None, {"x": data})
    try:
        (got,) = ReferenceEvaluator(in_float64(as_plain(submitted))).run(None, {"x": data})
    except Exception:  # noqa: BLE001 - an edit may break the graph in any way
        return False
    return got.shape == wanted.shape and bool(np.all(np.abs(got - wanted) <= DIFFERENT * (1 + np.abs(wanted))))


def in_float64(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in (*copy.graph.input, *copy.graph.output):
        value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for weight in copy.graph.initializer:
        _widen(weight)
    for node in copy.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _widen(attribute.t)
    return copy


def _widen(tensor):
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def test_helper_widens_constants():
    wide = in_float64(tiled(mlp([80, 70]), Way(weights="constant")))
    assert {w.data_type for w in wide.graph.initializer} == {TensorProto.DOUBLE, TensorProto.INT64}
    held = [a.t.data_type for node in wide.graph.node if node.op_type == "Constant" for a in node.attribute]
    assert set(held) == {TensorProto.DOUBLE}
