"""The grader's end of the process that has torch loaded, of which servers are forks: it is loaded once a run.

What computes expected values is a fork of it, too: a brother of the servers, which none of them came of.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
from dataclasses import dataclass

from labgrade.core.errors import FaultError
from labgrade.sandbox.host.child import END_SECONDS
from labgrade.sandbox.host.start_server import START_SECONDS, KilledError, start

_MESSAGE_BYTES = 1 << 16


@dataclass(slots=True)
class Forked:
    """A process that another process of labgrade's forked. `life` is the descriptor that signals its end."""

    pid: int
    life: int

    def kill(self) -> None:
        """Kill the process if it has not ended."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.life, signal.SIGKILL)

    def poll(self) -> int | None:
        """Return 0 once the process has ended; None while it runs."""
        return 0 if self._has_ended(0) else None

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the process has ended.

        Raises:
            subprocess.TimeoutExpired: it has not after so many seconds.
        """
        if not self._has_ended(timeout):
            raise subprocess.TimeoutExpired([], timeout or 0.0)

    def _has_ended(self, seconds: float | None) -> bool:
        poll = select.poll()
        poll.register(self.life, select.POLLIN)
        return bool(poll.poll(None if seconds is None else 1000 * seconds))

    def __del__(self) -> None:
        os.close(self.life)


class Loader:
    """A process that loads libraries and forks servers, each before its jail. It sees nothing of any class.

    Raises:
        FaultError: it does not come up, or what it has loaded can't be forked.
    """

    def __init__(self, zoo: str, home: str, *, readers: bool) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, tempfile.TemporaryFile() as log:
            self._process = start(["load"], home, (theirs.fileno(), log.fileno(), log.fileno()))
        state: dict[str, object] = {}
        with contextlib.suppress(OSError):
            self._line.send(json.dumps({"zoo": zoo, "libraries": True, "readers": readers}).encode())
            self._line.settimeout(START_SECONDS)
            state = json.loads(self._line.recv(_MESSAGE_BYTES) or b"{}")
        if state.get("threads") != 1:
            self.close()
            message = "what servers are forked of did not come up"
            raise FaultError(message)

    def fork(self, line: int, log: int, module: str = "") -> Forked:
        """Fork a server that is spoken to on `line` and prints to `log`, both descriptors.

        With a `module` of labgrade's the fork runs that module's `lend`, in no jail: never for students' code.

        Raises:
            KilledError: the loader is gone.
        """
        try:
            socket.send_fds(self._line, [json.dumps({"module": module}).encode()], [line, log])
            text, (life, *_), _, _ = socket.recv_fds(self._line, _MESSAGE_BYTES, 1)
        except (OSError, ValueError) as error:
            self._process.kill()  # it may be about to end: from now on it `is_lost`
            self._process.wait()
            message = f"what servers are forked of is gone: {error}"
            raise KilledError(message) from error
        return Forked(json.loads(text)["pid"], life)

    @property
    def is_lost(self) -> bool:
        """Return whether the loader has ended. The servers that it forked go on."""
        return self._process.poll() is not None

    def close(self) -> None:
        """Hang up, and wait for the end of the loader, which ends after its servers."""
        self._line.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
