"""A control group of the kernel's for each job: its memory is held at the limit, where polling comes too late.

The grader makes the groups, below the one that it is in itself, and hands the job descriptors to enter them by; no jail
shows them. Version 1 asks for root, version 2 for a group that is delegated to this user. Names and meanings are those
of the kernel's Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.sandbox import cgroup_above
from labgrade.sandbox.cgroup_above import NAME
from labgrade.sandbox.limits import THREADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SLACK_BYTES = 4 << 20  # the kernel counts in batches, and gives up a huge page before it kills
_REMOVE_SECONDS = 2.0
_TRIAL_BYTES = 64 << 20
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Group:
    """One job's group. `folders`: one in version 2; in version 1 that for memory, and that for processes if any.

    `entries`: descriptors; a process that writes `0` to each of them is in the group, whoever it is.
    """

    version: int = 0
    folders: tuple[Path, ...] = ()
    memory: int = 0
    entries: tuple[int, ...] = ()

    def starved(self) -> bool:
        """Whether the kernel ended a process of the group because the group, not the machine, was at its limit."""
        if not self.folders:
            return False
        memory = self.folders[0]
        try:
            if self.version == 2:  # noqa: PLR2004 - of two versions
                told = _counts(memory / "memory.events")
                return told["oom_kill"] > 0 and told["oom"] > 0
            peak = int((memory / "memory.max_usage_in_bytes").read_text())
            return _counts(memory / "memory.oom_control")["oom_kill"] > 0 and peak >= self.memory - _SLACK_BYTES
        except (OSError, KeyError):
            return False


class Groups:
    """Makes groups for jobs; `version` 1 or 2.

    Raises:
        OSError: no group can be made here, or it does not do what it should.
    """

    def __init__(self) -> None:
        self.version, self._above = cgroup_above.own()
        _sweep(self._above)
        if self.version == 2:  # noqa: PLR2004
            cgroup_above.make_room(self._above[0])
        self._try()

    @contextlib.contextmanager
    def of_a_job(self, memory: int) -> Iterator[Group]:
        """A group that may use so many bytes; removed, with whatever is still in it, in the end.

        Where none can be made any more, one without entries: polling holds the job.
        """
        with contextlib.ExitStack() as ending:
            try:
                group = self._made(memory, ending)
            except OSError:
                ending.close()
                group = Group(self.version)
            yield group

    def _made(self, memory: int, ending: contextlib.ExitStack) -> Group:
        name = f"labgrade-{os.getpid()}-{next(_numbers)}"
        folders = tuple(above / name for above in self._above)
        for folder in folders:
            folder.mkdir()
            ending.callback(_remove, folder)
        for file, value in _settings(self.version, folders, memory):
            file.write_text(str(value))
        entries = []
        for folder in folders:
            entries.append(os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
            ending.callback(os.close, entries[-1])
        return Group(self.version, folders, memory, tuple(entries))

    def _try(self) -> None:
        """Have a process that is nobody of importance enter a group, as a job would."""
        with contextlib.ExitStack() as ending:
            group = self._made(_TRIAL_BYTES, ending)
            # Descriptors 1 and 2, because a shell may know those up to 9 alone.
            shown = " ".join(shlex.quote(f"{folder}/cgroup.procs") for folder in group.folders)
            script = f'echo 0 && echo 0 >&2 && for file in {shown}; do grep -qx "$$" "$file" || exit 1; done'
            command = ["sh", "-c", script]
            done = subprocess.run(command, check=False, stdout=group.entries[0], stderr=group.entries[-1])
            told = _counts(group.folders[0] / ("memory.oom_control" if self.version == 1 else "memory.events"))
            if done.returncode:
                message = f"no process can enter {group.folders[0]}"
                raise OSError(message)
            if "oom_kill" not in told:
                message = "the kernel does not count what it ends"
                raise OSError(message)


def _settings(version: int, folders: tuple[Path, ...], memory: int) -> Iterator[tuple[Path, int]]:
    first, last = folders[0], folders[-1]
    if version == 1:
        yield first / "memory.limit_in_bytes", memory
        optional = [(first / "memory.memsw.limit_in_bytes", memory)]
    else:
        yield first / "memory.max", memory
        optional = [(first / "memory.swap.max", 0), (first / "memory.oom.group", 1)]
    optional.append((last / "pids.max", THREADS))
    yield from ((file, value) for file, value in optional if file.exists())


def _sweep(above: Iterable[Path]) -> None:
    """Remove what graders that were killed left, as far as nothing is in it."""
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
    """End every process of a group. One of another process tree is shown as 0, and is not ours to name."""
    with contextlib.suppress(OSError):
        if (folder / "cgroup.kill").exists():
            (folder / "cgroup.kill").write_text("1")
            return
        for pid in cgroup_above.processes(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _counts(file: Path) -> dict[str, int]:
    return {name: int(count) for name, count in (line.split() for line in file.read_text().splitlines())}
