"""One process that has loaded torch for all that compute expected values in a run: each borrows a fork of it.

Where there is one that servers of students' code are forked of, it is a fork of that: torch is loaded once a run. No
name leads to it: who asks sends it a socket, over another that only processes of the run have inherited.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import FaultError
from labgrade.files import process

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labgrade.sandbox.host.loader import Forked

    # A fork of what has torch loaded, which runs a module of labgrade's with two descriptors; None where there is none.
    Fork = Callable[[str, int, int], Forked | None]

UP = b"U"
_MODULE = "labgrade.truth.worker"
_START_SECONDS, _END_SECONDS = 180.0, 5.0


class Lender:
    """The parent's end. `line` is what its processes ask on, once `start` was called; None where nothing is forked."""

    line: socket.socket | None = None

    def __init__(self) -> None:
        if sys.platform == "linux":
            self.line, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process: subprocess.Popen[bytes] | Forked | None = None

    def start(self, fork: Fork = lambda *_: None) -> bool:
        """Start the process once, as loading torch takes longer than most values; return whether it runs.

        What it was forked of learns neither the environment nor the folder, nor where its modules are searched.
        """
        if self._process is None and self.line is not None:
            environment, line = process.environment(PYTHONHASHSEED="0"), self._theirs.fileno()
            with Path(os.devnull).open("wb") as null, contextlib.suppress(OSError):  # of what is too long to be sent
                # A course may be named from where one stands.
                place = {"environment": environment, "searched": process.search_path(), "folder": str(Path.cwd())}
                self.line.send(json.dumps(place).encode())
                self._process = fork(_MODULE, line, null.fileno()) or subprocess.Popen(  # noqa: S603 - our own
                    process.command(_MODULE, "lend"), stdin=line, stdout=null, stderr=null, env=environment
                )
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """End the process once nobody uses a fork of it."""
        if self.line is not None:
            self.line.close()
            self._theirs.close()
        if self._process is not None:
            try:
                self._process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Borrowed:
    """A fork of that process, spoken to like a process of one's own, which writes its last words to `errors`.

    Raises:
        OSError: it is gone.
    """

    def __init__(self, line: socket.socket, errors: int) -> None:
        self._own, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(line, [b"fork"], [theirs.fileno(), errors])
        self._own.settimeout(_START_SECONDS)
        if self._own.recv(len(UP)) != UP:
            raise ConnectionResetError
        self._own.settimeout(None)
        self.stdin, self.stdout = self._own.makefile("wb"), self._own.makefile("rb")

    def poll(self) -> int | None:
        """Return None: only a request shows whether the process lives."""
        return None

    def kill(self) -> None:
        """End the fork."""
        with contextlib.suppress(OSError):
            self._own.shutdown(socket.SHUT_RDWR)

    def wait(self) -> int | None:
        """Return None: only its parent knows how it ended."""
        self._own.close()
        return None


def answer(worker: subprocess.Popen[bytes] | Borrowed, request: Mapping[str, Any]) -> bytes:
    """Return the process's reply, a line; without its end where the process is gone."""
    if worker.stdin is None or worker.stdout is None:  # pragma: no cover - Popen was asked for both
        message = "the worker has no pipes"
        raise FaultError(message)
    try:
        worker.stdin.write(json.dumps(request).encode() + b"\n")
        worker.stdin.flush()
        return worker.stdout.readline()
    except (BrokenPipeError, ConnectionResetError):
        return b""
