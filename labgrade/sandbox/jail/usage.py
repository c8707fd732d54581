"""What a process and everything that it started use: CPU time, memory, processes; and how to end them all.

Reads /proc; where there is none (macOS, Windows) nothing is found, and rlimits and the clock are what holds.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

PROCESSES = 64


class Meter:
    """Measures what `root` and its descendants have used since `restart`.

    `root` is a supervisor (so that its job's adopted orphans count too), or the job itself. `shared_with`: the process
    whose memory it began with, as its fork a moment ago.
    """

    def __init__(self, root: int, shared_with: int | None = None) -> None:
        self._root = root
        self._sharing = () if shared_with is None else (shared_with,)
        self._spent = 0.0 if self._sharing else _cpu_seconds([self._root])
        self._held = _private_bytes(self._root)

    def restart(self) -> None:
        """Count from now on."""
        self._spent = _cpu_seconds([self._root])
        self._held = _private_bytes(self._root)

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of all of them, also of those that ended and were waited for."""
        return _cpu_seconds(family(self._root)) - self._spent

    def excess(self, seconds: float, memory: int) -> str:
        """Return the limit that is broken, `cpu`, `memory` or `processes`; an empty text where none is."""
        pids = family(self._root)
        if _cpu_seconds(pids) - self._spent > seconds:
            return "cpu"
        # A page that processes share counts once in the sum of their proportional sizes, so that what is left after
        # subtracting the root's own memory is what the job added. It is slow to ask for: resident size comes first.
        resident = sum(_private_bytes(pid) for pid in pids if pid != self._root)
        own_growth = _private_bytes(self._root) - self._held
        if resident + own_growth > memory:
            proportional = sum(proportional_bytes(pid) for pid in (*pids, *self._sharing))
            proportional -= sum(_shared_bytes(pid) for pid in self._sharing)  # weights, that the job may have read
            if proportional - self._held > memory:
                return "memory"
        return "processes" if len(pids) > PROCESSES else ""


def family(root: int) -> list[int]:
    """Return the process ids of `root` and all its descendants, as far as /proc tells."""
    pids = [root]
    for pid in pids:
        pids += [child for task in _tasks(pid) for child in _children(pid, task)]
    return pids


def _tasks(pid: int) -> list[str]:
    """Return the threads of a process; none where it has just ended."""
    try:
        return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - where a process ends meanwhile, a glob raises half-way
    except OSError:
        return []


def _children(pid: int, task: str) -> list[int]:
    return [int(child) for child in _read_proc(f"{pid}/task/{task}/children").split()]


def _read_proc(name: str) -> bytes:
    """Return the content of a file of /proc; nothing where its process has ended. Fast, because it is asked often."""
    try:
        with open(f"/proc/{name}", "rb", buffering=0) as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""


def end_descendants(root: int) -> None:
    """Kill every descendant of `root`, not `root` itself."""
    for pid in family(root)[1:]:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def reap_all(patience: float = 5.0) -> None:
    """Kill and wait for every child of this process, until none is left. Orphans arrive one generation at a time."""
    deadline = time.monotonic() + patience
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < deadline:
            end_descendants(os.getpid())
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.002)


def _cpu_seconds(pids: list[int]) -> float:
    return sum(sum(_stat(pid)[10:14]) for pid in pids) / _TICKS


def _stat(pid: int) -> list[int]:
    """Return the numbers of /proc/PID/stat after the state; 10 to 13 are CPU ticks, with those of reaped children."""
    text = _read_proc(f"{pid}/stat")
    return [int(word) for word in text[text.rindex(b")") + 4 :].split()] if text else []


def _private_bytes(pid: int) -> int:
    """Return the bytes of resident memory that belong to no file."""
    sizes = _read_proc(f"{pid}/statm").split()
    return (int(sizes[1]) - int(sizes[2])) * _PAGE if sizes else 0


def _shared_bytes(pid: int) -> int:
    """Return the bytes of resident memory in files without a name."""
    lines = _read_proc(f"{pid}/status").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(b"RssShmem:"))


def proportional_bytes(pid: int) -> int:
    """Return the bytes of anonymous and shared memory, each page divided by the processes that map it."""
    lines = _read_proc(f"{pid}/smaps_rollup").splitlines()
    if not lines:
        return _private_bytes(pid)
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith((b"Pss_Anon:", b"Pss_Shmem:")))


_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
