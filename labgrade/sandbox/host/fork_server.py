"""The grader's end of a warm server: starts it, asks it for children, makes branches of it for subjects. Linux only."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import tempfile
import threading
from collections import Counter, OrderedDict
from dataclasses import asdict, dataclass, field
from typing import IO, TYPE_CHECKING, Any
from weakref import WeakSet

from labgrade.core.errors import FaultError
from labgrade.sandbox.host.child import END_SECONDS, Child, Exit
from labgrade.sandbox.host.start_server import START_SECONDS, start
from labgrade.sandbox.jail.layers import NAMESPACES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from labgrade.sandbox.host.child import Take
    from labgrade.sandbox.host.loader import Forked, Loader

_MESSAGE_BYTES = 1 << 16
_BRANCHES = 2  # with weights of any size
_MOST_BRANCHES = 16  # of a server that nobody else uses
_COMPILER_SECONDS = 0.5  # of CPU; loading torch's compiler takes about twice that, in each job that does
_KEPT_BYTES, _LENT_BYTES = 128 << 20, 2 << 30  # of weights in branches; in those that several graders share


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a server is sent once.

    `libraries`: it has torch loaded, `readers`: onnx and onnxruntime too. `trusted`: folders of quantities that it
    shows. `imports`: modules of labgrade's that it loads; `reads`: its jobs change nothing that they are given. `jobs`:
    the grader's folder of jobs; `secret`: folders never to be shown; `offered`: folders to be shown, read-only;
    `user`: whom root becomes. `variables` of its environment are set first, and modules to `preload` imported last.
    """

    zoo: str
    jobs: str
    layers: tuple[str, ...]
    user: int
    libraries: bool = True
    readers: bool = True
    trusted: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    reads: bool = False
    secret: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


