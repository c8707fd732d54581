"""Slips in counting what an ONNX model moves and keeps: which tensors are seen, how often, and how large they are."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from .._onnx.tensors import type_name
from .common import BYTE_UNITS, also, first_left_out, last_left_out, times, without
from .compose import Library, Part, Slip
from .elements import ELEMENTS
from .moved import ALL, CONSTANT, GIVEN, HELD, READ, STORED, WEIGHT, WRITTEN, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .compose import Factors
    from .moved import Moved

_MATRIX = 2
_LAYERS = frozenset({"Conv", "ConvTranspose", "Gemm"})
_FUNCTIONS = frozenset(
    {"Relu", "Clip", "Sigmoid", "HardSigmoid", "HardSwish", "LeakyRelu", "Tanh", "Gelu", "Erf", "Softmax"}
)
_VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"})


def _out(test: Callable[[Moved], bool], *kinds: str) -> Callable[[Sequence[Part]], Factors]:
    return without(test, kinds or ALL)


def _inferred(how: str, *, differing: bool = False) -> Callable[[Sequence[Part]], Factors]:
    """Take the sizes that inference finds; where they have to differ in the batch, else there is no occasion."""

    def factor(moved: Moved) -> Fraction | int:
        return Fraction(moved.inferred(how), moved.tensor.size) if moved.tensor.size else 1

    def factors(parts: Sequence[Part]) -> Factors:
        if differing:
            _batch(parts)
        return times(factor, ALL)(parts)

    return factors


def _batch(parts: Sequence[Part]) -> int:
    """The size of the batch.

    Raises:
        ValueError: it is 1, or there is none.
    """
    batch: int = next((shape[0] for part in parts if part.kind == GIVEN and (shape := part.source.tensor.shaped())), 1)
    if batch <= 1:
        message = "there is no batch"
        raise ValueError(message)
    return batch


def _instead(test: Callable[[str, Moved], bool]) -> Callable[[Sequence[Part]], Factors]:
    return lambda parts: [int(test(part.kind, part.source)) - int(part.counted) for part in parts]


def _one_sample(parts: Sequence[Part]) -> Factors:
    """Divide what has the batch in front by its size."""
    batch = _batch(parts)
    kept = (STORED, WEIGHT, CONSTANT, HELD)
    return [
        Fraction(1, batch) if part.kind not in kept and part.source.tensor.shaped()[:1] == (batch,) else 1
        for part in parts
    ]


def _only(*operators: str) -> Callable[[Sequence[Part]], Factors]:
    return _out(lambda moved: moved.step is not None and moved.operator not in operators)


def _also(*kinds: str) -> Callable[[Sequence[Part]], Factors]:
    return lambda parts: [int(part.kind in kinds and not part.counted) for part in parts]


def _largest(parts: Sequence[Part], *, buffers: int = 1) -> Factors:
    written = [part.count for part in parts if part.kind == WRITTEN]
    at = next((at for at, part in enumerate(parts) if part.kind == WRITTEN and part.count == max(written)), -1)
    return [buffers * int(place == at) - int(part.counted) for place, part in enumerate(parts)]


def _largest_node(parts: Sequence[Part]) -> Factors:
    """Leave out all but the node that moves most."""
    moved: dict[str, int | Fraction] = {}
    for part in parts:
        if part.kind in (READ, WEIGHT, WRITTEN):
            moved[part.row] = moved.get(part.row, 0) + part.count
    most = max(moved, key=lambda row: moved[row], default="")
    return _instead(lambda kind, each: kind in (READ, WEIGHT, WRITTEN) and row_of(each) == most)(parts)


def _each_once(key: Callable[[Moved], object]) -> Callable[[Sequence[Part]], Factors]:
    """Of what is counted and has the same key, keep the first."""

    def factors(parts: Sequence[Part]) -> Factors:
        first: dict[object, int] = {}
        return [int(not part.counted or first.setdefault(key(part.source), at) == at) for at, part in enumerate(parts)]

    return factors


def _for_each_reader(parts: Sequence[Part]) -> Factors:
    """Count what is written as often as it is read, once where nothing reads it."""
    readers = Counter(id(part.source.tensor) for part in parts if part.kind == READ)
    return [max(readers[id(part.source.tensor)], 1) if part.kind == WRITTEN else 1 for part in parts]


def _is_float(moved: Moved) -> bool:
    return type_name(moved.tensor.data_type).startswith(("float", "bfloat"))


_SIZES: Library = {
    **ELEMENTS,
    "unknown": Slip(
        of="inference",
        change=_inferred("nothing"),
        says="Tensors of unknown shape count nothing. Where the batch has no size, dim_value is 0: set the input's "
        "batch to 1, then infer shapes again.",
    ),
    **{
        f"unknown_{how}": Slip(
            of="inference",
            change=_inferred(how),
            says="Tensors of unknown shape count nothing: inference does not follow a shape that nodes compute (Shape, "
            "Gather, Concat, Reshape). Propagate the values, or run the model with every output exposed.",
        )
        for how in ("nothing_after_batch", "without_shape")
    },
    **{
        name: Slip(
            of="inference",
            change=_inferred(name.removeprefix("unknown_")),
            says="A dimension that inference leaves open counts as 1. That is right for the batch, but not for a shape "
            "that nodes compute (Shape, Gather, Concat, Reshape), which inference does not follow. Propagate the "
            "values, or run the model with every output exposed.",
        )
        for name in ("unknown_one", "unknown_one_after_batch")
    },
    **{
        name: Slip(
            of=of,
            change=change,
            says="Counted for one sample: the batch that the file gives is left out, or set to 1. Set it to 1 only "
            "where it has no size.",
        )
        for name, of, change in (
            ("one_sample", "batch", _one_sample),
            ("one_sample_inferred", "inference", _inferred("one_sample", differing=True)),
        )
    },
    "graph_output": Slip(
        of="left out",
        change=_out(lambda moved: moved.ends and moved.step is not None),
        says="The model's output is left out: value_info does not list it. Look at graph.output, too.",
    ),
    "other_outputs": Slip(
        of="left out",
        change=_out(lambda moved: moved.at > 0, WRITTEN),
        says="Only the first output of each node is counted (node.output[0]). Split, TopK and others have several.",
    ),
    "floats_alone": Slip(
        of="left out",
        change=_out(lambda moved: not _is_float(moved)),
        says="Only tensors of floating point are counted. What Shape, Gather, Cast or QuantizeLinear put out (int64, "
        "bool, int8) takes bytes, too.",
    ),
    "float32_alone": Slip(
        of="left out",
        change=_out(lambda moved: type_name(moved.tensor.data_type) != "float32"),
        says="Only tensors of float32 are counted. Those of other types (float16, int64, int8, bool) take bytes, too.",
    ),
    "raw_alone": Slip(
        of="weights of a type",
        change=_out(lambda moved: moved.typed, WEIGHT, STORED),
        says="Weights that the file keeps in a field of their type (float_data, int64_data) count nothing: their "
        "raw_data is empty. Take the size from dims and data_type, or onnx.numpy_helper.to_array(tensor).nbytes.",
    ),
    "undeclared": Slip(
        of="inference",
        change=_out(lambda moved: moved.step is not None and not (moved.declared or moved.tensor.kind == "weight")),
        says="Tensors between the nodes count nothing. If you look their shapes up in the file: it does not say them. "
        "Run onnx.shape_inference.infer_shapes first.",
    ),
    **{
        name: Slip(
            of="nodes",
            change=_only(*kinds),
            says=f"Only {words} nodes are counted. Every node of the graph counts.",
        )
        for name, kinds, words in (
            ("conv_gemm_alone", ("Conv", "Gemm"), "Conv and Gemm"),
            ("convolutions_alone", ("Conv",), "Conv"),
            ("layers_alone", ("Conv", "Gemm", "MatMul"), "Conv and Gemm"),
        )
    },
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
    **{
        f"{which}_node": Slip(
            of="left out", change=change, says=f"The {which} node is left out. Look at where your loop {verb}."
        )
        for which, change, verb in (("first", first_left_out, "begins"), ("last", last_left_out, "ends"))
    },
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
        change=_out(lambda moved: len(moved.tensor.shaped()) < _MATRIX, WEIGHT),
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
    "reads_of_outputs": Slip(
        of="left out",
        change=_out(lambda moved: moved.tensor.kind != "input", READ),
        says="What one node puts out and another one reads counts only where it is written. The node behind reads it "
        "from memory again.",
    ),
    "other_inputs": Slip(
        of="left out",
        change=_out(lambda moved: moved.at > 0, READ, WEIGHT),
        says="Only the first input of each node is counted (node.input[0]). Weights, and the second operand of an "
        "addition, move, too.",
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
    "weights_once": Slip(
        of="weights",
        change=without(lambda moved: moved.again, (WEIGHT,)),
        says="A weight that several nodes read counts once, an activation each time that it is read. Count both each "
        "time, or both once.",
    ),
    "writes_twice": Slip(
        of="writes",
        change=times(lambda _: 2, (WRITTEN,)),
        says="What nodes write is counted twice. Each node writes its outputs once.",
    ),
    "written_for_each_reader": Slip(
        of="writes",
        change=_for_each_reader,
        says="What a node writes is counted once for each node that reads it. It is written once, and read by each.",
    ),
    "read_twice": Slip(
        of="reads",
        change=_each_once(lambda moved: (id(moved.step), id(moved.tensor))),
        says="A tensor that a node reads twice (x * x) counts once, as in a set of its inputs. It is read for each.",
    ),
    "reads_once": Slip(
        of="reads",
        change=without(lambda moved: moved.reread, (READ,)),
        says="An activation that several nodes read counts once. Each of them reads it from memory again.",
    ),
    **{
        name: Slip(
            of="extra",
            change=_also(*kinds),
            says="What Constant nodes hold is counted. The task leaves it out.",
        )
        for name, kinds in (("constants", (CONSTANT,)), ("constants_written", (CONSTANT, HELD)))
    },
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
    "largest_node": Slip(
        of="which",
        change=_largest_node,
        says="This is what the largest node moves, its weights among it. The task asks for all nodes together.",
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
    "constants": Slip(of="extra", change=also(HELD), says="Constant nodes are counted. The task leaves them out."),
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
    "once_a_reader": Slip(
        of="which",
        change=_instead(lambda kind, moved: kind == READ and moved.tensor.kind != "input"),
        says="An activation counts once for each node that reads it: one with two readers twice, the model's output, "
        "which no node reads, not at all. Count what each node puts out, once.",
    ),
    "inputs_of_nodes_once": Slip(
        of="which",
        change=_instead(lambda kind, moved: kind == READ and not moved.reread),
        says="The inputs of nodes are counted in place of their outputs: the model's input is there, its output not.",
    ),
    "weights_alone": Slip(
        of="which",
        change=_instead(lambda kind, _: kind == STORED),
        says="These are the weights. Activations are what nodes put out.",
    ),
    "input_alone": Slip(
        of="which",
        change=_instead(lambda kind, _: kind == GIVEN),
        says="This is the model's input. Activations are what nodes put out.",
    ),
    "functions_alone": Slip(
        of="which",
        change=_instead(lambda kind, moved: kind == WRITTEN and moved.operator in _FUNCTIONS),
        says="Only what activation functions (Relu, Clip, Softmax) put out is counted. Activations are what all nodes "
        "put out.",
    ),
    **{
        f"same_{what}": Slip(
            of="left out",
            change=_each_once(key),
            says=f"Of tensors of the same {what} only one is counted, as in a set or a dict. Tell them apart by their "
            "names.",
        )
        for what, key in (
            ("shape", lambda moved: (moved.tensor.shaped(), moved.tensor.data_type)),
            ("size", lambda moved: moved.tensor.size),
        )
    },
    "largest": Slip(
        of="which",
        change=_largest,
        says="This is the largest tensor that a node puts out, alone. Add up what all nodes put out.",
    ),
    "largest_twice": Slip(
        of="which",
        change=partial(_largest, buffers=2),
        says="This is twice the largest tensor that a node puts out, as for two buffers in turn. Add up what all "
        "nodes put out; or, for what is needed at one time, what is there while each node runs.",
    ),
    "traffic": Slip(
        of="which",
        change=_instead(lambda kind, _: kind in (READ, WEIGHT, WRITTEN)),
        says="This is the traffic. Weights are no activations, and each activation is kept once.",
    ),
    **{name: slip for name, slip in _SIZES.items() if name != "last_node"},  # which is the one that puts the output out
}
