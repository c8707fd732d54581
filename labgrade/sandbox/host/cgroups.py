"""A control group of the kernel's for each job: its memory is held at the limit, where polling comes too late.

The grader makes the groups, below its own group, and hands the job descriptors to enter them by; no jail
shows them. One that a job left as it was made serves the next: to make and remove one takes as long as a short call.
Version 1 asks for root, version 2 for a group that is delegated to this user. Names and meanings are those
of the kernel's Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from labgrade.sandbox.jail import usage
from labgrade.sandbox.jail.limits import THREADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NAME = re.compile(r"labgrade-(?P<grader>\d+)-(?:\d+|grader)")
_CONTROLLERS = {"memory", "pids"}


def own_groups() -> tuple[int, tuple[Path, ...]]:
    """Return the version, and this process's groups; in version 1 one for memory, and one for processes if writable."""
    paths: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)
    if "memory" in paths:
        own = [_mounted(name, paths[name]) for name in ("memory", "pids") if name in paths]
        writable = [folder for folder in own[1:] if os.access(folder, os.W_OK)]
        return 1, tuple(dict.fromkeys([own[0], *writable]))
    own_path = _mounted("", paths.get("", "/"))
    return 2, (own_path.parent if NAME.fullmatch(own_path.name) else own_path,)


