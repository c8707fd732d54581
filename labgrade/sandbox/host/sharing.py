"""One set of servers for several graders: the first grader listens, the others (xdist's workers) ask it for a branch.

What is sent is one kind of server; what comes back is how that server is jailed, and a socket of a branch of it. Where
subjects are sent with it, the branch has these ready, and all who ask for it share it: they are built once. The
socket that is listened on lies in a folder of this user's own.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import FaultError
from labgrade.sandbox.host.fork_server import ForkServer, LostError
from labgrade.sandbox.host.start_server import START_SECONDS
from labgrade.sandbox.requests import Ready

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_MESSAGE_BYTES = 1 << 16


class Lender(threading.Thread):
    """Answers graders that ask, one after the other. `get` starts a server, `drop` forgets a lost one."""

    def __init__(self, path: Path, get: Callable[[str], object], drop: Callable[[str, object], None]) -> None:
        super().__init__(daemon=True)
        self._get, self._drop = get, drop
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        path.chmod(0o600)
        self._listener.listen(64)
        self.start()

    def run(self) -> None:
        """Answer until `close`."""
        with contextlib.suppress(OSError):
            while True:
                asking, _ = self._listener.accept()
                with asking, contextlib.suppress(OSError, ValueError):  # it is gone already
                    self._answer(asking, **json.loads(asking.recv(_MESSAGE_BYTES)))

    def _answer(self, asking: socket.socket, kind: str, ready: Mapping[str, Any] | None = None) -> None:
        for _ in range(2):
            try:
                server = self._get(kind)
                if not isinstance(server, ForkServer):
                    break
                told = [json.dumps({"state": server.state}).encode()]
                if ready is not None:
                    server.lend(Ready(**ready), partial(_send, asking, told))
                else:
                    with server.branch() as branch:
                        _send(asking, told, branch)
            except LostError:
                self._drop(kind, server)
            except FaultError as error:
                asking.send(json.dumps({"problem": str(error)}).encode()[:_MESSAGE_BYTES])
                return
            else:
                return
        asking.send(json.dumps({"problem": "there is no server to share"}).encode())

    def close(self) -> None:
        """Stop answering."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def borrow(path: Path, kind: str) -> ForkServer:
    """Return a branch of a server of another grader's, which listens at `path`.

    Raises:
        FaultError: it has none, or is gone; from the branch, too, where a subject can't be had from it.
    """
    line, state = _ask(path, {"kind": kind})
    return ForkServer.joined(line, state, lambda ready: _ask(path, {"kind": kind, "ready": asdict(ready)})[0])


def _send(asking: socket.socket, told: list[bytes], line: socket.socket) -> None:
    socket.send_fds(asking, told, [line.fileno()])


def _ask(path: Path, wanted: dict[str, object]) -> tuple[socket.socket, dict[str, Any]]:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.settimeout(START_SECONDS)
            asking.connect(str(path))
            asking.send(json.dumps(wanted).encode())
            text, descriptors, _, _ = socket.recv_fds(asking, _MESSAGE_BYTES, 1)
        told: dict[str, Any] = json.loads(text)
    except (OSError, ValueError) as error:
        message = f"the grader that shares its sandbox is gone: {error}"
        raise FaultError(message) from error
    if "problem" in told:
        raise FaultError(told["problem"])
    return socket.socket(fileno=descriptors[0]), told["state"]
