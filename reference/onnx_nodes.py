"""The operators of an ONNX file: how many, of which types, with which attributes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from ._onnx.attributes import also_sizes, attributes, defaults, sizes_of
from ._onnx.load import load, nodes_of
from ._onnx.run import Run, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import onnx


def onnx_operator_counts(
    artifact: Path, *, operators: list[str] | None = None, constants: bool = True, nested: bool = True
) -> dict[str, int]:
    """How many nodes of each operator type an ONNX file has, in the order in which the types first appear.

    A node counts once, however often it runs. `operators` counts these types only. `constants: false` leaves out
    Constant nodes, which compute nothing. `nested: false` leaves out the nodes inside the graphs of If, Loop and Scan.
    A call of a model-local function is one node, of the function's name; what is inside a function is not counted.
    """
    found = Counter(node.op_type for node in nodes_of(load(artifact), nested=nested))
    return {
        name: count
        for name, count in found.items()
        if (constants or name != "Constant") and (operators is None or name in operators)
    }


def onnx_operator_total(artifact: Path, *, constants: bool = True, nested: bool = True) -> int:
    """How many nodes an ONNX file has. Conventions as for `onnx_operator_counts`."""
    return sum(onnx_operator_counts(artifact, constants=constants, nested=nested).values())


def onnx_operator_types(artifact: Path, *, constants: bool = True, nested: bool = True) -> int:
    """How many different types of operator an ONNX file has. Conventions as for `onnx_operator_counts`."""
    return len(onnx_operator_counts(artifact, constants=constants, nested=nested))


def onnx_node_tensors(artifact: Path, *, operators: list[str] | None = None) -> list[dict[str, Any]]:
    """The names of the tensors that each node reads and puts out, a row a node: `node`, `inputs`, `outputs`.

    Names are joined by commas. `operators` lists nodes of these types only.
    """
    nodes = nodes_of(load(artifact), nested=True)
    return [
        {
            "node": node.name or node.output[0],
            "also_named": [*node.output, node.op_type],
            "inputs": ", ".join(node.input),
            "outputs": ", ".join(node.output),
        }
        for node in nodes
        if operators is None or node.op_type in operators
    ]


def onnx_graph(artifact: Path) -> list[dict[str, Any]]:
    """What an ONNX file's graph is drawn from, a row a node: `node`, `operator`, `inputs`, `outputs`, `weights`.

    `inputs` are the names of the tensors that a node reads, also inside of its own graphs (If, Loop, Scan), without
    initializers and what Constant nodes hold; `weights` are the shapes of the initializers among them. Nodes of nested
    graphs and Constant nodes have no row.
    """
    graph = load(artifact).graph
    weights = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    constant = {name for node in graph.node if node.op_type == "Constant" for name in node.output}
    return [
        {
            "node": node.name or next(filter(None, node.output), ""),
            "operator": node.op_type,
            "inputs": [name for name in _read(node) if name and name not in weights and name not in constant],
            "outputs": [name for name in node.output if name],
            "weights": [weights[name] for name in node.input if name in weights],
        }
        for node in graph.node
        if node.op_type != "Constant"
    ]


def _read(node: onnx.NodeProto) -> list[str]:
    """What a node reads, once each; of graphs inside of it, what comes from outside."""
    names = list(node.input)
    for attribute in node.attribute:
        for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            own = {tensor.name for tensor in (*graph.input, *graph.initializer)}
            own |= {name for inner in graph.node for name in inner.output}
            names += [name for inner in graph.node for name in _read(inner) if name not in own]
    return list(dict.fromkeys(names))


def onnx_attributes(
    artifact: Path,
    *,
    input_shape: list[int] | list[list[int]] | None = None,
    inputs: list[str] | None = None,
    operators: list[str] | None = None,
    of: Literal["input", "output"] = "input",
    sizes: bool = True,
    constants: bool = True,
) -> list[dict[str, Any]]:
    """The attributes of each node of an ONNX file, a row a node, in the file's order; nested graphs' nodes, too.

    A row holds `node` (its name, or that of its first output), `operator`, and the attributes that the file gives,
    under their ONNX names: whole numbers, lists of them, texts, and floats to the 7 digits that a float32 holds.
    Tensors and graphs are left out. For convolutions and pooling there are also `channel`, `height` and `width`: those
    of the tensor that the node reads or, with `of: output`, of the tensor that it puts out; not in a graph that never
    runs, and not with `sizes: false`. `operators` lists nodes of these types only; `constants: false` leaves out
    Constant nodes.

    Raises:
        ValueError: the shape of such a tensor is unknown; names it.
    """
    done = run(artifact, input_shape, inputs) if sizes else Run(load(artifact))
    found, further = sizes_of(done, of), also_sizes(done)
    rows = []
    count: Counter[str] = Counter()
    for index, node in enumerate(nodes_of(done.model, nested=True)):
        kind = node.op_type
        if (operators is None or kind in operators) and (constants or kind != "Constant"):
            names = [node.name, *node.output, f"{kind}_{index}", f"{kind}_{count[kind]}", kind]
            own = next(filter(None, names))
            others = [name for name in dict.fromkeys(names) if name not in ("", own)]
            also = defaults(node) | further.get(id(node), {})
            row = {"node": own, "operator": kind, "also_named": others, "also_right": also}
            rows.append({**row, **attributes(node), **found.get(id(node), {})})
        count[kind] += 1
    return rows


# What stands between the layers of LeNet, and has no part in what makes it one.
_UNWEIGHTED = frozenset(
    (
        "Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "Softmax", "LogSoftmax", "Dropout", "Identity", "Cast",
        "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Pad", "Add", "Mul", "Div", "Constant",
        "Shape", "Gather", "Concat",
    )
)  # fmt: skip
_CHANNELS = {(6, 16): "LeNet-5", (20, 50): "Caffe's LeNet"}  # of its two convolutions


def onnx_lenet(artifact: Path) -> list[dict[str, Any]]:
    """What shows that an ONNX file is LeNet: a row with `says` and `certain`; none where it is another network.

    LeNet is a convolution of 5x5, a pool, a second of both, and two or three layers that are dense or convolutions of
    what is left; nothing else with weights. LeNet-5 and Caffe's LeNet are known by their channels, the LeNet of
    tutorials on ONNX by its convolutions of 7x7 and 1x1. None is `certain`: whether it may be handed in a person says.
    """
    layers = list(_layers(load(artifact)))
    kinds = [kind for kind, _ in layers]
    rest = kinds[4:]
    alike = kinds[:4] == ["5x5", "pool", "5x5", "pool"] and len(rest) in (2, 3) and not {"pool", "other"} & set(rest)
    if not alike:
        return []
    channels = layers[0][1], layers[2][1]
    name = "the LeNet of the tutorials" if rest[:2] == ["7x7", "1x1"] else _CHANNELS.get(channels, "")
    says = f"{', '.join(kinds)}: these are the layers of {name or 'LeNet, in other sizes'}"
    return [{"says": says, "certain": False}]


def _layers(model: onnx.ModelProto) -> Iterator[tuple[str, int]]:
    """Each layer: `5x5` (a convolution's kernel), `dense`, `pool` or `other`; its channels, or 0."""
    weights = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    for node in model.graph.node:
        sizes = next((weights[name] for name in node.input[1:] if len(weights.get(name, ())) > 1), [0, 0])
        if node.op_type == "Conv":
            yield "x".join(map(str, sizes[2:])), sizes[0]
        elif node.op_type in ("Gemm", "MatMul"):
            yield "dense", 0
        elif node.op_type in ("MaxPool", "AveragePool"):
            yield "pool", 0
        elif node.op_type not in _UNWEIGHTED:
            yield "other", 0
