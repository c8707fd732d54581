"""One started child as the grader sees it: what it sends and prints, and what happens to it, in one queue.

Events are `(kind, data)`: `up`, `over` (too much printed), `ended` (an Exit), `fault` (a reason), `lost` (what
kept it is gone).
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias

from labgrade.sandbox.child import wire
from labgrade.sandbox.child.main import LOADED, UP, message
from labgrade.sandbox.host.start_server import START_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Take: TypeAlias = Callable[[IO[bytes]], None]

END_SECONDS = 5.0
_CHUNK = 1 << 16
Events: TypeAlias = "SimpleQueue[tuple[str, Any]]"


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended: its exit code or minus a signal, CPU seconds of all it started, and which limit it broke."""

    code: int
    seconds: float
    why: str = ""


class Collector(threading.Thread):
    """Reads a pipe to its end and keeps its first bytes; beyond `most` it only counts.

    `take` reads what comes behind the first byte instead, as it comes.
    """

    def __init__(
        self,
        pipe: int,
        most: int,
        on_first: Callable[[], None],
        on_over: Callable[[], None],
        take: Take | None = None,
    ) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._most = most
        self._on_first = on_first
        self._on_over = on_over
        self._take = take
        self.data = bytearray()
        self.over = False
        self.start()

    def run(self) -> None:
        """Read until the pipe's other end is closed."""
        with contextlib.suppress(OSError), open(self._pipe, "rb", buffering=0) as pipe:  # noqa: PTH123 - a descriptor
            if self._take is not None:
                self.data += pipe.read(1)
                if self.data:
                    self._on_first()
                self._take(pipe)
            while chunk := pipe.read(_CHUNK):
                if not self.data:
                    self._on_first()
                room = self._most - len(self.data)
                self.data += chunk[:room]
                if len(chunk) > room and not self.over:
                    self.over = True
                    self._on_over()


class Child:
    """One started child. `pipes`: its job to be written, result, output and errors to be read; errors may be -1.

    `take` reads the result as it comes.
    """

    def __init__(
        self, pipes: tuple[int, int, int, int], most: int, kill: Callable[[], None], take: Take | None = None
    ) -> None:
        self.events: Events = SimpleQueue()
        self._job_pipe, result, output, errors = pipes
        self.kill = kill
        frame = wire.FRAME_BYTES + len(UP) + len(LOADED) + 1
        self.result = Collector(result, frame, lambda: self.events.put(("up", None)), _nothing, take)
        over = lambda: self.events.put(("over", None))  # noqa: E731 - twice the same
        self.output = Collector(output, most, _nothing, over)
        self.errors = None if errors < 0 else Collector(errors, most, _nothing, over)

    def give(self, data: object) -> None:
        """Send something. A child that is gone takes none; an event says that it ended."""
        view = memoryview(message(data))
        with contextlib.suppress(OSError):
            while view:
                view = view[os.write(self._job_pipe, view) :]

    def next_event(self, seconds: float) -> tuple[str, Any] | None:
        """The next event, or None after so many seconds without one."""
        try:
            return self.events.get(timeout=max(0.0, seconds))
        except Empty:
            return None

    @property
    def printed_too_much(self) -> bool:
        """Whether more was printed than is allowed."""
        return self.output.over or (self.errors is not None and self.errors.over)

    def close(self) -> None:
        """Wait for what was sent to be read to its end, as far as nobody holds the pipes open."""
        os.close(self._job_pipe)
        for collector in (self.result, self.output, self.errors):
            if collector is not None:
                collector.join(END_SECONDS)


def _nothing() -> None:
    """No event."""


_KILL_SECONDS = 10.0
_LOOK_SECONDS = 0.05


class Waiting(Protocol):
    """Whoever waits for jobs: `time_limits.Patience`."""

    def is_gone(self) -> bool:
        """Whether nobody waits any more for what this thread calls."""

    def wall(self, usual: float) -> float:
        """The seconds that what this thread calls may take, of those that it usually may."""


@dataclass(slots=True)
class Ending:
    """What is known of a child, while it runs and in the end.

    `up`: it said so, and what happened later is the student's doing. `stopped`: why the grader ended it (`wall`,
    `start`, `output`, `memory`, `gone`). `fault`: why it could not be started. `lost`: what kept it is gone, which is
    labgrade's fault.
    """

    child: Child
    up: bool = False
    stopped: str = ""
    exit: Exit | None = None
    fault: str = ""
    lost: bool = False

    @property
    def loaded(self) -> bool:
        """Whether the student's file was imported, as their own process says."""
        return self.child.result.data.startswith(UP + LOADED)

    @property
    def frames(self) -> memoryview:
        """What it said in the end. It must be let go of before more may come."""
        return memoryview(self.child.result.data)[len(UP) + len(LOADED) * self.loaded :]


def follow(
    child: Child,
    job: object,
    wall: float,
    starved: Callable[[], bool] = lambda: False,
    patience: Waiting | None = None,
) -> Ending:
    """Give the child its job once it is up, and wait for its end. `wall`: the seconds it may take from then on.

    Asked now and then, and in the end: `starved`, whether the kernel held its memory at the limit; `patience`, whether
    nobody waits for it any more.
    """
    ending = Ending(child)
    reasons = {"memory": starved} | ({"gone": patience.is_gone} if patience is not None else {})
    killed = False
    deadline = time.monotonic() + START_SECONDS
    while ending.exit is None and not ending.fault and not ending.lost:
        match _next(ending, deadline, reasons):
            case None if ending.stopped:
                ending.lost = True
            case None:
                ending.stopped = "wall" if ending.up else "start"
            case ("up", _):
                ending.up = True
                deadline = time.monotonic() + (wall if patience is None else patience.wall(wall))
                child.give(job)
            case ("over", _):
                ending.stopped = ending.stopped or "output"
            case ("ended", exit_):
                ending.exit = exit_
            case ("fault", reason):
                ending.fault = reason
            case _:
                ending.lost = True
        if ending.stopped and not killed:
            killed = True
            deadline = time.monotonic() + _KILL_SECONDS
            child.kill()
    child.close()
    return ending


def _next(ending: Ending, deadline: float, reasons: Mapping[str, Callable[[], bool]]) -> tuple[str, Any] | None:
    """The next event, or None at the deadline. Looks for a reason to stop, from when the child is the student's."""
    while True:
        event = ending.child.next_event(min(deadline - time.monotonic(), _LOOK_SECONDS))
        if ending.up and not ending.stopped:
            ending.stopped = next((why for why, holds in reasons.items() if holds()), "")
            if ending.stopped:
                return event or ("over", None)
        if event is not None or time.monotonic() >= deadline:
            return event
