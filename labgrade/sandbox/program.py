"""A program within the child: started in the copy of the hand-in, waited for, and what it wrote collected.

Whatever it does to the collector, which is of the same user, can only change what it says of itself.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from labgrade.sandbox.wire import RawArray, RefusedError, pack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MOST_FILES = 256
FILE_BYTES = 64 << 20
ALL_BYTES = 128 << 20
_SHOWN = 50


def run(job: Mapping[str, Any], folder: Path) -> bytes:
    """The frame: `ran` with the exit code (minus a signal) and the files written, or `unstarted` with the reason."""
    before = {name: (size, when) for name, size, when in _files(folder)}
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]  # noqa: PTH120 - text
    try:
        process = subprocess.Popen(job["command"], cwd=folder, stdin=subprocess.DEVNULL)
        code = process.wait()
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        return pack({"event": "unstarted", "problem": problem}, _refuse)
    files: dict[str, RawArray] = {}
    left_out: list[str] = []
    room = ALL_BYTES
    for name, size, when in sorted(_files(folder)):
        if before.get(name) == (size, when):
            continue
        data = _read(folder / name, min(room, FILE_BYTES)) if len(files) < MOST_FILES else None
        if data is None:
            left_out.append(name)
        else:
            files[name] = RawArray("|u1", (len(data),), data)
            room -= len(data)
    return pack({"event": "ran", "code": code, "files": files, "left_out": left_out[:_SHOWN]}, _refuse)


def _files(top: Path) -> Iterator[tuple[str, int, int]]:
    """Regular files as POSIX paths relative to `top`, with size and time of change; no link is followed."""
    folders = [""]
    while folders:
        base = folders.pop()
        try:
            entries = list(os.scandir(top / base))
        except OSError:
            continue
        for entry in entries:
            name = f"{base}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{name}/")
            elif entry.is_file(follow_symlinks=False):
                found = entry.stat(follow_symlinks=False)
                yield name, found.st_size, found.st_mtime_ns


def _read(path: Path, most: int) -> bytes | None:
    """The content of a regular file of at most `most` bytes; None for anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, for O_NOFOLLOW
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            data = file.read(most + 1)
    except OSError:
        return None
    return data if len(data) <= most else None


def _refuse(item: object) -> object:
    raise RefusedError(type(item).__name__)
