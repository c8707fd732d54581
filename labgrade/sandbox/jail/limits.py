"""The kernel's own limits on a process, wider than what is polled from outside: they hold where polling is too slow."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path

FILE_BYTES = 512 << 20
_OPEN_FILES = 512
_SPARE_BYTES = 2 << 30
THREADS = 256
_LOCKED_BYTES = 1 << 20
_SIGNALS = 1024


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a job may use: CPU seconds, bytes of memory. `own_count`: its threads are counted apart from others'."""

    seconds: float
    memory: int
    own_count: bool = False


def set_limits(allowed: Allowed) -> None:
    """Limit this process and its children; do nothing where the system has no such limits."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = math.ceil(used.ru_utime + used.ru_stime + allowed.seconds) + 1
    wanted: dict[str, tuple[int, int]] = {
        "CPU": (seconds, seconds + 1),
        "FSIZE": (FILE_BYTES, FILE_BYTES),
        "NOFILE": (_OPEN_FILES, _OPEN_FILES),
        "CORE": (0, 0),
    }
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
        space = pages * resource.getpagesize() + allowed.memory + _SPARE_BYTES
        wanted |= {
            "AS": (space, space),
            "MEMLOCK": (_LOCKED_BYTES, _LOCKED_BYTES),
            "MSGQUEUE": (0, 0),
            "SIGPENDING": (_SIGNALS, _SIGNALS),
        }
        threads = THREADS if allowed.own_count else THREADS + _threads_of_this_user()
        wanted["NPROC"] = (threads, threads)
    for name, (soft, top) in wanted.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None:
            most = resource.getrlimit(kind)[1]
            if most != resource.RLIM_INFINITY:
                soft, top = min(soft, most), min(top, most)  # noqa: PLW2901 - not above what already holds
            resource.setrlimit(kind, (soft, top))


def _threads_of_this_user() -> int:
    own, count = os.getuid(), 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid == own:
                count += sum(1 for _ in (process / "task").iterdir())
    return count
