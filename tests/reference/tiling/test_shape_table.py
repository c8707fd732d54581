"""The shape and the meaning of every operator that tiles pass through, against onnxruntime: ranks 0 to 4, broadcasts.

Each case is one node on an input X and constants. What the proof makes of it is worked out for one X, and compared with
what onnxruntime computes, element by element.
"""

import itertools

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from reference._tiling.budget import Budget
from reference._tiling.constant_ops import folded
from reference._tiling.elements import Constant, Dot, Root, factors_of
from reference._tiling.evaluation import Evaluation
from reference._tiling.layers import Layer
from reference._tiling.original import Original
from reference._tiling.runtimes import RefusedError, by_onnxruntime
from reference._tiling.values import Opaque, OutsideError, WrongError
from tests.helpers.soak import soak

pytestmark = pytest.mark.slow

OPSET = 18
SHAPES = [(), (3,), (1,), (2, 3), (1, 3), (3, 1), (2, 1, 3), (1, 1, 3), (2, 2, 3), (1, 2, 1, 3), (2, 1, 2, 3)]


def ints(*values):
    return np.asarray(values, np.int64)


def floats(shape, seed=0):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def matmuls():
    for x, w in itertools.product(
        [s for s in SHAPES if s], [(3,), (3, 2), (1, 3, 2), (2, 3, 2), (1, 1, 3, 1), (4, 2), (1,)]
    ):
        yield "MatMul", x, [floats(w, 1)], {}, 0
    yield "MatMul", (2, 0), [floats((0, 3), 1)], {}, 0
    yield "MatMul", (2, 2, 0), [floats((2, 0, 3), 1)], {}, 0
    for w, x in itertools.product(
        [(3,), (2, 3), (1, 2, 3), (1, 1, 2, 3)], [(3,), (3, 2), (1, 3, 2), (2, 3, 2), (3, 1)]
    ):
        yield "MatMul", x, [floats(w, 2)], {}, 1


def gemms():
    for x, w, c in itertools.product(
        [(2, 3), (1, 3), (3, 2)], [(3, 4), (4, 3), (3, 1)], [None, (), (4,), (1,), (1, 4), (2, 1), (2, 4)]
    ):
        for turned in ({}, {"transA": 1}, {"transB": 1}, {"alpha": 0.5, "beta": 2.0}):
            yield "Gemm", x, [floats(w, 3), *([] if c is None else [floats(c, 4)])], turned, 0


def sums():
    for op, (x, c) in itertools.product(["Add", "Sub", "Mul"], itertools.product(SHAPES, SHAPES)):
        yield op, x, [floats(c, 5)], {}, 0
        yield op, x, [floats(c, 6)], {}, 1
    for x, c in itertools.product(SHAPES, [(), (1,), (3,), (2, 3)]):
        yield "Div", x, [np.full(c, 2, np.float32)], {}, 0
    for x in SHAPES:
        for axes, keep in itertools.product([(0,), (-1,), (0, -1)], [0, 1]):
            yield "ReduceSum", x, [ints(*axes)], {"keepdims": keep}, 0
            yield "ReduceMean", x, [ints(*axes)], {"keepdims": keep}, 0
        for axis, way in itertools.product(
            [0, -1], [{}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}]
        ):
            yield "CumSum", x, [np.asarray(axis)], way, 0
        yield "ReduceSum", x, [], {}, 0
        yield "Neg", x, [], {}, 0
        yield "Mean", x, [floats(x, 7)], {}, 0


def joins():
    for x, c, axis in itertools.product(SHAPES, SHAPES, [-2, -1, 0, 1, 2]):
        if len(x) == len(c):
            yield "Concat", x, [floats(c, 8)], {"axis": axis}, 0
            yield "Concat", x, [floats(c, 9)], {"axis": axis}, 1


