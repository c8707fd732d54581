"""A server that is a fork of this very process: for a command that measures one file, and would wait for nothing else.

To start Python anew and import what a server needs takes as long as to analyse a file. What is forked forgets the
environment, all descriptors and the folder that it was called in, and then puts its jail on like any other. It runs
labgrade's own code on the file of the person who called the command, and no student's code; a grader's servers are
never made so.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path

from labgrade.sandbox.host import start_server
from labgrade.sandbox.host.loader import Forked

_FIRST = 3  # descriptors behind the three streams
_ENVIRONMENT = 47  # where it begins, of the fields behind a process's name


def possible() -> bool:
    """Return whether this process may be forked: a thread may hold a lock that nobody would release there."""
    return sys.platform == "linux" and threading.active_count() == 1 and hasattr(os, "pidfd_open")


@dataclass(slots=True)
class _Own(Forked):
    """A child of this process. It is waited for, so that its computing time counts as ours."""

    ended: bool = False

    def poll(self) -> int | None:
        if not self.ended and Forked.poll(self) is not None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
            self.ended = True
        return 0 if self.ended else None

    def wait(self, timeout: float | None = None) -> None:
        if not self.ended:
            Forked.wait(self, timeout)
            self.poll()

    def kill(self) -> None:
        if not self.ended:
            Forked.kill(self)


class OwnFork:
    """Forks this process, in place of a `Loader`. `home` is the folder in which a server begins."""

    def __init__(self, home: str) -> None:
        self._home = home

    def fork(self, line: int, log: int) -> Forked:
        """Fork a server that is spoken to on `line` and prints to `log`, both descriptors."""
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            self._serve(line, log)
        return _Own(pid, os.pidfd_open(pid))

    def _serve(self, line: int, log: int) -> None:
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            _keep_only(line, log)
            os.environ.clear()
            _wipe_environment()
            os.environ.update(start_server.environment(self._home))
            os.chdir(self._home)
            sys.path[:] = [place for place in sys.path if _is_of_python(place)]
            from labgrade.sandbox.child import server

            server.serve_as_fork([_FIRST, _FIRST + 1], None, "")
        except BaseException:  # noqa: BLE001 - the grader reads it in the log, and what is forked never returns
            os.write(_FIRST + 1, traceback.format_exc().encode())
        finally:
            os._exit(1)


def _keep_only(line: int, log: int) -> None:
    """Put the two descriptors behind the streams, the null device in place of stdin, and close all others."""
    line, log = _above(line), _above(log)  # so that neither is overwritten by the other
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(line, _FIRST)
    os.dup2(log, _FIRST + 1)
    os.closerange(_FIRST + 2, os.sysconf("SC_OPEN_MAX"))


def _wipe_environment() -> None:
    """Overwrite the environment that this process was started with: the kernel would go on to show it."""
    import ctypes

    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    start, end = int(fields[_ENVIRONMENT]), int(fields[_ENVIRONMENT + 1])
    if 0 < start < end:
        ctypes.memset(start, 0, end - start)


def _above(descriptor: int) -> int:
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD, _FIRST + 2)


def _is_of_python(place: str) -> bool:
    """Return whether a folder of modules is the interpreter's: not the working folder, nor a user's own."""
    own = getattr(sys.modules.get("site"), "USER_SITE", None)
    library = os.path.dirname(os.__file__)  # noqa: PTH120 - as `startswith` takes it; Debian's packages lie apart
    return place != own and place.startswith((sys.prefix, sys.base_prefix, library, "/usr/lib/python3"))
