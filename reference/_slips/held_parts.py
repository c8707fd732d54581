"""What a model holds, tensor by tensor, and what slips look at in it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from torch import nn

from .common import times
from .compose import Factors, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from fractions import Fraction

    import torch

BUFFER, COUNTER, SHARED, NO_BIAS = "buffer", "counter", "shared", "no bias"
PARAMETERS = ("", SHARED)
ALL_KINDS = (*PARAMETERS, BUFFER, COUNTER)


class HeldTensor:
    """A tensor of a module: `depth` is the number of modules around it, the root aside.

    `holders`: how many modules have it among their `parameters()`, the root aside.
    """

    __slots__ = ("depth", "holders", "module", "name", "tensor")

    def __init__(self, module: nn.Module, name: str, tensor: torch.Tensor, depth: int, holders: int = 1) -> None:
        self.module: Any = module
        self.name, self.tensor, self.depth, self.holders = name, tensor, depth, holders


def parts_of(root: nn.Module, which: str, *, as_bytes: bool, buffers: bool) -> Iterator[Part]:
    wanted = {"all": (True, False), "trainable": (True,), "frozen": (False,), "none": ()}[which]
    seen: set[int] = set()
    holders = Counter(id(each) for module in root.modules() if module is not root for each in module.parameters())
    for path, module in root.named_modules():
        depth = path.count(".") + 1 if path else 0
        for name, tensor in module.named_parameters(recurse=False):
            again, held = id(tensor) in seen, HeldTensor(module, name, tensor, depth, holders[id(tensor)])
            seen.add(id(tensor))
            count = tensor.nbytes if as_bytes else tensor.numel()
            counted = tensor.requires_grad in wanted and not again
            yield Part(row=path, count=count, source=held, kind=SHARED if again else "", counted=counted)
        for name, tensor in module.named_buffers(recurse=False):
            kind = BUFFER if tensor.is_floating_point() else COUNTER
            count = tensor.nbytes if as_bytes else tensor.numel()
            yield Part(
                row=path, count=count, source=HeldTensor(module, name, tensor, depth), kind=kind, counted=buffers
            )
        if getattr(module, "bias", 0) is None and hasattr(module, "weight"):
            held = HeldTensor(module, "bias", module.weight, depth)
            size = module.weight.element_size() if as_bytes else 1
            yield Part(row=path, count=module.weight.shape[0] * size, source=held, kind=NO_BIAS, counted=False)


# ---- what a tensor is ---------------------------------------------------------------------------------------------


def is_layer(held: HeldTensor) -> bool:
    return isinstance(held.module, nn.Conv2d | nn.Linear)


def is_bias(held: HeldTensor) -> bool:
    return held.name.endswith("bias")


def is_conv(held: HeldTensor) -> bool:
    return isinstance(held.module, nn.modules.conv._ConvNd)  # noqa: SLF001


def is_kernel(held: HeldTensor) -> bool:
    return is_conv(held) and held.name == "weight"


def of_kernel(factor: Callable[[HeldTensor], int | Fraction]) -> Any:
    return times(lambda held: factor(held) if is_kernel(held) else 1)


def counted_if(test: Callable[[HeldTensor, bool], bool]) -> Callable[[Sequence[Part]], Factors]:
    """Add what makes a parameter count where it passes the test, and not where it does not."""
    return lambda parts: [
        int(test(part.source, part.counted)) - int(part.counted) if part.kind == "" else 0 for part in parts
    ]


def without_tensor(parts: Sequence[Part], at: int) -> Factors:
    places = [place for place, part in enumerate(parts) if part.counted]
    if not places:
        message = "there is nothing to leave out"
        raise ValueError(message)
    return [int(place != places[at]) for place in range(len(parts))]


def one_each(key: Callable[[HeldTensor], object], step: int) -> Callable[[Sequence[Part]], Factors]:
    """Of parameters of one key leave the last, or with a `step` of -1 the first."""

    def factors(parts: Sequence[Part]) -> Factors:
        there = [at for at, part in enumerate(parts) if part.counted and part.kind == ""]
        kept = {key(parts[at].source): at for at in there[::step]}
        gone = set(there) - set(kept.values())
        return [int(at not in gone) for at in range(len(parts))]

    return factors


def weights_alone(parts: Sequence[Part]) -> Factors:
    """Leave out what is not called weight, where there is something else than biases of that."""
    others = {part.source.name for part in parts if part.counted} - {"weight", "bias"}
    if not others:
        message = "there are weights and biases alone"
        raise ValueError(message)
    return [int(part.kind not in PARAMETERS or part.source.name == "weight") for part in parts]


def last_of_type(parts: Sequence[Part]) -> Factors:
    """Leave out all but what the last module of each class holds."""
    last = {type(part.source.module): id(part.source.module) for part in parts if part.counted}
    return [int(last.get(type(part.source.module)) == id(part.source.module)) for part in parts]


def all_of_state(parts: Sequence[Part]) -> Factors:
    """Count all that a state_dict holds."""
    return [int(part.kind != NO_BIAS) - int(part.counted) for part in parts]


def buffers_alone(parts: Sequence[Part]) -> Factors:
    return [int(part.kind in (BUFFER, COUNTER)) - int(part.counted) for part in parts]


def with_buffers(parts: Sequence[Part]) -> Factors:
    return [int(part.kind in (BUFFER, COUNTER) and not part.counted) for part in parts]
