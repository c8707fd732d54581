"""TFLite models: operators, tensors, and what they multiply, by the published schema (schema.fbs, version 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .flat import Table, opened
from .kinds import TFLITE, kind_of_file, wrong_kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# The operators in the order of their numbers. `*`: a rule says what it multiplies; `!`: it may multiply, and no rule
# says how often; all others move, compare or change elements one by one, or pool them, which nobody counts as MACs.
OPERATORS = tuple(
    """
    ADD AVERAGE_POOL_2D CONCATENATION *CONV_2D *DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
    *FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC !LSH_PROJECTION
    *LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR *RNN SOFTMAX SPACE_TO_DEPTH *SVDF TANH
    !CONCAT_EMBEDDINGS SKIP_GRAM !CALL !CUSTOM !EMBEDDING_LOOKUP_SPARSE PAD *UNIDIRECTIONAL_SEQUENCE_RNN GATHER
    BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE *UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
    !BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX !DELEGATE !BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM
    ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN *TRANSPOSE_CONV SPARSE_TO_DENSE
    TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK
    LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD
    RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N
    GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH !IF !WHILE
    NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM *BATCH_MATMUL
    !PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO !RFFT2D *CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE
    HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL *CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE
    ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU
    DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2
    UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE
    STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE
    STABLEHLO_BROADCAST_IN_DIM !STABLEHLO_CONVOLUTION STABLEHLO_SLICE !STABLEHLO_CUSTOM_CALL !STABLEHLO_REDUCE
    STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM
    STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT
    STABLEHLO_SUBTRACT STABLEHLO_TANH !STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE
    STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA !STABLEHLO_DOT_GENERAL !STABLEHLO_REDUCE_WINDOW
    !STABLEHLO_SORT !STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR
    REDUCE_WINDOW !STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT
    """.split()  # noqa: SIM905 - 209 words, as the schema lists them
)
_CUSTOM = 32
_BASIC = 5  # inputs
# By number: the name and the bits of an element; None where elements have no fixed size.
TYPES: tuple[tuple[str, int | None], ...] = (
    ("float32", 32), ("float16", 16), ("int32", 32), ("uint8", 8), ("int64", 64), ("string", None), ("bool", 8),
    ("int16", 16), ("complex64", 64), ("int8", 8), ("float64", 64), ("complex128", 128), ("uint64", 64),
    ("resource", None), ("variant", None), ("uint32", 32), ("uint16", 16), ("int4", 4), ("bfloat16", 16), ("int2", 2),
    ("uint4", 4),
)  # fmt: skip
_INTEGERS = frozenset({"int32", "int64", "uint32", "uint64", "bool", "string"})


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor. `open`: places of sizes that the file leaves to the input; `held`: the bytes of a constant's values."""

    name: str
    type: str
    bits: int | None
    shape: tuple[int, ...]
    open: tuple[int, ...]
    held: int | None
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    axis: int = 0

    @property
    def elements(self) -> int:
        """How many there are."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """Its bytes.

        Raises:
            ValueError: its elements have no fixed size.
        """
        if self.held is not None:
            return self.held
        if self.bits is None:
            message = f"'{self.name[:80]}' holds elements of type {self.type}, which have no fixed size"
            raise ValueError(message)
        return -(-self.elements * self.bits // 8)

    @property
    def is_parameter(self) -> bool:
        """Whether it is a weight: a constant, and none that says a shape or an axis."""
        return self.held is not None and (self.type not in _INTEGERS or bool(self.scales))


@dataclass(frozen=True, slots=True)
class Operator:
    """A step. `transposed`: which of a product's two inputs are taken so."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    transposed: tuple[bool, bool] = (False, False)


@dataclass(frozen=True, slots=True)
class Graph:
    """One subgraph: its tensors, its steps in order, and which tensors go in and out."""

    tensors: list[Tensor]
    operators: list[Operator]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def read(path: Path) -> tuple[list[Graph], dict[str, int]]:
    """The subgraphs of a file, the main one first; and which of them each signature runs, by its name.

    Raises:
        ValueError: it is no such file, or is damaged.
    """
    if kind_of_file(path)[0] != TFLITE:
        raise ValueError(wrong_kind(path, "TFLite model"))
    with opened(path, "TFLite model") as buffer:
        model = buffer.root()
        codes = [_code(each) for each in model.tables(1)]
        held = [each.bytes_of(0) or int(each.number(2, "Q")) for each in model.tables(4)]
        found = [_graph(each, codes, held) for each in model.tables(2)]
        signatures = {each.text(2): int(each.number(4, "I")) for each in model.tables(7)}
    if not found:
        message = "this TFLite model has no graph"
        raise ValueError(message)
    return found, signatures


def _code(table: Table) -> str:
    """The name of an operator: of its number, which old files say in a byte, or its own."""
    number = max(int(table.number(0, "b")), int(table.number(3, "i")))
    if number == _CUSTOM:
        return f"!CUSTOM:{table.text(1)[:80]}"
    return OPERATORS[number] if 0 <= number < len(OPERATORS) else f"!operator number {number}"


def _graph(table: Table, codes: list[str], held: list[int]) -> Graph:
    tensors = [_tensor(each, held) for each in table.tables(0)]
    operators = [_operator(each, codes) for each in table.tables(3)]
    inputs, outputs = table.numbers(1, "i"), table.numbers(2, "i")
    used = [*inputs, *outputs, *(at for each in operators for at in (*each.inputs, *each.outputs))]
    if used and (max(used) >= len(tensors) or min(used) < -1):
        message = "this TFLite model is damaged or cut off: an operator uses a tensor that it does not have"
        raise ValueError(message)
    return Graph(tensors, operators, inputs, outputs)


