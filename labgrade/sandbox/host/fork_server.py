"""The grader's end of a warm server: starts it, asks it for children, makes branches of it for subjects. Linux only."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from labgrade.core.errors import FaultError
from labgrade.sandbox.child.main import ROOMY
from labgrade.sandbox.host.branch import Branch, KeptWeights, can_be_blank, is_there
from labgrade.sandbox.host.child import END_SECONDS, Exit, PolledChild, hang_up
from labgrade.sandbox.host.start_server import START_SECONDS, KilledError, start
from labgrade.sandbox.jail.layers import NAMESPACES
from labgrade.sandbox.requests import Ready

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from labgrade.sandbox.host.child import Child, Event, Take
    from labgrade.sandbox.host.loader import Forked, Loader
    from labgrade.sandbox.host.own_fork import OwnFork

_MESSAGE_BYTES = 1 << 16
_BRANCHES, _MOST_BRANCHES = 2, 16  # with weights of any size; of a server that nobody else uses
_COMPILER_SECONDS = 0.5  # of CPU; loading torch's compiler takes about twice that, in each job that does
_NOTHING = Ready()
_ENDING_MS = 500
_KILLED = "the sandbox's server ended before it was up, and did not say why: something killed it"
# Of weights: in branches besides one; from which on a branch has no more made ready, and goes first; in shared ones.
_KEPT_BYTES, _READY_BYTES, _LENT_BYTES = 192 << 20, 128 << 20, 2 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings that a server is sent once.

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

    `private`: its children have a root of their own. `state`: what it said of itself. `loader` forks it; without one it
    is started through `prefix`.

    Raises:
        FaultError: it did not come up, with what it printed; a `KilledError` where it ended without a word.
    """

    _process: subprocess.Popen[bytes] | Forked | None = None
    _ask: Callable[[Ready], socket.socket] | None = None
    _lends = False
    _log: IO[bytes] | None = None

    def __init__(
        self, settings: Settings, home: str, prefix: tuple[str, ...] = (), loader: Loader | OwnFork | None = None
    ) -> None:
        user = settings.user if prefix and os.getuid() == 0 else None
        log_file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the server
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._join(control, {})
        self._log = log_file
        log = log_file.fileno()
        with theirs, contextlib.ExitStack() as failing:
            failing.callback(self.close)
            if loader is not None:
                self._process = loader.fork(theirs.fileno(), log)
            else:
                self._process = start(["serve"], home, (theirs.fileno(), log, log), prefix, user)
            failing.pop_all()
        with contextlib.suppress(OSError):
            self._control.send(json.dumps(asdict(settings)).encode())
        self.state = _receive(self._control, START_SECONDS)
        if self.state.get("event") not in {"ready", "threads"}:
            ended, said = not self.state and not self.is_there, self._told()
            self.close()
            if ended and not said:
                raise KilledError(_KILLED)
            problem = f"the sandbox's server did not come up: {said}"
            raise FaultError(problem)
        self._join(control, self.state)

    @classmethod
    def joined(
        cls, control: socket.socket, state: dict[str, Any], ask: Callable[[Ready], socket.socket] | None = None
    ) -> ForkServer:
        """Return a branch that another process's server made. To close it does not end that server.

        `ask` gives the line to a branch of that server that has subjects ready, which others use, too.
        """
        joined_server = cls.__new__(cls)
        joined_server._join(control, state)  # noqa: SLF001 - of its own class
        joined_server._ask = ask  # noqa: SLF001
        return joined_server

    def _join(self, control: socket.socket, state: dict[str, Any]) -> None:
        self._control = control
        self._main = Branch(control)
        self._branches: OrderedDict[str, Branch] = OrderedDict()
        self._replaced: list[Branch] = []  # whose last children run
        self._weights = KeptWeights()
        self._making_branches = threading.Lock()
        self._compiles = False
        self.state = state
        self.forks_safely = state.get("event") == "ready"
        self.private = NAMESPACES in state.get("layers", ())

    @property
    def is_there(self) -> bool:
        """Return whether the server still runs. A branch of it may have ended."""
        return is_there(self._control)

    @property
    def is_ending(self) -> bool:
        """Return whether the server has ended, or ends within half a second."""
        return not is_there(self._control, _ENDING_MS)

    def start(
        self,
        setup: Mapping[str, Any],
        most: int,
        *,
        errors: bool = False,
        ready: Ready = _NOTHING,
        entries: tuple[int, ...] = (),
        take: Take | None = None,
    ) -> Child:
        """Fork a child, in a branch that has its subjects `ready` if there are some. A lost server is an event.

        `entries`: descriptors by which it enters a control group before it is up; `take` reads its result. After a
        child whose file names the meta device (`meta` in `setup`) was slow, such children find torch's compiler loaded.

        Raises:
            OSError: there is no descriptor left.
            FaultError: a subject cannot be built.
        """
        meta = bool(setup.get("meta"))
        with self._making_branches:
            branch = self._chosen(ready, compiler=meta and self._compiles)
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            branch.lines = [ours, *(line for line in branch.lines if line.fileno() >= 0)]
        pipes = [os.pipe() for _ in range(4 if errors else 3)]
        (job_read, job_write), *readers = pipes
        given = [theirs.fileno(), job_read, *(writer for _, writer in readers), *([] if errors else [readers[-1][1]])]
        # What lies in it counts as the group's memory, of which it is to be a small part.
        file = _file() if entries and take is None and setup["memory"] >= ROOMY else -1
        given += [*entries, *([file] if file >= 0 else [])]
        with contextlib.suppress(OSError):
            socket.send_fds(branch.line, [json.dumps({"do": "run", "file": file >= 0, **setup}).encode()], given)
        theirs.close()
        for descriptor in (job_read, *(writer for _, writer in readers)):
            os.close(descriptor)
        result, output, *rest = (reader for reader, _ in readers)
        ends = (job_write, result, output, rest[0] if rest else -1)
        child = PolledChild(ends, most, ours, partial(self._heard, meta=meta), take, file)
        child.blank = branch.blank
        return child

    def _chosen(self, ready: Ready, *, compiler: bool) -> Branch:
        """Return the server or branch that forks the next child; with `compiler`, it has torch's compiler loaded."""
        branch = self._branch(ready, compiler=compiler) if ready.subjects else self._main
        if compiler:
            self._load_compiler(branch)
        return branch

    def _load_compiler(self, branch: Branch) -> None:
        if not branch.compiles:
            with contextlib.suppress(OSError):
                branch.line.send(b'{"do": "compiler"}')
            branch.compiles = True

    def _heard(self, line: socket.socket, *, meta: bool) -> Event:
        """Return the event that a child's line reports."""
        match _receive(line, None):
            case {"event": "ended", "code": code, "seconds": seconds, "why": why}:
                self._compiles |= meta and seconds > _COMPILER_SECONDS
                return "ended", Exit(code, seconds, why)
            case {"event": "fault", "reason": reason}:
                return "fault", reason
        return "lost", None

    @contextlib.contextmanager
    def user(self) -> Iterator[int]:
        """Provide the index of a user id that no other job on this machine has meanwhile.

        An abstract socket name keeps it, which ends with this process: no other grader has to know.

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
        """Fork the server and return the line to the fork, which serves by itself until the line is closed.

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

    def lend(self, ready: Ready, send: Callable[[socket.socket], object]) -> None:
        """Let others use the branch that has these subjects ready; `send` gives them its line.

        Raises:
            LostError: the server is gone.
            FaultError: a subject cannot be built.
        """
        self._lends = True
        with self._making_branches:
            send(self._branch(replace(ready, blank=False), compiler=False).line)

    def _branch(self, ready: Ready, *, compiler: bool) -> Branch:
        """Return the branch that has these subjects ready; make it if need be, and close those that are too many."""
        key = ready.branch
        branch = self._branches.get(key)
        if branch is not None and not (branch.is_there and branch.serves(blank=ready.blank)):
            self._replaced.append(self._branches.pop(key))
            branch = None
        for each in [each for each in self._replaced if not (each.busy and each.is_there)]:
            self._replaced.remove(each)
            each.line.close()
        if branch is None and compiler and self._ask is None:
            self._load_compiler(self._main)  # then its branches have it for nothing
        if branch is None or not {json.dumps(each) for each in ready.subjects} <= branch.ready:
            branch = self._branches[key] = self._borrowed(branch, ready) if self._ask else self._made(branch, ready)
        self._branches.move_to_end(key)
        while len(self._branches) > _BRANCHES and not self._room(beside=branch):
            idle = [each for each, other in self._branches.items() if other is not branch and not other.busy]
            if not idle:
                break  # to hang up would end children that run
            large = [each for each in idle if self._branches[each].bytes > _READY_BYTES]  # makes room for many others
            self._branches.pop((large or idle)[0]).line.close()
        return branch

    def _room(self, beside: Branch | None = None) -> bool:
        """Return whether there is room for more branches, or for all but one: a small network costs a call to build.

        Those of a borrowed server are counted by its owner, who knows their sizes.
        """
        held = sum(branch.bytes for branch in self._branches.values() if branch is not beside)
        most = _LENT_BYTES if self._lends else _KEPT_BYTES if beside else _READY_BYTES
        few = self._lends or (self._ask is None and len(self._branches) <= _MOST_BRANCHES)
        return few and held <= most

    def _borrowed(self, known: Branch | None, ready: Ready) -> Branch:
        """Return a branch of another process's server. Only the subjects that were asked for are known to be ready."""
        if self._ask is None:
            raise LostError
        branch = Branch(self._ask(ready), {json.dumps(each) for each in ready.subjects})
        if known is not None:
            branch.ready |= known.ready
            known.line.close()
        return branch

    def _made(self, known: Branch | None, ready: Ready) -> Branch:
        """Return a branch with more subjects ready, as far as there is room; children build the others.

        Raises:
            LostError: the server is gone.
            FaultError: a subject cannot be built.
        """
        branch = known or Branch(self.branch())
        for subject in ready.subjects:
            text = json.dumps(subject)
            if text not in branch.ready and (self._room() or not branch.ready):
                blank = ready.blank and not self._lends and can_be_blank()
                reply, files = self._weights.prepare(branch.line, subject, START_SECONDS, blank=blank)
                if reply.get("event") != "ready":
                    if branch is not known:
                        branch.line.close()
                    if not reply:
                        raise LostError
                    raise FaultError(reply["reason"])
                branch.bytes = reply.get("bytes", 0)
                branch.blank += files
            branch.ready.add(text)
        return branch

    def _told(self) -> str:
        if self._process is None or self._log is None:
            return ""
        self._process.kill()
        self._process.wait()
        self._log.seek(0)
        return self._log.read()[-2000:].decode("utf-8", "replace").strip()

    def close(self) -> None:
        """Hang up; the server then ends its children and itself."""
        lines = [branch.line for branch in (*self._branches.values(), *self._replaced)]
        own = () if self._ask is not None else lines  # to hang up is to hang up for all who share it
        for control in (*own, self._control):
            hang_up(control)
        for control in (*lines, self._control):
            control.close()
        self._branches.clear()
        self._replaced.clear()
        self._weights.close()
        if self._process is not None:
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._log is not None:
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


def _file() -> int:
    """Return a file without a name for a large result, which nobody can shorten; -1 if it can't be made."""
    import fcntl  # Linux alone has all of this

    try:
        file = os.memfd_create("result", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    except OSError:
        return -1
    return file


def _binds(listener: socket.socket, name: str) -> bool:
    """Bind a socket to a name; return whether the name was free."""
    try:
        listener.bind(name)
    except OSError:
        return False
    return True
