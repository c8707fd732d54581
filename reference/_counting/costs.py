"""What an operation counts under a set of conventions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .calls import chosen
from .naming import torchinfo_rows, torchsummary_names
from .trace import UncountableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .trace import CountedOperation, Trace

_NORM = {"none": 0, "one_per_input": 1, "two_per_input": 2, "four_per_input": 4, "five_per_input": 5}
_COLUMNS = (
    "macs",
    "bias",
    "norm_inputs",
    "pooling_inputs",
    "pooling_outputs",
    "activation_outputs",
    "affine",
)


@dataclass(frozen=True, slots=True)
class Conventions:
    """What counts: which types of module (None: all), and what the things cost that do not multiply matrices.

    `of_weights`: what makes weights of weights counts, too.
    """

    layers: Sequence[str] | None
    bias: bool = False
    norm: str = "none"
    pooling: str = "none"
    activation: str = "none"
    of_weights: bool = True


def counted(trace: Trace, conventions: Conventions) -> Iterator[tuple[CountedOperation, int]]:
    """Each operation of the chosen types with what it counts.

    Raises:
        UncountableError: what the conventions ask for is not seen.
    """
    wanted = chosen(trace.root, conventions.layers)
    _tell_apart(trace, conventions)
    for operation in trace.operations:
        if wanted(operation.call.module):
            n = operation.macs if conventions.of_weights or not operation.of_weights else 0
            n += operation.bias if conventions.bias else 0
            n += operation.norm_inputs * _NORM[conventions.norm]
            n += {
                "none": 0,
                "one_per_input": operation.pooling_inputs,
                "one_per_output": operation.pooling_outputs,
            }[conventions.pooling]
            n += operation.activation_outputs if conventions.activation == "one_per_output" else 0
            yield operation, n


def _tell_apart(trace: Trace, conventions: Conventions) -> None:
    costly = {conventions.norm, conventions.pooling, conventions.activation} != {"none"}
    unnamed = trace.unnamed if costly else trace.unbiased if conventions.bias else ""
    if unnamed:
        what = "a norm, a pool or an activation, or adds a bias"
        message = f"nobody can tell whether {unnamed}, is part of {what}; products alone are known"
        raise UncountableError(message)
    if conventions.layers is not None:
        unsealed(trace)


def unsealed(trace: Trace) -> None:
    """See to it that each operation's layer is known.

    Raises:
        UncountableError: TorchScript runs a container that does some of them.
    """
    for operation in trace.operations:
        if operation.call.blended:
            what = f"'{trace.layer(operation.call)}' ({operation.call.type})"
            message = f"TorchScript runs {what}, so that nobody can tell which layer in it does what"
            raise UncountableError(message)


def cost(operation: CountedOperation) -> dict[str, Any]:
    """The columns of an operation."""
    return {column: getattr(operation, column) for column in _COLUMNS}


def layer_aliases(trace: Trace) -> dict[str, list[str]]:
    """What torchinfo and torchsummary call the rows of each layer, by the layer's name."""
    summary = torchsummary_names(trace)
    aliases: dict[str, list[str]] = defaultdict(list)
    for printed in torchinfo_rows(trace):
        if printed.call:
            names = (*printed.names, summary.get(id(printed.call), ""))
            aliases[trace.layer(printed.call)] += [name for name in names if name]
    return aliases
