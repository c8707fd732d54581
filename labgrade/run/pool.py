"""Processes that work off a list side by side, and talk to us while they do.

Where the system forks, they begin with all that we have loaded. They end with us, however we end.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Self, cast

from labgrade.run.events import WorkerLost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.connection import Connection

    # What a process does: `work(conversation, argument)`, until there is nothing left.
    Work = Callable[["Conversation", Any], None]

_PR_SET_PDEATHSIG = 1
_TRIES = 2
_SOON_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class WorkerQuestion:
    """A question for which a worker waits: call `answer`."""

    text: str
    answer: Callable[[Any], None]


class Conversation:
    """A worker's end of the line to its parent."""

    def __init__(self, line: Connection) -> None:
        self._line = line
        self._unsaid: list[object] = []
        self._saying = threading.Lock()
        self._waits = threading.Event()
        threading.Thread(target=self._say_soon, daemon=True).start()

    def tell(self, message: object, *, hurry: bool = True) -> None:
        """Send a message without waiting; one without hurry goes with the next, or soon."""
        with self._saying:
            self._unsaid.append(message)
        if hurry:
            self._say()
        else:
            self._waits.set()

    def _say(self, *more: object) -> None:
        with self._saying:
            if self._unsaid:
                self._line.send(("events", self._unsaid))
                self._unsaid = []
            if more:
                self._line.send(more)

    def _say_soon(self) -> None:
        """Send unhurried messages together: one for each check took a fiftieth of a class's time."""
        with contextlib.suppress(OSError):  # whoever listens is gone, and the worker with it
            while self._waits.wait():
                time.sleep(_SOON_SECONDS)
                self._waits.clear()
                self._say()

    def ask(self, question: str) -> Any:
        """Send a question and wait for the answer."""
        self._say("asked", question)
        return self._line.recv()

    def jobs(self) -> Iterator[Any]:
        """Yield one job after another until there are no more."""
        while True:
            self._say("next", None)
            job = self._line.recv()
            if job is None:
                return
            yield job


class WorkerPool:
    """Runs `work` in `size` processes. Use as a context manager: no process outlives it."""

    def __init__(self, size: int, work: Work, argument: object) -> None:
        self._context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self._work, self._argument = work, argument
        self._running: dict[Connection, Any] = {}
        for _ in range(size):
            self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            process.kill()
        for line, process in self._running.items():
            process.join()
            line.close()
        self._running.clear()

    @property
    def processes(self) -> list[int]:
        """Return the numbers of the processes."""
        return [process.pid for process in self._running.values()]

    def run(self, jobs: Iterable[Any]) -> Iterator[Any]:
        """Run all jobs; yield what workers tell and ask, None each second, and each `WorkerLost`."""
        waiting = deque(jobs)
        doing: dict[Connection, Any] = {}
        tries: dict[Any, int] = {}
        while self._running:
            ready = cast("list[Connection]", wait(list(self._running), timeout=1.0))
            if not ready:
                yield None
            for line in ready:
                try:
                    kind, message = line.recv()
                except (EOFError, OSError):
                    lost = self._bury(line, doing.pop(line, None), waiting, tries)
                    if lost is not None:
                        yield lost
                    continue
                if kind == "events":
                    yield from message
                elif kind == "asked":
                    yield WorkerQuestion(message, line.send)
                else:
                    doing.pop(line, None)
                    job = waiting.popleft() if waiting else None
                    line.send(job)
                    if job is not None:
                        doing[line] = job

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        others = [*self._running, ours]
        process = self._context.Process(target=_begin, args=(self._work, self._argument, theirs, others, os.getpid()))
        process.start()
        theirs.close()
        self._running[ours] = process

    def _bury(self, line: Connection, job: Any, waiting: deque[Any], tries: dict[Any, int]) -> WorkerLost | None:
        """Handle the end of a process: it had nothing left to do, or another one takes its job over."""
        process = self._running.pop(line)
        process.join()
        line.close()
        if job is None and not process.exitcode:
            return None
        tries[job] = tries.get(job, 0) + 1
        given_up = job is None or tries[job] >= _TRIES
        if not given_up:
            waiting.appendleft(job)
        if waiting and tries.get(None, 0) < _TRIES:
            self._start()
        return WorkerLost(job, process.exitcode) if given_up else None


def _begin(work: Work, argument: object, line: Connection, others: list[Connection], parent: int) -> None:
    """Set a worker up: the parent handles Ctrl-C, and the worker ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        for other in others:  # inherited; as long as one of us holds it, its owner's end is not noticed
            other.close()
    work(Conversation(line), argument)
