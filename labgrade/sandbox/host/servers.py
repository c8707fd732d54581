"""The servers of a run: each kind is started when it is first needed, and again when it was lost."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError
from labgrade.core.execution import Environment
from labgrade.sandbox.host import own_fork, start_server, working_copy
from labgrade.sandbox.host.cgroups import Group, Groups
from labgrade.sandbox.host.fork_server import ForkServer, Settings
from labgrade.sandbox.host.loader import Loader
from labgrade.sandbox.host.own_fork import OwnFork
from labgrade.sandbox.host.protection import WITH_CGROUP, Protection, ProtectionNote, detect, polled
from labgrade.sandbox.host.sharing import Lender, borrow
from labgrade.sandbox.host.side_by_side import Gate
from labgrade.sandbox.host.spawned import SpawnedServer
from labgrade.sandbox.host.start_server import KilledError
from labgrade.sandbox.jail import places
from labgrade.sandbox.jail.layers import CGROUP, NAMESPACES, OUTER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from labgrade.sandbox.host.loader import Forked

STUDENTS, LIGHT, READER = "students", "light", "reader"
_APART = "\n"  # between a kind and the environment that it begins with
_ALONE = "alone:"  # before a trusted folder
# By name: what reads is not what this room is built of.
_IMPORTS = {READER: ("labgrade.answers.reader.job",)}
_JOBS, _MEASURING = ("labgrade.sandbox.child.student_jobs",), ("labgrade.sandbox.child.measure",)
_PACKAGE = Path(__file__).parents[2]
_IN_SIGHT = (
    "{0} can't be hidden from students' code: it holds a part of Python or of the system that this code needs; keep "
    "hand-ins, courses and results in a folder of their own, and call labgrade from there"
)
_USER = 64999  # whom root becomes: nobody has it


def alone(folder: str) -> str:
    """Return the kind of a server that measures a few files for a trusted folder and has no library loaded."""
    return _ALONE + folder


def in_environment(kind: str, environment: Environment) -> str:
    """Return the kind of a server that begins with an environment of its own."""
    if environment == Environment():
        return kind
    return kind + _APART + json.dumps([list(environment.preload), dict(environment.variables)])


class Servers:
    """Starts servers: `students` has torch loaded, `light` nothing, `reader` what reads hand-ins.

    Any other kind is a trusted folder; `alone` makes a kind of it that has nothing loaded, `in_environment` one for
    each distinct environment.

    `fresh`: one process a request and no jail, as on systems without forks. `layers` are wanted, `secret` never shown,
    `offered` shown to students' code, read-only. `shared`: another grader's, whose servers are used (see `sharing`).
    """

    def __init__(
        self,
        *,
        zoo: Path,
        fresh: bool,
        layers: Iterable[str],
        secret: Iterable[Path],
        offered: Iterable[str] = (),
        shared: Path | None = None,
    ) -> None:
        self._fresh = fresh or sys.platform != "linux"  # forking is absent on Windows and unsafe on macOS
        self._zoo = zoo
        self._readers = zoo.parent == _PACKAGE / "subjects"  # a stand-in of the tests needs none of them
        self._layers = tuple(layer for layer in layers if layer != CGROUP)
        self._groups: Groups | None = None
        self._memory = None if CGROUP in layers and not self._fresh else polled("no cgroup was wanted")
        self._secret = tuple(str(path) for path in (*secret, *_never_shown()))
        self._offered = tuple(offered)
        self._shared = shared
        self._lender: Lender | None = None
        self._lock = threading.Lock()
        self._home: tempfile.TemporaryDirectory[str] | None = None
        self._place = Path()  # of it, once there is one
        self._running: dict[str, ForkServer | SpawnedServer] = {}
        self._broken: dict[str, str] = {}
        self._loader: Loader | None = None
        self._may_load = True

    def get(self, kind: str) -> ForkServer | SpawnedServer:
        """Return the server of that kind, started if need be.

        Raises:
            FaultError: it does not come up, now or the last time.
        """
        with self._lock:
            if kind in self._broken:
                raise FaultError(self._broken[kind])
            if kind not in self._running:
                try:
                    self._running[kind] = self._started(kind)
                except FaultError as error:
                    self._broken[kind] = str(error)
                    raise
            return self._running[kind]

    def _started(self, kind: str) -> ForkServer | SpawnedServer:
        """Start a server; start it once more if something killed it meanwhile."""
        try:
            return self._start(kind)
        except KilledError:
            return self._start(kind)

    def join(self, shared: Path) -> None:
        """Use another grader's servers from now on; call this before a server of its own has started."""
        self._shared = shared

    def share(self) -> Path:
        """Let other graders use these servers; return the path at which they ask. A borrower returns its lender's."""
        if self._shared is not None:
            return self._shared
        path = self._folder("share")
        self._lender = self._lender or Lender(path, self.get, self.drop)
        return path

    def protection(self) -> Protection:
        """Return what protects the grader from the jobs of this run."""
        if self._fresh:
            if sys.platform != "linux":
                return Protection(missing={NAMESPACES: "this is not Linux"}, instead="use Linux, or WSL 2 on Windows")
            why = "LABGRADE_FRESH asks for plain processes"
            return Protection(missing={NAMESPACES: why}, instead="unset LABGRADE_FRESH")
        try:
            server = self.get(LIGHT)
        except FaultError as error:
            return Protection(missing={NAMESPACES: str(error).strip().splitlines()[-1]})
        with self._lock:
            self._find_groups()
        return detect(server.state, self._memory) if isinstance(server, ForkServer) else Protection()

    def gate(self, kind: str) -> Gate | None:
        """Return the gate that lets jobs run side by side; None where jobs can't starve each other.

        Raises:
            FaultError: the server does not come up.
        """
        server = self.get(kind)
        apart = isinstance(server, SpawnedServer) or server.state.get("users")
        return None if apart else Gate(self._folder("gate"))

    def may_link(self, kind: str) -> bool:
        """Return whether the jobs of a server may get links to the grader's files: those are then never changed.

        Raises:
            FaultError: the server does not come up.
        """
        return self.get(kind).private

    def group(self, memory: int) -> AbstractContextManager[Group]:
        """Return the control group of one job; one that can't be entered where this machine allows none."""
        with self._lock:
            self._find_groups()
        return nullcontext(Group()) if self._groups is None else self._groups.of_a_job(memory)

    def _find_groups(self) -> None:
        if self._memory:
            return
        try:
            self._groups = Groups()
        except OSError as error:
            self._memory = polled(str(error.strerror or error), WITH_CGROUP)
        else:
            self._memory = ProtectionNote("memory", f"held by cgroup v{self._groups.version}")

    def drop(self, kind: str, lost: object = None) -> None:
        """Forget a server that was `lost`, unless another thread has started a new one in its place."""
        if kind in self._running and (lost is None or lost is self._running[kind]):
            self._running.pop(kind).close()

    def close(self) -> None:
        """End all servers, and remove what they left."""
        if self._lender is not None:
            self._lender.close()
            self._lender = None
        for kind in list(self._running):
            self.drop(kind)
        if self._loader is not None:
            self._loader.close()
            self._loader = None
        if self._groups is not None:
            self._groups.close()
        if self._home is not None:
            working_copy.discard(Path(self._home.name))
            self._home.cleanup()
            self._home = None

    def job_folder(self) -> Path:
        """Return a new folder for one job, which the servers can see."""
        return Path(tempfile.mkdtemp(prefix="job-", dir=self._folder("jobs")))

    def open_up(self, folder: Path, server: ForkServer | SpawnedServer) -> None:
        """Give the jobs' user access to a job's folder, and ownership where it is the only place to write."""
        if isinstance(server, SpawnedServer):
            return
        folder.chmod(0o755)
        if os.getuid() == 0 and not server.private:
            Path(self._folder("")).chmod(0o711)
            for path in (folder, *folder.rglob("*")):
                os.chown(path, _USER, _USER, follow_symlinks=False)

    def _start(self, kind: str) -> ForkServer | SpawnedServer:
        if self._fresh:
            _, variables = _environment_of(kind)
            imports = _IMPORTS.get(kind, _MEASURING if kind.startswith(_ALONE) else ())
            return SpawnedServer(self._zoo, str(self._folder("")), imports, variables)
        return self._start_jailed(kind) if self._shared is None else borrow(self._shared, kind)

    def _start_jailed(self, kind: str) -> ForkServer:
        for seen in places.uncoverable(self._secret, self._offered_to(kind)):
            raise FaultError(_IN_SIGHT.format(seen))
        base = kind.removeprefix(_ALONE).partition(_APART)[0]
        trusted = () if base in {STUDENTS, LIGHT, READER} else (base,)
        if OUTER not in self._layers:
            server = self._start_fork_server(kind, trusted, self._layers, ())
            if server.private or NAMESPACES not in self._layers:
                return server
        else:
            server = None
        # Namespaces of our own hold more: a scratch and a process tree for each job. This is next best.
        prefix = start_server.command(
            str(self._folder("jobs")),
            str(self._zoo),
            trusted if kind != READER else (str(_PACKAGE),),
            self._secret,
            self._offered_to(kind),
        )
        layers = tuple(layer for layer in (*self._layers, OUTER) if layer != NAMESPACES)
        try:
            if prefix:
                wrapped = self._start_fork_server(kind, trusted, layers, prefix)
                if server is not None:
                    wrapped.state["missing"] = {**server.state["missing"], **wrapped.state["missing"]}
                    server.close()
                return wrapped
        except FaultError as error:
            if server is None or isinstance(error, KilledError):
                raise
        if server is None:
            message = "there is no bubblewrap"
            raise FaultError(message)
        return server

    def _offered_to(self, kind: str) -> tuple[str, ...]:
        return self._offered if kind.partition(_APART)[0] == STUDENTS else ()

    def _start_fork_server(
        self, kind: str, trusted: tuple[str, ...], layers: tuple[str, ...], prefix: tuple[str, ...]
    ) -> ForkServer:
        home = self._folder("")
        if prefix and os.getuid() == 0:
            home.chmod(0o711)

        preload, variables = _environment_of(kind)
        heavy = kind not in {LIGHT, READER} and not kind.startswith(_ALONE)

        def settings(*, libraries: bool) -> Settings:
            return Settings(
                zoo=str(self._zoo) if heavy else "",
                jobs=str(self._folder("jobs")),
                layers=layers,
                user=_USER,
                secret=self._secret,
                offered=self._offered_to(kind),
                trusted=trusted,
                imports=_IMPORTS.get(kind, _MEASURING if kind.startswith(_ALONE) else _JOBS),
                reads=kind == READER,
                libraries=libraries,
                preload=tuple(preload) if libraries else (),
                variables=variables,
                readers=libraries and self._readers,
            )

        loader: Loader | OwnFork | None = self._loaded(home) if heavy and not prefix and _APART not in kind else None
        if kind.startswith(_ALONE) and not prefix and _APART not in kind and own_fork.possible():
            loader = OwnFork(str(home))
        server = ForkServer(settings(libraries=heavy), str(home), prefix, loader)
        if not server.forks_safely:  # a library starts threads, so each child has to load it for itself
            server.close()
            server = ForkServer(settings(libraries=False), str(home), prefix)
        return server

    def fork(self, module: str, line: int, log: int) -> Forked | None:
        """Fork the process that has torch loaded, to run a module (`Loader.fork`); None where nothing is forked."""
        with self._lock, suppress(FaultError):
            if not self._fresh and self._shared is None and (loader := self._loaded(self._folder(""))) is not None:
                return loader.fork(line, log, module)
        return None

    def _loaded(self, home: Path) -> Loader | None:
        """Return the process that has torch loaded, of which servers are forked; None where they start themselves.

        Servers of an environment start themselves: they run native code of students' (ExecuTorch), and share no
        addresses.
        """
        if self._loader is not None and self._loader.is_lost:
            self._loader.close()
            self._loader = None
        if self._loader is None and self._may_load:
            try:
                self._loader = Loader(str(self._zoo), str(home), readers=self._readers)
            except FaultError:
                self._may_load = False  # the server says what is wrong, or has each child load for itself
        return self._loader

    def _folder(self, name: str) -> Path:
        if self._shared is not None:
            return self._shared.parent / name
        if self._home is None:
            self._home = tempfile.TemporaryDirectory(prefix="labgrade-", ignore_cleanup_errors=True)
            self._place = Path(self._home.name).resolve()
            self._secret = (*self._secret, self._home.name)
            jobs = Path(self._home.name, "jobs")
            jobs.mkdir()
            jobs.chmod(0o755)
        return self._place / name


def _environment_of(kind: str) -> tuple[list[str], dict[str, str]]:
    """Return the libraries that a server of this kind preloads, and its environment variables."""
    said = kind.partition(_APART)[2]
    preload, variables = json.loads(said) if said else ([], {})
    return preload, variables


def _never_shown() -> Iterator[Path]:
    """Yield the folders that are never shown: the grader's home, and the folder that labgrade was called in."""
    for find in (Path.home, Path.cwd):
        with suppress(OSError, RuntimeError):
            yield find()
