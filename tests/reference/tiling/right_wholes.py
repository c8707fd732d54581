"""More right ways: how blocks are put together, biases, what lies between layers, and how the rest is written."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.reference.tiling.right_ways import WAYS, several, way, whole_way
from tests.reference.tiling.tilings import BIASES, INPUTS, PRODUCTS, SUMS, WEIGHTS, Way, tiled
from tests.reference.tiling.written import T, Writer, blocks, layers_of, usual

for word, options in {"weights": WEIGHTS, "inputs": INPUTS, "product": PRODUCTS, "total": SUMS, "bias": BIASES}.items():
    for option in options:
        WAYS[f"tiled {word} {option}"] = lambda original, word=word, option=option: tiled(
            original, Way(**{word: option})
        )
for word in ("pad_columns", "pad_rows", "pad_depth"):
    WAYS[f"tiled {word}"] = lambda original, word=word: tiled(original, Way(**{word: True}))
for limit in (17, 32, 63):
    WAYS[f"tiles of {limit}"] = lambda original, limit=limit: tiled(original, Way(limit=limit, rows=limit))


# ---- how blocks of columns are put together -------------------------------------------------------------------------


def joins(w, layer, how):
    return usual(w, layer, join=lambda w, parts, columns: how(w, parts, columns))


def _spans(parts, columns):
    return [(part, *span) for part, span in zip(parts, blocks(columns), strict=True)]


def _rows(w, part):
    return w("Slice", w("Shape", part), w.i(0), w.i(1))


def _zeros(w, part, columns):
    return w("ConstantOfShape", w("Concat", _rows(w, part), w.i(columns), axis=0))


def _scatter_columns(w, parts, columns):
    """Transposed, so that blocks of columns are rows that ScatterND takes."""
    y = w("Transpose", _zeros(w, parts[0], columns))
    for part, n0, n1 in _spans(parts, columns):
        y = w("ScatterND", y, w.const(np.arange(n0, n1)[:, None]), w("Transpose", part))
    return w("Transpose", y, perm=[1, 0])


def _scatter_elements(w, parts, columns):
    y = _zeros(w, parts[0], columns)
    for part, n0, n1 in _spans(parts, columns):
        index = w("Expand", w.const(np.arange(n0, n1)[None]), w("Shape", part))
        y = w("ScatterElements", y, index, part, axis=1)
    return y


def _added_in_place(w, parts, columns):
    """y[:, n0:n1] += part, as slices and a Concat."""
    y = _zeros(w, parts[0], columns)
    for part, n0, n1 in _spans(parts, columns):
        pieces = [w.cut(y, 0, n0)] if n0 else []
        pieces.append(w("Add", w.cut(y, n0, n1), part))
        pieces += [w.cut(y, n1, columns)] if n1 < columns else []
        y = w.join(pieces)
    return y


def _padded(w, parts, columns):
    return w.sum([w("Pad", part, w.i(0, n0, 0, columns - n1)) for part, n0, n1 in _spans(parts, columns)])


def _masked(w, parts, columns):
    whole = w.join(parts)
    mask = np.arange(columns) < T
    return w("Add", w("Where", w.const(mask), whole, w.f(0.0)), w("Where", w.const(~mask), whole, w.f(0.0)))


def _masked_by_factors(w, parts, columns):
    whole = w.join(parts)
    mask = (np.arange(columns) < T).astype(np.float32)
    return w("Add", w("Mul", whole, w.f(mask)), w("Mul", w.f(1 - mask), whole))


def _in_sequence(w, parts, columns):
    held = w("SequenceEmpty")
    for part in parts:
        held = w("SequenceInsert", held, part)
    return w("ConcatFromSequence", held, axis=1)


several(
    {
        "concat": lambda w, parts, n: w.join(parts),
        "concat of pairs": lambda w, parts, n: w.join([w.join(parts[i : i + 2]) for i in range(0, len(parts), 2)]),
        "concat of transposed": lambda w, parts, n: w("Transpose", w.join([w("Transpose", p) for p in parts], 0)),
        "scatter of columns": _scatter_columns,
        "scatter elements": _scatter_elements,
        "added in place": _added_in_place,
        "growing from no columns": lambda w, parts, n: w.join([w("Concat", w("ConstantOfShape", w("Concat", w("Slice", w("Shape", parts[0]), w.i(0), w.i(1)), w.i(0), axis=0)), parts[0], axis=1), *parts[1:]]),
        "padded and added": _padded,
        "where masks": _masked,
        "factors of a mask": _masked_by_factors,
        "sequence": _in_sequence,
        "from behind and gathered": lambda w, parts, n: w("Gather", w.join(parts[::-1]), w.i(*(
            i for a, b in blocks(n) for i in range(sum(d - c for c, d in blocks(n) if c > a), sum(d - c for c, d in blocks(n) if c > a) + b - a))), axis=1),
        "split and joined again": lambda w, parts, n: w("Concat", *w("Split", w.join(parts), w.i(3, n - 3), outputs=2, axis=1), axis=-1),
        "in three dimensions": lambda w, parts, n: w("Squeeze", w.join([w("Unsqueeze", p, w.i(0)) for p in parts], 2), w.i(0)),
        "flattened by Shape, Gather and Concat": lambda w, parts, n: w("Reshape", w.join(parts), w(
            "Concat", w("Unsqueeze", w("Gather", w("Shape", parts[0]), w.scalar(0), axis=0), w.i(0)), w.i(-1), axis=0)),
        "identity moves": lambda w, parts, n: w("Transpose", w("Transpose", w("Reshape", w("Flatten", w.join(parts)), w.i(0, -1)))),
    },
    joins,
)  # fmt: skip


# ---- biases ---------------------------------------------------------------------------------------------------------


def biases(w, layer, how):
    return usual(w, layer, bias=lambda w, whole, layer: how(w, whole, layer.bias, layer))


several(
    {
        "added": lambda w, y, b, at: w("Add", y, w.f(b)),
        "added from the left": lambda w, y, b, at: w("Add", w.f(b[None]), y),
        "as a sum": lambda w, y, b, at: w("Sum", y, w.f(b / 2), w.f(b / 2)),
        "subtracted": lambda w, y, b, at: w("Sub", y, w.f(-b)),
        "expanded": lambda w, y, b, at: w("Add", y, w("Expand", w.f(b), w("Shape", y))),
        "tiled": lambda w, y, b, at: w("Add", y, w("Tile", w.f(b[None]), w.i(at.rows, 1))),
        "a matrix": lambda w, y, b, at: w("Add", y, w.f(np.tile(b, (at.rows, 1)))),
        "behind a Reshape": lambda w, y, b, at: w("Reshape", w("Add", w("Reshape", y, w.i(at.rows, at.columns, 1)), w.f(b[:, None])), w.i(at.rows, -1)),
        "behind a Slice": lambda w, y, b, at: w("Add", w.cut(y, 0, at.columns), w.f(b)),
        "behind a Cast": lambda w, y, b, at: w("Add", w("Cast", y, to=TensorProto.FLOAT), w.f(b)),
        "to the transposed": lambda w, y, b, at: w("Transpose", w("Add", w("Transpose", y), w.f(b[:, None]))),
        "by slices": lambda w, y, b, at: w.join([w("Add", w.cut(y, n0, n1), w.f(b[n0:n1])) for n0, n1 in blocks(at.columns)]),
        "from one vector cut": lambda w, y, b, at: w.join([
            w("Add", w.cut(y, n0, n1), w.cut(w.f(b), n0, n1, 0)) for n0, n1 in blocks(at.columns)]),
        "product of ones": lambda w, y, b, at: w.join([w("Add", p, q) for p, q in zip(
            [w.cut(y, n0, n1) for n0, n1 in blocks(at.columns)],
            [w("Expand", w.f(b[None, n0:n1]), w.i(at.rows, n1 - n0)) for n0, n1 in blocks(at.columns)], strict=True)]),
        "plus zero": lambda w, y, b, at: w("Add", w("Add", y, w.f(b)), w.f(0.0)),
        "in thirds": lambda w, y, b, at: w("Add", w("Add", w("Add", y, w.f(b / 3)), w.f(b / 3)), w.f(b / 3)),
        "cast from double": lambda w, y, b, at: w("Add", y, w("Cast", w.const(b.astype(np.float64)), to=TensorProto.FLOAT)),
    },
    biases,
)  # fmt: skip


@way
def bias_by_a_column_of_ones(w, layer):
    if layer.bias is None:
        return usual(w, layer)
    x = w("Concat", layer.taken, w.f(np.ones((layer.rows, 1))), axis=1)
    weight = np.concatenate([layer.weight, layer.bias[None]])
    return usual(w, type(layer)(layer.name, x, layer.made, weight, None, layer.rows))


@way
def bias_in_the_first_gemm(w, layer):
    parts = []
    for n0, n1 in blocks(layer.columns):
        lines = []
        for m0, m1 in blocks(layer.rows):
            x = w.cut(layer.taken, m0, m1, 0)
            bias = [] if layer.bias is None else [w.f(layer.bias[n0:n1] * 2)]
            made = [
                w("Gemm", w.cut(x, k0, k1), w.f(layer.weight[k0:k1, n0:n1]), *(bias if not k0 else []), beta=0.5)
                for k0, k1 in blocks(layer.depth)
            ]
            lines.append(w.chain(made))
        parts.append(w.join(lines, 0))
    return w.join(parts)


@way
def bias_expanded_in_each_gemm(w, layer):
    """torch's addmm with an expanded bias."""
    parts = []
    for n0, n1 in blocks(layer.columns):
        lines = []
        for m0, m1 in blocks(layer.rows):
            x = w.cut(layer.taken, m0, m1, 0)
            held = w(
                "Expand", w.f(np.zeros(1) if layer.bias is None else layer.bias[None, n0:n1]), w.i(m1 - m0, n1 - n0)
            )
            for k0, k1 in blocks(layer.depth):
                held = w("Gemm", w.cut(x, k0, k1), w.f(layer.weight[k0:k1, n0:n1]), held, alpha=1.0, beta=1.0)
            lines.append(held)
        parts.append(w.join(lines, 0))
    return w.join(parts)


