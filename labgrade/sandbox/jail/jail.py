"""The jail: what the server gives up once (`enter`), and each job before it learns what to do (`confine`).

The order matters. Once: a private root, an ordinary user, namespaces. Each job: mounts, a nested user namespace (no
right over its own mounts, a count of processes of its own), limits, capabilities, landlock, seccomp.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.arguments import GIVEN_FOLDER
from labgrade.sandbox.jail import landlock, limits, linux, places, root, seccomp, usage, users
from labgrade.sandbox.jail.layers import LANDLOCK, LIMITS, NAMESPACES, OUTER, PRIVILEGES, SECCOMP, USERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

SCRATCH_BYTES = 512 << 20
SCRATCH_FILES = 8192
USER = 1000  # what a jail calls itself
_SHOWN_BYTES = 4 << 20
_FLAGS = linux.NO_SUID | linux.NO_DEVICES
_PROC = _FLAGS | linux.NO_EXEC
_OWN_PROC = ("/proc/self", "/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/sys/devices/system/cpu")
_OUTER = linux.NEW_MOUNTS | linux.NEW_PIDS | linux.NEW_IPC | linux.NEW_HOST | linux.NEW_NETWORK | linux.NEW_CGROUP
_OF_A_JOB = linux.NEW_MOUNTS | linux.NEW_IPC | linux.NEW_HOST | linux.NEW_NETWORK
_MINDFUL = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(slots=True)
class Jail:
    """One server's jail. `layers`: those in force; `missing`: those that are not, with the reason.

    `jobs` is the grader's folder of jobs, `user` whom root becomes, `own` the user ids for jobs, one for each. `reads`:
    jobs only read their hand-in, and get no copy to write to.
    """

    places: places.Places
    jobs: str
    user: int
    layers: set[str]
    reads: bool = False
    missing: dict[str, str] = field(default_factory=dict)
    own: users.Users | None = None
    _calls: bytes = b""

    @property
    def private(self) -> bool:
        """Return whether there is a private root with a scratch of its own for each job."""
        return NAMESPACES in self.layers

    @property
    def shares_by_files(self) -> bool:
        """Return whether processes of a job can't send each other descriptors, and so share data by files."""
        return SECCOMP in self.layers and USERS not in self.layers

    def enter(self) -> None:
        """Fork, and return in a process that is jailed as far as this machine allows and is never root.

        Raises:
            OSError: root cannot become an ordinary user here.
        """
        linux.keep_arenas_few()
        self._find_layers()
        if self.private:
            _isolate_server(self.places, self.jobs, self.user, self.own)
        else:
            self._become_known()
        parent = os.getpid()
        if child := os.fork():
            _wait(child, sweep=not self.private)
        _die_with(parent if not self.private else 0)
        if self.private:
            linux.mount("proc", "/proc", "proc", _PROC)
            self._calls = self._filter() if SECCOMP in self.layers else b""
        if self.private or OUTER in self.layers:
            os.environ.update(HOME=root.SCRATCH, TMPDIR=root.SCRATCH)

    def _become_known(self) -> None:
        """Become an ordinary user without a private root, or say why this machine offers none."""
        try:
            _become(self.user)
        except PermissionError as error:
            why = self.missing.get(NAMESPACES, "they were not wanted")
            message = f"{error} (there is no private root to show it in: {why})"
            raise PermissionError(message) from error

    def _find_layers(self) -> None:
        """Try each layer in a process that is thrown away: a half-made namespace can't be undone.

        Namespaces are tried together with user ids for jobs first, by themselves only where that fails.
        """
        users_problem = self._find_users() if {USERS, NAMESPACES} <= self.layers else "they take namespaces"
        trials: dict[str, Callable[[], None]] = {
            NAMESPACES: self._try_namespaces,
            LANDLOCK: self._try_landlock,
            SECCOMP: self._try_seccomp,
        }
        for layer, trial in trials.items():
            if layer in self.layers and (layer != NAMESPACES or users_problem):
                problem = _problem_with(trial)
                if problem:
                    self.missing[layer] = problem
                    self.layers.discard(layer)
        if USERS in self.layers and users_problem:
            self.missing[USERS] = users_problem if self.private else "they take namespaces"
            self.layers.discard(USERS)

    def _find_users(self) -> str:
        """Find and try user ids for jobs; return why there are none, or an empty text."""
        try:
            found = users.of_this_machine()
        except OSError as error:
            return str(error)
        problem = _problem_with(lambda: self._try_namespaces(found))
        self.own = None if problem else found
        return problem

    def _try_namespaces(self, own: users.Users | None = None) -> None:
        was_root = os.getuid() == 0
        _isolate_server(self.places, self.jobs, self.user, own)
        if child := os.fork():
            os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        linux.mount("proc", "/proc", "proc", _PROC)
        _isolate_job("", None if own is None else 0)
        if own is not None and not was_root:  # whose jobs read the machine as others do, one way or the other
            users.check_reading(self.places.offered)

    def _try_landlock(self) -> None:
        linux.prctl(linux.NO_NEW_PRIVILEGES, 1)
        landlock.restrict(["/"], [])

    def _try_seccomp(self) -> None:
        linux.prctl(linux.NO_NEW_PRIVILEGES, 1)
        seccomp.install(self._filter())

    def _filter(self) -> bytes:
        """Return the seccomp program. With a private process tree it is the same for each job, and made once."""
        if self.private and self._calls:
            return self._calls
        apart = USERS in self.layers
        return seccomp.program(namespaces=self.private, shared_memory=False, apart=apart, group=os.getpid())

    def confine(self, job: str, user: int, allowed: limits.Allowed) -> Path:
        """Put this job's process behind all layers, for good; return the folder that holds `handin` and `tmp`.

        `user`: the index of the user id that it gets, where jobs have their own.

        Raises:
            OSError: a layer that should be there could not be made; the job must not begin then.
        """
        folder = self.folder(job)
        if self.private:
            own = user if USERS in self.layers else None
            _isolate_job(job, own, ours=bool(self.places.trusted), reads=self.reads)
        elif OUTER in self.layers:
            folder.mkdir(mode=0o700)
            (folder / "tmp").mkdir()
            _copy_handin(Path(self.jobs, job, "handin"), folder / "handin", _link_file, ours=bool(self.places.trusted))
        if LIMITS in self.layers:
            limits.set_limits(allowed)
        linux.prctl(linux.DEATH_SIGNAL, signal.SIGKILL)
        if PRIVILEGES in self.layers and self.private:
            linux.drop_capabilities()
        if {PRIVILEGES, LANDLOCK, SECCOMP} & self.layers:
            linux.prctl(linux.NO_NEW_PRIVILEGES, 1)
        if LANDLOCK in self.layers:
            self._restrict(str(folder))
        if SECCOMP in self.layers:
            seccomp.install(self._filter())
        return folder

    def folder(self, job: str) -> Path:
        """Return the folder of a job's `handin` and `tmp`, in which it may write."""
        if self.private:
            return Path(root.SCRATCH)
        return Path(root.SCRATCH if OUTER in self.layers else self.jobs, job)

    def _restrict(self, folder: str) -> None:
        devices = [f"/dev/{name}" for name in ("null", "zero", "full")]
        more = ["/dev/urandom", "/dev/random"]
        if self.private:
            seen = [*self.places.shown, root.HANDIN, "/proc", "/dev", "/etc", "/trusted", root.SCRATCH]
            landlock.restrict(seen, [folder], listed=["/"], devices=devices)
        else:
            seen, listed = places.readable(self.places)
            landlock.restrict([*seen, *_OWN_PROC, *more], [folder], listed=listed, devices=devices)


