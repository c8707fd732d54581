"""Which products a gradient needs to be computed for: none goes back to the input of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .of_weights import tensors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import torch

    from .trace import CountedOperation


class OfInput:
    """Follows what is computed of the input and of buffers alone, and marks the products with that."""

    def __init__(self, buffers: Iterable[torch.Tensor]) -> None:
        # Kept as long as the run takes, so that no other tensor can have an id of these.
        self._plain = {id(each): each for each in buffers}

    def begins(self, given: Sequence[torch.Tensor]) -> None:
        """The network is called with these."""
        self._plain |= {id(each): each for each in given}

    def passes(self, args: Any, kwargs: Any, out: Any, made: Sequence[CountedOperation]) -> None:
        """A function has run, which did what was `made`."""
        if not made and id(next(tensors((args, kwargs)), None)) not in self._plain:
            return
        given = [id(each) in self._plain for each in tensors((args, kwargs))]
        if given and all(given):
            self._plain |= {id(each): each for each in tensors(out)}
        for each in _first(made) if any(given) else ():
            each.gradients = 0 if all(given) else 1


def _first(made: Sequence[CountedOperation]) -> Sequence[CountedOperation]:
    """Those that work on what the function is given: of an attention the first projections."""
    linear = [each.name == "linear" for each in made]
    return made[: linear.index(False)] if False in linear and linear[0] else made
