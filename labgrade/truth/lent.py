"""One process that has loaded torch for all that compute expected values in a run: each borrows a fork of it.

No name leads to it: who asks sends it a socket, over another that only processes of the run have inherited.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys

from labgrade.files import process

UP = b"U"
_START_SECONDS, _END_SECONDS = 180.0, 5.0


class Lender:
    """The parent's end. `line` is what its processes ask on, once `start` was called; None where nothing is forked."""

    line: socket.socket | None = None

    def __init__(self) -> None:
        if sys.platform == "linux":
            self.line, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> bool:
        """Start the process, if it was not: to load torch takes longer than most values. Whether it is there."""
        if self._process is None and self.line is not None:
            self._process = subprocess.Popen(  # noqa: S603 - our own
                process.command("labgrade.truth.worker", "lend"),
                stdin=self._theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=process.environment(PYTHONHASHSEED="0"),
            )
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """End it, once nobody has a fork of it any more."""
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
        """None: whether it lives shows when it is asked."""
        return None

    def kill(self) -> None:
        """End it: it answers nobody any more."""
        with contextlib.suppress(OSError):
            self._own.shutdown(socket.SHUT_RDWR)

    def wait(self) -> int | None:
        """None: how it ended is its parent's to know."""
        self._own.close()
        return None
