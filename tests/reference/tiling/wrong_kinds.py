"""Wrong graphs, one kind each: `KINDS[name](original)` is a model, which differs from the original or breaks a rule.

A kind marked `always` is wrong whatever a run says: it breaks a rule, differs below the noise of float32, or does not
run. Any other is left out where, on this network, it changes no output.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.reference.tiling.right_ways import stacked
from tests.reference.tiling.right_wholes import _sparse, _with_relus
from tests.reference.tiling.written import T, Writer, blocks, usual

KINDS = {}
ALWAYS = set()


def several(kinds, write, *, always=False):
    for kind, value in kinds.items():
        name = f"{write.__name__} {kind}"
        KINDS[name] = lambda original, value=value: Writer(original).model(lambda w, layer: write(w, layer, value))
        if always:
            ALWAYS.add(name)


def whole(function):
    KINDS[function.__name__] = function
    return function


def always(function):
    ALWAYS.add(function.__name__)
    return whole(function)


def once(how, usual_=lambda w, x, t, a: w("MatMul", x, t)):
    """A mistake in the first product alone that it fits."""

    def product(w, x, t, a):
        if getattr(w, "spoilt", False):
            return usual_(w, x, t, a)
        w.spoilt = True
        return how(w, x, t, a)

    return product


def product(w, layer, how):
    return usual(w, layer, product=once(how))


def _function(*nodes):
    def product(w, x, t, a):
        w.functions.append(
            helper.make_function("lab", "Tile", ["A", "B"], ["C"], list(nodes), [helper.make_opsetid("", w.opset)])
        )
        return w("Tile", x, t, domain="lab")

    return product


def _one_d(w, x, t, a):
    """[K] times [1, K, N] is [1, N]; as if it were [N], the rows would be others."""
    row = w("Squeeze", w.cut(x, 0, 1, 0), w.i(0))
    made = w("MatMul", row, w.f(a[None]))
    return w("Add", w("MatMul", x, t), w("Sub", w("Reshape", made, w.i(1, -1)), w("MatMul", x, t)))


several(
    {
        "alpha a half": lambda w, x, t, a: w("Gemm", x, t, alpha=0.5),
        "alpha of one ulp more": lambda w, x, t, a: w("Gemm", x, t, alpha=float(np.nextafter(np.float32(1), np.float32(2)))),
        "C of ones": lambda w, x, t, a: w("Gemm", x, t, w.f(np.ones(a.shape[1]))),
        "C of ones times beta": lambda w, x, t, a: w("Gemm", x, t, w.f(np.ones(1)), beta=1e-3),
        "turned by transB": lambda w, x, t, a: w("Gemm", x, w.f(np.resize(a.T, a.T.shape)[::-1]), transB=1),
        "einsum of the wrong label": lambda w, x, t, a: w("Einsum", x, w.f(a.T.reshape(a.shape)), equation="mk,kn->mn"),
        "einsum that takes the diagonal": lambda w, x, t, a: w("Einsum", w.f(np.ones(a.shape[1])), w("MatMul", x, t), equation="n,mn->mn") if False else w("Mul", w("MatMul", x, t), w.f(np.linspace(0.5, 1, a.shape[1]))),
        "conv of another kernel": lambda w, x, t, a: w("Flatten", w("Conv", w("Unsqueeze", x, w.i(2, 3)), w.f(a.T[:, ::-1, None, None]))),
        "conv with a bias": lambda w, x, t, a: w("Flatten", w("Conv", w("Unsqueeze", x, w.i(2, 3)), w.f(a.T[:, :, None, None]), w.f(np.full(a.shape[1], 0.1)))),
        "conv of a wide kernel": lambda w, x, t, a: w("Flatten", w("ReduceSum", w("Conv", w("Unsqueeze", x, w.i(2, 3)), w.f(np.tile(a.T[:, :, None, None], (1, 1, 1, 2)) / 2), pads=[0, 0, 0, 1]), w.i(3))),
        "custom with transB unasked": lambda w, x, t, a: w("2DMM_64x64x64", x, w.f(a.T[:, ::-1]), domain="hw", transB=1),
        "custom with a bias": lambda w, x, t, a: w("2DMM_64x64x64", x, t, w.f(np.ones(a.shape[1])), domain="hw"),
        "custom with alpha": lambda w, x, t, a: w("2DMM_64x64x64", x, t, domain="hw", alpha=2.0),
        "a function that subtracts": _function(helper.make_node("MatMul", ["A", "B"], ["D"]), helper.make_node("Neg", ["D"], ["C"])),
        "a function that doubles": _function(helper.make_node("MatMul", ["A", "B"], ["D"]), helper.make_node("Add", ["D", "D"], ["C"])),
        "a function of Gemm's alpha": _function(helper.make_node("Gemm", ["A", "B"], ["C"], alpha=0.9)),
        "a third of nearly thrice a tile": lambda w, x, t, a: w("Gemm", x, w.f(a * 3.00001), alpha=1 / 3),
        "of X doubled": lambda w, x, t, a: w("MatMul", w("Add", x, x), t),
        "of X negated and not the tile": lambda w, x, t, a: w("Gemm", w("Neg", x), t),
        "negated": lambda w, x, t, a: w("Neg", w("MatMul", x, t)),
        "doubled": lambda w, x, t, a: w("Add", w("MatMul", x, t), w("MatMul", x, t)),
        "halved": lambda w, x, t, a: w("Div", w("MatMul", x, t), w.f(2.0)),
        "times zero": lambda w, x, t, a: w("Mul", w("MatMul", x, t), w.f(0.0)),
        "squared": lambda w, x, t, a: w("Mul", w("MatMul", x, t), w("MatMul", x, t)),
        "ReLU of a product": lambda w, x, t, a: w("Relu", w("MatMul", x, t)),
        "absolute": lambda w, x, t, a: w("Abs", w("MatMul", x, t)),
        "rounded": lambda w, x, t, a: w("Round", w("MatMul", x, t)),
        "through float16": lambda w, x, t, a: w("Cast", w("Cast", w("MatMul", x, t), to=TensorProto.FLOAT16), to=TensorProto.FLOAT),
        "through bfloat16": lambda w, x, t, a: w("Cast", w("Cast", w("MatMul", x, t), to=TensorProto.BFLOAT16), to=TensorProto.FLOAT),
        "through integers": lambda w, x, t, a: w("Cast", w("Cast", w("MatMul", x, t), to=TensorProto.INT32), to=TensorProto.FLOAT),
        "even and odd exchanged": lambda w, x, t, a: w("Add",
            w("MatMul", w("Slice", x, w.i(0), w.i(1000), w.i(1), w.i(2)), w.f(np.resize(a[1::2], a[::2].shape))),
            w("MatMul", w("Slice", x, w.i(1), w.i(1000), w.i(1), w.i(2)), w.f(np.resize(a[::2], a[1::2].shape)))),
        "backwards": lambda w, x, t, a: w("MatMul", w("Slice", x, w.i(-1), w.i(-(1 << 40)), w.i(1), w.i(-1)), t),
        "backwards without the first": lambda w, x, t, a: w("MatMul", w("Pad", w("Slice", x, w.i(-1), w.i(0), w.i(1), w.i(-1)), w.i(0, 0, 0, 1)), w.f(a[::-1])),
        "padded with ones": lambda w, x, t, a: w("MatMul", w("Pad", x, w.i(0, 0, 0, 1), w.f(1.0)), w.f(np.pad(a, ((0, 1), (0, 0)), constant_values=0.3)[-65:])) if a.shape[0] < T else w("MatMul", w("Pad", w.cut(x, 0, T - 1), w.i(0, 0, 0, 1), w.f(1.0)), t),
        "padded by the edge": lambda w, x, t, a: w("MatMul", w("Pad", w.cut(x, 1, 1 << 30), w.i(0, 1, 0, 0), mode="edge"), t),
        "reflected": lambda w, x, t, a: w("MatMul", w("Pad", w.cut(x, 1, 1 << 30), w.i(0, 1, 0, 0), mode="reflect"), t),
        "rows turned": lambda w, x, t, a: w("MatMul", w("Slice", x, w.i(-1), w.i(-(1 << 40)), w.i(0), w.i(-1)), t),
        "a row for all": lambda w, x, t, a: w("MatMul", w("Add", w("Mul", x, w.f(0.0)), w.cut(x, 0, 1, 0)), t),
        "the mean of the rows": lambda w, x, t, a: w("MatMul", w("Add", w("Mul", x, w.f(0.0)), w("ReduceMean", x, axes=[0], keepdims=1)), t),
        "a vector times a stack": _one_d,
        "X shifted by a constant": lambda w, x, t, a: w("MatMul", w("Add", x, w.f(1e-3)), t),
        "X scaled": lambda w, x, t, a: w("MatMul", w("Mul", x, w.f(1.001)), t),
        "X masked": lambda w, x, t, a: w("MatMul", w("Where", w.const(np.arange(a.shape[0]) != 3), x, w.f(0.0)), t),
        "X of a Clip": lambda w, x, t, a: w("MatMul", w("Clip", x, w.f(-1.0), w.f(1.0)), t),
        "a tile of another row order": lambda w, x, t, a: w("MatMul", x, w("Gather", t, w.i(*range(1, a.shape[0]), 0), axis=0)),
        "a tile scattered at the wrong place": lambda w, x, t, a: w("MatMul", x, w("ScatterND", t, w.i(0).replace(" ", "") if False else w.const([[0]]), w.f(a[1:2]))),
        "a tile times nearly one": lambda w, x, t, a: w("MatMul", x, w("Mul", t, w.f(1.0001))),
        "a tile plus something": lambda w, x, t, a: w("MatMul", x, w("Add", t, w.f(1e-4))),
        "a tile of float16": lambda w, x, t, a: w("MatMul", x, w("Cast", w.const(a.astype(np.float16)), to=TensorProto.FLOAT)),
        "a tile turned by Reshape": lambda w, x, t, a: w("MatMul", x, w("Reshape", w.f(a.T), w.i(*a.shape))),
        "a tile masked by Trilu": lambda w, x, t, a: w("MatMul", x, w("Trilu", t)),
        "a tile chosen by a wrong mask": lambda w, x, t, a: w("MatMul", x, w("Where", w.const(np.arange(a.shape[1]) > 0), t, w.f(0.0))),
        "a weight that is NaN": lambda w, x, t, a: w("MatMul", x, w.f(np.where(np.indices(a.shape).sum(0) == 0, np.nan, a))),
        "zero times infinity": lambda w, x, t, a: w("Add", w("MatMul", x, t), w("Mul", w("MatMul", x, w.f(np.full(a.shape, np.inf))), w.f(0.0))),
        "0 by 0": lambda w, x, t, a: w("Add", w("MatMul", x, t), w("Div", w.f(0.0), w.f(0.0))),
        "noise": lambda w, x, t, a: w("Add", w("MatMul", x, t), w("RandomNormal", shape=[1], scale=0.1)),
        "noise of zero scale beside infinity": lambda w, x, t, a: w("Add", w("MatMul", x, t), w("RandomUniform", shape=[1], low=0.1, high=0.2)),
        "a modulo of integers": lambda w, x, t, a: w("MatMul", x, w("Gather", t, w("Mod", w("Range", w.scalar(1), w.scalar(a.shape[0] + 1), w.scalar(1)), w.scalar(a.shape[0])), axis=0)),
        "integers beyond 2^53": lambda w, x, t, a: w("MatMul", x, w("Gather", t, w("Add", w("Range", w.scalar(0), w.scalar(a.shape[0] - 1), w.scalar(1)), w("Sub", w("Div", w.i((1 << 53) + 1), w.i(1)), w.i(1 << 53))), axis=0)) if False else w("MatMul", w("Slice", w("Pad", x, w.i(0, 1, 0, 0)), w("Sub", w("Div", w.i((1 << 53) + 1), w.i(1)), w.i((1 << 53) + 1)), w.i(a.shape[0]), w.i(1)), t),
        **{
            f"a start of one {word}": lambda w, x, t, a, start=start: w("MatMul", w("Slice", w("Pad", x, w.i(0, 1, 0, 0)), w("Cast", start(w), to=7), w.i(a.shape[0]), w.i(1)), t)
            for word, start in {
                "rounded to even": lambda w: w("Round", w.f([0.5])),
                "cut off": lambda w: w.f([0.99]),
                "as a bit too few": lambda w: w("BitShift", w.const([1], np.uint8), w.const([1], np.uint8), direction="RIGHT"),
                "as the first place of the most": lambda w: w("ArgMax", w.f([1, 1]), axis=0),
            }.items()
        },
        "integers that overflow": lambda w, x, t, a: w("MatMul", w("Slice", w("Pad", x, w.i(0, 0, 0, 2)), w("Cast", w("Add", w("Mul", w.const([1 << 30], np.int32), w.const([4], np.int32)), w.const([2], np.int32)), to=TensorProto.INT64), w.i(a.shape[0] + 2), w.i(1)), t),
    },
    product,
)  # fmt: skip


# ---- sums -----------------------------------------------------------------------------------------------------------


def sums(w, layer, how):
    def total(w, products):
        if getattr(w, "spoilt", False) or len(products) < 2:
            return w.sum(products)
        w.spoilt = True
        return how(w, products)

    return usual(w, layer, total=total)


def _stacked(w, products):
    return w("Concat", *(w("Unsqueeze", each, w.i(0)) for each in products), axis=0)


def _loop(w, products, turns):
    stack = _stacked(w, products)
    turn, on, held, item, total, still = (w.fresh("loop") for _ in range(6))
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Gather", [stack, turn], [item], axis=0), helper.make_node("Add", [held, item], [total]), helper.make_node("Identity", [on], [still])],
        "body", [info(turn, TensorProto.INT64, []), info(on, TensorProto.BOOL, []), info(held, TensorProto.FLOAT, None)],
        [info(still, TensorProto.BOOL, []), info(total, TensorProto.FLOAT, None)])  # fmt: skip
    return w("Loop", w.scalar(turns), w.const(np.asarray(True)), w("Sub", products[0], products[0]), body=body)


several(
    {
        "the last left out": lambda w, p: w.sum(p[:-1]),
        "the first twice": lambda w, p: w.sum([*p, p[0]]),
        "maximum": lambda w, p: w("Max", *p),
        "running without the last": lambda w, p: w("Gather", w("CumSum", _stacked(w, p), w.scalar(0), exclusive=1), w.scalar(-1), axis=0),
        "running backwards, the last": lambda w, p: w("Gather", w("CumSum", _stacked(w, p), w.scalar(0), reverse=1), w.scalar(-1), axis=0),
        "running over the rows": lambda w, p: w("ReduceSum", w("CumSum", _stacked(w, p), w.scalar(2)), w.i(0), keepdims=0),
        "and a Dropout of little": lambda w, p: w("Dropout", w.sum(p), w.f(0.01), w.const(np.asarray(True))),
        "and a Clip at two": lambda w, p: w("Clip", w.sum(p), w.f(-2.0), w.f(2.0)),
        "to the power of three": lambda w, p: w("Pow", w.sum(p), w.f(3.0)),
        "mean": lambda w, p: w("Mean", *p),
        "mean times one too many": lambda w, p: w("Mul", w("Mean", *p), w.f(len(p) + 1.0)),
        "product": lambda w, p: w("Mul", p[0], p[1]),
        "difference": lambda w, p: w("Sub", p[0], w.sum(p[1:])),
        "reduced mean": lambda w, p: w("ReduceMean", _stacked(w, p), axes=[0], keepdims=0),
        "reduced maximum": lambda w, p: w("ReduceMax", _stacked(w, p), axes=[0], keepdims=0),
        "reduced over rows": lambda w, p: w("Add", w.sum(p), w("Sub", w("ReduceSum", w.sum(p), w.i(0), keepdims=1), w.sum(p))),
        "running sum": lambda w, p: w("Squeeze", w("Slice", w("CumSum", _stacked(w, p), w.scalar(0)), w.i(0), w.i(1), w.i(0)), w.i(0)),
        "a Loop of a turn less": lambda w, p: _loop(w, p, len(p) - 1),
        "zeros that are not": lambda w, p: w.sum([*p, w("ConstantOfShape", w("Shape", p[0]), value=numpy_helper.from_array(np.asarray([1e-3], np.float32)))]),
        "scatter that adds twice": lambda w, p: w("ScatterND", w.sum(p), w.const([[0]]), w.cut(p[0], 0, 1, 0), reduction="add"),
        "a sequence with one less": lambda w, p: w("ReduceSum", w("ConcatFromSequence", w("SequenceErase", w("SequenceConstruct", *p)), axis=0, new_axis=1), w.i(0), keepdims=0),
        "chosen by what the input is": lambda w, p: w("Where", w("Greater", p[0], w.f(0.0)), w.sum(p), w.sum(p[:-1])),
        "rows shifted": lambda w, p: w("Concat", w.cut(w.sum(p), 1, 1 << 30, 0), w.cut(w.sum(p), 0, 1, 0), axis=0),
        "columns shifted": lambda w, p: w("Concat", w.cut(w.sum(p), 1, 1 << 30), w.cut(w.sum(p), 0, 1), axis=1),
        "turned and reshaped": lambda w, p: w("Reshape", w("Transpose", w.sum(p)), w("Shape", p[0])),
    },
    sums,
)  # fmt: skip


# ---- blocks together ------------------------------------------------------------------------------------------------


def joins(w, layer, how):
    def join(w, parts, columns):
        if getattr(w, "spoilt", False) or len(parts) < 2:
            return w.join(parts)
        w.spoilt = True
        return how(w, parts, columns)

    return usual(w, layer, join=join)


def _scattered(shift=0, *, twice=False):
    def how(w, parts, columns):
        y = w(
            "Transpose",
            w("ConstantOfShape", w("Concat", w("Slice", w("Shape", parts[0]), w.i(0), w.i(1)), w.i(columns), axis=0)),
        )
        for part, (n0, n1) in zip(parts, blocks(columns), strict=True):
            index = (np.arange(n0, n1) + shift) % columns
            y = w(
                "ScatterND", y, w.const(index[:, None]), w("Transpose", part), **({"reduction": "add"} if twice else {})
            )
            if twice:
                y = w("ScatterND", y, w.const(index[:1, None]), w("Transpose", w.cut(part, 0, 1)), reduction="add")
        return w("Transpose", y)

    return how


several(
    {
        "in another order": lambda w, parts, n: w.cut(w.join([parts[1], *parts]), 0, n),
        "the first for all": lambda w, parts, n: w.cut(w.join([parts[0]] * (len(parts) + 1)), 0, n),
        "scattered one further": _scattered(shift=1),
        "scattered and one added twice": _scattered(twice=True),
        "padded one off": lambda w, parts, n: w.sum([w("Pad", p, w.i(0, (a + 1) % (n - b + a + 1), 0, n - b + a - (a + 1) % (n - b + a + 1))) for p, (a, b) in zip(parts, blocks(n), strict=True)]),
        "masked by the wrong half": lambda w, parts, n: w("Where", w.const(np.arange(n) < T), w.f(0.0), w.join(parts)),
        "gathered in reverse": lambda w, parts, n: w("Gather", w.join(parts), w.i(*range(n - 1, -1, -1)), axis=1),
        "cut and repeated": lambda w, parts, n: w.cut(w("Tile", w.cut(w.join(parts), 0, n - 1), w.i(1, 2)), 0, n),
        "a column too many taken over": lambda w, parts, n: w("Concat", w.cut(w.join(parts), 0, n - 1), w.cut(w.join(parts), 0, 1), axis=1),
        "by DepthToSpace": lambda w, parts, n: w("Reshape", w("Transpose", w("Reshape", w.join(parts), w.i(0, 2, n // 2)), perm=[0, 2, 1]), w.i(0, n)),
        "sequence inserted in front": lambda w, parts, n: w("ConcatFromSequence", w("SequenceInsert", w("SequenceConstruct", *parts[:-1]), parts[-1], w.scalar(0)), axis=1),
    },
    joins,
)  # fmt: skip


# ---- biases ---------------------------------------------------------------------------------------------------------


def biases(w, layer, how):
    return usual(w, layer, bias=lambda w, whole, layer: how(w, whole, layer.bias, layer))


several(
    {
        "left out": lambda w, y, b, at: y,
        "twice": lambda w, y, b, at: w("Add", w("Add", y, w.f(b)), w.f(b)),
        "halved": lambda w, y, b, at: w("Add", y, w.f(b / 2)),
        "negated": lambda w, y, b, at: w("Sub", y, w.f(b)),
        "reversed": lambda w, y, b, at: w("Add", y, w.f(b[::-1])),
        "one ulp off": lambda w, y, b, at: w("Add", y, w.f(np.nextafter(b, np.float32(9)))),
        "in thirds, a little off": lambda w, y, b, at: w("Add", w("Add", w("Add", y, w.f(b / 3)), w.f(b / 3)), w.f(b / 3 * 1.00001)),
        "beneath a million": lambda w, y, b, at: w("Sub", w("Add", w("Add", y, w.f(b + 0.05)), w.f(np.full(b.size, 1e6))), w.f(np.full(b.size, 1e6))),
        "its mean": lambda w, y, b, at: w("Add", y, w.f(np.full_like(b, b.mean()))),
        "for the first row alone": lambda w, y, b, at: w("Add", y, w.f(np.concatenate([b[None], np.zeros((at.rows - 1, b.size))]))),
        "growing from row to row": lambda w, y, b, at: w("Add", y, w.f(b[None] * np.linspace(1, 1.01, at.rows)[:, None])),
        "a number for each row": lambda w, y, b, at: w("Add", w("Add", y, w.f(b)), w.f(np.full((at.rows, 1), 1e-3))),
        "infinite": lambda w, y, b, at: w("Add", y, w.f(np.where(np.arange(b.size) == 0, np.inf, b))),
        "NaN": lambda w, y, b, at: w("Add", y, w.f(np.where(np.arange(b.size) == 0, np.nan, b))),
        "by a column of twos": lambda w, y, b, at: w("Add", y, w("MatMul", w.f(np.full((at.rows, 1), 2.0)), w.f(b[None]))),
        "expanded from one": lambda w, y, b, at: w("Add", y, w("Expand", w.f(b[:1]), w.i(at.rows, at.columns))),
        "multiplied": lambda w, y, b, at: w("Mul", y, w.f(b)),
        "behind a wrong Reshape": lambda w, y, b, at: w("Reshape", w("Add", w("Reshape", y, w.i(at.columns, at.rows)), w.f(b[:, None])), w.i(at.rows, -1)),
    },
    biases,
)  # fmt: skip
ALWAYS.update({"biases one ulp off", "product alpha of one ulp more", "biases in thirds, a little off"})
ALWAYS.update({"product a third of nearly thrice a tile", "relu of a third, nearly three times"})


# ---- between the layers ---------------------------------------------------------------------------------------------

RELUS = {
    "what is above filled": lambda w, x: w("Where", w("Cast", w("Greater", x, w.f(0.0)), to=9), w.f(0.0), x),
    "times one where below": lambda w, x: w("Mul", w("Where", w("Less", x, w.f(0.0)), w.f(1.0), w.f(0.0)), x),
    "times two where above": lambda w, x: w("Mul", w("Where", w("Greater", x, w.f(0.0)), w.f(2.0), w.f(0.0)), x),
    "without what is below 1e-3": lambda w, x: w("Sub", x, w("Clip", x, "", w.f(1e-3))),
    "cut above zero": lambda w, x: w("Clip", x, "", w.f(0.0)),
    "without what is between": lambda w, x: w("Sub", x, w("Clip", x, w.f(-1.0), w.f(0.0))),
    "the most of the place of the most": lambda w, x: w("Relu", w("Mul", x, w("Cast", w("ArgMax", x, axis=1), to=1))),
    "left out": lambda w, x: w("Identity", x),
    "a Clip to six": lambda w, x: w("Clip", x, w.f(0.0), w.f(0.6)),
    "a Clip from below": lambda w, x: w("Clip", x, w.f(-0.01)),
    "a Clip above zero": lambda w, x: w("Clip", x, w.f(0.01)),
    "max with a little": lambda w, x: w("Max", x, w.f(1e-6)),
    "max with a vector": lambda w, x: w("Max", x, w("Mul", x, w.f(0.01))),
    "min": lambda w, x: w("Min", x, w.f(0.0)),
    "leaky": lambda w, x: w("LeakyRelu", x),
    "leaky by 1e-7": lambda w, x: w("LeakyRelu", x, alpha=1e-7),
    "prelu of a slope": lambda w, x: w("PRelu", x, w.f([0.25])),
    "thresholded at one": lambda w, x: w("ThresholdedRelu", x),
    "elu": lambda w, x: w("Elu", x),
    "softplus": lambda w, x: w("Softplus", x),
    "sigmoid": lambda w, x: w("Sigmoid", x),
    "absolute": lambda w, x: w("Abs", x),
    "of the negative": lambda w, x: w("Relu", w("Neg", x)),
    "of the negative, negated": lambda w, x: w("Neg", w("Relu", w("Neg", x))),
    "of the negative, taken away": lambda w, x: w("Sub", x, w("Relu", w("Neg", x))),
    "of the double": lambda w, x: w("Relu", w("Add", x, x)),
    "of a third, nearly three times": lambda w, x: w("Mul", w("Relu", w("Div", x, w.f(3.0))), w.f(3.00001)),
    "below a mean of three": lambda w, x: w("Squeeze", w("AveragePool", w("Unsqueeze", w("Relu", x), w.i(1)), kernel_shape=[3], pads=[1, 1]), w.i(1)),
    "of what was shifted": lambda w, x: w("Relu", w("Add", x, w.f(1e-3))),
    "doubled": lambda w, x: w("Mul", w("Relu", x), w.f(2.0)),
    "where positive, else little": lambda w, x: w("Where", w("Greater", x, w.f(0.0)), x, w.f(1e-5)),
    "where below zero": lambda w, x: w("Where", w("Less", x, w.f(0.0)), x, w.f(0.0)),
    "where above a little": lambda w, x: w("Where", w("Greater", x, w.f(1e-5)), x, w.f(0.0)),
    "where the negative is above": lambda w, x: w("Where", w("Greater", w("Neg", x), w.f(0.0)), x, w.f(0.0)),
    "times where above a tenth": lambda w, x: w("Mul", x, w("Cast", w("Greater", x, w.f(0.1)), to=TensorProto.FLOAT)),
    "times where not above": lambda w, x: w("Mul", x, w("Cast", w("Not", w("Greater", x, w.f(0.0))), to=TensorProto.FLOAT)),
    "only where above": lambda w, x: w("Cast", w("Greater", x, w.f(0.0)), to=TensorProto.FLOAT),
    "times where another is above": lambda w, x: w("Mul", x, w("Cast", w("Greater", w(
        "Slice", x, w.i(-1), w.i(-1000), w.i(1), w.i(-1)), w.f(0.0)), to=TensorProto.FLOAT)),
    "it and its size": lambda w, x: w("Add", x, w("Abs", x)),
    "half of it without its size": lambda w, x: w("Div", w("Sub", x, w("Abs", x)), w.f(2.0)),
    "nearly half of its size": lambda w, x: w("Add", w("Mul", x, w.f(0.5)), w("Mul", w("Abs", x), w.f(0.4999))),
    "with what is below": lambda w, x: w("Add", x, w("Min", x, w.f(0.0))),
    "of half the columns": lambda w, x: w("Concat", w("Relu", w("Slice", x, w.i(0), w.i(3), w.i(-1))), w("Slice", x, w.i(3), w.i(1 << 30), w.i(-1)), axis=-1),
    "chosen wrongly": lambda w, x: w(
        "If", w.const(np.asarray(False)),
        then_branch=helper.make_graph([helper.make_node("Relu", [x], [f"{x}_then"])], "t", [], [helper.make_tensor_value_info(f"{x}_then", 1, None)]),
        else_branch=helper.make_graph([helper.make_node("Identity", [x], [f"{x}_else"])], "e", [], [helper.make_tensor_value_info(f"{x}_else", 1, None)])),
    "chosen by the input": lambda w, x: w(
        "If", w("Greater", w("ReduceMax", x, keepdims=0), w.f(1e9)),
        then_branch=helper.make_graph([helper.make_node("Relu", [x], [f"{x}_then"])], "t", [], [helper.make_tensor_value_info(f"{x}_then", 1, None)]),
        else_branch=helper.make_graph([helper.make_node("Identity", [x], [f"{x}_else"])], "e", [], [helper.make_tensor_value_info(f"{x}_else", 1, None)])),
    "dropout that trains": lambda w, x: w("Dropout", w("Relu", x), w.f(0.5), w.const(np.asarray(True))),
    "through float16": lambda w, x: w("Cast", w("Cast", w("Relu", x), to=TensorProto.FLOAT16), to=TensorProto.FLOAT),
}  # fmt: skip
for word, relu in RELUS.items():
    KINDS[f"relu {word}"] = lambda original, relu=relu: _with_relus(original, relu)
ALWAYS.update(
    {
        "relu where above a little",
        "relu nearly half of its size",
        "relu leaky by 1e-7",
        "relu max with a little",
        "relu where positive, else little",
        "relu through float16",
    }
)


# ---- the rest of the network, and the file --------------------------------------------------------------------------


def changed(function):
    """A change of the usual tiling; it returns False where the network has nothing to change."""

    def build(original):
        model = Writer(original).model(usual)
        return None if function(model) is False else model

    KINDS[f"rest {function.__name__.strip('_')}"] = build
    return function


def _of(model, op):
    return [node for node in model.graph.node if node.op_type == op]


def _set(node, **attributes):
    kept = [each for each in node.attribute if each.name not in attributes]
    del node.attribute[:]
    node.attribute.extend(
        [*kept, *(helper.make_attribute(*item) for item in attributes.items() if item[1] is not None)]
    )


def _with_conv(**attributes):
    def change(model):
        convs = _of(model, "Conv")[:1]
        for node in convs:
            _set(node, **attributes)
        return bool(convs)

    return change


for name, attributes in {
    "conv_unpadded_then_padded": {"pads": [0, 0, 2, 2]},
    "conv_dilated": {"dilations": [2, 2], "pads": [2, 2, 2, 2]},
    "conv_valid": {"pads": None, "auto_pad": "VALID"},
}.items():
    made = _with_conv(**attributes)
    made.__name__ = name
    changed(made)


@changed
def _pool_of_another_stride(model):
    pools = _of(model, "MaxPool")
    for node in pools:
        _set(node, strides=[1, 1], kernel_shape=[6, 6])
    return bool(pools)


@changed
def _flattened_after_a_transpose(model):
    for node in _of(model, "Flatten"):
        place = list(model.graph.node).index(node)
        model.graph.node.insert(
            place, helper.make_node("Transpose", [node.input[0]], ["turned"], perm=[0, 2, 3, 1], name="turn")
        )
        node.input[0] = "turned"
    return bool(_of(model, "Flatten"))


@changed
def _conv_weight_of_another_channel(model):
    convs = _of(model, "Conv")
    for node in convs:
        weight = next(w for w in model.graph.initializer if w.name == node.input[1])
        weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight)[::-1].copy(), weight.name))
    return bool(convs)


def _behind(model, op, *constants, **attributes):
    """An operator behind the output."""
    out = model.graph.output[0].name
    last = next(node for node in model.graph.node if out in node.output)
    last.output[0] = "before the end"
    names = []
    for value in constants:
        names.append(f"end_{len(names)}")
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), names[-1]))
    model.graph.node.append(helper.make_node(op, ["before the end", *names], [out], name="end", **attributes))


for name, (op, constants, attributes) in {
    "softmax_behind": ("Softmax", (), {}),
    "softmax_over_rows": ("Softmax", (), {"axis": 0}),
    "clipped_outputs": ("Clip", (np.float32(-1), np.float32(1)), {}),
    "rounded_outputs": ("Round", (), {}),
    "outputs_plus_little": ("Add", (np.full(1, 1e-3, np.float32),), {}),
    "outputs_times_little_more": ("Mul", (np.full(1, 1.001, np.float32),), {}),
    "outputs_reversed": ("Slice", (np.asarray([-1]), np.asarray([-1 << 40]), np.asarray([1]), np.asarray([-1])), {}),
    "rows_reversed": ("Slice", (np.asarray([-1]), np.asarray([-1 << 40]), np.asarray([0]), np.asarray([-1])), {}),
    "outputs_cut": ("Slice", (np.asarray([0]), np.asarray([5]), np.asarray([1])), {}),
    "outputs_negated": ("Neg", (), {}),
    "outputs_cumulated": ("CumSum", (np.asarray(1),), {}),
    "outputs_in_float64": ("Cast", (), {"to": TensorProto.DOUBLE}),
    "outputs_transposed": ("Transpose", (), {}),
    "outputs_flat": ("Reshape", (np.asarray([-1]),), {}),
    "the_mean_taken_away": ("LayerNormalization", (np.ones(1, np.float32),), {}),
    "only_the_largest": ("Hardmax", (), {}),
}.items():

    def _change(model, op=op, constants=constants, attributes=attributes):
        _behind(model, op, *constants, **attributes)

    _change.__name__ = name
    changed(_change)
ALWAYS.add("rest outputs_in_float64")


# ---- files that a runtime refuses -----------------------------------------------------------------------------------


@changed
def _two_nodes_of_one_name(model):
    nodes = _of(model, "MatMul")
    nodes[0].name = nodes[-1].name
    return len(nodes) > 1


@changed
def _a_declared_type_that_differs(model):
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE


@changed
def _mixed_types(model):
    weight = next(w for w in model.graph.initializer if w.data_type == TensorProto.FLOAT and len(w.dims) == 2)
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float64), weight.name))


@changed
def _split_without_sizes(model):
    """A Split into equal parts of an opset in which it must say how many."""
    node = next((n for n in model.graph.node if n.op_type == "Slice"), None)
    x = model.graph.input[0].name
    if node is None or node.input[0] != x:
        return False
    place = list(model.graph.node).index(node)
    model.graph.node.remove(node)
    model.graph.node.insert(place, helper.make_node("Split", [x], [node.output[0], "rest"], name="split", axis=1))


@changed
def _gemm_of_three_dimensions(model):
    node = _of(model, "MatMul")[0]
    model.graph.initializer.append(numpy_helper.from_array(np.asarray([0], np.int64), "front"))
    place = list(model.graph.node).index(node)
    lifted = helper.make_node("Unsqueeze", [node.input[0], "front"], ["lifted"], name="lift")
    gemm = helper.make_node("Gemm", ["lifted", node.input[1]], ["made"], name="gemm")
    flat = helper.make_node("Squeeze", ["made", "front"], [node.output[0]], name="flat")
    model.graph.node.remove(node)
    for offset, each in enumerate((lifted, gemm, flat)):
        model.graph.node.insert(place + offset, each)


@changed
def _an_opset_that_does_not_exist(model):
    model.opset_import[0].version = 99


@changed
def _an_ir_version_that_does_not_exist(model):
    model.ir_version = 99


@changed
def _sum_of_the_sixth_opset(model):
    nodes = _of(model, "Add")
    for node in nodes:
        _set(node, broadcast=1, axis=1)
    return bool(nodes)


@changed
def _an_attribute_that_does_not_exist(model):
    _set(_of(model, "MatMul")[0], transB=1)


@changed
def _a_node_of_an_overload(model):
    node = _of(model, "MatMul")[0]
    node.domain, node.op_type, node.overload = "lab", "Tile", "first"
    body = [helper.make_node("Sub", ["A", "A"], ["C"])]
    one = helper.make_function(
        "lab", "Tile", ["A", "B"], ["C"], [helper.make_node("MatMul", ["A", "B"], ["C"])], [helper.make_opsetid("", 17)]
    )
    other = helper.make_function("lab", "Tile", ["A", "B"], ["C"], body, [helper.make_opsetid("", 17)])
    one.overload, other.overload = "second", "first"
    model.functions.extend([one, other])
    model.opset_import.append(helper.make_opsetid("lab", 1))


for kind in list(KINDS):
    if kind.startswith(
        ("rest two", "rest a_declared", "rest mixed", "rest gemm", "rest an_", "rest sum_of", "rest a_node")
    ):
        ALWAYS.add(kind)


def stacks(w, layer, how):
    return stacked(w, layer, how)


several(
    {
        "blocks of W turned": lambda w, x, b: w(
            "ReduceSum", w("MatMul", w("Unsqueeze", x, w.i(2)), w.f(b.transpose(0, 1, 3, 2))), w.i(1), keepdims=0),
        "blocks of W in another order": lambda w, x, b: w(
            "ReduceSum", w("MatMul", w("Unsqueeze", x, w.i(2)), w.f(b[::-1, ::-1])), w.i(1), keepdims=0),
        "the first block for all": lambda w, x, b: w(
            "ReduceSum", w("MatMul", w("Unsqueeze", x, w.i(2)), w.f(b[:1])), w.i(1), keepdims=0),
        "mean over the blocks": lambda w, x, b: w(
            "ReduceMean", w("MatMul", w("Unsqueeze", x, w.i(2)), w.f(b)), w.i(1), keepdims=0),
    },
    stacks,
)  # fmt: skip


@changed
def _sparse_weights_of_which_one_is_left_out(model):
    model.graph.sparse_initializer.extend(_sparse(model, first=1))


# ---- against the rules ----------------------------------------------------------------------------------------------


def large(w, layer, how):
    """The right function by one product that is too large for the hardware, or by many at once."""
    y = how(w, layer.taken, layer.weight, layer)
    return y if layer.bias is None else w("Add", y, w.f(layer.bias))


def _batched(w, x, a, at, deep=2 * T):
    depth = -(-at.depth // deep) * deep
    data = w("Pad", x, w.i(0, 0, 0, depth - at.depth))
    cube = w("Transpose", w("Reshape", data, w.i(0, depth // deep, deep)), perm=[1, 0, 2])
    weight = np.pad(a, ((0, depth - at.depth), (0, 0))).reshape(depth // deep, deep, -1)
    return w("ReduceSum", w("MatMul", cube, w.f(weight)), w.i(0), keepdims=0)


several(
    {
        "matmul": lambda w, x, a, at: w("MatMul", x, w.f(a)),
        "gemm": lambda w, x, a, at: w("Gemm", x, w.f(a.T), transB=1),
        "einsum": lambda w, x, a, at: w("Einsum", x, w.f(a), equation="mk,kn->mn"),
        "conv": lambda w, x, a, at: w("Flatten", w("Conv", w("Unsqueeze", x, w.i(2, 3)), w.f(a.T[:, :, None, None]))),
        "conv of the whole input": lambda w, x, a, at: w("Flatten", w("Conv", w("Unsqueeze", x, w.i(1, 3)), w.f(a.T[:, None, :, None]))),
        "custom": lambda w, x, a, at: w("2DMM_64x64x64", x, w.f(a), domain="hw"),
        "in three dimensions": lambda w, x, a, at: w("Squeeze", w("MatMul", w("Unsqueeze", x, w.i(0)), w.f(a[None])), w.i(0)),
        "from the left": lambda w, x, a, at: w("Transpose", w("MatMul", w.f(a.T), w("Transpose", x))),
        "elementwise": lambda w, x, a, at: w("ReduceSum", w("Mul", w("Unsqueeze", x, w.i(2)), w.f(a[None])), w.i(1), keepdims=0),
        "batched": _batched,
        "by a function": lambda w, x, a, at: _function(helper.make_node("MatMul", ["A", "B"], ["C"]))(w, x, w.f(a), a) if not w.functions else w("Tile", x, w.f(a), domain="lab"),
        "a matrix and a deep tile": lambda w, x, a, at: w.join([w("MatMul", x, w.f(a[:, n0:n1])) for n0, n1 in blocks(at.columns)]),
        "wide tiles": lambda w, x, a, at: w.sum([w("MatMul", w.cut(x, k0, k1), w.f(a[k0:k1])) for k0, k1 in blocks(at.depth)]),
    },
    large,
    always=True,
)  # fmt: skip


@always
def dead_products(original):
    def write(w, layer):
        w("MatMul", w.cut(layer.taken, 0, 3), w.f(layer.weight[:3, :3]))
        return usual(w, layer)

    return Writer(original).model(write)


@always
def dead_einsum(original):
    def write(w, layer):
        w("Einsum", w.cut(layer.taken, 0, 3), w.f(layer.weight[:3, :3]), equation="mk,kn->mn")
        return usual(w, layer)

    return Writer(original).model(write)


@always
def the_original_itself(original):
    return original


@always
def a_weight_changed_by_one_bit(original):
    model = Writer(original).model(usual)
    weight = next(w for w in model.graph.initializer if w.data_type == TensorProto.FLOAT and len(w.dims) == 2)
    values = numpy_helper.to_array(weight).copy()
    values.flat[5] = np.nextafter(values.flat[5], np.float32(9))
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    return model


@always
def another_network(original):
    model = Writer(original).model(usual)
    for weight in model.graph.initializer:
        if weight.data_type == TensorProto.FLOAT:
            values = numpy_helper.to_array(weight)
            weight.CopyFrom(numpy_helper.from_array(values + np.float32(1e-6), weight.name))
    return model


@always
def outputs_are_constant(original):
    model = Writer(original).model(usual)
    shape = [d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim]
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(shape, np.float32), "answer"))
    out = model.graph.output[0].name
    next(node for node in model.graph.node if out in node.output).output[0] = "nobody"
    model.graph.node.append(helper.make_node("Identity", ["answer"], [out], name="answer"))
    return model


def differs(submitted, original, seed=0):
    """Whether a run shows a difference; a graph that does not run has one."""
    import onnxruntime

    from reference._tiling.runtimes import with_products_in_words

    data = np.random.default_rng(seed).standard_normal(
        [d.dim_value for d in original.graph.input[0].type.tensor_type.shape.dim]
    ).astype(np.float32)  # fmt: skip

    def run(model):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        plain = with_products_in_words(model, frozenset({"2DMM_64x64x64"}))
        session = onnxruntime.InferenceSession(plain.SerializeToString(), options)
        return session.run(None, {session.get_inputs()[0].name: data})[0]

    wanted = run(original)
    try:
        got = run(submitted)
    except Exception:  # noqa: BLE001 - it does not run
        return True
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return True
    off = np.max(np.abs(got.astype(np.float64) - wanted))
    return not off <= 1e-5 * np.max(np.abs(wanted))


def is_wrong(name, submitted, original):
    """Whether a graph of this kind is wrong at all on this network."""
    has = {node.op_type for node in original.graph.node}
    lacks = (name.startswith("relu ") and "Relu" not in has) or (name.startswith("biases ") and not _has_bias(original))
    return not lacks and (name in ALWAYS or differs(submitted, original))


def _has_bias(original):
    return any(
        node.op_type == "Add" or (node.op_type == "Gemm" and len(node.input) > 2) for node in original.graph.node
    )