@way
def bias_with_each_block(w, layer):
    return usual(w, layer, bias="block")


@way
def bias_as_third_input_of_the_custom_operator(w, layer):
    def product(w, x, t, a):
        return w("2DMM_64x64x64", x, t, domain="hw")

    if layer.bias is None:
        return usual(w, layer, product=product)
    parts = []
    for n0, n1 in blocks(layer.columns):
        lines = []
        for m0, m1 in blocks(layer.rows):
            x = w.cut(layer.taken, m0, m1, 0)
            made = [
                w("2DMM_64x64x64", w.cut(x, k0, k1), w.f(layer.weight[k0:k1, n0:n1]),
                  *([w.f(layer.bias[n0:n1])] if not k0 else []), domain="hw")
                for k0, k1 in blocks(layer.depth)
            ]  # fmt: skip
            lines.append(w.sum(made))
        parts.append(w.join(lines, 0))
    return w.join(parts)


# ---- between the layers ---------------------------------------------------------------------------------------------


def _with_relus(original, relu, behind=None):
    """The usual tiling, every Relu written otherwise, or those that take one of some tensors."""
    writer = Writer(original)
    model = writer.model(usual)
    nodes = list(model.graph.node)
    del model.graph.node[:]
    for node in nodes:
        if node.op_type != "Relu" or (behind is not None and node.input[0] not in behind):
            model.graph.node.append(node)
            continue
        inner = Writer(original)
        inner.count = 10_000 + len(model.graph.node) * 10
        made = relu(inner, node.input[0])
        model.graph.node.extend(inner.nodes)
        model.graph.initializer.extend(inner.weights)
        if "ai.onnx" in inner.imports:
            del model.opset_import[:]
            model.opset_import.append(helper.make_opsetid("ai.onnx", inner.opset))
        model.graph.node.append(
            helper.make_node("Identity", [made], [node.output[0]], name=f"relu_of_{node.output[0]}")
        )
    return model