def _isolate_server(shown: places.Places, jobs: str, user: int, own: users.Users | None) -> None:
    """Make the server's namespaces and private root. Root builds it with its own rights, then gives them up."""
    built = False
    outside = (user, user) if os.getuid() == 0 else (os.getuid(), os.getgid())
    mapper = None if own is None else users.Mapper(own, USER, *outside)
    if os.getuid() == 0:
        with contextlib.suppress(PermissionError):  # a container's root may have no such right
            linux.unshare(linux.NEW_MOUNTS)
            root.build(shown, jobs)
            built = True
    _become(user)
    linux.unshare(linux.NEW_USER)
    if mapper is None:
        linux.map_user(USER, *outside)
    else:
        mapper.map()
    linux.unshare(_OUTER)
    if not built:
        root.build(shown, jobs)


def _become(user: int) -> None:
    """Drop root's rights for good.

    Raises:
        OSError: the interpreter cannot be reached by that user.
    """
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        linux.prctl(linux.SET_DUMPABLE, 1)
    if not os.access(sys.executable, os.X_OK) or not os.access(os.__file__, os.R_OK):
        message = f"the user {os.getuid()} may not run {sys.executable}; install Python where every user may read it"
        raise PermissionError(message)


def _isolate_job(job: str, user: int | None, *, ours: bool = False, reads: bool = False) -> None:
    """Give this job its own mounts (hand-in, scratch, /proc) and a nested user namespace.

    From here on the job has the user id at index `user`, where jobs have their own.
    """
    owner = USER if user is None else users.FIRST + user
    linux.unshare(_OF_A_JOB)
    linux.set_host_name("labgrade")
    if job:
        linux.bind(f"{root.JOBS}/{job}/handin", root.HANDIN)
    linux.mount("tmpfs", root.JOBS, "tmpfs", _FLAGS | linux.READ_ONLY, "size=4k,mode=000")
    options = f"size={SCRATCH_BYTES},nr_inodes={SCRATCH_FILES},mode=755,uid={owner},gid={owner}"
    linux.mount("tmpfs", root.SCRATCH, "tmpfs", _FLAGS, options)
    linux.mount("proc", "/proc", "proc", _PROC)
    if user is not None:
        users.become(user)
    Path(root.SCRATCH, "tmp").mkdir()
    if job and reads:
        Path(root.SCRATCH, "handin").symlink_to(root.HANDIN)
    elif job:
        _copy_handin(Path(root.HANDIN), Path(root.SCRATCH, "handin"), _bind_file, ours=ours)
    linux.unshare(linux.NEW_USER)
    linux.map_user(USER, owner, owner)


