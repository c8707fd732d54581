"""What a batch of one costs: which dimension is the batch is found out by trying, never taken for granted."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from .engine import analyse, inputs, of_size, remembered
from .trace import UncountableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch
    from torch import nn

    from .engine import CountedSubject
    from .trace import Trace

_SIZES = (2, 3, 5, 7, 11, 13, 17, 19, 23)
_TRIED = 2  # sizes of the batch beside one
_MOST_INPUTS = 4
_COUNTS = ("macs", "bias", "norm_inputs", "pooling_inputs", "pooling_outputs", "activation_outputs")


def of_one_sample(subject: CountedSubject) -> Trace:
    """The trace of a batch of one.

    A set of inputs has the batch as its first dimension if the network takes other sizes of it; puts as many out; does
    the same operations; and each costs as much as there are samples, or the same for all. An LSTM whose first dimension
    is time takes other steps, attention over it costs the square.

    Raises:
        UncountableError: no set of inputs does, or several, which give networks of other costs.
    """
    return remembered(subject, "sample", lambda: _of_one(_Built(subject)))


def _of_one(subject: CountedSubject) -> Trace:
    shapes = [tuple(x.shape) for x in inputs(subject.on_meta()[1])]
    found: dict[tuple[Any, ...], Trace] = {}
    for batched in _sets(shapes):
        one = _of(subject, batched, 1)
        of_one = tuple(_sized(shape, 1) if at in batched else shape for at, shape in enumerate(shapes))
        if of_one not in found and one is not None and _scales(subject, batched, one, shapes):
            found[of_one] = one
    if len(found) == 1:
        return next(iter(found.values()))
    which = "no input" if not found else "more than one choice of inputs"
    message = (
        f"which dimension of {' and '.join(str(list(shape)) for shape in shapes)} is the batch can't be determined: for"
        f" {which} the cost grows with the first dimension as with a batch; say --input for one sample, and leave 'per'"
        " out"
    )
    raise UncountableError(message)


def _sets(shapes: list[tuple[int, ...]]) -> Iterator[frozenset[int]]:
    """The sets of inputs that may have a batch together: their first dimensions are equal."""
    places = [at for at, shape in enumerate(shapes) if shape][:_MOST_INPUTS]
    for size in range(1, len(places) + 1):
        for chosen in itertools.combinations(places, size):
            if len({shapes[at][0] for at in chosen}) == 1:
                yield frozenset(chosen)


def _sized(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return (size, *shape[1:])


def _scales(subject: CountedSubject, batched: frozenset[int], one: Trace, shapes: list[tuple[int, ...]]) -> bool:
    taken = {size for shape in shapes for size in shape}
    sizes = [size for size in _SIZES if size not in taken][:_TRIED]
    return (
        len(sizes) == _TRIED
        and _put_out(one, 1)
        and all(
            more is not None and _put_out(more, size) and _costs(more, one, size)
            for size in sizes
            for more in [_of(subject, batched, size)]
        )
    )


def _put_out(trace: Trace, size: int) -> bool:
    outputs = trace.calls[0].outputs
    return bool(outputs) and all(shape[:1] == (size,) for shape in outputs)


def _costs(more: Trace, one: Trace, size: int) -> bool:
    """Whether each operation of a batch of that size costs as many times as much as that of one, or the same."""
    if len(more.operations) != len(one.operations):
        return False
    return all(
        there.name == here.name
        and all(getattr(there, each) in (getattr(here, each), size * getattr(here, each)) for each in _COUNTS)
        for there, here in zip(more.operations, one.operations, strict=True)
    )


def _of(subject: CountedSubject, batched: frozenset[int], size: int) -> Trace | None:
    """The trace of some inputs in another size; None where the network does not take them."""
    try:
        return analyse(_Sized(subject, batched, size))
    except UncountableError:
        raise
    except (ValueError, TypeError, IndexError):
        return None


class _Built:
    """A subject of which the module is built once."""

    def __init__(self, subject: CountedSubject) -> None:
        self._subject = subject
        self._built: tuple[nn.Module, Any] | None = None

    def on_meta(self) -> tuple[nn.Module, Any]:
        self._built = self._built or self._subject.on_meta()
        return self._built

    def with_weights(self) -> tuple[nn.Module, Any]:
        return self._subject.with_weights()


class _Sized:
    """A subject with some inputs in another size."""

    def __init__(self, subject: CountedSubject, batched: frozenset[int], size: int) -> None:
        self._subject, self._batched, self._size = subject, batched, size

    def on_meta(self) -> tuple[nn.Module, Any]:
        module, own = self._subject.on_meta()
        return module, self._resized(own)

    def with_weights(self) -> tuple[nn.Module, Any]:
        module, own = self._subject.with_weights()
        return module, self._resized(own)

    def _resized(self, own: Any) -> tuple[torch.Tensor, ...]:
        return tuple(of_size(x, self._size) if at in self._batched else x for at, x in enumerate(inputs(own)))