RELUS = {
    "max with zero": lambda w, x: w("Max", x, w.f(0.0)),
    "zero max with": lambda w, x: w("Max", w.f([0.0]), x),
    "clip from zero": lambda w, x: w("Clip", x, w.f(0.0)),
    "clip to infinity": lambda w, x: w("Clip", x, w.f(0.0), w.f(np.inf)),
    "what is below filled": lambda w, x: w("Where", w("Cast", w("Less", x, w.f(0.0)), to=9), w.f(0.0), x),
    "times one where above": lambda w, x: w("Mul", w("Where", w("Less", x, w.f(0.0)), w.f(0.0), w.f(1.0)), x),
    "without what a Clip leaves": lambda w, x: w("Sub", x, w("Clip", x, "", w.f(0.0))),
    "leaky by nothing": lambda w, x: w("LeakyRelu", x, alpha=0.0),
    "prelu by nothing": lambda w, x: w("PRelu", x, w.f([0.0])),
    "thresholded": lambda w, x: w("ThresholdedRelu", x, alpha=0.0),
    "twice": lambda w, x: w("Relu", w("Relu", x)),
    "where above zero": lambda w, x: w("Where", w("Greater", x, w.f(0.0)), x, w.f(0.0)),
    "where not below zero": lambda w, x: w("Where", w("Not", w("Less", x, w.f([0.0]))), x, w.f(0.0)),
    "zero where at most zero": lambda w, x: w("Where", w("LessOrEqual", x, w.f(0.0)), w.f(0.0), x),
    "where zero is below": lambda w, x: w("Where", w("Less", w.f(0.0), x), x, w.f([[0.0]])),
    "times where above zero": lambda w, x: w("Mul", x, w("Cast", w("Greater", x, w.f(0.0)), to=TensorProto.FLOAT)),
    "where at least zero, times": lambda w, x: w("Mul", w("Cast", w("GreaterOrEqual", x, w.f(0.0)), to=TensorProto.FLOAT), x),
    "half of it and its size": lambda w, x: w("Div", w("Add", x, w("Abs", x)), w.f(2.0)),
    "half of its size and it": lambda w, x: w("Mul", w.f(0.5), w("Add", w("Abs", x), x)),
    "without the less of it and zero": lambda w, x: w("Sub", x, w("Min", x, w.f(0.0))),
    "between casts": lambda w, x: w("Cast", w("Relu", w("Cast", x, to=TensorProto.FLOAT)), to=TensorProto.FLOAT),
    "of what zero was added to": lambda w, x: w("Relu", w("Add", x, w.f(0.0))),
    "in another shape": lambda w, x: w("Reshape", w("Relu", w("Reshape", x, w.i(-1))), w("Shape", x)),
    "ai.onnx": lambda w, x: w("Relu", x, domain="ai.onnx"),
    "if chosen always": lambda w, x: w(
        "If", w.const(np.asarray(True)),
        then_branch=helper.make_graph([helper.make_node("Relu", [x], [f"{x}_then"])], "t", [], [helper.make_tensor_value_info(f"{x}_then", 1, None)]),
        else_branch=helper.make_graph([helper.make_node("Identity", [x], [f"{x}_else"])], "e", [], [helper.make_tensor_value_info(f"{x}_else", 1, None)])),
    "in both branches": lambda w, x: w(
        "If", w("Greater", w("ReduceMax", x, keepdims=0), w.f(0.0)),
        then_branch=helper.make_graph([helper.make_node("Relu", [x], [f"{x}_then"])], "t", [], [helper.make_tensor_value_info(f"{x}_then", 1, None)]),
        else_branch=helper.make_graph([helper.make_node("Relu", [x], [f"{x}_else"])], "e", [], [helper.make_tensor_value_info(f"{x}_else", 1, None)])),
}  # fmt: skip
for word, relu in RELUS.items():
    WAYS[f"relu {word}"] = lambda original, relu=relu: _with_relus(original, relu)