def _copy_handin(source: Path, target: Path, show: Callable[[str, Path], None], *, ours: bool) -> None:
    """Copy a hand-in, so that its code may write to it. A large file of `ours` is shown, not copied.

    Ours are files in the folder of given files, and all that a measuring job reads.
    """
    target.mkdir()
    for entry in os.scandir(source):
        own = target / entry.name
        if entry.is_dir(follow_symlinks=False):
            _copy_handin(Path(entry.path), own, show, ours=ours or entry.name == GIVEN_FOLDER)
        elif ours and entry.stat(follow_symlinks=False).st_size > _SHOWN_BYTES:
            show(entry.path, own)
        else:
            shutil.copy(entry.path, own)


def _bind_file(source: str, target: Path) -> None:
    """Bind a file to a second place. A link would not do: readers of models take it for a way out of the folder."""
    target.touch()
    linux.bind(source, str(target))


def _link_file(source: str, target: Path) -> None:
    target.symlink_to(source)


def _problem_with(trial: Callable[[], None]) -> str:
    """Try something in a throw-away process; return its error, or an empty text."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            trial()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the grader learns of it
            os.write(writer, f"{error}".encode()[:500])
        finally:
            os._exit(1)
    os.close(writer)
    with open(reader, "rb") as told:  # noqa: PTH123 - a descriptor
        said = told.read().decode("utf-8", "replace")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said or ("it was refused" if code else "")


def _die_with(parent: int) -> None:
    """Have this process end with its launcher. `parent` is 0 in a PID namespace, where it can't be seen."""
    linux.prctl(linux.DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _wait(server: int, *, sweep: bool) -> NoReturn:
    """Be the launcher: wait for the server, end with its code; with `sweep`, first end what it left behind."""

    def stop(*_: object) -> None:
        os.kill(server, signal.SIGKILL)

    if sweep:
        linux.prctl(linux.SUBREAPER, 1)
    for number in _MINDFUL:
        signal.signal(number, stop)
    os.closerange(0, 1)
    status = os.waitpid(server, 0)[1]
    if sweep:
        usage.reap_all()
    os._exit(min(abs(os.waitstatus_to_exitcode(status)), 255))
