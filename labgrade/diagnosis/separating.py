"""Which features of networks tell those on which a function is wrong from the others.

A feature is named only if every network with it is wrong, and one of these differs from a network that is right by
this feature alone: that has all its others. What several features are needed for is named as a pair.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

from labgrade.core.errors import FaultError
from labgrade.diagnosis.counterexample import wrong
from labgrade.subjects.networks import flat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labgrade.diagnosis.networks.called import Called
    from labgrade.diagnosis.networks.small_networks import SmallNetwork
    from labgrade.diagnosis.probe import Trials

_Seen: TypeAlias = "tuple[frozenset[str], bool]"  # the features of a network, and whether the function is right there
_FEWEST = 2  # networks with a feature: one alone may have something else, too
_LINEAR_DIMENSIONS, _IMAGE_DIMENSIONS = 3, 4
_SEVERAL = {"Conv2d": "several convolutions", "Linear": "several linear layers"}
_LAYERS = {
    "Conv2d": "convolutions",
    "Linear": "linear layers",
    "BatchNorm2d": "batch norm",
    "LayerNorm": "layer norm",
    "MaxPool2d": "pools",
    "AvgPool2d": "pools",
    "AdaptiveAvgPool2d": "an adaptive pool",
    "ReLU": "a ReLU",
    "GELU": "a GELU",
    "Recurrent": "recurrent layers",
    "Up": "transposed convolutions",
    "Attention": "attention modules",
    "Products": "attention written with products",
    "Tied": "layers that share a weight",
    "Scaled": "a layer written by oneself",
}
_OWN = "layers of classes derived from torch's"


def separating_on(trials: Trials, called: Sequence[Called]) -> tuple[str, ...]:
    """Return the features that tell networks on which the function is wrong from the others; of a config its keys."""
    own = trials.task.subject
    if own is None or not own.is_config:
        return separating(called)
    try:
        found = trials.ahead([own])
    except FaultError:
        return ()
    return separating(called, own=bool(found) and not wrong(found[0]))


def separating(called: Sequence[Called], *, own: bool | None = None) -> tuple[str, ...]:
    """Return the features, or pairs of these, that make the difference: on each network with one it is wrong.

    `own`: whether it is right on the task's own subject, where each of these differs from that one.
    """
    if own is False:
        return ()
    seen = [(some, each.right) for each in called if (some := features(each.network)) is not None]
    seen += [(frozenset(), own)] if own else []
    words = sorted({feature for some, right in seen if not right for feature in some})
    single = [each for each in words if _separates(frozenset({each}), seen)]
    left = [each for each in words if each not in single]
    other = [some for some, right in seen if not right and not some & {*single}]  # wrong for another reason, too
    pairs = [pair for pair in combinations(left, 2) if any({*pair} <= some for some in other)]
    return (*single, *(" and ".join(pair) for pair in pairs if _separates(frozenset(pair), seen)))


def _separates(wanted: frozenset[str], seen: Sequence[_Seen]) -> bool:
    """Return whether each network with these is wrong, and one that has all but one of them, and all else, is right."""
    there = [(some, right) for some, right in seen if wanted <= some]
    if any(right for _, right in there) or not there:
        return False
    if len(there) < _FEWEST and not all(some == wanted for some, _ in there):  # a config differs in one key
        return False
    right = [some for some, is_right in seen if is_right]
    usual = 2 * len(right) > len(seen)  # else what more a network has may be why it is right
    return all(
        any(each - some == {missing} and (usual or some < each) for each, _ in there for some in right)
        for missing in wanted
    )


def features(network: SmallNetwork) -> frozenset[str] | None:
    """Return what a network has; None where that is not known: of a config in which all keys are others, of a file.

    A file has more than the words that it is called by: what else it has may be why a function is wrong there.
    """
    subject = network.subject
    program: Any = subject.options.get("program")
    if program is None:
        return frozenset({network.words}) if network.words and subject.is_config else None
    found = {*_of_layers(list(flat(program))), *_of_input(subject.input.shape)}
    found |= {"frozen layers"} if "frozen" in subject.options else set()
    return frozenset(found | ({network.words} if network.words.startswith("another `") else set()))


def _of_input(shape: Sequence[int]) -> Iterator[str]:
    if shape[0] > 1:
        yield "a batch of several"
    if len(shape) == _LINEAR_DIMENSIONS:
        yield "sequences"
    if len(shape) == _IMAGE_DIMENSIONS and shape[2] != shape[3]:
        yield "an image that is not square"


def _of_layers(steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    kinds = [str(step.get("layer", "")).removeprefix("Own") for step in steps]
    yield from (words for kind, words in _SEVERAL.items() if kinds.count(kind) > 1)
    for step, kind in zip(steps, kinds, strict=True):
        if "join" in step:
            yield "branches"
        elif "twice" in step:
            yield "a layer that is called twice"
        elif kind != "Flatten":  # which stands before linear layers
            yield _LAYERS.get(kind, kind)
            yield from [_OWN] if step["layer"] != kind else []
            yield from _of_options(kind, step.get("with", {}))


def _of_options(kind: str, options: Mapping[str, Any]) -> Iterator[str]:
    if kind == "Linear" and options.get("bias", True):
        yield "linear layers with a bias"
    if kind.endswith("Pool2d") and kind != "AdaptiveAvgPool2d":
        yield from ["pools with ceil_mode"] if options.get("ceil_mode") else []
        yield from ["pools with padding"] if options.get("padding") else []
    if kind != "Conv2d":
        return
    groups, kernel = options.get("groups", 1), options["kernel_size"]
    yield from ["convolutions with a bias"] if options.get("bias", True) else []
    yield from ["groups"] if groups > 1 else []
    yield from ["depthwise convolutions"] if groups == options["in_channels"] > 1 else []
    yield from ["a kernel that is not square"] if not isinstance(kernel, int) and len({*kernel}) > 1 else []
    yield from ["a stride"] if options.get("stride", 1) not in (1, [1, 1]) else []
    yield from ["dilation"] if options.get("dilation", 1) not in (1, [1, 1]) else []
    padding = options.get("padding", 0)
    if padding == "same":
        yield "padding='same'"
    elif padding not in (0, [0, 0]):
        yield "padding"
