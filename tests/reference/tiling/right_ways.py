"""Right tilings, one way each: how students write tiles, sums, moves, biases, and what lies between layers.

A way is a function of a `Writer` and a `Layer` that returns the layer's tensor; `WAYS[name](original)` is the model.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.reference.tiling.written import T, Writer, blocks, ceil_to, usual

WAYS = {}


def way(function=None, *, opset=None, name=None):
    """A way to write a layer, under the function's name."""

    def register(write):
        WAYS[name or write.__name__] = lambda original: Writer(original, opset).model(write)
        return write

    return register(function) if function else register


def whole_way(function):
    """A way to write a whole model."""
    WAYS[function.__name__] = function
    return function


def several(kinds, write):
    """A way for each of some words."""
    for kind, value in kinds.items():
        WAYS[f"{write.__name__} {kind}"] = lambda original, value=value: Writer(original).model(
            lambda w, layer: write(w, layer, value)
        )


# ---- how the product of a tile is written ---------------------------------------------------------------------------


def product(w, layer, how):
    return usual(w, layer, product=lambda w, x, t, a: how(w, x, t, a))


def conv1x1(w, x, a, shape=(-1, 0, 1, 1)):
    lifted = w("Reshape", x, w.i(0, 0, 1, 1))
    del shape
    return w("Flatten", w("Conv", lifted, w.f(a.T[:, :, None, None])))


def conv_rows(w, x, a):
    """The rows of x as places of an image: [1, K, M, 1]."""
    lifted = w("Unsqueeze", w("Transpose", x, perm=[1, 0]), w.i(0, 3))
    made = w("Conv", lifted, w.f(a.T[:, :, None, None]), kernel_shape=[1, 1])
    return w("Transpose", w("Squeeze", made, w.i(0, 3)), perm=[1, 0])


def conv1d(w, x, a):
    made = w("Conv", w("Unsqueeze", x, w.i(2)), w.f(a.T[:, :, None]))
    return w("Squeeze", made, w.i(2))


def function_of(*nodes, attributes=(), protos=()):
    def product(w, x, t, a):
        if not w.functions:
            w.functions.append(
                helper.make_function(
                    "lab", "Tile", ["A", "B"], ["C"], list(nodes), [helper.make_opsetid("", w.opset)],
                    attributes=list(attributes), attribute_protos=list(protos),
                )
            )  # fmt: skip
        return w("Tile", x, t, domain="lab", **({"turn": 0} if attributes else {}))

    return product


def _turned_by_attribute():
    node = helper.make_node("Gemm", ["A", "B"], ["C"])
    node.attribute.append(onnx.AttributeProto(name="transB", ref_attr_name="turn", type=onnx.AttributeProto.INT))
    return node


