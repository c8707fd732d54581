"""One new process a request, which loads torch anew: where forking is absent or unsafe. There is no jail around it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Any

from labgrade.sandbox.host.child import Child, Exit
from labgrade.sandbox.host.start_server import start
from labgrade.sandbox.jail import usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from labgrade.sandbox.host.child import Take

_POLL_SECONDS = 0.05


class SpawnedServer:
    """Starts a new process for each child."""

    private = False

    def __init__(
        self, zoo: Path, home: str, imports: tuple[str, ...] = (), variables: Mapping[str, str] | None = None
    ) -> None:
        self._variables = variables
        self._zoo = zoo
        self._imports = imports
        self._home = home

    def user(self) -> AbstractContextManager[int]:
        """Provide user 0: all jobs have the grader's."""
        return contextlib.nullcontext(0)

    def start(self, setup: Mapping[str, Any], most: int, take: Take | None = None) -> Child:
        """Start a child. `take` reads its result.

        Raises:
            OSError: no process can be started.
        """
        pipes = (subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
        process = start(["once", str(self._zoo), *self._imports], self._home, pipes, variables=self._variables)
        stdin, stdout, stderr = (_own_descriptor(pipe) for pipe in (process.stdin, process.stdout, process.stderr))
        child = Child((stdin, stdout, stderr, -1), most, kill=lambda: _end_group(process), take=take)
        child.give(setup)

        def wait() -> None:
            child.events.put(("ended", _watch(process, child, setup)))

        threading.Thread(target=wait, daemon=True).start()
        return child

    def close(self) -> None:
        """Do nothing: no process is kept."""


def _own_descriptor(pipe: IO[bytes] | None) -> int:
    """Return a descriptor of the pipe that we close ourselves."""
    if pipe is None:
        raise OSError
    descriptor = os.dup(pipe.fileno())
    pipe.close()
    return descriptor


def _watch(process: subprocess.Popen[bytes], child: Child, setup: Mapping[str, Any]) -> Exit:
    """Wait for the end of a fresh process, or end it at a limit. The time to load torch does not count."""
    meter = usage.Meter(process.pid)
    why, spent, up = "", 0.0, False
    while process.poll() is None:
        if not up and child.result.data:
            up = True
            meter.restart()
        if up and not why:
            spent = meter.cpu_seconds()
            why = meter.excess(setup["seconds"], setup["memory"])
            if why:
                _end_group(process)
        time.sleep(_POLL_SECONDS)
    _end_group(process)
    return Exit(process.returncode, spent, why)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    usage.end_descendants(process.pid)
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