def _tensor(table: Table, held: list[int]) -> Tensor:
    shape, signature = table.numbers(0, "i"), table.numbers(7, "i")
    number, place = int(table.number(1, "b")), int(table.number(2, "I"))
    name = table.text(3)
    if not 0 <= number < len(TYPES) or place >= max(1, len(held)) or any(size < 0 for size in shape):
        message = (
            f"this TFLite model is damaged or cut off: its tensor '{name[:80]}' has a type, size or buffer of none"
        )
        raise ValueError(message)
    word, bits = TYPES[number]
    content = held[place] if held else 0
    quantised = table.table(4)
    said: tuple[tuple[float, ...], tuple[int, ...], int] = (
        (quantised.numbers(2, "f"), quantised.numbers(3, "q"), int(quantised.number(6, "i")))
        if quantised
        else ((), (), 0)
    )
    left_open = tuple(at for at, size in enumerate(signature) if size < 0)
    constant = content if content and not table.number(5, "?") else None
    if constant is not None and bits is not None and table.table(6) is None:
        needed = -(-math.prod(shape) * bits // 8)
        if constant != needed:
            message = (
                f"the tensor '{name[:80]}' holds {constant:,} bytes where its shape {list(shape)} needs {needed:,}"
            )
            raise ValueError(message)
    return Tensor(name, word, bits, shape, left_open, constant, *said)


def _operator(table: Table, codes: list[str]) -> Operator:
    place = int(table.number(0, "I"))
    if place >= len(codes):
        message = "this TFLite model is damaged or cut off: an operator has no code"
        raise ValueError(message)
    options = table.table(4) if codes[place] == "*BATCH_MATMUL" else None
    both = (bool(options.number(0, "?")), bool(options.number(1, "?"))) if options else (False, False)
    return Operator(codes[place], table.numbers(1, "i"), table.numbers(2, "i"), both)


# ---- multiplications -------------------------------------------------------------------------------------------------


def macs(graph: Graph, step: Operator) -> int:
    """How often a step multiplies and adds.

    Raises:
        ValueError: it is none that a rule is known of, or its sizes are open.
    """
    name = step.name.lstrip("*!")
    if step.name.startswith("!"):
        message = f"what {_label(graph, step)} multiplies is not known"
        raise ValueError(message)
    if not step.name.startswith("*"):
        return 0
    given = [graph.tensors[at] if at >= 0 else None for at in step.inputs]
    made = [graph.tensors[at] for at in step.outputs if at >= 0]
    for tensor in (*given, *made):
        if tensor is not None and any(at > 0 for at in tensor.open):
            message = f"{_label(graph, step)} works on '{tensor.name[:80]}', whose sizes the file leaves open"
            raise ValueError(message)
    try:
        return _RULES[name](given, made, step)
    except (IndexError, AttributeError, TypeError):
        message = f"{_label(graph, step)} lacks an input, or one of its inputs has too few dimensions"
        raise ValueError(message) from None


def _label(graph: Graph, step: Operator) -> str:
    name = step.name.lstrip("*!")
    made = graph.tensors[step.outputs[0]].name if step.outputs and step.outputs[0] >= 0 else ""
    return f"the operator that makes '{made[:80]}' ({name})"


def _by_output(first: int) -> Callable[..., int]:
    """Each element of the output is a sum over a filter, whose dimensions from `first` on are summed over."""
    return lambda given, made, _: made[0].elements * math.prod(given[1].shape[first:])


def _matrix_product(given: list[Tensor], made: list[Tensor], step: Operator) -> int:
    return made[0].elements * given[0].shape[-2 if step.transposed[0] else -1]


def _depthwise(given: list[Tensor], made: list[Tensor], _: Operator) -> int:
    return made[0].elements * given[1].shape[1] * given[1].shape[2]


def _convolution_3d(given: list[Tensor], made: list[Tensor], _: Operator) -> int:
    return made[0].elements * math.prod(given[1].shape[:4])


def _transposed(given: list[Tensor], _made: list[Tensor], _: Operator) -> int:
    """Each element of the input is spread over a filter; what the filter sums over is the input's channels."""
    return given[2].elements * math.prod(given[1].shape) // given[1].shape[-1]


def _of_steps(weights: range) -> Callable[..., int]:
    """Each weight is used once for each element of a batch and each step of time."""

    def count(given: list[Tensor | None], _made: list[Tensor], _: Operator) -> int:
        first = given[0]
        if first is None:
            raise IndexError
        used = [given[at] for at in weights if at < len(given)]
        rows = math.prod(first.shape[:-1])
        return rows * sum(each.elements for each in used if each is not None and len(each.shape) > 1)

    return count


def _lstm(given: list[Tensor | None], made: list[Tensor], step: Operator) -> int:
    """Four weights of the input, four of the state, a projection; peepholes and biases are vectors.

    The basic kernel has five inputs, and all weights in the third of them.
    """
    return _of_steps(range(2, 3) if len(given) == _BASIC else range(1, 17))(given, made, step)


_RULES: dict[str, Callable[..., int]] = {
    "CONV_2D": _by_output(1),
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _by_output(1),
    "BATCH_MATMUL": _matrix_product,
    "CONV_3D": _convolution_3d,
    "TRANSPOSE_CONV": _transposed,
    "CONV_3D_TRANSPOSE": _transposed,
    "LSTM": _lstm,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm,
    "RNN": _of_steps(range(1, 3)),
    "UNIDIRECTIONAL_SEQUENCE_RNN": _of_steps(range(1, 3)),
    "SVDF": _of_steps(range(1, 3)),
}