several(
    {
        "matmul": lambda w, x, t, a: w("MatMul", x, t),
        "gemm": lambda w, x, t, a: w("Gemm", x, t),
        "gemm transB": lambda w, x, t, a: w("Gemm", x, w.f(a.T), transB=1),
        "gemm transA": lambda w, x, t, a: w("Gemm", w("Transpose", x, perm=[1, 0]), t, transA=1),
        "gemm both": lambda w, x, t, a: w("Gemm", w("Transpose", x), w.f(a.T), transA=1, transB=1),
        "gemm with a C of zeros": lambda w, x, t, a: w("Gemm", x, t, w.f(np.zeros(a.shape[1]))),
        "gemm alpha 2 of half a tile": lambda w, x, t, a: w("Gemm", x, w.f(a / 2), alpha=2.0),
        "gemm with a C that beta takes away": lambda w, x, t, a: w("Gemm", x, t, w.f(np.ones(1)), beta=0.0),
        "from the left": lambda w, x, t, a: w("Transpose", w("MatMul", w.f(a.T), w("Transpose", x)), perm=[1, 0]),
        "einsum": lambda w, x, t, a: w("Einsum", x, t, equation="mk,kn->mn"),
        "einsum transposed": lambda w, x, t, a: w("Einsum", x, w.f(a.T), equation="bi,oi->bo"),
        "einsum the other way": lambda w, x, t, a: w("Einsum", t, x, equation="kn,mk->mn"),
        "einsum out turned": lambda w, x, t, a: w("Transpose", w("Einsum", x, t, equation="mk, kn -> nm")),
        "einsum implicit": lambda w, x, t, a: w("Einsum", x, t, equation="ij,jk"),
        "einsum with a batch of one": lambda w, x, t, a: w(
            "Squeeze", w("Einsum", w("Unsqueeze", x, w.i(0)), t, equation="bmk,kn->bmn"), w.i(0)),
        "conv 1x1": lambda w, x, t, a: conv1x1(w, x, a),
        "conv over rows": lambda w, x, t, a: conv_rows(w, x, a),
        "conv of one dimension": lambda w, x, t, a: conv1d(w, x, a),
        "conv of the whole depth": lambda w, x, t, a: w("Flatten", w(
            "Conv", w("Unsqueeze", x, w.i(1, 3)), w.f(a.T[:, None, :, None]))),
        "custom": lambda w, x, t, a: w("2DMM_64x64x64", x, t, domain="lab"),
        "custom in ONNX's domain": lambda w, x, t, a: w("2DMM_64x64x64", x, t),
        "custom with attributes": lambda w, x, t, a: w("2DMM_64x64x64", x, t, domain="hw", M=64, K=64, N=64, note="tile"),
        "custom with transB": lambda w, x, t, a: w("2DMM_64x64x64", x, w.f(a.T), domain="hw", transB=1),
        "custom with a bias of zeros": lambda w, x, t, a: w("2DMM_64x64x64", x, t, w.f(np.zeros(a.shape[1])), domain="hw"),
        "function of matmul": function_of(helper.make_node("MatMul", ["A", "B"], ["C"])),
        "function of gemm": function_of(helper.make_node("Gemm", ["A", "B"], ["C"])),
        "function of einsum": function_of(helper.make_node("Einsum", ["A", "B"], ["C"], equation="mk,kn->mn")),
        "function with an attribute": function_of(_turned_by_attribute(), attributes=["turn"]),
        "function with a default": function_of(
            _turned_by_attribute(), protos=[helper.make_attribute("turn", 0)]),
        "in three dimensions": lambda w, x, t, a: w("Squeeze", w("MatMul", w("Unsqueeze", x, w.i(0)), w.f(a[None])), w.i(0)),
        "in four dimensions": lambda w, x, t, a: w(
            "Squeeze", w("MatMul", w("Unsqueeze", x, w.i(0, 1)), w.f(a[None, None])), w.i(0, 1)),
        "a matrix by a stack of one": lambda w, x, t, a: w("Squeeze", w("MatMul", x, w.f(a[None])), w.i(0)),
        "in float64": lambda w, x, t, a: w(
            "Cast", w("MatMul", w("Cast", x, to=TensorProto.DOUBLE), w.const(a.astype(np.float64))), to=TensorProto.FLOAT),
        "ai.onnx written out": lambda w, x, t, a: w("MatMul", x, t, domain="ai.onnx"),
        "a tenth, ten times": lambda w, x, t, a: w("Mul", w("MatMul", x, w.f(a / 10)), w.f(10.0)),
        "gemm alpha a third of thrice a tile": lambda w, x, t, a: w("Gemm", x, w.f(a * 3), alpha=1 / 3),
        "of x doubled and a tile halved": lambda w, x, t, a: w("MatMul", w("Add", x, x), w.f(a / 2)),
        "of x negated and a tile negated": lambda w, x, t, a: w("Gemm", w("Neg", x), w.f(-a)),
        "of x less itself beside x": lambda w, x, t, a: w("Add", w("MatMul", x, t), w("MatMul", w("Sub", x, x), w.f(a + 7))),
        "negated twice": lambda w, x, t, a: w("Neg", w("MatMul", x, w.f(-a))),
        "scaled and back": lambda w, x, t, a: w("Mul", w("MatMul", x, w.f(a * 4)), w.f([0.25])),
        "divided": lambda w, x, t, a: w("Div", w("MatMul", x, w.f(a * 8)), w.f(8.0)),
        "with a tile of zeros beside it": lambda w, x, t, a: w("Add", w("MatMul", x, t), w("MatMul", x, w.f(np.zeros(a.shape)))),
        "in two halves of the depth": lambda w, x, t, a: w(
            "Add", w("MatMul", w.cut(x, 0, 20), w.f(a[:20])), w("MatMul", w.cut(x, 20, 1 << 31), w.f(a[20:]))),
        "a tile made of its columns": lambda w, x, t, a: w(
            "Concat", w("MatMul", x, w.f(a[:, :7])), w("MatMul", x, w.f(a[:, 7:])), axis=1),
        "even and odd": lambda w, x, t, a: w(
            "Add", w("MatMul", w("Slice", x, w.i(0), w.i(1000), w.i(1), w.i(2)), w.f(a[::2])),
            w("MatMul", w("Slice", x, w.i(1), w.i(1000), w.i(1), w.i(2)), w.f(a[1::2]))),
        "backwards": lambda w, x, t, a: w("MatMul", w("Slice", x, w.i(-1), w.i(-(1 << 40)), w.i(1), w.i(-1)), w.f(a[::-1])),
        "padded to 64": lambda w, x, t, a: w("Slice", w(
            "MatMul", w("Pad", x, w.i(0, 0, 0, T - a.shape[0])), w.f(np.pad(a, ((0, T - a.shape[0]), (0, T - a.shape[1]))))),
            w.i(0), w.i(a.shape[1]), w.i(1)),
        "padded by Concat with zeros": lambda w, x, t, a: w("MatMul", x, t) if a.shape[0] == T else w(
            "MatMul", w("Concat", x, w("ConstantOfShape", w("Concat", w("Slice", w("Shape", x), w.i(0), w.i(1)), w.i(T - a.shape[0]), axis=0)), axis=1), w.f(np.pad(a, ((0, T - a.shape[0]), (0, 0))))),
    },
    product,
)  # fmt: skip


