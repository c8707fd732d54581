"""Slips in counting what an ONNX model moves and keeps: which tensors are seen, how often, and how large they are."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from .compose import BYTE_UNITS, Library, Part, Slip, also, first_left_out, last_left_out, times, without
from .moved import ALL, CONSTANT, GIVEN, HELD, READ, STORED, WEIGHT, WRITTEN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .compose import Factors
    from .moved import Moved

_FLOAT32, _DOUBLE, _MATRIX, _IMAGE = 4, 8, 2, 4
_LAYERS = frozenset({"Conv", "ConvTranspose", "Gemm"})
_FUNCTIONS = frozenset({"Relu", "Clip", "Sigmoid", "HardSigmoid", "HardSwish", "LeakyRelu", "Tanh", "Gelu", "Erf"})
_VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"})


def _each(factor: Callable[[Moved], int | Fraction]) -> Callable[[Sequence[Part]], Factors]:
    return times(factor, ALL)


def _out(test: Callable[[Moved], bool], *kinds: str) -> Callable[[Sequence[Part]], Factors]:
    return without(test, kinds or ALL)


def _as_bytes(size: int) -> Callable[[Moved], Fraction | int]:
    def factor(moved: Moved) -> Fraction | int:
        held = moved.tensor.size
        return Fraction(size * math.prod(moved.tensor.shaped()), held) if held else 1

    return factor


def _known(which: int) -> Callable[[Moved], Fraction | int]:
    return lambda moved: Fraction(moved.inferred[which], moved.tensor.size) if moved.tensor.size else 1


def _instead(test: Callable[[str, Moved], bool]) -> Callable[[Sequence[Part]], Factors]:
    return lambda parts: [int(test(part.kind, part.source)) - int(part.counted) for part in parts]


def _one_sample(parts: Sequence[Part]) -> Factors:
    """Divide what has the batch in front by its size."""
    batch = next((shape[0] for part in parts if part.kind == GIVEN and (shape := part.source.tensor.shaped())), 1)
    if batch <= 1:
        message = "there is no batch"
        raise ValueError(message)
    kept = (STORED, WEIGHT, CONSTANT, HELD)
    return [
        Fraction(1, batch) if part.kind not in kept and part.source.tensor.shaped()[:1] == (batch,) else 1
        for part in parts
    ]


def _largest(parts: Sequence[Part]) -> Factors:
    written = [part.count for part in parts if part.kind == WRITTEN]
    at = next((at for at, part in enumerate(parts) if part.kind == WRITTEN and part.count == max(written)), -1)
    return [int(place == at) - int(part.counted) for place, part in enumerate(parts)]


def _channels(moved: Moved) -> Fraction:
    shape = moved.tensor.shaped()
    return Fraction(1, max(shape[1], 1)) if len(shape) == _IMAGE else Fraction(1)


def _is_vector(moved: Moved) -> bool:
    return len(moved.tensor.shaped()) < _MATRIX


_SIZES: Library = {
    "elements": Slip(
        of="size of an element",
        change=_each(_as_bytes(1)),
        says="This is the number of elements. Each has four bytes here.",
    ),
    "float32": Slip(
        of="size of an element",
        change=_each(_as_bytes(_FLOAT32)),
        says="Every element counts four bytes. float16 has two, int8 one, int64 eight; read the tensor's type.",
    ),
    "double": Slip(
        of="size of an element",
        change=_each(_as_bytes(_DOUBLE)),
        says="Every element counts eight bytes. A float32 has four; read the tensor's type.",
    ),
    "scalars": Slip(
        of="left out",
        change=_out(lambda moved: not moved.tensor.shaped()),
        says="A tensor without dimensions counts nothing. It has one element.",
    ),
    "unknown": Slip(
        of="inference",
        change=_each(_known(0)),
        says="Tensors of unknown shape count nothing. Where the batch has no size, dim_value is 0: set the input's "
        "batch to 1, then infer shapes again.",
    ),
    "unknown_after_batch": Slip(
        of="inference",
        change=_each(_known(1)),
        says="Tensors of unknown shape count nothing: inference does not follow a shape that nodes compute (Shape, "
        "Gather, Concat, Reshape). Propagate the values, or run the model with every output exposed.",
    ),
    "one_sample": Slip(
        of="batch",
        change=_one_sample,
        says="Counted for one sample: the batch that the file gives is left out, or set to 1. Set it to 1 only "
        "where it has no size.",
    ),
    "channels": Slip(
        of="dimensions",
        change=_each(_channels),
        says="The channels of images are left out. Multiply all dimensions: batch, channels, height and width.",
    ),
    "graph_output": Slip(
        of="left out",
        change=_out(lambda moved: moved.ends and moved.step is not None),
        says="The model's output is left out: value_info does not list it. Look at graph.output, too.",
    ),
    "undeclared": Slip(
        of="inference",
        change=_out(lambda moved: moved.step is not None and not (moved.declared or moved.tensor.kind == "weight")),
        says="Tensors between the nodes count nothing: the file does not say their shapes. Run "
        "onnx.shape_inference.infer_shapes first.",
    ),
    "conv_gemm_alone": Slip(
        of="nodes",
        change=_out(lambda moved: moved.step is not None and moved.operator not in ("Conv", "Gemm")),
        says="Only Conv and Gemm nodes are counted. Every node of the graph counts.",
    ),
    "convolutions_alone": Slip(
        of="nodes",
        change=_out(lambda moved: moved.step is not None and moved.operator != "Conv"),
        says="Only Conv nodes are counted. Every node of the graph counts.",
    ),
    "layers_alone": Slip(
        of="nodes",
        change=_out(lambda moved: moved.step is not None and moved.operator not in ("Conv", "Gemm", "MatMul")),
        says="Only Conv and Gemm nodes are counted. Every node of the graph counts.",
    ),
    "functions": Slip(
        of="nodes",
        change=_out(lambda moved: moved.operator in _FUNCTIONS),
        says="Activation functions (Relu, Clip) are left out. In the file they are nodes, which read and write "
        "tensors.",
    ),
    "views": Slip(
        of="nodes",
        change=_out(lambda moved: moved.operator in _VIEWS),
        says="Reshape and Flatten are left out. They are nodes, and nothing is done in place here.",
    ),
    "first_node": Slip(
        of="left out", change=first_left_out, says="The first node is left out. Look at where your loop begins."
    ),
    "last_node": Slip(
        of="left out", change=last_left_out, says="The last node is left out. Look at where your loop ends."
    ),
    "sums": Slip(
        of="nodes",
        change=_out(lambda moved: moved.operator in ("Add", "Sum")),
        says="Add is left out. In the file it is a node, which reads its operands and writes their sum.",
    ),
    **BYTE_UNITS,
    "half": Slip(
        of="unit",
        change=lambda parts: [Fraction(1, 2)] * len(parts),
        says="This is half of the value: two bytes an element, as float16 has, or a division by 2. A float32 has four.",
    ),
}
TRAFFIC: Library = {
    "weights": Slip(
        of="left out",
        change=_out(lambda _: True, WEIGHT),
        says="Weights are left out. They have to be read, too; of a node's inputs, they are those behind the first.",
    ),
    "biases": Slip(
        of="left out",
        change=_out(_is_vector, WEIGHT),
        says="Biases are left out. A convolution reads its bias, too: it is the third input.",
    ),
    "writes": Slip(
        of="left out",
        change=_out(lambda _: True, WRITTEN),
        says="Only what nodes read is counted. Each node writes its outputs, too.",
    ),
    "reads": Slip(
        of="left out",
        change=_out(lambda _: True, READ),
        says="The activations that nodes read are left out. Each node reads its inputs from memory again.",
    ),
    "other_inputs": Slip(
        of="left out",
        change=_out(lambda moved: moved.at > 0, READ, WEIGHT),
        says="Only the first input of each node is counted (node.input[0]). Weights, and the second operand of an "
        "addition, move, too.",
    ),
    "other_outputs": Slip(
        of="left out",
        change=_out(lambda moved: moved.at > 0, WRITTEN),
        says="Only the first output of each node is counted (node.output[0]).",
    ),
    "model_input": Slip(
        of="left out",
        change=_out(lambda moved: moved.tensor.kind == "input", READ),
        says="The model's input is left out. The first node reads it.",
    ),
    "other_activations": Slip(
        of="left out",
        change=_out(lambda moved: moved.at > 0, READ),
        says="Of the activations that a node reads, only its first input is counted. The second operand of an addition "
        "moves, too, and all that Concat joins.",
    ),
    "layers_biases": Slip(
        of="left out",
        change=_out(lambda moved: moved.at > 1 and moved.operator in _LAYERS, READ, WEIGHT),
        says="The biases of convolutions and linear layers are left out. They are the third input of Conv and Gemm.",
    ),
    "third_inputs": Slip(
        of="left out",
        change=_out(lambda moved: moved.at > 1, READ, WEIGHT),
        says="Only the first two inputs of each node are counted. A convolution's bias is the third: go through all of "
        "node.input.",
    ),
    "weights_stored": Slip(
        of="extra",
        change=also(STORED),
        says="All initializers are added, beside the nodes that read them. Count them once.",
    ),
    "weights_twice": Slip(
        of="weights",
        change=times(lambda _: 2, (WEIGHT,)),
        says="Weights are counted twice: as inputs of their nodes, and as initializers. Count them once.",
    ),
    "writes_twice": Slip(
        of="writes",
        change=times(lambda _: 2, (WRITTEN,)),
        says="What nodes write is counted twice. Each node writes its outputs once.",
    ),
    "constants": Slip(
        of="extra", change=also(CONSTANT), says="What Constant nodes hold is counted. The task leaves it out."
    ),
    "given": Slip(
        of="extra",
        change=also(GIVEN),
        says="The model's input is counted once more, beside the node that reads it.",
    ),
    "taken": Slip(
        of="extra",
        change=lambda parts: [int(part.kind == WRITTEN and part.source.ends) for part in parts],
        says="The model's output is counted once more, beside the node that writes it.",
    ),
    "outputs_alone": Slip(
        of="which",
        change=_instead(lambda kind, _: kind in (WRITTEN, GIVEN)),
        says="This is the model's input and what nodes write. What nodes read is missing: weights, and each "
        "activation again.",
    ),
    "weights_alone": Slip(
        of="which",
        change=_instead(lambda kind, _: kind == STORED),
        says="These are the weights alone. Activations move, too: each node reads its inputs and writes its outputs.",
    ),
    **_SIZES,
}
ACTIVATIONS: Library = {
    "weights": Slip(
        of="extra",
        change=also(STORED),
        says="Weights are added. They are no activations: they do not depend on the input.",
    ),
    "given": Slip(of="extra", change=also(GIVEN), says="The model's input is counted. The task leaves it out."),
    "constants": Slip(
        of="extra", change=also(HELD), says="What Constant nodes hold is counted. The task leaves it out."
    ),
    "reads": Slip(
        of="extra",
        change=also(READ),
        says="What nodes read is counted, too. Each activation is kept once, however often it is read.",
    ),
    "inputs_of_nodes": Slip(
        of="which",
        change=_instead(lambda kind, _: kind == READ),
        says="The inputs of nodes are counted in place of their outputs: the last output is missing, and what several "
        "nodes read counts several times.",
    ),
    "inputs_of_nodes_once": Slip(
        of="which",
        change=_instead(lambda kind, moved: kind == READ and not moved.again),
        says="The inputs of nodes are counted in place of their outputs: the model's output is missing, its input is "
        "there.",
    ),
    "weights_alone": Slip(
        of="which",
        change=_instead(lambda kind, _: kind == STORED),
        says="These are the weights. Activations are what nodes put out.",
    ),
    "largest": Slip(
        of="which",
        change=_largest,
        says="This is the largest tensor that a node puts out, alone. Add up what all nodes put out.",
    ),
    "traffic": Slip(
        of="which",
        change=_instead(lambda kind, _: kind in (READ, WEIGHT, WRITTEN)),
        says="This is the traffic. Weights are no activations, and each activation is kept once.",
    ),
    **{name: slip for name, slip in _SIZES.items() if name != "last_node"},  # which is the one that puts the output out
}
