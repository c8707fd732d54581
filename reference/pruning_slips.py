"""How pruning goes wrong, beside what stands in `pruning`. None of these values is ever right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from ._pruning import GROUP, KEPT, items, left_in_groups, masks, patterns, zero_rows, zeros
from ._weights import layers_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from ._counting.engine import CountedSubject

Scope = Literal["layer", "all"]
_MATRIX = 2  # dimensions


def sparsity_patterns_with_groups_along_outputs(subject: CountedSubject) -> list[dict[str, Any]]:
    """With groups of four output channels.

    Slip of: sparsity_patterns
    Hint: The groups of four go along the output channels. They lie within an output channel, along its flattened
    inputs.
    Credit: 0.6
    """
    return _with(subject, against=lambda each: _more(each.flatten(1).T))


def sparsity_patterns_with_groups_by_input(subject: CountedSubject) -> list[dict[str, Any]]:
    """With groups within an input channel.

    Slip of: sparsity_patterns
    Hint: The groups of four are those of input channels. They lie within an output channel, along its flattened
    inputs.
    Credit: 0.6
    """
    return _with(subject, against=lambda each: _more(each.transpose(0, 1).flatten(1)))


def sparsity_patterns_with_groups_along_channels(subject: CountedSubject) -> list[dict[str, Any]]:
    """With groups of four input channels at one place of the kernel.

    Slip of: sparsity_patterns
    Hint: The groups of four go along the input channels, at each place of the kernel. They follow the flattened
    inputs of an output channel, where the places of a kernel stand next to each other.
    Credit: 0.6
    """
    return _with(subject, against=lambda each: _more(each.movedim(1, -1).flatten(1)))


def sparsity_patterns_with_groups_at_each_place(subject: CountedSubject) -> list[dict[str, Any]]:
    """With groups of input channels that end at each place of the kernel.

    Slip of: sparsity_patterns
    Hint: The groups of four go along the input channels, at each place of the kernel. They follow the flattened
    inputs of an output channel, where the places of a kernel stand next to each other.
    Credit: 0.6
    """
    return _with(subject, against=lambda each: _more(each.movedim(1, -1).reshape(-1, each.shape[1])))


def sparsity_patterns_with_groups_in_kernels(subject: CountedSubject) -> list[dict[str, Any]]:
    """With groups that end with each row of a kernel, or each kernel.

    Slip of: sparsity_patterns
    Hint: The groups of four end with each kernel. They follow all flattened inputs of an output channel.
    Credit: 0.6
    """
    return _with(subject, against=lambda each: _more(_kernels(each)))


def sparsity_patterns_with_groups_over_channels(subject: CountedSubject) -> list[dict[str, Any]]:
    """With groups over the ends of output channels.

    Slip of: sparsity_patterns
    Hint: Groups go over the end of an output channel: the whole weight is flattened. What is left of a channel
    behind its last whole group is no group.
    Credit: 0.7
    """
    return _with(subject, against=lambda each: _more(each.reshape(1, -1)))


def sparsity_patterns_with_what_is_left(subject: CountedSubject) -> list[dict[str, Any]]:
    """With what is left of a channel as a group.

    Slip of: sparsity_patterns
    Hint: What is left of a channel behind its last whole group is taken for a group, too. It is none.
    Credit: 0.7
    """
    return _with(subject, against=lambda each: _more(_filled(each.flatten(1))))


def sparsity_patterns_two_or_more(subject: CountedSubject) -> list[dict[str, Any]]:
    """With groups of two weights as those against the pattern.

    Slip of: sparsity_patterns
    Hint: A group with two weights other than zero keeps the 2:4 pattern: more than two are against it.
    Credit: 0.6
    """
    return _with(subject, against=lambda each: int((_left(each) >= KEPT).sum()))


def sparsity_patterns_three_alone(subject: CountedSubject) -> list[dict[str, Any]]:
    """With groups of exactly three weights as those against the pattern.

    Slip of: sparsity_patterns
    Hint: Only groups of three weights other than zero are counted. One of four is against the pattern, too.
    Credit: 0.6
    """
    return _with(subject, against=lambda each: int((_left(each) == KEPT + 1).sum()))


def sparsity_patterns_of_zeros(subject: CountedSubject) -> list[dict[str, Any]]:
    """With groups of more than two zeros as those against the pattern.

    Slip of: sparsity_patterns
    Hint: Zeros are counted in place of weights: a group is against the 2:4 pattern if more than two of it are
    not zero.
    Credit: 0.6
    """
    return _with(subject, against=lambda each: int((_left(each) < KEPT).sum()))


def sparsity_patterns_of_moved_groups(subject: CountedSubject) -> list[dict[str, Any]]:
    """With groups that begin at each weight.

    Slip of: sparsity_patterns
    Hint: Groups overlap here: one begins at each weight. Four weights that follow each other are one group, and the
    next begins behind them.
    Credit: 0.6
    """
    return _with(subject, against=lambda each: _moved(each.flatten(1)))


def sparsity_patterns_nonzero(subject: CountedSubject) -> list[dict[str, Any]]:
    """With the weights that are not zero.

    Slip of: sparsity_patterns
    Hint: These are the weights that are not zero. Those that are zero are asked for.
    Credit: 0.6
    """
    return _with(subject, zeros=lambda each: each.numel() - zeros(each))


def sparsity_patterns_with_biases(subject: CountedSubject) -> list[dict[str, Any]]:
    """With zeros of the biases.

    Slip of: sparsity_patterns
    Hint: Zeros of the biases are counted, too. Only weights are asked for.
    Credit: 0.6
    """
    zeros_with = {name: sum(zeros(each) for each in layer.parameters()) for name, layer in layers_of(subject)}
    return [{**patterns(name, each), "zeros": zeros_with[name]} for name, each in items(subject)]


def sparsity_patterns_of_kernels(subject: CountedSubject) -> list[dict[str, Any]]:
    """With kernels as channels.

    Slip of: sparsity_patterns
    Hint: Single kernels all of whose weights are zero are counted. An output channel has one for each input channel.
    Credit: 0.6
    """
    return _with(subject, channels=lambda each: zero_rows(_kernels(each)))


def sparsity_patterns_of_channels_left(subject: CountedSubject) -> list[dict[str, Any]]:
    """With channels that are not zero.

    Slip of: sparsity_patterns
    Hint: These are the channels that are left. Those all of whose weights are zero are asked for.
    Credit: 0.6
    """
    return _with(subject, channels=lambda each: len(each) - zero_rows(each))


def sparsity_patterns_of_channels_with_a_zero(subject: CountedSubject) -> list[dict[str, Any]]:
    """With channels that have a zero.

    Slip of: sparsity_patterns
    Hint: Channels with any zero are counted. All weights of a channel have to be zero.
    Credit: 0.6
    """
    return _with(subject, channels=lambda each: int((each.flatten(1) == 0).any(1).sum()))


def _with(subject: CountedSubject, **columns: Callable[[torch.Tensor], int]) -> list[dict[str, Any]]:
    """The table with other numbers in some columns."""
    return [
        {**patterns(name, each), **{column: made(each) for column, made in columns.items()}}
        for name, each in items(subject)
    ]


def _more(rows: torch.Tensor) -> int:
    return int((left_in_groups(rows) > KEPT).sum())


def _left(weight: torch.Tensor) -> torch.Tensor:
    return left_in_groups(weight.flatten(1))


def _kernels(weight: torch.Tensor) -> torch.Tensor:
    """A row for each kernel; a linear layer has one for each output."""
    return weight.flatten(0, 1).flatten(1) if weight.dim() > _MATRIX else weight


def _filled(rows: torch.Tensor) -> torch.Tensor:
    """With zeros up to a whole group."""
    import torch

    return torch.nn.functional.pad(rows, (0, -rows.shape[1] % GROUP))


def _moved(rows: torch.Tensor) -> int:
    if rows.shape[1] < GROUP:
        return 0
    return int(((rows.unfold(1, GROUP, 1) != 0).sum(2) > KEPT).sum())


# ---- masks ----------------------------------------------------------------------------------------------------------


def magnitude_masks_rounded_down(
    subject: CountedSubject, *, sparsity: float, scope: Scope = "layer"
) -> dict[str, torch.Tensor]:
    """Those where the number that goes is rounded down.

    Slip of: magnitude_masks
    Hint: How many weights go is rounded down, as int() does. round(sparsity * n) go.
    Credit: 0.8
    """
    return masks(_sizes(subject), sparsity, scope, math.floor)


def magnitude_masks_rounded_up(
    subject: CountedSubject, *, sparsity: float, scope: Scope = "layer"
) -> dict[str, torch.Tensor]:
    """Those where the number that goes is rounded up.

    Slip of: magnitude_masks
    Hint: How many weights go is rounded up. round(sparsity * n) go.
    Credit: 0.8
    """
    return masks(_sizes(subject), sparsity, scope, math.ceil)


def magnitude_masks_by_share_of_its_layer(
    subject: CountedSubject, *, sparsity: float, scope: Scope = "layer"
) -> dict[str, torch.Tensor]:
    """Those by magnitudes as shares of their layer's largest.

    Slip of: magnitude_masks
    Hint: Magnitudes are divided by the largest of their layer. One threshold for all layers is that of the magnitudes
    themselves.
    Credit: 0.5
    """
    return masks({name: each / (each.max() or 1) for name, each in _sizes(subject).items()}, sparsity, scope)


def _sizes(subject: CountedSubject) -> dict[str, torch.Tensor]:
    return {name: each.abs() for name, each in items(subject)}