# Those behind the tiled layers alone: convolutions have no business with the tiling.
RELUS_OF_LAYERS = {
    "of a third, three times": lambda w, x: w("Mul", w("Relu", w("Div", x, w.f(3.0))), w.f(3.0)),
    "of the double, halved": lambda w, x: w("Div", w("Relu", w("Add", x, x)), w.f(2.0)),
    "of the negative, added": lambda w, x: w("Add", x, w("Relu", w("Neg", x))),
    "half of it and half of its size": lambda w, x: w("Add", w("Mul", x, w.f(0.5)), w("Mul", w("Abs", x), w.f(0.5))),
    "below a mean of one": lambda w, x: w("Squeeze", w("AveragePool", w("Unsqueeze", w("Relu", x), w.i(1)), kernel_shape=[1]), w.i(1)),
    "like itself": lambda w, x: w("CastLike", w("Relu", x), x),
    "above all that is less": lambda w, x: w("Max", w("Relu", x), w.f(-np.inf)),
}  # fmt: skip
for word, relu in RELUS_OF_LAYERS.items():
    WAYS[f"relu {word}"] = lambda original, relu=relu: _with_relus(
        original, relu, {layer.made for layer in layers_of(original)[0].values()}
    )


def _blocks_between(original, relu_at, join_before):
    """Blocks of columns that stay apart: bias and ReLU by block, and the next layer takes them as its parts of X."""
    w = Writer(original)
    found, gone = layers_of(original)
    held = {}  # a tensor of the original: its blocks of columns
    used = set()
    for index, node in enumerate(original.graph.node):
        if index in gone:
            continue
        if index in found:
            layer = found[index]
            xs = held.get(layer.taken)
            parts = []
            for n0, n1 in blocks(layer.columns):
                lines = []
                for m0, m1 in blocks(layer.rows):
                    made = []
                    for at, (k0, k1) in enumerate(blocks(layer.depth)):
                        x = w.cut(layer.taken, k0, k1) if xs is None else xs[at]
                        made.append(w("MatMul", w.cut(x, m0, m1, 0), w.f(layer.weight[k0:k1, n0:n1])))
                    lines.append(w.sum(made))
                part = w.join(lines, 0)
                parts.append(part if layer.bias is None else w("Add", part, w.f(layer.bias[n0:n1])))
            held[layer.made] = parts
            users = [n for n in original.graph.node if layer.made in n.input]
            if not users:
                w.nodes.append(helper.make_node("Identity", [w.join(parts)], [layer.made], name="last"))
        elif node.op_type == "Relu" and node.input[0] in held:
            parts = [w("Relu", part) for part in held[node.input[0]]]
            if join_before:
                whole = w.join(parts)
                parts = [w.cut(whole, a, b) for a, b in blocks(sum(b - a for a, b in blocks_of(w, original, node)))]
            held[node.output[0]] = parts
        else:
            w.nodes.append(node)
            used.update(node.input)
    del relu_at
    return w.finish(used)