def _mounted(controller: str, path: str) -> Path:
    """Return the folder at which a group is mounted; of version 2 where no controller is named."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        root, place = before.split()[3:5]
        kind, _, options = after.split(maxsplit=2)
        fits = kind == "cgroup" and controller in options.split(",") if controller else kind == "cgroup2"
        if fits and PurePosixPath(path).is_relative_to(root):
            return Path(place, PurePosixPath(path).relative_to(root))
    message = f"no {controller or 'unified'} hierarchy is mounted"
    raise OSError(message)


def make_room(above: Path) -> None:
    """Move the processes of a group into a child group, because a group that holds processes passes no controller on.

    Raises:
        OSError: others' processes are in it too, or it is not delegated.
    """
    control = above / "cgroup.subtree_control"
    if set(control.read_text().split()) >= _CONTROLLERS:
        return
    here = processes(above)
    if not set(here) <= {*_ancestors(), *usage.family(os.getpid())}:
        message = f"{above} holds other processes, too"
        raise OSError(message)
    own = above / f"labgrade-{os.getpid()}-grader"
    own.mkdir(exist_ok=True)
    try:
        _move(here, own)
        control.write_text(" ".join(f"+{name}" for name in sorted(_CONTROLLERS)))
    except OSError:
        _move(here, above)
        own.rmdir()
        raise


def _move(pids: Iterable[int], folder: Path) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            (folder / "cgroup.procs").write_text(str(pid))


def _ancestors() -> Iterator[int]:
    pid = os.getppid()
    while pid > 0:
        yield pid
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def processes(folder: Path) -> list[int]:
    """Return the processes of a group. Those of another process tree are shown as 0, and left out."""
    return [pid for pid in map(int, (folder / "cgroup.procs").read_text().split()) if pid > 0]


_SLACK_BYTES = 4 << 20  # the kernel counts in batches, and gives up a huge page before it kills
_REMOVE_SECONDS = 2.0
_TRIAL_BYTES = 64 << 20
_COUNTS_BYTES = 4096
_MOST_KEPT = 4
_LEFT_BYTES = 1 << 20  # what may be charged to a group that serves again: caches, which the kernel takes back
_KILLS = {1: "memory.oom_control", 2: "memory.events"}  # by version: where the kernel counts what it ends
_HELD = {1: "memory.usage_in_bytes", 2: "memory.current"}
_PEAK = "memory.max_usage_in_bytes"
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Group:
    """One job's group. `folders`: one in version 2; in version 1 that for memory, and that for processes if any.

    `entries`: descriptors; a process that writes `0` to each of them is in the group, whichever process it is. `kills`:
    a descriptor of the file in which the kernel counts the processes that it killed.
    """

    version: int = 0
    folders: tuple[Path, ...] = ()
    memory: int = 0
    entries: tuple[int, ...] = ()
    kills: int = -1

    def starved(self) -> bool:
        """Return whether the kernel killed a process because the group, not the machine, was at its limit."""
        if self.kills < 0:
            return False
        try:
            said = os.pread(self.kills, _COUNTS_BYTES, 0)
            if b"oom_kill 0\n" in said:  # asked of each job, and of a long one five times a second
                return False
            told = _counted(said.decode())
            if self.version == 2:  # noqa: PLR2004 - of two versions
                return told["oom_kill"] > 0 and told["oom"] > 0
            return told["oom_kill"] > 0 and int((self.folders[0] / _PEAK).read_text()) >= self.memory - _SLACK_BYTES
        except (OSError, KeyError):
            return False

    def renewed(self) -> bool:
        """Make the group ready for the next job; return whether it is empty, and nothing was killed in it."""
        try:
            told = _counted(os.pread(self.kills, _COUNTS_BYTES, 0).decode())
            # Opened anew: through a descriptor of its own, version 1 goes on to tell who was in it a second ago.
            if told["oom_kill"] or told.get("oom") or any(_read(f"{each}/cgroup.procs") for each in self.folders):
                return False
            if int(_read(f"{self.folders[0]}/{_HELD[self.version]}")) > _LEFT_BYTES:
                return False
            if self.version == 1:
                _set(f"{self.folders[0]}/{_PEAK}", 0)
        except (OSError, KeyError, ValueError):
            return False
        return True

    def close(self) -> None:
        """Remove the group, and kill whatever is still in it."""
        for descriptor in (*self.entries, *([self.kills] if self.kills >= 0 else [])):
            os.close(descriptor)
        for folder in reversed(self.folders):
            _remove(folder)


class Groups:
    """Makes groups for jobs, of `version` 1 or 2.

    Raises:
        OSError: no group can be made here, or it does not do what it should.
    """

    def __init__(self) -> None:
        self.version, self._above = own_groups()
        _sweep(self._above)
        if self.version == 2:  # noqa: PLR2004
            make_room(self._above[0])
        self._kept: list[Group] = []
        self._try()

    @contextlib.contextmanager
    def of_a_job(self, memory: int) -> Iterator[Group]:
        """Provide a group that may use so many bytes; at the end it is emptied.

        Where no group can be made, it is one without entries: polling then holds the job.
        """
        try:
            group = self._reused(memory) or self._new_group(memory)
        except OSError:
            group = Group(self.version)
        try:
            yield group
        finally:
            if group.entries and group.renewed():
                self._kept.append(group)
            else:
                group.close()
            if len(self._kept) > _MOST_KEPT:
                self._kept.pop(0).close()

    def _reused(self, memory: int) -> Group | None:
        """Return a kept group with this limit; None if there is none."""
        for group in [each for each in self._kept if each.memory == memory]:
            with contextlib.suppress(ValueError):  # another thread took it
                self._kept.remove(group)
                return group
        return None

    def close(self) -> None:
        """Remove the groups that are kept."""
        while self._kept:
            self._kept.pop().close()

    def _new_group(self, memory: int) -> Group:
        name = f"labgrade-{os.getpid()}-{next(_numbers)}"
        group = Group(self.version, tuple(above / name for above in self._above), memory)
        try:
            for folder in group.folders:
                folder.mkdir()
            _limit(self.version, group.folders, memory)
            for folder in group.folders:
                entry = os.open(f"{folder}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
                group = replace(group, entries=(*group.entries, entry))
            kills = os.open(f"{group.folders[0]}/{_KILLS[self.version]}", os.O_RDONLY | os.O_CLOEXEC)
        except BaseException:
            group.close()
            raise
        return replace(group, kills=kills)

    def _try(self) -> None:
        """Test with a process made for this whether one can enter a group."""
        with contextlib.closing(self._new_group(_TRIAL_BYTES)) as group:
            # Descriptors 1 and 2, because a shell may know those up to 9 alone.
            shown = " ".join(shlex.quote(f"{folder}/cgroup.procs") for folder in group.folders)
            script = f'echo 0 && echo 0 >&2 && for file in {shown}; do grep -qx "$$" "$file" || exit 1; done'
            command = ["sh", "-c", script]
            done = subprocess.run(command, check=False, stdout=group.entries[0], stderr=group.entries[-1])
            told = _counted(os.pread(group.kills, _COUNTS_BYTES, 0).decode())
            if done.returncode:
                message = f"no process can enter {group.folders[0]}"
                raise OSError(message)
            if "oom_kill" not in told:
                message = "the kernel does not count what it ends"
                raise OSError(message)


def _limit(version: int, folders: tuple[Path, ...], memory: int) -> None:
    """Set what a group may use. A kernel may lack every limit but that of memory."""
    first, last = folders[0], folders[-1]
    if version == 1:
        _set(f"{first}/memory.limit_in_bytes", memory)
        optional = {f"{first}/memory.memsw.limit_in_bytes": memory}
    else:
        _set(f"{first}/memory.max", memory)
        optional = {f"{first}/memory.swap.max": 0, f"{first}/memory.oom.group": 1}
    for file, value in {**optional, f"{last}/pids.max": THREADS}.items():
        with contextlib.suppress(FileNotFoundError):
            _set(file, value)


def _set(file: str, value: int) -> None:
    """Write a number to a file of the kernel's. File objects would take longer than the kernel does."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


def _read(file: str) -> bytes:
    """Return the content of a short file of the kernel's."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _COUNTS_BYTES)
    finally:
        os.close(descriptor)


def _sweep(above: Iterable[Path]) -> None:
    """Remove the empty groups of graders that were killed."""
    for folder in above:
        for left in folder.glob("labgrade-*"):
            name = NAME.fullmatch(left.name)
            if name and not Path("/proc", name["grader"]).exists():
                with contextlib.suppress(OSError):
                    left.rmdir()


def _remove(folder: Path) -> None:
    deadline = time.monotonic() + _REMOVE_SECONDS
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                return  # the next grader sweeps it
            _end(folder)
            time.sleep(0.01)


def _end(folder: Path) -> None:
    """Kill every process of a group that this process tree can name."""
    with contextlib.suppress(OSError):
        if (folder / "cgroup.kill").exists():
            (folder / "cgroup.kill").write_text("1")
            return
        for pid in processes(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _counted(text: str) -> dict[str, int]:
    return {name: int(count) for name, count in (line.split() for line in text.splitlines())}
