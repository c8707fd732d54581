"""One started child as the grader sees it: what it sends and prints, and what happens to it, one event after the other.

Events are `(kind, data)`: `up`, `over` (too much printed), `ended` (an Exit), `fault` (a reason), `lost` (what
kept it is gone).
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import select
import socket
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias

from labgrade.sandbox.child import wire
from labgrade.sandbox.child.main import IN_FILE, LOADED, UP, message
from labgrade.sandbox.host.start_server import START_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from labgrade.sandbox.host.branch import BlankWeights

    Take: TypeAlias = Callable[[IO[bytes]], None]

END_SECONDS = 5.0
_CHUNK = 1 << 16
Event: TypeAlias = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended: its exit code or minus a signal, CPU seconds of all it started, and which limit it broke."""

    code: int
    seconds: float
    why: str = ""


@dataclass(slots=True, eq=False)
class Stream:
    """The data from a pipe: its first `most` bytes are kept; `over`: there were more."""

    pipe: int
    most: int
    data: bytearray = field(default_factory=bytearray)
    over: bool = False

    def read(self, size: int = _CHUNK) -> bool:
        """Read the next chunk; return False at the end."""
        try:
            chunk = os.read(self.pipe, size)
        except OSError:
            return False
        room = self.most - len(self.data)
        self.data += chunk[:room]
        self.over |= len(chunk) > room
        return bool(chunk)


class Child:
    """One started child.

    `pipes`: its job to be written; result, output and errors to be read; errors may be -1. `take` reads what comes
    behind the first byte of the result, as it comes. Each pipe has a thread that reads it. `blank`: weights that are
    not drawn, and that it must not read.
    """

    blank: Sequence[BlankWeights] = ()

    def __init__(
        self, pipes: tuple[int, int, int, int], most: int, kill: Callable[[], None], take: Take | None = None
    ) -> None:
        self.events: SimpleQueue[Event] = SimpleQueue()
        self._job_pipe, result, output, errors = pipes
        self.kill, self._take = kill, take
        self.result = Stream(result, wire.FRAME_BYTES + len(UP) + len(LOADED) + 1)
        self.output = Stream(output, most)
        self.errors = None if errors < 0 else Stream(errors, most)
        self._streams = [each for each in (self.result, self.output, self.errors) if each is not None]
        self.large: memoryview | None = None
        self._threads: list[threading.Thread] = []
        self._begin()

    def _begin(self) -> None:
        for stream in self._streams:
            self._start(self._read_all, stream)

    def _start(self, read: Callable[[Stream], None], stream: Stream) -> None:
        self._threads.append(threading.Thread(target=read, args=(stream,), daemon=True))
        self._threads[-1].start()

    def _read_all(self, stream: Stream) -> None:
        while self._read(stream):
            if self._is_taken(stream):
                self._let_take(stream)
                return
        os.close(stream.pipe)

    def _read(self, stream: Stream) -> bool:
        """Read the next chunk of one stream and report its events; return whether more may come."""
        begun, over = bool(stream.data), stream.over
        goes_on = stream.read(1 if self._is_taken(stream) else _CHUNK)
        if stream is self.result:
            if stream.data and not begun:
                self.events.put(("up", None))
        elif stream.over and not over:
            self.events.put(("over", None))
        return goes_on

    def _is_taken(self, stream: Stream) -> bool:
        return stream is self.result and self._take is not None

    def _let_take(self, stream: Stream) -> None:
        with contextlib.suppress(OSError), open(stream.pipe, "rb", buffering=0) as pipe:  # noqa: PTH123 - a descriptor
            if self._take is not None:
                self._take(pipe)
            while pipe.read(_CHUNK):
                pass

    def give(self, data: object) -> None:
        """Send data to the child. That a child has ended is reported by an event."""
        view = memoryview(message(data))
        with contextlib.suppress(OSError):
            while view:
                view = view[os.write(self._job_pipe, view) :]

    def next_event(self, seconds: float) -> Event | None:
        """Return the next event, or None after so many seconds without one."""
        try:
            return self.events.get(timeout=max(0.0, seconds))
        except Empty:
            return None

    @property
    def printed_too_much(self) -> bool:
        """Return whether more was printed than is allowed."""
        return self.output.over or (self.errors is not None and self.errors.over)

    def close(self) -> None:
        """Close the job's pipe, and wait until the other pipes are read to their ends, up to END_SECONDS."""
        os.close(self._job_pipe)
        for thread in self._threads:
            thread.join(END_SECONDS)