def blocks_of(w, original, node):
    del w
    layer = next(each for each in layers_of(original)[0].values() if each.made == node.input[0])
    return blocks(layer.columns)


@whole_way
def blocks_stay_apart(original):
    return _blocks_between(original, None, join_before=False)


@whole_way
def relu_for_each_block_before_the_concat(original):
    return _blocks_between(original, None, join_before=True)


# ---- the rest of the network and the file ---------------------------------------------------------------------------


def rest(name):
    def register(change):
        def build(original):
            model = Writer(original).model(usual)
            return change(model) or model

        WAYS[f"rest {name}"] = build
        return change

    return register


@rest("conv without kernel_shape")
def _no_kernel(model):
    for node in model.graph.node:
        if node.op_type == "Conv":
            kept = [a for a in node.attribute if a.name != "kernel_shape"]
            del node.attribute[:]
            node.attribute.extend(kept)


@rest("conv with SAME_UPPER")
def _same(model):
    for node in model.graph.node:
        if node.op_type == "Conv":
            kept = [a for a in node.attribute if a.name != "pads"]
            del node.attribute[:]
            node.attribute.extend([*kept, helper.make_attribute("auto_pad", "SAME_UPPER")])


@rest("flatten as reshape")
def _flatten(model):
    for node in model.graph.node:
        if node.op_type == "Flatten":
            node.op_type = "Reshape"
            del node.attribute[:]
            node.input.append("to")
            model.graph.initializer.append(numpy_helper.from_array(np.asarray([0, -1], np.int64), "to"))


