"""The tensors of an ONNX file, and the bytes that they take and that running the model moves.

Sizes follow the element type: 8 bytes for int64, half a byte for packed int4, one element for a tensor of no
dimensions. Everything holds for one run of the model with an input of the subject's shape. If, Loop, Scan and calls of
model-local functions count what runs inside of them, as often as it runs, and nothing themselves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from ._onnx.load import graphs_of, load, nodes_of
from ._onnx.memory import largest_node, moved, peak_live
from ._onnx.run import constant_of, run
from ._onnx.tensors import type_name

if TYPE_CHECKING:
    from pathlib import Path

    from ._onnx.tensors import Tensor

_INT64 = 7


def onnx_tensors(
    artifact: Path,
    *,
    input_shape: list[int] | list[list[int]] | None = None,
    inputs: list[str] | None = None,
    weights: bool = True,
) -> list[dict[str, Any]]:
    """Each tensor of an ONNX file, a row a tensor: name, kind, dtype, shape and bytes.

    `kind` is `input`, `weight` (an initializer), `constant` (what a Constant node holds) or `activation` (what any
    other node puts out), in the order of the run. A loop's body has one row a tensor and iteration. `weights: false`
    lists inputs and activations only. Of a sequence the shape is a list of the shapes of its tensors.

    Raises:
        ValueError: the shape of a tensor is unknown; names it and says why.
    """
    done = run(artifact, input_shape, inputs).whole()
    seen: dict[int, Tensor] = {id(each): each for each in (*done.inputs, *done.weights)}
    for step in done.steps:
        tensors = [each for each in step.inputs if each is not None and not each.parts]
        seen |= {id(each): each for each in (*tensors, *step.outputs)}
    return [
        {
            "tensor": each.name,
            "kind": each.kind,
            "dtype": type_name(each.data_type),
            "shape": _shape(each),
            "bytes": each.size,
        }
        for each in seen.values()
        if weights or each.kind in ("input", "activation")
    ]


def _shape(tensor: Tensor) -> list[Any]:
    if tensor.items is not None or tensor.absent:
        return [list(each.shaped()) for each in tensor.items or ()]
    return list(tensor.shaped())


def _elements(tensor: Tensor) -> int:
    tensors = [tensor] if tensor.items is None else tensor.items
    return 0 if tensor.absent else sum(math.prod(each.shaped()) for each in tensors)


def onnx_node_inputs(
    artifact: Path,
    *,
    operators: list[str] | None = None,
    input_shape: list[int] | list[list[int]] | None = None,
    inputs: list[str] | None = None,
) -> list[dict[str, Any]]:
    """Each tensor that nodes of these operators read, a row a tensor: name, shape, elements and bytes.

    In the order of the nodes; a tensor that several of them read has one row.

    Raises:
        ValueError: the shape of a tensor is unknown; names it and says why.
    """
    done = run(artifact, input_shape, inputs)
    steps = [each for each in done.steps if operators is None or each.node.op_type in operators]
    read = {each.name: each for step in steps for each in step.inputs if each is not None}
    return [
        {"tensor": name, "shape": _shape(each), "elements": _elements(each), "bytes": each.size}
        for name, each in read.items()
    ]


def onnx_parameters(artifact: Path, *, integers: bool = True, constants: bool = False) -> int:
    """How many elements the initializers of an ONNX file have. An initializer that several nodes read counts once.

    Initializers in nested graphs count, too, whether they run or not; of sparse ones, the values that are there.
    `constants: true` counts what Constant nodes hold as well, those of functions once: some exporters (PaddlePaddle's,
    spox) keep all weights there. `integers: false` leaves out int64 tensors, which are shapes and indices; int8 ones
    are quantized weights, and count.
    """
    model = load(artifact)
    graphs = list(graphs_of(model))
    weights = [each for graph in graphs for each in graph.initializer]
    weights += [each.values for graph in graphs for each in graph.sparse_initializer]
    if constants:
        nodes = nodes_of(model, nested=True, functions=True)
        weights += [constant_of(node) for node in nodes if node.op_type == "Constant"]
    return sum(math.prod(each.dims) for each in weights if integers or each.data_type != _INT64)


def onnx_traffic_bytes(
    artifact: Path,
    *,
    input_shape: list[int] | list[list[int]] | None = None,
    inputs: list[str] | None = None,
    policy: Literal["per_node", "per_tensor", "activations_only"] = "per_node",
    constants: bool = False,
) -> int:
    """The bytes that running an ONNX model once moves.

    `per_node`: each node reads each of its inputs, weights included, and writes each of its outputs; a tensor that two
    inputs name is read twice. `per_tensor`: each tensor moves once, be it input, weight or activation, and however
    many nodes read it; weights that no node reads do not move. `activations_only`: as `per_node`, without weights.

    Every node that runs counts, Identity, Reshape and Shape, too: nothing is done in place. What a Constant node holds
    is not moved unless `constants` is set; it then counts where a node reads it, as a weight does.

    Raises:
        ValueError: the shape of a tensor is unknown; names it and says why.
    """
    return moved(run(artifact, input_shape, inputs).whole(), policy, constants=constants)


def onnx_activation_bytes(
    artifact: Path,
    *,
    input_shape: list[int] | list[list[int]] | None = None,
    inputs: list[str] | None = None,
    policy: Literal["sum", "peak_live", "largest_node"] = "sum",
    graph_input: bool = False,
) -> int:
    """The bytes that the activations of an ONNX model take.

    `sum`: all that nodes put out, once for each time they run; with `graph_input`, the graph's inputs, too.
    `peak_live`: the most that is alive at a time when nodes run in the file's order and nothing is done in place: a
    tensor lives from the node that makes it to the last node that reads it, the graph's input from the start, its
    outputs to the end. `largest_node`: the most that one node reads and writes, each tensor once. Weights and what
    Constant nodes hold are no activations.

    Raises:
        ValueError: the shape of a tensor is unknown; names it and says why.
    """
    done = run(artifact, input_shape, inputs).whole()
    if policy == "peak_live":
        return peak_live(done)
    if policy == "largest_node":
        return largest_node(done)
    given = sum(each.size for each in done.inputs) if graph_input else 0
    return given + sum(each.size for step in done.steps for each in step.outputs)
