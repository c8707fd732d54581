"""How long a student waits for functions that do not end, on their own machine.

A class is graded with each call's whole limit, so that what one call comes to never depends on others. Who checks their
own work waits for it, and one loop is enough to know: after a function ran out of time its later calls get less, and
from then on a task's calls together get twice its limit, and those that are left no more than that little each. What
was cut short so says so.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.core.results import Execution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from labgrade.core.task import Limits
    from labgrade.sandbox.requests import CallRequest

_LEAST = 2.0  # seconds of a call after an endless one
_PART = 12  # of the limit, where that is more: a limit is meant to be far over what a sound solution takes
_MOST = 2  # times the task's limit, for all of its calls after the first that did not end


class Patience:
    """What functions of one hand-in are still given. `task` begins the account of another task.

    Of folders in `gone` nothing is called any more: something newer is there.
    """

    def __init__(self, gone: Iterable[Path] = ()) -> None:
        self.gone = set(gone)
        self._slow: set[tuple[str, str]] = set()
        self._used: float | None = None
        self._clock: Callable[[], float] = time.monotonic

    def task(self) -> None:
        """Another task begins: it has its own account."""
        self._used = None

    def known(self, request: CallRequest) -> bool:
        """Whether the function ran out of time before, or nobody waits for it any more."""
        return request.folder in self.gone or (request.file, request.function) in self._slow

    def call(self, request: CallRequest, run: Callable[[CallRequest], Execution]) -> Execution:
        """Call the function with what it is still given."""
        if request.folder in self.gone:
            return Execution(status="fault", reason="the work was saved anew")
        hurried = self.known(request)
        limits = self._limits(request, hurried=hurried)
        begun = self._clock()
        done = run(replace(request, limits=limits))
        if self._used is not None:
            self._used += self._clock() - begun
        if done.status != "timeout":
            return done
        self._used = self._used or 0.0
        if limits == request.limits:
            self._slow.add((request.file, request.function))
            return done
        why = "it did not end before" if hurried else "other calls of this task did not end"
        reason = f"{request.function} did not end in the little time that it was given here, because {why}"
        return replace(done, reason=reason)

    def _limits(self, request: CallRequest, *, hurried: bool) -> Limits:
        seconds = request.limits.seconds
        if hurried:
            seconds = min(seconds, max(_LEAST, seconds / _PART))
        if self._used is not None:
            left = _MOST * request.limits.seconds - self._used
            seconds = min(seconds, max(_LEAST, seconds / _PART, left // 1))
        return replace(request.limits, seconds=seconds)