@rest("weights are inputs, too")
def _inputs(model):
    model.ir_version = 4
    for weight in model.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims))


@rest("weights as Constant nodes")
def _constants(model):
    nodes = [
        helper.make_node("Constant", [], [w.name], name=f"hold_{w.name}", value=w) for w in model.graph.initializer
    ]
    kept = list(model.graph.node)
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.node.extend([*nodes, *kept])


def _sparse(model, first=0):
    """The weights with what is not zero, from the first or a later one on."""
    found = []
    for tensor in [w for w in model.graph.initializer if w.data_type == TensorProto.FLOAT and w.dims]:
        array = numpy_helper.to_array(tensor)
        places = np.flatnonzero(array)[first:].astype(np.int64)
        values = numpy_helper.from_array(array.reshape(-1)[places], tensor.name)
        found.append(
            helper.make_sparse_tensor(values, numpy_helper.from_array(places, f"{tensor.name} at"), array.shape)
        )
        model.graph.initializer.remove(tensor)
    return found


@rest("sparse weights")
def _sparse_weights(model):
    model.graph.sparse_initializer.extend(_sparse(model))


@rest("sparse Constants")
def _sparse_constants(model):
    nodes = [helper.make_node("Constant", [], [each.values.name], sparse_value=each) for each in _sparse(model)]
    nodes += model.graph.node
    del model.graph.node[:]
    model.graph.node.extend(nodes)


@rest("a batch with a name")
def _batch(model):
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"


@rest("doc strings and other names")
def _names(model):
    renamed = {
        name: f"tensor/{name}"
        for node in model.graph.node
        for name in node.output
        if name != model.graph.output[0].name
    }
    for node in model.graph.node:
        node.doc_string = "9 0 16384"
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]


@rest("an input by another name")
def _input(model):
    old = model.graph.input[0].name
    model.graph.input[0].name = "images"
    for node in model.graph.node:
        node.input[:] = ["images" if name == old else name for name in node.input]


@rest("shapes inferred")
def _inferred(model):
    return onnx.shape_inference.infer_shapes(model)


@rest("identities everywhere")
def _identities(model):
    nodes = list(model.graph.node)
    del model.graph.node[:]
    outputs = {o.name for o in model.graph.output}
    renamed = {}
    for node in nodes:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        model.graph.node.append(node)
        for name in node.output:
            if name not in outputs:
                renamed[name] = f"{name}_again"
                model.graph.node.append(helper.make_node("Identity", [name], [renamed[name]], name=f"again_{name}"))


@rest("a dead node that is no product")
def _dead(model):
    model.graph.node.append(helper.make_node("Relu", [model.graph.input[0].name], ["nobody"], name="dead"))


@rest("functions for the rest")
def _functions(model):
    if any(node.op_type == "Relu" for node in model.graph.node):
        body = [helper.make_node("Relu", ["A"], ["B"])]
        imports = [helper.make_opsetid("", model.opset_import[0].version)]
        model.functions.append(helper.make_function("net", "Activation", ["A"], ["B"], body, imports))
        model.opset_import.append(helper.make_opsetid("net", 1))
        for node in model.graph.node:
            if node.op_type == "Relu":
                node.op_type, node.domain = "Activation", "net"


def _opset(version):
    def build(original):
        return Writer(original, version).model(usual)

    return build


for version in (13, 14, 18, 20, 21):
    WAYS[f"opset {version}"] = _opset(version)
