"""Runs a module once, on the meta device if that will do, and notes its calls and operations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

import torch

from .recorder import FOR_WANT_OF_VALUES, AnotherWayError, Recorder, Way
from .trace import Trace, UncountableError

if TYPE_CHECKING:
    from collections.abc import Callable

_FOR_WANT_OF_GRADIENTS = re.compile(r"inference.tensor|inference mode|does not require grad", re.IGNORECASE)
_WRONG_INPUT = (AssertionError, RuntimeError, ValueError)

_traces: WeakKeyDictionary[Any, dict[object, Trace]] = WeakKeyDictionary()


class CountedSubject(Protocol):
    """What a quantity is computed of: `labgrade.subjects.models.Subject`, or anything with the same two methods."""

    def on_meta(self) -> tuple[torch.nn.Module, Any]:
        """The module and its input (a tuple of several) on the meta device, free to be changed."""

    def with_weights(self) -> tuple[torch.nn.Module, Any]:
        """The module with values, and its input."""


def analyse(subject: CountedSubject, *, batch: int | None = None, counting: bool = True) -> Trace:
    """What one forward pass of the subject's module on its input does. `batch` replaces the input's first dimension.

    Whoever asks for shapes alone says so with `counting=False`: then the products need not be known.
    A task asks for a dozen quantities of its subject: its trace is kept as long as the subject, and not to be changed.

    Raises:
        ValueError: where the module cannot take an input of that shape.
        UncountableError: for a function that multiplies in a way that there is no formula for.
    """
    trace = remembered(subject, batch, lambda: _traced(subject, batch))
    if counting and trace.uncounted:
        raise UncountableError(trace.uncounted)
    return trace


def remembered(subject: CountedSubject, of: object, trace: Callable[[], Trace]) -> Trace:
    """A trace of a subject, which is made once."""
    try:
        known = _traces.setdefault(subject, {})
    except TypeError:  # one that no weak reference can be kept of
        known = {}
    if of not in known:
        known[of] = trace()
    return known[of]


def _traced(subject: CountedSubject, batch: int | None) -> Trace:
    """The trace of the first way in which what the network does can be seen: fast and without values, if that goes."""
    way = Way()
    while True:
        try:
            return _run(subject, batch, way)
        except AnotherWayError as another:
            way = another.way


def _run(subject: CountedSubject, batch: int | None, way: Way) -> Trace:
    module, own = subject.with_weights() if way.values else subject.on_meta()
    given = inputs(own)
    if not way.values and not all(x.is_meta for x in given):  # a network that can't be without values
        raise AnotherWayError(Way(values=True))
    if batch is not None:
        given = tuple(of_size(x, batch) for x in given)
    trace = Trace(root=module, batch=given[0].shape[0] if given[0].dim() else 1)
    recorder = Recorder(trace, way)
    with recorder.listening():
        try:
            module(*given)
        except Exception as error:  # of a network anything may come
            if trace.uncounted:
                raise UncountableError(trace.uncounted) from error
            raise recorder.stopped or _why(error, way, module, given) from error
    if recorder.stopped:  # and the network caught it
        raise recorder.stopped
    return trace


def _why(error: Exception, way: Way, module: torch.nn.Module, given: tuple[torch.Tensor, ...]) -> BaseException:
    """What is to be raised where a network fails."""
    if not way.values and FOR_WANT_OF_VALUES.search(str(error)):
        return AnotherWayError(Way(values=True))
    if way.by_rule and _FOR_WANT_OF_GRADIENTS.search(str(error)):
        return AnotherWayError(Way(gradients=True))
    if not isinstance(error, _WRONG_INPUT) or isinstance(error, NotImplementedError):
        return error
    shapes = " and ".join(str(list(x.shape)) for x in given)
    return ValueError(f"{type(module).__name__} cannot take an input of shape {shapes}: {error}")


def of_size(x: torch.Tensor, batch: int) -> torch.Tensor:
    """An input with another first dimension; its own values, as often as there is room for them."""
    if not x.dim() or x.shape[0] == batch:
        return x
    if x.is_meta:
        return x.new_empty((batch, *x.shape[1:]))
    return x[torch.arange(batch) % x.shape[0]]


def inputs(own: Any) -> tuple[torch.Tensor, ...]:
    """What a module is called with: a subject's input, or its several inputs."""
    return own if isinstance(own, tuple) else (own,)