class ForkServer:
    """A server that has loaded what children need, and forks one child a request.

    `private`: it shows its children a root of their own. `state` is what it said of itself. `loader` has forked it;
    without one it is started through `prefix`.

    Raises:
        FaultError: it did not come up, with what it printed.
    """

    _process: subprocess.Popen[bytes] | Forked | None = None
    _ask: Callable[[object], socket.socket] | None = None
    _lends = False
    _log: IO[bytes] | None = None

    def __init__(
        self, settings: Settings, home: str, prefix: tuple[str, ...] = (), loader: Loader | None = None
    ) -> None:
        user = settings.user if prefix and os.getuid() == 0 else None
        log_file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the server
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._join(control, {})
        self._log = log_file
        log = log_file.fileno()
        with theirs:
            if loader is not None:
                self._process = loader.fork(theirs.fileno(), log)
            else:
                self._process = start(["serve"], home, (theirs.fileno(), log, log), prefix, user)
        with contextlib.suppress(OSError):
            self._control.send(json.dumps(asdict(settings)).encode())
        self.state = _receive(self._control, START_SECONDS)
        if self.state.get("event") not in {"ready", "threads"}:
            problem = f"the sandbox's server did not come up: {self._told()}"
            self.close()
            raise FaultError(problem)
        self._join(control, self.state)

    @classmethod
    def joined(
        cls, control: socket.socket, state: dict[str, Any], ask: Callable[[object], socket.socket] | None = None
    ) -> ForkServer:
        """A branch that somebody else's server made; it ends when it is closed, and its server does not.

        `ask` gives the line to a branch of theirs that has a subject ready, which others use, too.
        """
        joined_server = cls.__new__(cls)
        joined_server._join(control, state)  # noqa: SLF001 - of its own class
        joined_server._ask = ask  # noqa: SLF001
        return joined_server

    def _join(self, control: socket.socket, state: dict[str, Any]) -> None:
        self._control = control
        self._branches: OrderedDict[str, socket.socket] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._making_branches = threading.Lock()
        self._busy: Counter[socket.socket] = Counter()  # how many children run that each branch keeps
        self._compiles = False
        self._with_compiler: WeakSet[socket.socket] = WeakSet()
        self.state = state
        self.forks_safely = state.get("event") == "ready"
        self.private = NAMESPACES in state.get("layers", ())

    @property
    def is_there(self) -> bool:
        """Whether the server has not ended; a branch of it may have."""
        return _is_there(self._control)

    def start(
        self,
        setup: Mapping[str, object],
        most: int,
        *,
        errors: bool = False,
        subject: object = None,
        entries: tuple[int, ...] = (),
        take: Take | None = None,
    ) -> Child:
        """Ask for a child, of a branch that has `subject` ready where there is one. A lost server is an event.

        `entries`: descriptors by which it enters a control group before it is up; `take` reads its result. After a
        child whose file names the meta device (`meta` in `setup`) was slow, such children find torch's compiler loaded.

        Raises:
            OSError: there is no descriptor left.
            FaultError: the subject cannot be built.
        """
        meta = bool(setup.get("meta"))
        with self._making_branches:
            control = self._chosen(subject, compiler=meta and self._compiles)
            self._busy[control] += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pipes = [os.pipe() for _ in range(4 if errors else 3)]
        (job_read, job_write), *readers = pipes
        given = [theirs.fileno(), job_read, *(writer for _, writer in readers)]
        if not errors:
            given.append(given[-1])
        given += entries
        with contextlib.suppress(OSError):
            socket.send_fds(control, [json.dumps({"do": "run", **setup}).encode()], given)
        theirs.close()
        for descriptor in (job_read, *(writer for _, writer in readers)):
            os.close(descriptor)
        result, output, *rest = (reader for reader, _ in readers)
        child = Child((job_write, result, output, rest[0] if rest else -1), most, lambda: _hang_up(ours), take)
        threading.Thread(target=self._listen, args=(ours, child, meta, control), daemon=True).start()
        return child

    def _chosen(self, subject: object, *, compiler: bool) -> socket.socket:
        """The line to the server or branch that forks a child, which has loaded torch's compiler if need be."""
        control = self._control if subject is None else self._branch(subject, compiler=compiler)
        if compiler:
            self._load_compiler(control)
        return control

    def _load_compiler(self, control: socket.socket) -> None:
        if control not in self._with_compiler:
            with contextlib.suppress(OSError):
                control.send(b'{"do": "compiler"}')
            self._with_compiler.add(control)

    def _listen(self, line: socket.socket, child: Child, meta: bool, control: socket.socket) -> None:  # noqa: FBT001 - of a thread
        """Turn what is said of a child into events of its child."""
        reply = _receive(line, None)
        with line:
            match reply:
                case {"event": "ended", "code": code, "seconds": seconds, "why": why}:
                    self._compiles |= meta and seconds > _COMPILER_SECONDS
                    child.events.put(("ended", Exit(code, seconds, why)))
                case {"event": "fault", "reason": reason}:
                    child.events.put(("fault", reason))
                case _:
                    child.events.put(("lost", None))
        with self._making_branches:  # which may take a while, but nobody waits for this
            self._busy[control] -= 1

    @contextlib.contextmanager
    def user(self) -> Iterator[int]:
        """Which of the server's users a job may be: no other job on this machine is the same meanwhile.

        A name in the kernel's memory keeps it, which ends with this process: no other grader has to know.

        Raises:
            OSError: all of them are taken.
        """
        first, count = self.state.get("users") or (0, 0)
        with socket.socket(socket.AF_UNIX) as name:
            free = (index for index in range(count) if _binds(name, f"\0labgrade-user-{first + index}"))
            index = next(free, None) if count else 0
            if index is None:
                message = "no user id is free for another job"
                raise OSError(message)
            yield index

    def branch(self) -> socket.socket:
        """The line to a fork of the server, which serves by itself until the line is closed.

        Raises:
            LostError: the server is gone.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                socket.send_fds(self._control, [b'{"do": "branch"}'], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise LostError from error
        return ours

    def lend(self, subject: object, send: Callable[[socket.socket], object]) -> None:
        """Let others use the branch that has this subject ready: `send` hands them its line.

        Raises:
            LostError: the server is gone.
            FaultError: the subject cannot be built.
        """
        self._lends = True
        with self._making_branches:
            send(self._branch(subject))

    def _branch(self, subject: object, *, compiler: bool = False) -> socket.socket:
        """A server with this subject ready, of which no other server knows."""
        key = json.dumps(subject, sort_keys=True)
        if key in self._branches and not _is_there(self._branches[key]):
            self._branches.pop(key).close()
        if key in self._branches:
            self._branches.move_to_end(key)
            return self._branches[key]
        if compiler and self._ask is None:
            self._load_compiler(self._control)  # then its branches have it for nothing
        self._branches[key] = self._ask(subject) if self._ask is not None else self._new_branch(key, subject)
        while len(self._branches) > _BRANCHES and not self._room():
            idle = (each for each, line in self._branches.items() if each != key and not self._busy[line])
            gone = next(idle, None)
            if gone is None:
                break  # to hang up would end children that run
            self._sizes.pop(gone, None)
            self._busy.pop(line := self._branches.pop(gone), None)
            line.close()
        return self._branches[key]

    def _room(self) -> bool:
        """Whether all branches may stay: to make a small network ready again costs as much as calling a function.

        Those of a borrowed server stay with who lends it, who knows their sizes.
        """
        held = sum(self._sizes.values())
        if self._lends:
            return held <= _LENT_BYTES
        return self._ask is None and len(self._branches) <= _MOST_BRANCHES and held <= _KEPT_BYTES

    def _new_branch(self, key: str, subject: object) -> socket.socket:
        ours = self.branch()
        with contextlib.suppress(OSError):
            ours.send(json.dumps({"do": "prepare", "subject": subject}).encode())
        reply = _receive(ours, START_SECONDS)
        if reply.get("event") != "ready":
            ours.close()
            if not reply:
                raise LostError
            raise FaultError(reply["reason"])
        self._sizes[key] = reply.get("bytes", 0)
        return ours

    def _told(self) -> str:
        if self._process is None or self._log is None:
            return ""
        self._process.kill()
        self._process.wait()
        self._log.seek(0)
        return self._log.read()[-2000:].decode("utf-8", "replace").strip()

    def close(self) -> None:
        """Hang up; the server then ends its children and itself."""
        own = () if self._ask is not None else self._branches.values()  # to hang up is to hang up for all who share it
        for control in (*own, self._control):
            _hang_up(control)
        for control in (*self._branches.values(), self._control):
            control.close()
        self._branches.clear()
        if self._process is None or self._log is None:
            return
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


class LostError(Exception):
    """The server is gone."""


def _receive(line: socket.socket, seconds: float | None) -> dict[str, Any]:
    try:
        line.settimeout(seconds)
        text = line.recv(_MESSAGE_BYTES)
    except OSError:
        text = b""
    return json.loads(text) if text else {}


def _binds(listener: socket.socket, name: str) -> bool:
    """Whether the name was free, and now is this socket's."""
    try:
        listener.bind(name)
    except OSError:
        return False
    return True


def _is_there(line: socket.socket) -> bool:
    """Whether the other end is still held by somebody."""
    poll = select.poll()
    poll.register(line, 0)
    return not poll.poll(0)


def _hang_up(line: socket.socket) -> None:
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_WR)
