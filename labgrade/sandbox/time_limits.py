"""How long functions and programs are waited for that do not end.

One loop is enough to know: after a function ran out of time its later calls get less, and from then on a task's calls
together get twice its limit, and those that are left no more than that little each. What was cut short so says so. A
file that does not end when it is imported is not imported again, nor is one whose import failed for two functions in
the same way, and what only waits is waited for once. A student who checks their own work waits for it, and in a class
everybody behind it does. A submission as a whole may have a limit, too: what would run beyond it is no failure of the
student's, and waits. Where a student looks on, a call may be broken off after a first look, so that what ends soon is
seen first; it is made again later.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from labgrade.core.execution import Execution
from labgrade.core.points import CUT_OFF
from labgrade.sandbox.requests import CallRequest, ProgramRun

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from labgrade.core.execution import Limits
    from labgrade.sandbox.requests import ProgramRequest, ScriptRequest

Request = TypeVar("Request", "CallRequest", "ProgramRequest", "ScriptRequest")
Result = TypeVar("Result", Execution, ProgramRun)

_LEAST = 2.0  # seconds of a call after an endless one
_PART = 12  # of the limit, where that is more: a limit is meant to be far over what a sound solution takes
FIRST_LOOK = 5.0  # seconds of a call: most take less than one
_ALL = "*"  # functions
_NEWER = "the work was saved anew"
_LATE = {"timeout", "waited"}
_ASLEEP = 0.05  # of the time by the clock; what computes for less was not kept from it by a busy machine
_LEAST_WALL = 10.0  # seconds by the clock of a call after one that was asleep
_LONG = 2.0  # seconds by the clock of a call beside which starting a process is nothing
_MOST = 2  # times the task's limit, for all of its calls after the first that did not end


class NotYetError(BaseException):
    """A call was broken off after a first look, and is to be made again later. Names the function.

    It is no failure, which graders turn into a verdict wherever it occurs.
    """


class Patience:
    """The time that the functions of one hand-in still get. `task` begins the account of another task.

    In folders in `gone` nothing is called any more, and calls are broken off: something newer is there. All together
    get `seconds` by the clock; 0 is no limit. `cut`: that was too little. `first_look`: the seconds after which a call
    that might take longer is broken off; 0 is none.
    """

    def __init__(self, gone: AbstractSet[Path] = frozenset(), seconds: float = 0.0, first_look: float = 0.0) -> None:
        self.gone = gone
        self.first_look = first_look
        self.cut = False
        self._seconds, self._spent = seconds, 0.0
        self._slow: set[tuple[str, ...]] = set()
        self._slow_together: set[tuple[str, ...]] = set()
        self._long: set[tuple[str, ...]] = set()
        self._stuck: dict[str, Any] = {}  # an Execution by its file
        self._failed: dict[tuple[object, ...], tuple[str, Any]] = {}  # an import's Execution, and for which function
        self._asleep = False
        self._task = ""
        self._used: float | None = None
        self._clock: Callable[[], float] = time.monotonic
        self._here = threading.local()  # a session's rounds and searches are threads

    def task(self, name: str) -> None:
        """Start the time account of a task."""
        if name != self._task:
            self._task, self._used = name, None

    def is_gone(self) -> bool:
        """Return whether nobody waits any more for the calls of this thread."""
        return getattr(self._here, "folder", None) in self.gone

    def known(self, request: CallRequest | ProgramRequest | ScriptRequest) -> bool:
        """Return whether the function or program ran out of time before, or nobody waits for it any more."""
        stuck = isinstance(request, CallRequest) and self._known_import(request) is not None
        return request.folder in self.gone or request.called in self._slow or stuck

    def wall(self, usual: float) -> float:
        """Return the seconds by the clock that a call of this thread may take; at most `usual`."""
        return min(usual, getattr(self._here, "wall", None) or usual)

    def together(self, request: CallRequest, run: Callable[[CallRequest], Execution]) -> Execution:
        """Make several calls in one process to save time. A function that did not end so before is not tried again."""
        vain = request.attempt and request.called in self._long  # it saves little, and may not end in what it gets
        if vain or self.known(request) or request.called in self._slow_together:
            return Execution(status="timeout", reason="")
        done = self._run_with(request, self._limits(request, hurried=False), run)
        if done.status in _LATE:
            if not request.attempt:
                self._used = self._used or 0.0
            self._slow_together.add(request.called)
        return done

    def call(self, request: Request, run: Callable[[Request], Result], kind: type[Result]) -> Result:
        """Run a call with the time that is left for it.

        Raises:
            NotYetError: it did not end in a first look.
        """
        if request.folder in self.gone:
            return kind(status="fault", reason=_NEWER)
        if isinstance(request, CallRequest) and (imported := self._known_import(request)) is not None:
            known: Result = imported
            return known
        if self._seconds and self._spent >= self._seconds:
            self.cut = True
            return kind(status="fault", reason=f"{CUT_OFF}: all of it may take {self._seconds:g} s")
        hurried = self.known(request)
        limits = self._limits(request, hurried=hurried)
        done = self._run_with(request, limits, run)
        if done.status not in _LATE:
            if isinstance(request, CallRequest) and isinstance(done, Execution):
                self._note_import(request, done)
            return done
        if request.folder in self.gone:
            return kind(status="fault", reason=_NEWER)
        self._used = self._used or 0.0
        if limits == request.limits:
            self._slow.add(request.called)
            if isinstance(request, CallRequest) and isinstance(done, Execution) and done.loading:
                done = replace(done, reason=f"{done.reason}; so none of the file's functions can be called")
                self._stuck[request.file] = replace(done, seconds=0.0)
            return done
        why = "it did not end before" if hurried else "other calls of this task did not end"
        reason = f"{request.called[-1]} did not end in the little time that it was given here, because {why}"
        return replace(done, reason=reason)

    def _note_import(self, request: CallRequest, done: Execution) -> None:
        """Remember the error of a file's import: where two functions met the same, others would, too."""
        if done.loading and done.status == "crashed":
            now, (function, before) = replace(done, seconds=0.0), self._failed.get(_import_key(request), ("", None))
            alike = now == before and request.function != function
            self._failed[_import_key(request)] = (_ALL if alike else request.function, now)

    def _known_import(self, request: CallRequest) -> Any:
        """Return the outcome of importing a call's file, where it need not be tried again; else None."""
        function, failed = self._failed.get(_import_key(request), ("", None))
        return self._stuck.get(request.file, failed if function == _ALL else None)

    def _run_with(self, request: Request, limits: Limits, run: Callable[[Request], Result]) -> Result:
        """Run a call with these limits; with those of a first look, if there is one and it is shorter."""
        short = 0 < self.first_look < limits.seconds and not (isinstance(request, CallRequest) and request.attempt)
        begun = self._clock()
        self._here.folder = request.folder
        self._here.wall = max(limits.seconds, _LEAST_WALL) if self._asleep else None
        try:
            done = run(replace(request, limits=replace(limits, seconds=self.first_look) if short else limits))
        finally:
            self._here.folder = self._here.wall = None
        took = self._clock() - begun
        if took > _LONG:
            self._long.add(request.called)
        self._asleep = self._asleep or (done.status == "waited" and done.seconds < _ASLEEP * took)
        if short and done.status in _LATE and request.folder not in self.gone:
            raise NotYetError(request.called[-1])
        self._spent += took
        if self._used is not None:
            self._used += took
        return done

    def _limits(self, request: CallRequest | ProgramRequest | ScriptRequest, *, hurried: bool) -> Limits:
        seconds = request.limits.seconds
        if hurried:
            seconds = min(seconds, max(_LEAST, seconds / _PART))
        if self._used is not None:
            left = _MOST * request.limits.seconds - self._used
            seconds = min(seconds, max(_LEAST, seconds / _PART, left // 1))
        return replace(request.limits, seconds=seconds)


def _import_key(request: CallRequest) -> tuple[object, ...]:
    """Return the key of the import of a call's file."""
    return request.folder, request.file, repr(request.limits.environment), tuple(request.model.items())
