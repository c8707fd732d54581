"""The values that labgrade computes by itself, beside ONNX's own reference implementation."""

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from reference._onnx import small

RNG = np.random.default_rng(0)
TYPES = ("int64", "int32", "float32", "float64")


def ints(*values):
    return np.array(values, dtype=np.int64)


def numbers(shape, kind="int64"):
    return RNG.integers(-9, 10, shape).astype(kind)


def some(shape, kind="int64"):
    """Without a zero."""
    return (RNG.integers(1, 10, shape) * RNG.choice([-1, 1], shape)).astype(kind)


def truths(shape):
    return RNG.integers(0, 2, shape).astype(bool)


PAIRS = [((), ()), ((3,), (3,)), ((2, 1), (1, 3)), ((1,), ()), ((0,), (1,)), ((4, 1, 2), (3, 1))]
CASES = [
    *((kind, [numbers(a, t), some(b, t)], {}) for kind in ("Add", "Sub", "Mul", "Div", "Equal", "Less", "Greater")
      for t in TYPES for a, b in PAIRS),
    *((kind, [truths(a), truths(b)], {}) for kind in ("And", "Or", "Equal") for a, b in PAIRS),
    *(("Mod", [numbers(a, t), some(b, t)], {}) for t in TYPES[:2] for a, b in PAIRS),
    *(("Gather", [numbers((3, 4, 2), t), at], {"axis": axis}) for t in TYPES for axis in (0, 1, -1)
      for at in (ints(0), np.array(1), ints(-1, 0), ints([0], [1]), np.array([1], np.int32))),
    ("Gather", [numbers(5), ints(3)], {}),
    *(("Concat", [numbers((2, 3), t), numbers((2, 3), t), numbers((2, 3), t)], {"axis": axis})
      for t in TYPES for axis in (0, 1, -1)),
    *(("Unsqueeze", [numbers((2, 3)), ints(*axes)], {}) for axes in ((0,), (2,), (0, 3), (-1,), (1, -1))),
    *(("Squeeze", [numbers((1, 3, 1)), *axes], {}) for axes in ((), (ints(0),), (ints(-1),), (ints(0, 2),))),
    *(("Slice", [numbers((5, 6), t), ints(*a), ints(*b), *rest], {}) for t in TYPES for a, b, rest in (
        ((1,), (4,), ()), ((0, 1), (9, -1), ()), ((1,), (1 << 62,), (ints(1),)),
        ((-1,), (-(1 << 62),), (ints(0), ints(-1))),
        ((0, 5), (4, 0), (ints(0, 1), ints(2, -2))), ((3,), (1,), (ints(-1), ints(1))))),
    *(("Cast", [given], {"to": to}) for to in (1, 6, 7, 9, 11) for given in (
        *(numbers((2, 3), t) for t in TYPES), np.array([1.5, -1.5, 0.0, -0.0]), truths(4))),
    *(("Reshape", [numbers((2, 6), t), ints(*shape)], {}) for t in TYPES
      for shape in ((12,), (-1,), (0, 3, 2), (3, -1), (1, 0, 2))),
    ("Reshape", [numbers((0, 3)), ints(3, 0)], {"allowzero": 1}),
    *(("Expand", [numbers((3, 1), t), ints(*shape)], {}) for t in TYPES for shape in ((3, 4), (1, 1), (2, 1, 6), (3,))),
    *(("Transpose", [numbers((2, 3, 4))], given) for given in ({}, {"perm": [2, 0, 1]}, {"perm": [0, 1, 2]})),
    *(("Where", [truths((3, 1)), numbers((1, 4), t), numbers((), t)], {}) for t in TYPES),
    *(("ConstantOfShape", [ints(*shape)], given) for shape in ((), (2, 3), (0,)) for given in (
        {}, *({"value": helper.make_tensor("", number, [1], [3])} for number in (1, 6, 7, 11)))),
    *((kind, [numbers((2, 3), t) / (2 if t[0] == "f" else 1)], {}) for kind in ("Identity", "Neg")
      for t in ("float32", "float64")),
    *((kind, [numbers((2, 3), t)], {}) for kind in ("Identity", "Neg") for t in ("int32", "int64")),
    *((kind, [(numbers((2, 3)) / 4).astype(t)], {}) for kind in ("Floor", "Ceil", "Sqrt")
      for t in ("float32", "float64")),
    ("Not", [truths(5)], {}),
    ("Identity", [truths(5)], {}),
]  # fmt: skip