class PolledChild(Child):
    """A child of a fork server, which reports on a `line`. Whoever waits for the next event reads the pipes.

    A thread for each pipe would take longer than many a call. `heard` makes the last event of what the line says; a
    large result lies in the `file`, a descriptor or -1.
    """

    def __init__(
        self,
        pipes: tuple[int, int, int, int],
        most: int,
        line: socket.socket,
        heard: Callable[[socket.socket], Event],
        take: Take | None = None,
        file: int = -1,
    ) -> None:
        self._line, self._heard, self._file = line, heard, file
        super().__init__(pipes, most, partial(hang_up, line), take)

    def _begin(self) -> None:
        self._open = {each.pipe: each for each in self._streams}
        self._poll = select.poll()
        for descriptor in (*self._open, self._line.fileno()):
            self._poll.register(descriptor, select.POLLIN)

    def next_event(self, seconds: float) -> Event | None:
        """Return the next event, or None after so many seconds without one."""
        deadline = time.monotonic() + max(0.0, seconds)
        while self.events.empty():
            left = deadline - time.monotonic()
            if left < 0 or not self._look(left):
                return None
        return self.events.get()

    def _look(self, seconds: float) -> bool:
        """Read what comes within so many seconds; return whether anything came. Data is read before the end is told."""
        ready = {descriptor for descriptor, _ in self._poll.poll(math.ceil(seconds * 1000))}
        for stream in [self._open[each] for each in ready & self._open.keys()]:
            goes_on = self._read(stream)
            if goes_on and not self._is_taken(stream):
                continue
            self._poll.unregister(stream.pipe)
            del self._open[stream.pipe]
            if goes_on:
                self._start(self._let_take, stream)
            else:
                os.close(stream.pipe)
        if self._line.fileno() in ready:
            self._poll.unregister(self._line)
            self.events.put(self._heard(self._line))
        return bool(ready)

    def close(self) -> None:
        """Hang up, and read the pipes to their ends, up to END_SECONDS."""
        hang_up(self._line)
        deadline = time.monotonic() + END_SECONDS
        while self._open and (left := deadline - time.monotonic()) > 0:
            self._look(left)
        for pipe in self._open:
            os.close(pipe)
        self._line.close()
        if self._file >= 0:
            if self.result.data.endswith(IN_FILE):
                self._map()
            os.close(self._file)
        super().close()

    def _map(self) -> None:
        """Map the result file: to copy it through the pipe would take ten times as long."""
        size = min(os.fstat(self._file).st_size, wire.FRAME_BYTES + 1)
        if size:
            self.large = memoryview(mmap.mmap(self._file, size, access=mmap.ACCESS_COPY))


def hang_up(line: socket.socket) -> None:
    """Shut a connection down, so that the process at its other end ends the job."""
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_WR)


_KILL_SECONDS = 10.0
_KILLED = -9  # by SIGKILL, where there are signals
_LOOK_SECONDS, _LOOK_CLOSELY_SECONDS = 0.2, 0.05


class Waiting(Protocol):
    """Decides how long jobs are waited for; `time_limits.Patience` does."""

    def is_gone(self) -> bool:
        """Return whether nobody waits any more for the calls of this thread."""

    def wall(self, usual: float) -> float:
        """Return the seconds by the clock that a call of this thread may take; at most `usual`."""


@dataclass(slots=True)
class Ending:
    """What is known of a child, while it runs and in the end.

    `up`: the child was confined; what happened later is the student's doing. `stopped`: why the grader ended it
    (`wall`, `start`, `output`, `memory`, `gone`, `blank`). `fault`: why it could not be started. `lost`: its server is
    gone, which is labgrade's fault.
    """

    child: Child
    up: bool = False
    stopped: str = ""
    exit: Exit | None = None
    fault: str = ""
    lost: bool = False

    def should_retry(self, *, trusted: bool, taken: bool) -> bool:
        """Return whether to try once more: the server is gone, or something killed the process within its limits.

        `trusted`: no student's code ran there, which may kill its own process; `taken`: its result was read meanwhile.
        """
        end = self.exit
        killed = end is not None and not (self.stopped or end.why) and end.code == _KILLED
        return not self.up or not taken if self.lost else killed and (not self.up or (trusted and not taken))

    @property
    def was_blind(self) -> bool:
        """Return whether the child read weights that nobody has drawn, so that nothing that it said counts."""
        return any(each.are_read for each in self.child.blank)

    @property
    def loaded(self) -> bool:
        """Return whether the student's file was imported, as their own process says."""
        return self.child.result.data.startswith(UP + LOADED)

    @property
    def frames(self) -> memoryview:
        """Return the bytes of the result. The view must be released before more may come."""
        said = memoryview(self.child.result.data)[len(UP) + len(LOADED) * self.loaded :]
        return self.child.large if said == IN_FILE and self.child.large is not None else said


def follow(
    child: Child,
    job: object,
    wall: float,
    starved: Callable[[], bool] = lambda: False,
    patience: Waiting | None = None,
) -> Ending:
    """Give the child its job once it is up, and wait for its end. `wall`: the seconds it may take from then on.

    Now and then, and in the end, two questions are asked: `starved`, whether the kernel held its memory at the limit;
    `patience`, whether nobody waits for it any more. A child that reads blank weights is stopped.
    """
    ending = Ending(child)
    reasons = {"memory": starved} | ({"gone": patience.is_gone} if patience is not None else {})
    reasons |= {"blank": lambda: ending.was_blind} if child.blank else {}
    killed, deadline = False, time.monotonic() + START_SECONDS
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


def _next(ending: Ending, deadline: float, reasons: Mapping[str, Callable[[], bool]]) -> Event | None:
    """Return the next event, or None at the deadline. Once the child is up, look for reasons to stop it."""
    most = _LOOK_CLOSELY_SECONDS if ending.child.blank else _LOOK_SECONDS
    while True:
        event = ending.child.next_event(min(deadline - time.monotonic(), most))
        if ending.up and not ending.stopped:
            ending.stopped = next((why for why, holds in reasons.items() if holds()), "")
            if ending.stopped:
                return event or ("over", None)
        if event is not None or time.monotonic() >= deadline:
            return event
