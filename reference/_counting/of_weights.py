"""Which products make weights of weights: spectral norm, a low-rank update, an old hook that sets a layer's weight.

They are no work on the input, and people differ on whether they count. What tells them is what a product's operands
depend on: parameters, buffers and constants alone; and that what depends on the input is multiplied by what comes of
it. Where that stands first (`w @ x`), it has to be a weight that was changed, such as `w + a @ b`: learned queries by
their matrix stand there, too, and are work. So is what a layer does when it is called, on a table of positions, say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd
from torch.nn.utils.parametrize import ParametrizationList

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .trace import Call, CountedOperation

_LAYERS = (_ConvNd, nn.Linear, nn.Bilinear, nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention)
_OF_VECTORS = frozenset({"mv", "dot", "vdot", "matmul", "@", "mm"})  # what a hook on a layer does to its weight
_DRAWN = ("rand", "normal", "bernoulli", "multinomial", "poisson", "empty")


@dataclass(frozen=True, slots=True)
class _Made:
    """What was multiplied for a tensor; `changes`: with that a parameter or buffer of the same shape was changed."""

    tensor: torch.Tensor
    operations: tuple[CountedOperation, ...] = ()
    changes: bool = False


class OfWeights:
    """Follows what is computed of weights alone, and marks the products in it that end in a weight."""

    def __init__(self, root: nn.Module) -> None:
        # Kept as long as the run takes, so that no other tensor can have an id of these.
        self._known = {id(each): _Made(each) for each in (*root.parameters(), *root.buffers())}
        self._any_product = False

    def passes(
        self, name: str, args: Any, kwargs: Any, out: Any, made: Sequence[CountedOperation], calls: Sequence[Call]
    ) -> None:
        """A function has run, which did what was `made`, within these calls."""
        first = next(tensors((args, kwargs)), None)
        starts = first is None or id(first) in self._known
        if not (starts or self._any_product):
            return
        given = list(tensors((args, kwargs)))
        known = [self._known[id(each)] for each in given if id(each) in self._known]
        if not given and name.startswith(_DRAWN):
            return
        if len(known) == len(given):
            own = [each for each in made if each.macs and not _of_layer(each, calls)]
            self._any_product = self._any_product or bool(own)
            if own or not any(each.macs for each in made):
                self._add(tensors(out), known, own)
        elif starts and (name.endswith("_") or "set" in name):  # what depends on the input is written into it
            self._known.pop(id(first))
        elif made or name == "embedding":
            for each in known:
                if each.tensor is not first or each.changes:
                    for operation in each.operations:
                        operation.of_weights = True

    def _add(self, tensors: Iterable[torch.Tensor], known: Sequence[_Made], own: Sequence[CountedOperation]) -> None:
        for each in tensors:
            before = [*known, *([self._known[id(each)]] if id(each) in self._known else [])]
            operations = {id(one): one for one in (*(one for some in before for one in some.operations), *own)}
            plain = any(not some.operations and some.tensor.shape == each.shape for some in known)
            changes = any(some.changes for some in before) or (plain and not own and bool(operations))
            self._known[id(each)] = _Made(each, tuple(operations.values()), changes)


def _of_layer(operation: CountedOperation, calls: Sequence[Call]) -> bool:
    """Whether it is what a layer does when it is called, and no part of how a weight is made."""
    if any(isinstance(each.module, ParametrizationList) for each in calls):
        return False
    return isinstance(operation.call.module, _LAYERS) and operation.name not in _OF_VECTORS


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in nested tuples, lists and mappings, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from tensors(each)
    elif isinstance(value, dict):
        yield from tensors(tuple(value.values()))
