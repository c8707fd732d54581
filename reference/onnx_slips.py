"""Wrong values on purpose: what is handed in for ONNX files, and how it comes about."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from ._onnx.attributes import floats_of
from ._onnx.load import load, nodes_of
from ._onnx.naive import has_open_input, sizes_by_inference
from ._onnx.run import run
from .onnx_memory import onnx_activation_bytes, onnx_node_inputs, onnx_tensors, onnx_traffic_bytes
from .onnx_nodes import onnx_attributes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ._onnx.tensors import Tensor

_MIB, _MB = 2**20, 10**6
_FLOAT32 = 4


def onnx_attributes_floats_as_zero(
    artifact: Path, *, operators: list[str] | None = None
) -> list[dict[str, Any]] | None:
    """The attributes with every float as 0, and without the sizes of images; None where no attribute is a float.

    Comes of reading `attribute.i` whatever the attribute's type is.

    Slip of: onnx_attributes
    Hint: Float attributes are left out, or 0. Read the field that the attribute's type names: f for FLOAT, i for INT,
    ints for INTS; onnx.helper.get_attribute_value does so.
    Credit: 0.5
    """
    floats = floats_of(load(artifact))
    rows = onnx_attributes(artifact, operators=operators, sizes=False)
    if not any((row["node"], key) in floats for row in rows for key in row):
        return None
    return [{key: 0 if (row["node"], key) in floats else value for key, value in row.items()} for row in rows]


def onnx_operator_counts_inlined(artifact: Path) -> dict[str, int]:
    """The operators with the nodes of model-local functions in place of their calls.

    Comes of inlining functions before counting.

    Slip of: onnx_operator_counts
    Hint: The nodes inside a model-local function are counted. A call of it is one operator, of the function's name.
    Credit: 0.5
    """
    model = load(artifact)
    functions = {(each.domain, each.name): each for each in model.functions}
    found: Counter[str] = Counter()
    waiting = list(nodes_of(model, nested=True))
    while waiting:
        node = waiting.pop(0)
        function = functions.get((node.domain, node.op_type))
        if function is None:
            found[node.op_type] += 1
        else:
            waiting += function.node
    return dict(found)


def onnx_node_inputs_without_weights(
    artifact: Path, *, operators: list[str] | None = None, input_shape: list[int] | None = None
) -> list[dict[str, Any]]:
    """The tensors that nodes read without those that the file holds.

    Slip of: onnx_node_inputs
    Hint: The weights and biases are missing. They are inputs of the node, too; their shapes are in
    graph.initializer.
    Credit: 0.3
    """
    rows = onnx_tensors(artifact, input_shape=input_shape, weights=False)
    there = {row["tensor"] for row in rows}
    read = onnx_node_inputs(artifact, operators=operators, input_shape=input_shape)
    return [row for row in read if row["tensor"] in there]


def onnx_node_inputs_of_two(
    artifact: Path, *, operators: list[str] | None = None, input_shape: list[int] | None = None
) -> list[dict[str, Any]]:
    """The first two tensors that each node reads.

    Slip of: onnx_node_inputs
    Hint: Of each node two inputs are listed. A Conv has three where it has a bias: go through all of node.input.
    Credit: 0.5
    """
    wanted = {
        name
        for node in nodes_of(load(artifact), nested=True)
        if operators is None or node.op_type in operators
        for name in node.input[:2]
    }
    read = onnx_node_inputs(artifact, operators=operators, input_shape=input_shape)
    return [row for row in read if row["tensor"] in wanted]


def onnx_node_inputs_known_to_inference(
    artifact: Path, *, operators: list[str] | None = None, input_shape: list[int] | None = None
) -> list[dict[str, Any]]:
    """The tensors that nodes read, those with an open dimension with 0 in its place and no elements.

    Comes of `dim_value`, which is 0 for a dimension without a size.

    Slip of: onnx_node_inputs
    Hint: The tensors between the layers are empty: without a batch no shape is known. Set the input's batch to 1
    and run onnx.shape_inference.infer_shapes.
    Credit: 0.3
    """
    sizes = sizes_by_inference(artifact, None)
    rows = onnx_node_inputs(artifact, operators=operators, input_shape=input_shape)
    open_ones = {row["tensor"] for row in rows if not sizes.get(row["tensor"])}
    nothing = {"elements": 0, "bytes": 0}
    return [{**row, **nothing, "shape": [0, *row["shape"][1:]]} if row["tensor"] in open_ones else row for row in rows]


def onnx_traffic_first_inputs(artifact: Path, *, input_shape: list[int] | None = None) -> int:
    """The traffic with only the first input and the first output of each node.

    Comes of `node.input[0]`: weights, and the second operand of an addition, are left out.

    Slip of: onnx_traffic_bytes
    Hint: Only the first input of each node is counted (node.input[0]). Weights, and the second operand of an
    addition, move, too.
    Credit: 0.4
    """
    steps = run(artifact, input_shape).whole().steps
    firsts = [each for step in steps for each in (*step.inputs[:1], *step.outputs[:1]) if each is not None]
    return sum(each.size for each in firsts if each.kind != "constant")


def onnx_traffic_without_weights(artifact: Path, *, input_shape: list[int] | None = None) -> int:
    """The traffic of the activations alone.

    Slip of: onnx_traffic_bytes
    Hint: Weights are left out. They have to be read, too; of a node's inputs, they are those behind the first.
    Credit: 0.5
    """
    return onnx_traffic_bytes(artifact, input_shape=input_shape, policy="activations_only")


def onnx_traffic_outputs_only(artifact: Path, *, input_shape: list[int] | None = None) -> int:
    """The graph's input and what nodes put out, each once: what nodes read is left out, weights too.

    Slip of: onnx_traffic_bytes
    Hint: This is the model's input and what nodes write. What nodes read is missing: weights, and each activation
    again.
    Credit: 0.4
    """
    done = run(artifact, input_shape).whole()
    return sum(each.size for each in done.inputs) + _written(artifact, input_shape, lambda each: each.size)


def onnx_traffic_elements(artifact: Path, *, input_shape: list[int] | None = None) -> int:
    """The elements that move, given as bytes.

    Slip of: onnx_traffic_bytes
    Hint: This is the number of elements. Multiply it by the bytes of their type: four for float32.
    Credit: 0.4
    """
    return _moved(artifact, input_shape, lambda each: math.prod(each.shaped()))


def onnx_traffic_bits(artifact: Path, *, input_shape: list[int] | None = None) -> int:
    """The bits that move, given as bytes.

    Slip of: onnx_traffic_bytes
    Hint: This is the size in bits. A byte has eight.
    Credit: 0.5
    """
    return 8 * onnx_traffic_bytes(artifact, input_shape=input_shape)


def onnx_traffic_mib_as_mb(artifact: Path, *, input_shape: list[int] | None = None) -> float:
    """Mebibytes, printed as megabytes: bytes / 2**20, read as units of 10**6 bytes.

    Slip of: onnx_traffic_bytes
    Hint: The figure is in MiB (divided by 1,048,576), but MB is written behind it.
    Credit: 0.8
    """
    return onnx_traffic_bytes(artifact, input_shape=input_shape) / _MIB * _MB


def onnx_traffic_all_float32(artifact: Path, *, input_shape: list[int] | None = None) -> int:
    """The traffic with four bytes an element, whatever its type.

    Slip of: onnx_traffic_bytes
    Hint: Every element counts four bytes. float16 has two, int8 one, int64 eight; read the tensor's type.
    Credit: 0.5
    """
    return _moved(artifact, input_shape, lambda each: _FLOAT32 * math.prod(each.shaped()))


def onnx_traffic_scalars_free(artifact: Path, *, input_shape: list[int] | None = None) -> int:
    """The traffic without tensors of no dimensions, which have one element.

    Comes of multiplying up an empty shape from 0.

    Slip of: onnx_traffic_bytes
    Hint: A tensor without dimensions counts nothing. It has one element.
    Credit: 0.8
    """
    return _moved(artifact, input_shape, lambda each: each.size if each.shaped() else 0)


def onnx_traffic_divided_by_batch(artifact: Path, *, input_shape: list[int] | None = None) -> int | None:
    """The traffic with 1 for the batch that the file gives; None where it gives none, or 1.

    Comes of setting every input's first dimension to 1, whatever it was.

    Slip of: onnx_traffic_bytes
    Hint: The batch that the file gives is taken for 1. Only a dimension without a size counts as 1.
    Credit: 0.6
    """
    sizes = _sizes_of_one(artifact, input_shape)
    return None if sizes is None else _moved(artifact, input_shape, lambda each: sizes.get(each.name, 0))


def onnx_traffic_unknown_as_zero(
    artifact: Path, *, input_shape: list[int] | None = None, batch_set: bool = False
) -> int | None:
    """The traffic with nothing for a tensor whose shape onnx's own inference leaves open.

    Comes of `dim_value`, which is 0 for a dimension without a size. With `batch_set` the input's size was set first,
    and only what inference can't follow (Reshape behind Shape, Gather, Concat) is missing. None without it where the
    file gives the size of its inputs: nobody can have forgotten to set one there.

    Slip of: onnx_traffic_bytes
    Hint: Tensors of unknown shape count nothing. Where the batch has no size, dim_value is 0: set the input's batch
    to 1, then infer shapes again.
    Credit: 0.3
    """
    if not (batch_set or has_open_input(artifact)):
        return None
    sizes = sizes_by_inference(artifact, input_shape if batch_set else None)
    return _moved(artifact, input_shape, lambda each: sizes.get(each.name, 0))


def onnx_traffic_unknown_as_one(
    artifact: Path,
    *,
    input_shape: list[int] | None = None,
    batch_set: bool = False,
    constants: bool = False,
    once: bool = False,
) -> int:
    """The traffic with 1 for each dimension that onnx's own inference leaves open.

    Comes of `dim_value or 1`, which is right for the batch and wrong for what inference can't follow. With `batch_set`
    the input's size was set first, and what the file says of its outputs was dropped. `once`: each tensor moves once.

    Slip of: onnx_traffic_bytes
    Hint: A dimension that inference leaves open counts as 1. That is right for the batch, but not for a shape that
    nodes compute (Shape, Gather, Concat, Reshape), which inference does not follow. Propagate the values, or run
    the model with every output exposed.
    Credit: 0.6
    Also with: [{"constants": true}, {"batch_set": true}, {"batch_set": true, "constants": true}, {"once": true},
    {"once": true, "batch_set": true}]
    """
    sizes = sizes_by_inference(artifact, input_shape if batch_set else None, unknown=1)
    return _moved(artifact, input_shape, lambda each: sizes.get(each.name, 0), constants=constants, once=once)


def onnx_activation_elements(artifact: Path, *, input_shape: list[int] | None = None) -> int:
    """The elements of the activations, given as bytes.

    Slip of: onnx_activation_bytes
    Hint: This is the number of elements. Multiply it by the bytes of their type: four for float32.
    Credit: 0.4
    """
    return _written(artifact, input_shape, lambda each: math.prod(each.shaped()))


def onnx_activation_bits(artifact: Path, *, input_shape: list[int] | None = None) -> int:
    """The bits of the activations, given as bytes.

    Slip of: onnx_activation_bytes
    Hint: This is the size in bits. A byte has eight.
    Credit: 0.5
    """
    return 8 * onnx_activation_bytes(artifact, input_shape=input_shape)


def onnx_activation_mib_as_mb(artifact: Path, *, input_shape: list[int] | None = None) -> float:
    """Mebibytes, printed as megabytes.

    Slip of: onnx_activation_bytes
    Hint: The figure is in MiB (divided by 1,048,576), but MB is written behind it.
    Credit: 0.8
    """
    return onnx_activation_bytes(artifact, input_shape=input_shape) / _MIB * _MB


def onnx_activation_all_float32(artifact: Path, *, input_shape: list[int] | None = None) -> int:
    """The activations at four bytes an element, whatever its type.

    Slip of: onnx_activation_bytes
    Hint: Every element counts four bytes. float16 has two, int8 one, int64 eight; read the tensor's type.
    Credit: 0.5
    """
    return _written(artifact, input_shape, lambda each: _FLOAT32 * math.prod(each.shaped()))


def onnx_activation_scalars_free(artifact: Path, *, input_shape: list[int] | None = None) -> int:
    """The activations without tensors of no dimensions, which have one element.

    Slip of: onnx_activation_bytes
    Hint: A tensor without dimensions counts nothing. It has one element.
    Credit: 0.8
    """
    return _written(artifact, input_shape, lambda each: each.size if each.shaped() else 0)


def onnx_activation_divided_by_batch(artifact: Path, *, input_shape: list[int] | None = None) -> int | None:
    """The activations with 1 for the batch that the file gives; None where it gives none, or 1.

    Slip of: onnx_activation_bytes
    Hint: The batch that the file gives is taken for 1. Only a dimension without a size counts as 1.
    Credit: 0.6
    """
    sizes = _sizes_of_one(artifact, input_shape)
    return None if sizes is None else _written(artifact, input_shape, lambda each: sizes.get(each.name, 0))


def onnx_activation_unknown_as_zero(
    artifact: Path, *, input_shape: list[int] | None = None, batch_set: bool = False
) -> int | None:
    """The activations with nothing for a tensor whose shape onnx's own inference leaves open.

    As for `onnx_traffic_unknown_as_zero`, also where it is None.

    Slip of: onnx_activation_bytes
    Hint: Tensors of unknown shape count nothing. Where the batch has no size, dim_value is 0: set the input's batch
    to 1, then infer shapes again.
    Credit: 0.3
    """
    if not (batch_set or has_open_input(artifact)):
        return None
    sizes = sizes_by_inference(artifact, input_shape if batch_set else None)
    return _written(artifact, input_shape, lambda each: sizes.get(each.name, 0))


def onnx_activation_unknown_as_one(
    artifact: Path, *, input_shape: list[int] | None = None, batch_set: bool = False
) -> int:
    """The activations with 1 for each dimension that onnx's own inference leaves open.

    As for `onnx_traffic_unknown_as_one`.

    Slip of: onnx_activation_bytes
    Hint: A dimension that inference leaves open counts as 1. That is right for the batch, but not for a shape that
    nodes compute (Shape, Gather, Concat, Reshape), which inference does not follow. Propagate the values, or run
    the model with every output exposed.
    Credit: 0.6
    Also with: [{"batch_set": true}]
    """
    sizes = sizes_by_inference(artifact, input_shape if batch_set else None, unknown=1)
    return _written(artifact, input_shape, lambda each: sizes.get(each.name, 0))


def onnx_activation_largest_output(artifact: Path, *, input_shape: list[int] | None = None) -> int:
    """The largest single output of a node: what the node reads has to be kept meanwhile, too.

    Slip of: onnx_activation_bytes
    Hint: This is the largest single tensor. While it is written, what its node reads has to be kept, too.
    Credit: 0.3
    """
    steps = run(artifact, input_shape).whole().steps
    return max((each.size for step in steps for each in step.outputs), default=0)


def _sizes_of_one(artifact: Path, input_shape: list[int] | None) -> Mapping[str, int] | None:
    if has_open_input(artifact) or not input_shape or input_shape[0] == 1:
        return None
    return sizes_by_inference(artifact, [1, *input_shape[1:]])


def _moved(
    artifact: Path,
    input_shape: list[int] | None,
    size: Callable[[Tensor], int],
    *,
    constants: bool = False,
    once: bool = False,
) -> int:
    """Per node, what all inputs and outputs come to by another measure; what Constant nodes hold by choice."""
    steps = run(artifact, input_shape).whole().steps
    tensors = [each for step in steps for each in (*step.inputs, *step.outputs) if each is not None]
    if once:
        tensors = list({each.name: each for each in tensors}.values())
    written = {each.name: each for each in tensors if each.kind == "constant"}.values() if constants else ()
    return sum(size(each) for each in (*tensors, *written) if constants or each.kind != "constant")


def _written(artifact: Path, input_shape: list[int] | None, size: Callable[[Tensor], int]) -> int:
    return sum(size(each) for step in run(artifact, input_shape).whole().steps for each in step.outputs)
