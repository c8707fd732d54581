"""The grader's end of children: starts them, collects what they send, ends them. Warm (one server, forks) or fresh.

Both put events into one queue: `(job, kind, data)` with the kinds `up`, `over` (too much printed), `ended` (an Exit),
`fault` (a reason) and `lost` (the server went away; the job is None).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from labgrade.errors import FaultError
from labgrade.sandbox import usage, wire
from labgrade.sandbox.child import UP, message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

START_SECONDS = 180.0
_END_SECONDS = 5.0
_CHUNK = 1 << 16
_POLL_SECONDS = 0.05
_MESSAGE_BYTES = 1 << 16
Events: TypeAlias = "SimpleQueue[tuple[int | None, str, Any]]"


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended: its exit code or minus a signal, CPU seconds of all it started, and which limit it broke."""

    code: int
    seconds: float
    why: str = ""


class Child:
    """One started child: what it sends and prints, the way to give it its job, the way to end it."""

    def __init__(self, job_pipe: int, collectors: tuple[Collector, Collector], kill: Callable[[], None]) -> None:
        self._job_pipe = job_pipe
        self.result, self.output = collectors
        self.kill = kill

    def give(self, job: object) -> None:
        """Send the job. A child that is gone takes none, and its end is told by an event."""
        with contextlib.suppress(OSError):
            _write(self._job_pipe, job)

    def close(self) -> None:
        """Wait for what was sent to be read to its end, as far as nobody holds the pipes open."""
        os.close(self._job_pipe)
        for collector in (self.result, self.output):
            collector.join(_END_SECONDS)


class Collector(threading.Thread):
    """Reads a pipe to its end and keeps its first bytes; beyond `most` it only counts."""

    def __init__(self, pipe: int, most: int, on_first: Callable[[], None], on_over: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._most = most
        self._on_first = on_first
        self._on_over = on_over
        self.data = bytearray()
        self.over = False
        self.start()

    def run(self) -> None:
        """Read until the pipe's other end is closed."""
        with contextlib.suppress(OSError), open(self._pipe, "rb", buffering=0) as pipe:  # noqa: PTH123 - a descriptor
            while chunk := pipe.read(_CHUNK):
                if not self.data:
                    self._on_first()
                room = self._most - len(self.data)
                self.data += chunk[:room]
                if len(chunk) > room and not self.over:
                    self.over = True
                    self._on_over()


def _collectors(job: int, result: int, output: int, most: int, events: Events) -> tuple[Collector, Collector]:
    return (
        Collector(
            result,
            wire.FRAME_BYTES + len(UP) + 1,
            on_first=lambda: events.put((job, "up", None)),
            on_over=lambda: None,
        ),
        Collector(output, most, on_first=lambda: None, on_over=lambda: events.put((job, "over", None))),
    )


class Warm:
    """A server that has torch loaded and forks one child a request. Linux only.

    Raises:
        FaultError: it did not come up, with what it printed.
    """

    def __init__(self, zoo: Path, home: str) -> None:
        self.events: Events = SimpleQueue()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the server
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = _start("serve", zoo, home, theirs.fileno(), self._log.fileno(), self._log.fileno())
        self._control.settimeout(START_SECONDS)
        ready = self._receive()
        self._control.settimeout(None)
        if ready.get("event") != "ready":
            problem = f"the sandbox's server did not come up: {self._told()}"
            self.close()
            raise FaultError(problem)
        self.forks_safely = ready["threads"] == 1
        threading.Thread(target=self._listen, daemon=True).start()

    def start(self, job: int, setup: Mapping[str, object], most: int) -> Child:
        """Ask for a child. A server that is gone says so in the queue.

        Raises:
            OSError: there is no descriptor left.
        """
        pipes = [os.pipe() for _ in range(3)]
        (job_read, job_write), (result_read, result_write), (output_read, output_write) = pipes
        theirs = [job_read, result_write, output_write]
        request = json.dumps({"do": "run", "id": job, "setup": setup}).encode()
        with contextlib.suppress(OSError):
            socket.send_fds(self._control, [request], theirs)
        for descriptor in theirs:
            os.close(descriptor)
        return Child(
            job_write, _collectors(job, result_read, output_read, most, self.events), kill=lambda: self._kill(job)
        )

    def _kill(self, job: int) -> None:
        with contextlib.suppress(OSError):
            self._control.send(json.dumps({"do": "kill", "id": job}).encode())

    def _told(self) -> str:
        self._process.kill()
        self._process.wait()
        self._log.seek(0)
        return self._log.read()[-2000:].decode("utf-8", "replace").strip()

    def _receive(self) -> dict[str, Any]:
        try:
            text = self._control.recv(_MESSAGE_BYTES)
        except OSError:
            text = b""
        return json.loads(text) if text else {}

    def _listen(self) -> None:
        while reply := self._receive():
            if reply["event"] == "ended":
                data: object = Exit(reply["code"], reply["seconds"], reply["why"])
            else:
                data = reply["reason"]
            self.events.put((reply["id"], reply["event"], data))
        self.events.put((None, "lost", None))

    def close(self) -> None:
        """Hang up; the server then ends its children and itself."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


class Fresh:
    """One new process a request, which loads torch anew: where forking is absent or unsafe."""

    def __init__(self, zoo: Path, home: str) -> None:
        self.events: Events = SimpleQueue()
        self._zoo = zoo
        self._home = home

    def start(self, job: int, setup: Mapping[str, Any], most: int) -> Child:
        """Start a child.

        Raises:
            OSError: no process can be started.
        """
        process = _start("once", self._zoo, self._home, subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
        stdin, stdout, stderr = (_own(pipe) for pipe in (process.stdin, process.stdout, process.stderr))
        child = Child(stdin, _collectors(job, stdout, stderr, most, self.events), kill=lambda: _end_group(process))
        child.give(setup)

        def wait() -> None:
            self.events.put((job, "ended", _watch(process, child, setup)))

        threading.Thread(target=wait, daemon=True).start()
        return child

    def close(self) -> None:
        """Nothing is kept."""


def _own(pipe: IO[bytes] | None) -> int:
    """The descriptor, ours to close."""
    if pipe is None:
        raise OSError
    descriptor = os.dup(pipe.fileno())
    pipe.close()
    return descriptor


def _watch(process: subprocess.Popen[bytes], child: Child, setup: Mapping[str, Any]) -> Exit:
    """Wait for the end of a fresh process, or bring it about. Loading torch is not the student's time."""
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


def _write(pipe: int, data: object) -> None:
    view = memoryview(message(data))
    while view:
        view = view[os.write(pipe, view) :]


def _start(mode: str, zoo: Path, home: str, stdin: int, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
    """Not `-I`: it would ignore PYTHONHASHSEED. The environment is made here, and -P -s keep out what is left of it."""
    script = str(Path(__file__).with_name("server.py"))
    return subprocess.Popen(
        [sys.executable, "-P", "-s", script, mode, str(zoo)],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=home,
        env=_environment(home),
        close_fds=True,
        start_new_session=True,
    )


def _environment(home: str) -> dict[str, str]:
    own = {
        "PATH": os.defpath,
        "HOME": home,
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "ORT_DISABLE_TELEMETRY": "1",
        "PYTHONHASHSEED": "0",
    }
    # Without it Windows starts no process that uses sockets.
    return own if sys.platform != "win32" else {**own, "SYSTEMROOT": os.environ.get("SYSTEMROOT", "")}
