"""Runs functions of a student's: the only door between the grader and what students wrote."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from queue import Empty
from typing import TYPE_CHECKING, Any, Self

from labgrade.errors import FaultError
from labgrade.results import Execution
from labgrade.sandbox import handin
from labgrade.sandbox.given import GIVEN
from labgrade.sandbox.outcome import Ending, execution
from labgrade.sandbox.processes import START_SECONDS, Fresh, Warm

if TYPE_CHECKING:
    from labgrade.sandbox.request import CallRequest

ZOO = Path(__file__).parent.parent / "zoo.py"
_WALL_FACTOR = 4.0
_WALL_SPARE = 20.0
_KILL_SECONDS = 10.0
_GIVEN_FOLDER = ".given"


class Runner:
    """Calls students' functions in other processes, one at a time. Nothing is started before the first call.

    Use as a context manager, or call `close`. `zoo` is the file whose `Subject` builds what is given. `spare_seconds`:
    the clock stops a call after 4 times its CPU limit, and no earlier than this many seconds after it: a busy machine
    fails nobody.
    """

    def __init__(self, *, zoo: Path = ZOO, fresh: bool | None = None, spare_seconds: float = _WALL_SPARE) -> None:
        asked = os.environ.get("LABGRADE_FRESH") == "1" if fresh is None else fresh
        self._fresh = asked or sys.platform != "linux"  # forking is absent on Windows and unsafe on macOS
        self._zoo = zoo
        self._spare_seconds = spare_seconds
        self._home: tempfile.TemporaryDirectory[str] | None = None
        self._launcher: Warm | Fresh | None = None
        self._broken = ""
        self._ids = count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes behind it. It may be used again afterwards."""
        self._hang_up()
        if self._home is not None:
            handin.discard(Path(self._home.name))
            self._home.cleanup()
            self._home = None

    def run(self, request: CallRequest) -> Execution:
        """Call the function. Never raises for what a student's code does; a failure of ours has the status `fault`."""
        unknown = sorted(set(request.given) - set(GIVEN))
        if unknown or (request.given and request.subject is None):
            problem = f"nothing called '{unknown[0]}' can be given" if unknown else "there is no subject to be given"
            return Execution(status="fault", reason=problem)
        if self._broken:
            return Execution(status="fault", reason=self._broken)
        try:
            folder = Path(tempfile.mkdtemp(prefix="call-", dir=self._own_folder()))
            try:
                return self._run_in(folder, request)
            finally:
                handin.discard(folder)
        except OSError as error:
            return Execution(status="fault", reason=f"the sandbox could not be used: {error}")

    def _run_in(self, folder: Path, request: CallRequest) -> Execution:
        (folder / "tmp").mkdir()
        left_out = handin.copy(request.folder, folder / "handin")
        handin.provide(request.model, folder / "handin" / _GIVEN_FOLDER)
        for _ in range(2):
            try:
                ending = self._attempt(folder, request)
            except FaultError as error:
                self._broken = str(error)
                return Execution(status="fault", reason=self._broken)
            if ending.up or not ending.lost:
                return execution(ending, request, left_out)
            # The server went away before any code of this student ran: another's did it, so this one gets a new server.
        return Execution(status="fault", reason="the sandbox's server went away twice before the call began")

    def _attempt(self, folder: Path, request: CallRequest) -> Ending:
        launcher = self._launcher = self._launcher or self._launch()
        job = next(self._ids)
        child = launcher.start(job, _setup(folder, request), request.limits.output)
        ending = Ending(child)
        try:
            self._follow(job, ending, launcher, request)
        finally:
            if ending.lost:
                self._hang_up()
            child.close()
        return ending

    def _follow(self, job: int, ending: Ending, launcher: Warm | Fresh, request: CallRequest) -> None:
        """Take the child's events until it has ended, stopping it when its time is up or it prints too much."""
        wall = max(_WALL_FACTOR * request.limits.seconds, request.limits.seconds + self._spare_seconds)
        deadline = time.monotonic() + START_SECONDS
        while ending.exit is None and not ending.fault and not ending.lost:
            event = _next(launcher, max(0.0, deadline - time.monotonic()))
            match event:
                case None if ending.stopped:
                    ending.lost = True
                case None:
                    ending.stopped = "wall" if ending.up else "start"
                case (None, _, _):
                    ending.lost = True
                case (number, "up", _) if number == job:
                    ending.up = True
                    deadline = time.monotonic() + wall
                    ending.child.give({"file": request.file, "function": request.function})
                case (number, "over", _) if number == job:
                    ending.stopped = ending.stopped or "output"
                case (number, "ended", exit_) if number == job:
                    ending.exit = exit_
                case (number, "fault", reason) if number == job:
                    ending.fault = reason
                case _:
                    continue  # of an earlier child
            if ending.stopped and not ending.killed:
                ending.killed = True
                deadline = time.monotonic() + _KILL_SECONDS
                ending.child.kill()

    def _launch(self) -> Warm | Fresh:
        home = str(self._own_folder())
        if not self._fresh:
            warm = Warm(self._zoo, home)
            if warm.forks_safely:
                return warm
            warm.close()
            self._fresh = True
        return Fresh(self._zoo, home)

    def _own_folder(self) -> Path:
        if self._home is None:
            self._home = tempfile.TemporaryDirectory(prefix="labgrade-", ignore_cleanup_errors=True)
        return Path(self._home.name).resolve()

    def _hang_up(self) -> None:
        if self._launcher is not None:
            self._launcher.close()
            self._launcher = None


def _next(launcher: Warm | Fresh, seconds: float) -> tuple[int | None, str, Any] | None:
    try:
        return launcher.events.get(timeout=seconds)
    except Empty:
        return None


def _setup(folder: Path, request: CallRequest) -> dict[str, object]:
    subject = request.subject
    return {
        "folder": str(folder),
        "seconds": request.limits.seconds,
        "memory": request.limits.memory,
        "given": list(request.given),
        "model_path": str(folder / "handin" / _GIVEN_FOLDER / next(iter(request.model), "")),
        "subject": subject
        and {
            "model": subject.model,
            "shape": list(subject.input.shape),
            "fill": subject.input.fill,
            "input_seed": subject.input.seed,
            "options": dict(subject.options),
            "weight_seed": subject.seed,
        },
    }
