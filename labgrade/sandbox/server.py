"""The process that runs children: started by its path, with torch loaded, and no secret.

`server.py serve ZOO` is warm: it forks one child a request (Linux). `server.py once ZOO` is the child itself, in a
process of its own. In both, descriptors 0 to 2 are all that is inherited; the warm one is spoken to on descriptor 0, a
socket. Its messages are JSON: requests come with the child's three descriptors, replies go back.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib.util
import json
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from labgrade.sandbox.child import Setup

_REMEMBERED = 2
_POLL_MS = 50
_REQUEST_BYTES = 1 << 20
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def load(name: str, path: Path, *, package: bool = False) -> ModuleType:
    """Import a file under a name, without its folder in the search path, in which other things lie too."""
    places = [str(path.parent)] if package else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=places)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Shelf:
    """The subjects that were asked for last, so that a second question about one costs nothing."""

    def __init__(self, zoo: ModuleType) -> None:
        self._zoo = zoo
        self._subjects: dict[str, Any] = {}

    def arguments(self, setup: Setup) -> dict[str, object]:
        """The values of the `given` names. Forgets every other subject in a child: it sees one at a time.

        Raises:
            Exception: what the zoo raises for a subject that cannot be built.
        """
        if setup.subject is None:
            self._subjects.clear()
            return {}
        subject = self.subject(setup.subject)
        self._subjects.clear()
        return {name: setup.model_path if name == "model_path" else _argument(name, subject) for name in setup.given}

    def prepare(self, setup: Setup) -> None:
        """Build what the child will be given, so that it need not."""
        if setup.subject is not None and {"model", "input"} & set(setup.given):
            self.subject(setup.subject).with_weights()
            gc.freeze()

    def subject(self, data: Mapping[str, Any]) -> Any:
        """The zoo's Subject of these plain values."""
        key = json.dumps(data, sort_keys=True)
        found = self._subjects.pop(key, None) or self._zoo.Subject(**{**data, "shape": tuple(data["shape"])})
        self._subjects[key] = found
        while len(self._subjects) > _REMEMBERED:
            del self._subjects[next(iter(self._subjects))]
        return found


def _argument(name: str, subject: Any) -> object:
    if name == "input_size":
        return subject.shape
    model, tensor = subject.with_weights()
    return model if name == "model" else tensor


def serve(shelf: Shelf) -> None:
    """Answer requests until the grader hangs up."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    _send(control, {"event": "ready", "threads": threads})
    gc.collect()
    gc.freeze()
    while True:
        text, descriptors, _, _ = socket.recv_fds(control, _REQUEST_BYTES, 3, socket.MSG_CMSG_CLOEXEC)
        if not text:
            return
        request = json.loads(text)
        if request["do"] == "run":
            _run(control, request, descriptors, shelf)


def _run(control: socket.socket, request: Mapping[str, Any], descriptors: list[int], shelf: Shelf) -> None:
    from labgrade.sandbox import child, usage

    setup = child.Setup.read(request["setup"])
    pid = 0
    try:
        shelf.prepare(setup)
    except Exception as error:  # noqa: BLE001 - a subject that cannot be built is a fault, and the server lives on
        _send(control, {"event": "fault", "id": request["id"], "reason": f"{type(error).__name__}: {error}"[:1000]})
    else:
        pid = os.fork()
        if pid == 0:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            child.live(child.Pipes(*descriptors), setup, lambda: shelf.arguments(setup), forked=True)
    for descriptor in descriptors:
        os.close(descriptor)
    if pid:
        meter = usage.Meter(os.getpid())
        why = _watch(control, request["id"], pid, lambda: meter.excess(setup.seconds, setup.memory))
        spent = meter.cpu_seconds()
        code = _end(pid)
        _send(control, {"event": "ended", "id": request["id"], "code": code, "seconds": spent, "why": why})


def _watch(control: socket.socket, job: int, pid: int, excess: Callable[[], str]) -> str:
    """Wait for the child's end, or for a reason to end it, which is returned."""
    life = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(life, select.POLLIN)
    poll.register(control, select.POLLIN)
    try:
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(_POLL_MS)}
            if life in ready:
                return ""
            if control.fileno() in ready:
                text = control.recv(_REQUEST_BYTES)
                if not text or json.loads(text) == {"do": "kill", "id": job}:
                    return "asked"
            why = excess()
            if why:
                return why
    finally:
        os.close(life)


def _end(pid: int) -> int:
    """End the child with everything that it started; its exit code, or minus the signal that ended it."""
    from labgrade.sandbox import usage

    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    usage.reap_all()
    return os.waitstatus_to_exitcode(status)


def _send(control: socket.socket, data: Mapping[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the grader is gone, which the next reading tells
        control.send(json.dumps(data).encode())


def once(shelf: Shelf) -> NoReturn:
    """Be one child: its setup and its job come on stdin, its frame goes to stdout, what it prints to stderr."""
    from labgrade.sandbox import child

    job, result = os.dup(0), os.dup(1)
    setup = child.Setup.read(json.loads(child.receive(job)))
    child.live(child.Pipes(job, result, 2), setup, lambda: shelf.arguments(setup), forked=False)


def main() -> None:
    """Load what children need, then be what the first argument says."""
    mode, zoo_path = sys.argv[1:]
    package = Path(__file__).resolve().parent.parent
    load("labgrade", package / "__init__.py", package=True)
    importlib.import_module("labgrade.sandbox.child")
    importlib.import_module("labgrade.sandbox.usage")
    zoo = load("labgrade_zoo", Path(zoo_path))
    zoo.import_torchvision()
    # An editable install puts the project's folder there, and with it `reference/`, the answer sheet.
    sys.path[:] = [place for place in sys.path if Path(place) != package.parent or place.endswith("-packages")]
    if mode == "serve":
        serve(Shelf(zoo))
    else:
        once(Shelf(zoo))


if __name__ == "__main__":
    main()