# ---- where the parts of X come from ---------------------------------------------------------------------------------


def parts_of_x(w, layer, how):
    return usual(w, layer, xs=lambda w, x, k0, k1: how(w, x, k0, k1))


def _indices(w, rows, k0, k1):
    places = np.stack(np.meshgrid(np.arange(rows), np.arange(k0, k1), indexing="ij"), axis=-1)
    return w.const(places.astype(np.int64))


def _rows_here(w, x):
    return w("Gather", w("Shape", x), w.i(0), axis=0)


several(
    {
        "slice": lambda w, x, k0, k1: w.cut(x, k0, k1),
        "slice from the end": lambda w, x, k0, k1: w("Slice", x, w.i(0, k0), w.i(1 << 60, k1), w.i(0, -1), w.i(1, 1)),
        "slice in int32": lambda w, x, k0, k1: w(
            "Slice", x, *(w.const(np.asarray([v], np.int32)) for v in (k0, k1, 1))),
        "to a rounded end": lambda w, x, k0, k1: w("Slice", x, w.i(k0), w("Cast", w("Round", w.f([k1 + 0.25])), to=7), w.i(1)),
        "to an end cut off": lambda w, x, k0, k1: w("Slice", x, w.i(k0), w("Cast", w.f([k1 + 0.75]), to=7), w.i(1)),
        "to an end shifted": lambda w, x, k0, k1: w("Slice", x, w.i(k0), w("Cast", w("BitShift", w.const(np.asarray([2 * k1], np.uint16)), w.const(np.asarray([1], np.uint16)), direction="RIGHT"), to=7), w.i(1)),
        "to the place of the most": lambda w, x, k0, k1: w("Slice", x, w.i(k0), w("ArgMax", w.f(np.arange(k1 + 1)), axis=0), w.i(1)),
        "to a power": lambda w, x, k0, k1: w("Slice", x, w.i(k0), w("Pow", w.i(k1), w.i(1)), w.i(1)),
        "to a remainder": lambda w, x, k0, k1: w("Slice", x, w.i(k0), w("Neg", w("Mod", w.i(-k1), w.i(1 << 20), fmod=1)), w.i(1)),
        "optional": lambda w, x, k0, k1: w("OptionalGetElement", w("Optional", w.cut(x, k0, k1))),
        "the most and the mean of one": lambda w, x, k0, k1: w("Mean", w("Max", w("Min", w.cut(x, k0, k1)))),
        "gather": lambda w, x, k0, k1: w("Gather", x, w.i(*range(k0, k1)), axis=1),
        "gather in int32": lambda w, x, k0, k1: w("Gather", x, w.const(np.arange(k0, k1, dtype=np.int32)), axis=-1),
        "gather by a range": lambda w, x, k0, k1: w("Gather", x, w("Range", w.scalar(k0), w.scalar(k1), w.scalar(1)), axis=1),
        "gather of the transposed": lambda w, x, k0, k1: w("Transpose", w("Gather", w("Transpose", x), w.i(*range(k0, k1)), axis=0)),
        "transposed slice": lambda w, x, k0, k1: w("Transpose", w.cut(w("Transpose", x, perm=[1, 0]), k0, k1, 0), perm=[1, 0]),
        "through three dimensions": lambda w, x, k0, k1: w("Squeeze", w.cut(w("Unsqueeze", x, w.i(1)), k0, k1, 2), w.i(1)),
        "one by one and joined": lambda w, x, k0, k1: w("Concat", w.cut(x, k0, k0 + 3), w.cut(x, k0 + 3, k1), axis=1),
        "padded and cut": lambda w, x, k0, k1: w.cut(w("Pad", x, w.i(0, 2, 0, 5)), k0 + 2, k1 + 2),
        "padded in front only": lambda w, x, k0, k1: w.cut(w("Pad", x, w.i(0, 3, 0, 0), w.f(0.0)), k0 + 3, k1 + 3),
        "tiled and cut": lambda w, x, k0, k1: w.cut(w("Tile", x, w.i(1, 2)), k0, k1),
        "added to zero": lambda w, x, k0, k1: w("Add", w.cut(x, k0, k1), w.f(0.0)),
        "multiplied by one": lambda w, x, k0, k1: w("Mul", w.cut(x, k0, k1), w.f(np.ones((1, k1 - k0)))),
        "less zero": lambda w, x, k0, k1: w("Sub", w.cut(x, k0, k1), w.f(np.zeros(k1 - k0))),
        "divided by one": lambda w, x, k0, k1: w("Div", w.cut(x, k0, k1), w.f([1.0])),
        "cast to float": lambda w, x, k0, k1: w("Cast", w.cut(x, k0, k1), to=TensorProto.FLOAT),
        "identity and dropout": lambda w, x, k0, k1: w("Dropout", w("Identity", w.cut(x, k0, k1))),
        "where all are taken": lambda w, x, k0, k1: w("Where", w.const(np.ones((1, k1 - k0), bool)), w.cut(x, k0, k1), w.f(0.0)),
        "compress": lambda w, x, k0, k1: w("Compress", x, w.const(np.arange(k1) >= k0), axis=1),
        "gather elements": lambda w, x, k0, k1: w(
            "GatherElements", x, w("Expand", w.const(np.arange(k0, k1)[None]), w("Concat", _rows_here(w, x), w.i(k1 - k0), axis=0)), axis=1),
        "gather nd": lambda w, x, k0, k1: w("Transpose", w("GatherND", w("Transpose", x), w.const(np.arange(k0, k1)[:, None]))),
        "flat and back": lambda w, x, k0, k1: w.cut(w("Reshape", w("Reshape", x, w.i(-1)), w("Shape", x)), k0, k1),
        "sequence": lambda w, x, k0, k1: w(
            "SequenceAt", w("SplitToSequence", x, w.const(64, np.int64), axis=1), w.const(k0 // 64, np.int64)),
        "constant bounds computed": lambda w, x, k0, k1: w(
            "Slice", x, w("Mul", w.i(k0 // 2), w.i(2)), w("Add", w.i(k0), w.i(k1 - k0)), w("Sub", w.i(2), w.i(1))),
        "bounds by minimum": lambda w, x, k0, k1: w(
            "Slice", x, w.i(k0), w("Min", w.i(k0 + 64), w("Slice", w("Shape", x), w.i(1), w.i(2))), w.i(1)),
        "where the mask is computed": lambda w, x, k0, k1: w("Where", w(
            "Less", w("Range", w.scalar(0), w.scalar(k1 - k0), w.scalar(1)), w.scalar(1000)), w.cut(x, k0, k1), w.f(0.0)),
    },
    parts_of_x,
)  # fmt: skip


@way
def x_split_at_once(w, layer):
    cuts = [b - a for a, b in blocks(layer.depth)]
    made = w("Split", layer.taken, w.i(*cuts), outputs=len(cuts), axis=1)
    parts = dict(zip([a for a, _ in blocks(layer.depth)], made if len(cuts) > 1 else [made], strict=True))
    if layer.rows <= T:
        return usual(w, layer, xs=lambda w, x, k0, k1: parts[k0])
    return usual(w, layer)


@way
def x_in_blocks_of_four_dimensions(w, layer):
    """[M, K] padded to blocks, as [M/64, K/64, 64, 64]."""
    rows, depth = ceil_to(layer.rows), ceil_to(layer.depth)
    x = w("Pad", layer.taken, w.i(0, 0, rows - layer.rows, depth - layer.depth))
    cube = w("Transpose", w("Reshape", x, w.i(rows // T, T, depth // T, T)), perm=[0, 2, 1, 3])
    lines = []
    for m0, _ in blocks(rows):
        line = w("Gather", cube, w.scalar(m0 // T), axis=0)
        parts = []
        for n0, n1 in blocks(layer.columns):
            made = [
                w("MatMul", w("Gather", line, w.scalar(k0 // T), axis=0),
                  w.f(np.pad(layer.weight[k0:k1, n0:n1], ((0, T - k1 + k0), (0, 0)))))
                for k0, k1 in blocks(layer.depth)
            ]  # fmt: skip
            parts.append(w.sum(made))
        lines.append(w.join(parts))
    whole = w.cut(w.join(lines, 0), 0, layer.rows, 0)
    return whole if layer.bias is None else w("Add", whole, w.f(layer.bias))


def _blocks_of(layer):
    """W in blocks of 64, [K/64, N/64, 64, 64], zeros behind it."""
    depth, columns = ceil_to(layer.depth), ceil_to(layer.columns)
    padded = np.pad(layer.weight, ((0, depth - layer.depth), (0, columns - layer.columns)))
    return padded.reshape(depth // T, T, columns // T, T).transpose(0, 2, 1, 3)


def stacked(w, layer, how):
    """All products of a layer by one node, their sums by another; x: [M/64, K/64, 64, 64]."""
    rows, depth = ceil_to(layer.rows), ceil_to(layer.depth)
    x = w("Pad", layer.taken, w.i(0, 0, rows - layer.rows, depth - layer.depth))
    cube = w("Transpose", w("Reshape", x, w.i(rows // T, T, depth // T, T)), perm=[0, 2, 1, 3])
    made = how(w, cube, _blocks_of(layer))  # [M/64, N/64, 64, 64]
    flat = w("Reshape", w("Transpose", made, perm=[0, 2, 1, 3]), w.i(rows, ceil_to(layer.columns)))
    whole = w("Slice", flat, w.i(0, 0), w.i(layer.rows, layer.columns))
    return whole if layer.bias is None else w("Add", whole, w.f(layer.bias))


several(
    {
        "matmul": lambda w, x, b: w(
            "ReduceSum", w("MatMul", w("Unsqueeze", x, w.i(2)), w.f(b)), w.i(1), keepdims=0),
        "matmul of the same ranks": lambda w, x, b: w(
            "ReduceSum", w("MatMul", w("Unsqueeze", x, w.i(2)), w.f(b[None])), w.i(1), keepdims=0),
        "from the left": lambda w, x, b: w("Transpose", w("ReduceSum", w(
            "MatMul", w.f(b.transpose(0, 1, 3, 2)), w("Transpose", w("Unsqueeze", x, w.i(2)), perm=[0, 1, 2, 4, 3])),
            w.i(1), keepdims=0), perm=[0, 1, 3, 2]),
        "einsum, then sums": lambda w, x, b: w("ReduceSum", w("Einsum", x, w.f(b), equation="pkmi,kqin->kpqmn"), w.i(0), keepdims=0),
        "by columns": lambda w, x, b: w("Concat", *(
            w("Unsqueeze", w("ReduceSum", w("MatMul", x, w.f(b[:, j])), w.i(1), keepdims=0), w.i(1))
            for j in range(b.shape[1])), axis=1),
    },
    stacked,
)  # fmt: skip


@way
def w_in_blocks_of_four_dimensions(w, layer):
    cube = w.f(_blocks_of(layer))

    def tile(w, _, k0, k1, n0, n1):
        block = w(
            "Squeeze", w("Slice", cube, w.i(k0 // T, n0 // T), w.i(k0 // T + 1, n0 // T + 1), w.i(0, 1)), w.i(0, 1)
        )
        return w("Slice", block, w.i(0, 0), w.i(k1 - k0, n1 - n0), w.i(0, 1))

    return usual(w, layer, tile=tile)


# ---- where the tiles come from --------------------------------------------------------------------------------------


def tiles(w, layer, how):
    kept = {}
    return usual(w, layer, tile=lambda w, W, k0, k1, n0, n1: how(w, W, k0, k1, n0, n1, kept))


def _kept(kept, key, make):
    if key not in kept:
        kept[key] = make()
    return kept[key]


def _inside_if(w, array):
    def branch(values):
        value = numpy_helper.from_array(np.ascontiguousarray(values), "v")
        out = w.fresh("branch")
        node = helper.make_node("Constant", [], [out], value=value)
        return helper.make_graph([node], "g", [], [helper.make_tensor_value_info(out, TensorProto.FLOAT, values.shape)])

    return w("If", w.const(np.asarray(True)), then_branch=branch(array), else_branch=branch(array * 2))


several(
    {
        "slice both": lambda w, W, k0, k1, n0, n1, kept: w(
            "Slice", _kept(kept, 0, lambda: w.f(W)), w.i(k0, n0), w.i(k1, n1), w.i(0, 1)),
        "slice transposed": lambda w, W, k0, k1, n0, n1, kept: w("Transpose", w(
            "Slice", _kept(kept, 0, lambda: w.f(W.T)), w.i(n0, k0), w.i(n1, k1), w.i(0, 1)), perm=[1, 0]),
        "constant node": lambda w, W, k0, k1, n0, n1, kept: w(
            "Constant", value=numpy_helper.from_array(W[k0:k1, n0:n1].copy(), "v")),
        "constant of floats": lambda w, W, k0, k1, n0, n1, kept: w("Reshape", w(
            "Constant", value_floats=W[k0:k1, n0:n1].ravel().tolist()), w.i(k1 - k0, n1 - n0)),
        "gather nd": lambda w, W, k0, k1, n0, n1, kept: w("GatherND", _kept(kept, 0, lambda: w.f(W)), w.const(np.stack(
            np.meshgrid(np.arange(k0, k1), np.arange(n0, n1), indexing="ij"), axis=-1).astype(np.int64))),
        "sum of two": lambda w, W, k0, k1, n0, n1, kept: w("Add", w.f(W[k0:k1, n0:n1] / 2), w.f(W[k0:k1, n0:n1] / 2)),
        "times one": lambda w, W, k0, k1, n0, n1, kept: w("Mul", w.f(W[k0:k1, n0:n1]), w.f(1.0)),
        "half times two": lambda w, W, k0, k1, n0, n1, kept: w("Mul", w.f(W[k0:k1, n0:n1] / 2), w.f([2.0])),
        "negated": lambda w, W, k0, k1, n0, n1, kept: w("Neg", w.f(-W[k0:k1, n0:n1])),
        "float64 cast to float": lambda w, W, k0, k1, n0, n1, kept: w(
            "Cast", w.const(W[k0:k1, n0:n1].astype(np.float64)), to=TensorProto.FLOAT),
        "flat and reshaped": lambda w, W, k0, k1, n0, n1, kept: w("Reshape", w.f(W[k0:k1, n0:n1].ravel()), w.i(k1 - k0, -1)),
        "rows joined": lambda w, W, k0, k1, n0, n1, kept: w("Concat", w.f(W[k0 : k0 + 5, n0:n1]), w.f(W[k0 + 5 : k1, n0:n1]), axis=0),
        "where masked": lambda w, W, k0, k1, n0, n1, kept: w("Where", w.const(np.ones((k1 - k0, n1 - n0), bool)), w.f(W[k0:k1, n0:n1]), w.f(9.0)),
        "in an If": lambda w, W, k0, k1, n0, n1, kept: _inside_if(w, W[k0:k1, n0:n1]),
        "split in a sequence": lambda w, W, k0, k1, n0, n1, kept: w("SequenceAt", _kept(kept, n0, lambda: w(
            "SplitToSequence", w.f(W[:, n0:n1]), w.const(64, np.int64), axis=0)), w.const(k0 // 64, np.int64)),
        "shuffled and gathered back": lambda w, W, k0, k1, n0, n1, kept: w("Gather", w.f(W[k0:k1, n0:n1][::-1]), w.i(*range(k1 - k0 - 1, -1, -1)), axis=0),
        "scattered into zeros": lambda w, W, k0, k1, n0, n1, kept: w("ScatterND", w(
            "ConstantOfShape", w.i(k1 - k0, n1 - n0)), w.const(np.arange(k1 - k0)[:, None]), w.f(W[k0:k1, n0:n1])),
    },
    tiles,
)  # fmt: skip


# ---- how products are added up --------------------------------------------------------------------------------------


def sums(w, layer, how):
    return usual(w, layer, total=lambda w, products: how(w, products))


def _stacked(w, products, axis=0):
    return w("Concat", *(w("Unsqueeze", each, w.i(axis)) for each in products), axis=axis)


def _looped(w, products):
    """A Loop that takes the products from a stack, one a turn."""
    stack = _stacked(w, products)
    names = [w.fresh("loop") for _ in range(6)]
    turn, on, held, item, total, still = names
    body = helper.make_graph(
        [helper.make_node("Gather", [stack, turn], [item], axis=0), helper.make_node("Add", [held, item], [total]),
         helper.make_node("Identity", [on], [still])],
        "body",
        [helper.make_tensor_value_info(turn, TensorProto.INT64, []), helper.make_tensor_value_info(on, TensorProto.BOOL, []),
         helper.make_tensor_value_info(held, TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info(still, TensorProto.BOOL, []), helper.make_tensor_value_info(total, TensorProto.FLOAT, None)],
    )  # fmt: skip
    zero = w("Mul", products[0], w.f(0.0))
    return w("Loop", w.scalar(len(products)), w.const(np.asarray(True)), zero, body=body)


def _scanned(w, products):
    stack = _stacked(w, products)
    held, item, total = (w.fresh("scan") for _ in range(3))
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    body = helper.make_graph(
        [helper.make_node("Add", [held, item], [total])], "body", [info(held), info(item)], [info(total)]
    )
    return w("Scan", w("Sub", products[0], products[0]), stack, body=body, num_scan_inputs=1)


several(
    {
        "sum": lambda w, p: w.sum(p),
        "chain": lambda w, p: w.chain(p),
        "chain from the last": lambda w, p: w.chain(p[::-1]),
        "chain from zeros": lambda w, p: w.chain([w.f([[0.0]]), *p]),
        "chain from zeros of a shape": lambda w, p: w.chain([w("ConstantOfShape", w("Shape", p[0])), *p]),
        "chain from zero times": lambda w, p: w.chain([w("Mul", p[0], w.f(0.0)), *p]),
        "chain from zero like a product": lambda w, p: w.chain([w("CastLike", w.scalar(0), p[0]), *p]),
        "chain from a difference": lambda w, p: w.chain([w("Sub", p[0], p[0]), *p]),
        "stack reduced": lambda w, p: w("ReduceSum", _stacked(w, p), w.i(0), keepdims=0),
        "stack reduced behind": lambda w, p: w("ReduceSum", _stacked(w, p, 2), w.i(-1), keepdims=0),
        "stack kept and squeezed": lambda w, p: w("Squeeze", w("ReduceSum", _stacked(w, p, 1), w.i(1)), w.i(1)),
        "mean times the number": lambda w, p: w("Mul", w("Mean", *p), w.f(float(len(p)))),
        "reduced mean times the number": lambda w, p: w("Mul", w("ReduceMean", _stacked(w, p), keepdims=0, axes=[0]), w.f(float(len(p)))),
        "less the negative": lambda w, p: p[0] if len(p) == 1 else w("Sub", p[0], w("Neg", w.sum(p[1:]))),
        "joined, cut and reduced": lambda w, p: w("ReduceSum", w("Reshape", w("Concat", *p, axis=1), w("Concat", w.i(0), w.i(len(p)), w.i(-1), axis=0)), w.i(1), keepdims=0),
        "loop": _looped,
        "scan": _scanned,
        "sequence": lambda w, p: w("ReduceSum", w("ConcatFromSequence", w("SequenceConstruct", *p), axis=0, new_axis=1), w.i(0), keepdims=0),
        "doubled and halved": lambda w, p: w("Div", w("Add", w.sum(p), w.sum(p)), w.f(2.0)),
        "plus one and less one": lambda w, p: w("Sub", w("Add", w.sum(p), w.f(1.0)), w.f(1.0)),
        "running, the last": lambda w, p: w("Gather", w("CumSum", _stacked(w, p), w.scalar(0)), w.scalar(-1), axis=0),
        "running backwards": lambda w, p: w("Gather", w("CumSum", _stacked(w, p, 1), w.scalar(1), reverse=1), w.scalar(0), axis=1),
        "and a Dropout of nothing": lambda w, p: w("Dropout", w.sum(p), w.f(0.0), w.const(np.asarray(True))),
        "and a Clip without bounds": lambda w, p: w("Clip", w.sum(p)),
        "to the power of one": lambda w, p: w("Pow", w.sum(p), w.f(1.0)),
        "in pairs": lambda w, p: w.sum([w.sum(p[i : i + 2]) for i in range(0, len(p), 2)]),
        "einsum of a stack": lambda w, p: w("Einsum", _stacked(w, p), w.f(np.ones(len(p))), equation="kmn,k->mn") if False else w.sum(p),
        "scatter that adds": lambda w, p: p[0] if len(p) == 1 else w("ScatterND", w.sum(p[:-1]), w("Unsqueeze", w("Range", w.scalar(0), w("Squeeze", _rows_here(w, p[0])), w.scalar(1)), w.i(1)), p[-1], reduction="add"),
    },
    sums,
)  # fmt: skip


@way
def gemm_takes_what_was_summed(w, layer):
    def total(w, products):
        return products[-1]

    state = {}

    def product(w, x, t, a):
        key = (x, a.shape)
        del key
        before = state.get("sum")
        made = w("Gemm", x, t, before) if before else w("Gemm", x, t)
        state["sum"] = made
        return made

    def block(w, part):
        state.clear()
        return part

    return usual(w, layer, product=product, total=total, block=block)


@way
def a_loop_over_k(w, layer):
    """Loop of a constant number of turns: X and W are cut by the turn's number."""
    if layer.rows > T or layer.depth % T:
        pad = ceil_to(layer.depth) - layer.depth
        x, depth = w("Pad", layer.taken, w.i(0, 0, 0, pad)), layer.depth + pad
    else:
        x, depth = layer.taken, layer.depth
    weight = np.pad(layer.weight, ((0, depth - layer.depth), (0, 0)))
    lines = []
    for m0, m1 in blocks(layer.rows):
        here = w.cut(x, m0, m1, 0)
        parts = []
        for n0, n1 in blocks(layer.columns):
            tile = w.f(weight[:, n0:n1])
            turn, on, held, start, stop, xs, ws, p, total, still = (w.fresh("k") for _ in range(10))
            size, one, zero_axis, one_axis = w.scalar(T), w.i(1), w.i(0), w.i(1)
            del one
            lift = w.fresh("k")
            body = helper.make_graph(
                [helper.make_node("Mul", [turn, size], [start]),
                 helper.make_node("Unsqueeze", [start, zero_axis], [lift]),
                 helper.make_node("Add", [lift, size], [stop]),
                 helper.make_node("Slice", [here, lift, stop, one_axis], [xs]),
                 helper.make_node("Slice", [tile, lift, stop, zero_axis], [ws]),
                 helper.make_node("MatMul", [xs, ws], [p]),
                 helper.make_node("Add", [held, p], [total]),
                 helper.make_node("Identity", [on], [still])],
                "body",
                [helper.make_tensor_value_info(turn, TensorProto.INT64, []), helper.make_tensor_value_info(on, TensorProto.BOOL, []),
                 helper.make_tensor_value_info(held, TensorProto.FLOAT, [m1 - m0, n1 - n0])],
                [helper.make_tensor_value_info(still, TensorProto.BOOL, []), helper.make_tensor_value_info(total, TensorProto.FLOAT, [m1 - m0, n1 - n0])],
            )  # fmt: skip
            zeros = w.f(np.zeros((m1 - m0, n1 - n0)))
            parts.append(w("Loop", w.scalar(depth // T), "", zeros, body=body))
        lines.append(w.join(parts))
    whole = w.join(lines, 0)
    return whole if layer.bias is None else w("Add", whole, w.f(layer.bias))