def reference(node, feeds, opset):
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for name, v in feeds.items()
    ]
    graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name="y")])
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])).run(
            None, feeds
        )[0]


@pytest.mark.parametrize("kind", dict.fromkeys(kind for kind, *_ in CASES))
def test_a_value_is_the_one_of_onnxs_reference(kind):
    for inputs, attributes in (case for of, *case in CASES if of == kind):
        said = f"{kind}, {[(each.dtype, each.shape) for each in inputs]}, {attributes}"
        feeds = {f"x{at}": each for at, each in enumerate(inputs)}
        node = helper.make_node(kind, list(feeds), ["y"], **attributes)
        own = small.value_of(node, inputs)
        right = np.asarray(reference(node, feeds, 21))
        assert own is not None, said
        assert (own.dtype, own.shape) == (right.dtype, right.shape), said
        np.testing.assert_array_equal(own, right, err_msg=said)


def test_every_rule_is_tried():
    assert {kind for kind, *_ in CASES} == set(small._RULES)


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes"),
    [
        ("Unsqueeze", [numbers((2, 3))], {"axes": [0, 3]}),
        ("Squeeze", [numbers((1, 3, 1))], {"axes": [0]}),
        ("Squeeze", [numbers((1, 3, 1))], {}),
        ("Slice", [numbers((5, 6))], {"starts": [1], "ends": [9], "axes": [1]}),
        ("Slice", [numbers((5, 6))], {"starts": [1, 0], "ends": [-1, 2]}),
    ],
)
def test_what_was_an_attribute_before_opset_10_or_13(kind, inputs, attributes):
    node = helper.make_node(kind, ["x0"], ["y"], **attributes)
    right = reference(node, {"x0": inputs[0]}, 9)
    np.testing.assert_array_equal(small.value_of(node, inputs), right)


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes"),
    [
        ("Add", [numbers(3), numbers(3, "int32")], {}),  # of two types
        ("Add", [numbers(3), numbers(3)], {"broadcast": 1}),  # opset 6
        ("Add", [numbers(3, "float16"), numbers(3, "float16")], {}),
        ("Mod", [numbers(3, "float32"), some(3, "float32")], {"fmod": 1}),
        ("Mod", [numbers(3), some(3)], {"fmod": 1}),
        ("Cast", [np.array([1e20])], {"to": 7}),  # machines differ
        ("Cast", [np.array([np.nan])], {"to": 6}),
        ("Cast", [numbers(3)], {"to": 10}),
        ("Cast", [numbers(3)], {"to": "INT64"}),  # opset 1
        ("Gather", [numbers(3), ints(7)], {}),
        ("Concat", [numbers(3), numbers(3)], {}),  # opset 1
        ("Concat", [numbers(3), numbers(3, "int32")], {"axis": 0}),
        ("Reshape", [numbers(6)], {"shape": [2, 3]}),  # opset 1
        ("Reshape", [numbers(6), ints(5)], {}),
        ("Unsqueeze", [numbers(6)], {}),
        ("Slice", [numbers(6), None, ints(5)], {}),
        ("Sqrt", [numbers(3)], {}),
        ("Tan", [numbers(3)], {}),
    ],
)
def test_what_no_rule_says_is_left_to_the_reference(kind, inputs, attributes):
    node = helper.make_node(kind, [f"x{at}" for at, _ in enumerate(inputs)], ["y"], **attributes)
    assert small.value_of(node, inputs) is None
