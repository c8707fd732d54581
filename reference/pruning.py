"""Pruned networks: how sparse they are, which weights a magnitude pruning keeps; and how these go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ._pruning import GROUP, KEPT, items, left_in_groups, masks, patterns, zero_rows, zeros
from ._weights import layers_of, weights_of

if TYPE_CHECKING:
    import torch

    from ._counting.engine import CountedSubject

Scope = Literal["layer", "all"]


def weight_sparsity(subject: CountedSubject) -> float:
    """The share of weights of convolutions and linear layers that are zero, in all.

    Zeros over weights, both summed over the layers; biases and what a norm holds are left out.
    """
    weights = weights_of(subject).values()
    return sum(zeros(each) for each in weights) / sum(each.numel() for each in weights)


def weight_sparsity_mean_of_layers(subject: CountedSubject) -> float:
    """The mean of the layers' sparsities.

    Slip of: weight_sparsity
    Hint: This is the mean of the layers' sparsities. Layers differ in size: divide all zeros by all weights.
    Credit: 0.4
    """
    shares = [zeros(each) / each.numel() for each in weights_of(subject).values()]
    return sum(shares) / len(shares)


def weight_sparsity_as_density(subject: CountedSubject) -> float:
    """The share of weights that are not zero.

    Slip of: weight_sparsity
    Hint: This is the density, the share of weights that are left. The sparsity is the share of zeros.
    Credit: 0.5
    """
    return 1 - weight_sparsity(subject)


def weight_sparsity_of_all_parameters(subject: CountedSubject) -> float:
    """The share of all parameters that are zero.

    Slip of: weight_sparsity
    Hint: Biases or parameters of norms are counted, too. Only weights of convolutions and linear layers are asked for.
    Credit: 0.5
    """
    module, _ = subject.with_weights()
    parameters = list(module.parameters())
    return sum(zeros(each) for each in parameters) / sum(each.numel() for each in parameters)


def weight_sparsity_with_biases(subject: CountedSubject) -> float:
    """The share of zeros among the weights and biases of the same layers.

    Slip of: weight_sparsity
    Hint: The biases of these layers are counted, too. Only their weights are asked for.
    Credit: 0.5
    """
    parameters = [each for _, layer in layers_of(subject) for each in layer.parameters()]
    return sum(zeros(each) for each in parameters) / sum(each.numel() for each in parameters)


def weight_sparsity_in_percent(subject: CountedSubject) -> float:
    """In percent.

    Slip of: weight_sparsity
    Hint: This is in percent. A share is asked for, from 0 to 1.
    Credit: 0.7
    """
    return 100 * weight_sparsity(subject)


def weight_sparsity_of_channels(subject: CountedSubject) -> float:
    """The share of output channels that are zero.

    Slip of: weight_sparsity
    Hint: These are whole output channels that are zero. Single weights are asked for.
    Credit: 0.3
    """
    weights = weights_of(subject).values()
    return sum(zero_rows(each) for each in weights) / sum(len(each) for each in weights)


def sparsity_patterns(subject: CountedSubject) -> list[dict[str, Any]]:
    """By layer: the weights that are zero, output channels all of whose weights are, groups against the 2:4 pattern.

    A group are four weights of one output channel that follow each other in its flattened inputs; what is left of a
    channel behind its last whole group is none. A group is against the pattern if more than two of it are not zero.
    """
    return [patterns(name, each) for name, each in weights_of(subject).items()]


def sparsity_patterns_by_input(subject: CountedSubject) -> list[dict[str, Any]]:
    """The same of inputs in place of output channels.

    Slip of: sparsity_patterns
    Hint: Channels and groups are taken along the second dimension. The first dimension of a weight holds the outputs.
    Credit: 0.4
    """
    return [patterns(name, each.transpose(0, 1)) for name, each in weights_of(subject).items()]


def sparsity_patterns_with_channels_by_input(subject: CountedSubject) -> list[dict[str, Any]]:
    """With input channels in place of output channels, and groups as they are.

    Slip of: sparsity_patterns
    Hint: Channels are taken along the second dimension. The first dimension of a weight holds the outputs.
    Credit: 0.6
    """
    return [{**patterns(name, each), "channels": zero_rows(each.transpose(0, 1))} for name, each in items(subject)]


def sparsity_patterns_exactly_two(subject: CountedSubject) -> list[dict[str, Any]]:
    """With groups in which not exactly two weights are zero as those against the pattern.

    Slip of: sparsity_patterns
    Hint: A group with more than two zeros keeps the 2:4 pattern, too: at most two of four may be other than zero.
    Credit: 0.6
    """
    return [
        {**patterns(name, each), "against": int((left_in_groups(each.flatten(1)) != KEPT).sum())}
        for name, each in items(subject)
    ]


def sparsity_patterns_kept(subject: CountedSubject) -> list[dict[str, Any]]:
    """With the groups that keep the pattern.

    Slip of: sparsity_patterns
    Hint: These are the groups that keep the 2:4 pattern. Those against it are asked for.
    Credit: 0.5
    """
    groups = {name: len(each) * (each[0].numel() // GROUP) for name, each in items(subject)}
    return [{**row, "against": groups[row["layer"]] - row["against"]} for row in sparsity_patterns(subject)]


def magnitude_masks(subject: CountedSubject, *, sparsity: float, scope: Scope = "layer") -> dict[str, torch.Tensor]:
    """By layer, which weights a magnitude pruning keeps: 1 kept, 0 removed, a share between them for equal weights.

    Of n weights of a layer (`scope` all: of all layers together) round(sparsity * n) are removed, the smallest in
    magnitude. Where some of equal magnitude go and others stay, any choice is right: their value is the share that
    stays. For the checker `keeps`.
    """
    return masks({name: each.abs() for name, each in items(subject)}, sparsity, scope)


def magnitude_masks_signed(
    subject: CountedSubject, *, sparsity: float, scope: Scope = "layer"
) -> dict[str, torch.Tensor]:
    """Those that a pruning by value keeps.

    Slip of: magnitude_masks
    Hint: Weights are ordered by value, so that the most negative ones go. Order them by magnitude: weight.abs().
    Credit: 0.4
    """
    return masks(weights_of(subject), sparsity, scope)


def magnitude_masks_of_the_small(
    subject: CountedSubject, *, sparsity: float, scope: Scope = "layer"
) -> dict[str, torch.Tensor]:
    """Those of the smallest weights.

    Slip of: magnitude_masks
    Hint: The mask is turned round: it is 1 where a weight is removed. It has to be 1 where a weight is kept.
    Credit: 0.5
    """
    return {name: 1 - each for name, each in magnitude_masks(subject, sparsity=sparsity, scope=scope).items()}


def magnitude_masks_of_the_density(
    subject: CountedSubject, *, sparsity: float, scope: Scope = "layer"
) -> dict[str, torch.Tensor]:
    """Those of a pruning that keeps as many as it should remove.

    Slip of: magnitude_masks
    Hint: The sparsity is taken for the share that is kept. It is the share that is removed.
    Credit: 0.5
    """
    return magnitude_masks(subject, sparsity=1 - sparsity, scope=scope)


def magnitude_masks_of_the_other_scope(
    subject: CountedSubject, *, sparsity: float, scope: Scope = "layer"
) -> dict[str, torch.Tensor]:
    """Those by one threshold for all layers where each layer has its own, and the other way round.

    Slip of: magnitude_masks
    Hint: One threshold for all layers and one for each layer are mixed up: the task says which is meant.
    Credit: 0.5
    """
    return magnitude_masks(subject, sparsity=sparsity, scope="all" if scope == "layer" else "layer")


def magnitude_masks_of_channels(
    subject: CountedSubject, *, sparsity: float, scope: Scope = "layer"
) -> dict[str, torch.Tensor]:
    """Those of whole output channels, by the sum of their magnitudes.

    Slip of: magnitude_masks
    Hint: Whole output channels are removed. Single weights are asked for.
    Credit: 0.3
    """
    sums = {name: each.abs().flatten(1).sum(1) for name, each in items(subject)}
    kept = masks(sums, sparsity, scope)
    return {
        name: kept[name].reshape(-1, *[1] * (each.dim() - 1)).expand(each.shape).clone()
        for name, each in items(subject)
    }