def shapes():
    for x in SHAPES:
        size = int(np.prod(x))
        for to in [
            (-1,),
            (size,),
            (1, -1),
            (-1, 1),
            (3, -1),
            (0, -1),
            (2, -1, 1),
            (0, 0, -1),
            (1, 1, 1, -1),
            (-1, -1),
            (7,),
            (),
        ]:
            yield "Reshape", x, [ints(*to)], {}, 0
        for axis in (-2, -1, 0, 1, 2, 5):
            yield "Flatten", x, [], {"axis": axis}, 0
            yield "Unsqueeze", x, [ints(axis)], {}, 0
            yield "Squeeze", x, [ints(axis)], {}, 0
        yield "Unsqueeze", x, [ints(0, 2)], {}, 0
        yield "Unsqueeze", x, [ints(0, 0)], {}, 0
        yield "Squeeze", x, [], {}, 0
        for order in itertools.islice(itertools.permutations(range(len(x))), 6) if x else ():
            yield "Transpose", x, [], {"perm": list(order)}, 0
        yield "Transpose", x, [], {}, 0
        for to in [(), (3,), (2, 3), (2, 1, 3), (4, 1, 1, 1)]:
            yield "Expand", x, [ints(*to)], {}, 0
        yield "Tile", x, [ints(*([2] * len(x)))], {}, 0


def cuts():
    for x in SHAPES:
        for start, end, axis, step in itertools.product([0, -1, -9, 9], [1, 9, -1, -9], [0, -1], [1, -1, -2]):
            if start in (0, -1, 9) or step in (1, -1):
                yield "Slice", x, [ints(start), ints(end), ints(axis), ints(step)], {}, 0
        for index, axis in itertools.product([0, -1, [0], [0, 0], [[0], [-1]], 5, []], [0, 1, -1, 4]):
            yield "Gather", x, [np.asarray(index, np.int64)], {"axis": axis}, 0
        for amounts in [(0, 0), (1, 0), (0, 2), (1, 1), (-1, 0), (0, -1)]:
            rank = len(x)
            pads = [0] * 2 * rank
            if rank:
                pads[-1], pads[rank - 1] = amounts[1], amounts[0]
            yield "Pad", x, [ints(*pads)], {}, 0
            yield "Pad", x, [ints(*amounts), np.asarray(1.5, np.float32), ints(-1)], {}, 0
            yield "Pad", x, [ints(*pads)], {"mode": "edge"}, 0
        for sizes, axis in itertools.product([(1, 2), (3,), (1, 1), (0, 3), (2, 1)], [0, -1, 3]):
            yield "Split", x, [ints(*sizes)], {"axis": axis}, 0
        for upper, shift in itertools.product([0, 1], [-1, 0, 1]):
            yield "Trilu", x, [np.asarray(shift, np.int64)], {"upper": upper}, 0


def places():
    for x in SHAPES:
        rank = len(x)
        if not rank:
            continue
        for axis, many in itertools.product([0, -1], [1, 2]):
            shape = list(x)
            shape[axis] = many
            index = (
                np.zeros(shape, np.int64)
                if many == 1
                else np.zeros(shape, np.int64)
                + np.arange(2).reshape([2 if a == axis % rank else 1 for a in range(rank)])
            )
            yield "GatherElements", x, [index], {"axis": axis}, 0
            yield "ScatterElements", x, [index, floats(shape, 10)], {"axis": axis}, 0
        for depth in range(1, rank + 1):
            index = np.zeros((1, depth), np.int64)
            yield "GatherND", x, [index], {}, 0
            yield "ScatterND", x, [index, floats((1, *x[depth:]), 11)], {}, 0
            yield "ScatterND", x, [index, floats((1, *x[depth:]), 12)], {"reduction": "add"}, 0
        yield "Compress", x, [np.asarray([True, False, True])[: x[-1]]], {"axis": -1}, 0
        yield "Compress", x, [np.asarray([True])], {}, 0
    for x, mask in itertools.product(SHAPES, [(), (3,), (2, 1), (2, 3)]):
        yield "Where", x, [np.indices(mask).sum(0) % 2 == 0 if mask else np.asarray(True), floats(mask, 13)], {}, 1


def contractions():
    for equation, x, w in [
        ("mk,kn->mn", (2, 3), (3, 4)), ("mk,nk->mn", (2, 3), (4, 3)), ("ij,jk", (2, 3), (3, 4)), ("km,kn->nm", (3, 2), (3, 4)),
        ("bmk,kn->bmn", (1, 2, 3), (3, 4)), ("bmk,kn->bmn", (2, 2, 3), (3, 4)), ("mk,k->m", (2, 3), (3,)), ("mkj,kjn->mn", (2, 3, 2), (3, 2, 4)),
        ("mk,jn->mn", (2, 3), (3, 4)), ("mk,kn->m", (2, 3), (3, 1)), ("k,kn->n", (3,), (3, 4)), ("mk,kn->nmk", (2, 3), (3, 4)), ("bmk,bkn->bmn", (1, 2, 3), (1, 3, 2)),
        ("bmk,bkn->bmn", (2, 2, 3), (2, 3, 2)), ("mbk,bkn->mn", (2, 2, 3), (2, 3, 2)), ("bmk,ckn->bcmn", (2, 2, 3), (2, 3, 2)),
    ]:  # fmt: skip
        yield "Einsum", x, [floats(w, 14)], {"equation": equation}, 0
    for x, w, attributes in [
        ((2, 3, 1, 1), (4, 3, 1, 1), {}), ((1, 3, 4, 4), (2, 3, 3, 3), {}), ((1, 3, 4, 4), (2, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((1, 3, 5, 4), (2, 3, 2, 1), {"strides": [2, 1]}), ((1, 3, 5, 5), (2, 3, 2, 2), {"dilations": [2, 2]}), ((2, 3, 5), (4, 3, 1), {}),
        ((2, 3, 5), (4, 3, 2), {"pads": [0, 1]}), ((1, 4, 3, 3), (2, 2, 1, 1), {"group": 2}), ((2, 6, 4, 3), (4, 3, 2, 1), {"group": 2, "pads": [1, 0, 0, 1]}), ((1, 3, 2, 2), (2, 3, 3, 3), {}),
        ((1, 3, 4, 4), (2, 3, 3, 3), {"auto_pad": "SAME_UPPER"}), ((1, 3, 4, 4), (2, 3, 2, 2), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    ]:  # fmt: skip
        yield "Conv", x, [floats(w, 15)], attributes, 0
        yield "Conv", x, [floats(w, 15), floats((w[0],), 16)], attributes, 0
    for x, size, mode in itertools.product([(1, 4, 2, 3), (1, 8, 1, 1)], [2], ["DCR", "CRD"]):
        yield "DepthToSpace", x, [], {"blocksize": size, "mode": mode}, 0
    yield "SpaceToDepth", (1, 2, 4, 2), [], {"blocksize": 2}, 0


PARTS = 3
GROUPS = (matmuls, gemms, sums, joins, shapes, cuts, places, contractions)


def of_the_proof(node, x, constants, position):
    """The outputs as the proof has them, worked out for x."""
    original = Original()
    number = original.numbers.of(("input", 0), "x", x.shape)
    flat = original.numbers.of(("shape", number, (1, max(x.size, 1))), "flat", (1, x.size))
    original.layers.add(Layer(name="l", number=flat, root=flat, rows=1, depth=x.size, columns=1, weight=None))
    findings = []
    evaluation = Evaluation(original, Budget(1000), findings, 64)
    operands = list(constants)
    operands.insert(position, Opaque(number, x.shape))
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    made = evaluation.made(node, operands, attributes, OPSET, "n")
    assert not findings
    pool = evaluation.settlement.pool
    return [
        value.astype(np.float64) if isinstance(value, np.ndarray) else worked_out(pool, pool.of(value), x)
        for value in made
    ]


def worked_out(pool, ids, x):
    flat = ids.reshape(-1)
    values = np.zeros(flat.size)
    for chunk in pool.leaves(flat):
        if isinstance(chunk.block, Root):
            values[chunk.targets] += x.reshape(-1)[chunk.offsets] * _factors(chunk)
        elif isinstance(chunk.block, Constant):
            values[chunk.targets] += chunk.block.values[chunk.offsets] * _factors(chunk)
        elif isinstance(chunk.block, Dot):
            made = worked_out(pool, chunk.block.rows, x) @ chunk.block.weight.astype(np.float64)
            values[chunk.targets] += made.reshape(-1)[chunk.offsets] * _factors(chunk)
    return values.reshape(ids.shape)


def _factors(chunk):
    try:
        return factors_of(chunk)
    except OutsideError:
        return float(chunk.scale)


def of_onnxruntime(node, x, constants, position, outputs):
    names = [f"c{place}" for place in range(len(constants))]
    weights = [
        numpy_helper.from_array(np.asarray(value, order="C"), name)
        for value, name in zip(constants, names, strict=True)
    ]
    infos = [helper.make_empty_tensor_value_info(name) for name in outputs]
    for info in infos:
        info.type.tensor_type.elem_type = TensorProto.FLOAT
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)], infos, weights
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    made = by_onnxruntime(model.SerializeToString(), {"x": x})
    return [made[name] for name in outputs]


def everything(first):
    """The table in parts, as each case takes a session of onnxruntime: one of them each time, all in `make soak`."""
    return [pytest.param(group, part, marks=() if part == first else soak, id=f"{group.__name__}-{part}")
            for group in GROUPS for part in range(PARTS)]  # fmt: skip


@pytest.mark.parametrize(("group", "part"), everything(first=1))
def test_the_table_agrees_with_onnxruntime(group, part):
    compared = left = 0
    for op, shape, constants, attributes, position in itertools.islice(group(), part, None, PARTS):
        case = (op, shape, [c.shape if c.dtype == np.float32 else c.tolist() for c in constants], attributes, position)
        x = floats(shape, 20) + np.float32(0.5)
        count = constants[0].size if op == "Split" else 1
        outputs = [f"y{place}" for place in range(count)]
        names = [f"c{place}" for place in range(len(constants))]
        names.insert(position, "x")
        node = helper.make_node(op, names, outputs, name="n", **attributes)
        try:
            wanted = of_onnxruntime(node, x, constants, position, outputs)
        except RefusedError:
            wanted = None
        try:
            got = of_the_proof(node, x, constants, position)
        except (OutsideError, WrongError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            assert wanted is None or not isinstance(error, WrongError) or not wanted[0].size, (case, error)
            left += wanted is not None
            continue
        if wanted is None:
            continue  # the execution says so
        compared += 1
        assert [one.shape for one in got] == [one.shape for one in wanted], case
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5, err_msg=str(case))
    assert compared > 4 * left  # the rest has no words: a person looks


@pytest.mark.parametrize(("axis", "scales"), [(1, 1), (0, 4), (1, 6), (-1, 6)])
@pytest.mark.parametrize(("dtype", "zero"), [(np.int8, 0), (np.int8, 3), (np.uint8, 128)])
def test_quantized_weights_are_what_onnxruntime_makes_of_them(dtype, zero, axis, scales):
    """Values that fall between two steps, on a step, and outside of the type."""
    data = (np.random.default_rng(1).integers(-900, 900, (4, 6)) / 8).astype(np.float32)
    scale = (np.arange(1, scales + 1) / 8).astype(np.float32).reshape(() if scales == 1 else -1)
    zeros = np.full(scale.shape, zero, dtype)
    pair = [helper.make_node(f"{word}Linear", ["d" if word == "Quantize" else "q", "s", "z"],
                             ["q" if word == "Quantize" else "y"], axis=axis) for word in ("Quantize", "Dequantize")]  # fmt: skip
    wanted = run_by_onnxruntime(pair, data, {"s": scale, "z": zeros})
    budget = Budget(10)
    (steps,) = folded("QuantizeLinear", [data, scale, zeros], {"axis": axis}, OPSET, budget, 1)
    (made,) = folded("DequantizeLinear", [steps, scale, zeros], {"axis": axis}, OPSET, budget, 1)
    np.testing.assert_array_equal(made, wanted)


def run_by_onnxruntime(nodes, data, constants):
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, data.shape) for name in ("d", "y")]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    return by_onnxruntime(model.SerializeToString(), {"d": data})["y"]
