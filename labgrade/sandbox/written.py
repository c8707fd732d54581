"""The files of a program's folder: its own to write to; and which of them it made or changed."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ONE_BYTES = 64 << 20
ALL_BYTES = 160 << 20
MOST_FILES = 2_000
OWN_BYTES = 256 << 20
_MOST_SEEN = 50_000
_MOST_NAMED = 20
_LEFT_OUT = frozenset({".git", ".venv", "venv", "__pycache__", "node_modules", ".ipynb_checkpoints"})


def make_own(folder: Path, given: set[str]) -> None:
    """Replace links that a jail made to large files of the hand-in by copies that may be written, smallest first.

    Those that were `given`, by their POSIX paths, are there to be read, and stay where they are.
    """
    links = []
    for base, folders, names in os.walk(folder):
        links += [Path(base, name) for name in (*folders, *names) if Path(base, name).is_symlink()]
    links = [link for link in links if link.relative_to(folder).as_posix() not in given]
    room = OWN_BYTES
    for size, link in sorted((link.stat().st_size, link) for link in links if link.is_file()):
        room -= size
        if room < 0:
            return
        target = link.resolve()
        link.unlink()
        shutil.copyfile(target, link)


class Snapshot:
    """The regular files below a folder as they are now."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = dict(self._files())

    def changed(self) -> tuple[dict[str, bytes], list[str]]:
        """The content of each file made or changed since, by its POSIX path; and what is too large, by name.

        Smallest first, so that a huge file costs no other. Links are never followed.
        """
        now = {path: state for path, state in self._files() if self._before.get(path) != state}
        found: dict[str, bytes] = {}
        left_out: list[str] = []
        room = ALL_BYTES
        for path, (size, *_) in sorted(now.items(), key=lambda item: item[1][0]):
            if size > min(ONE_BYTES, room) or len(found) >= MOST_FILES:
                left_out.append(path)
                continue
            with contextlib.suppress(OSError):
                found[path] = _read(self._folder / path, size)
                room -= len(found[path])
        return found, left_out[:_MOST_NAMED]

    def _files(self) -> Iterator[tuple[str, tuple[int, int, int]]]:
        """Each path with its size, its time of change and its inode."""
        folders, seen = [""], 0
        while folders and seen < _MOST_SEEN:
            base = folders.pop()
            with contextlib.suppress(OSError), os.scandir(self._folder / base) as entries:
                for entry in entries:
                    seen += 1
                    with contextlib.suppress(OSError, UnicodeError):
                        relative = f"{base}{entry.name}"
                        relative.encode()
                        if entry.is_dir(follow_symlinks=False):
                            folders += [] if entry.name in _LEFT_OUT else [f"{relative}/"]
                        elif entry.is_file(follow_symlinks=False):
                            status = entry.stat(follow_symlinks=False)
                            yield relative, (status.st_size, status.st_mtime_ns, status.st_ino)


def _read(path: Path, size: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError
        return file.read(size)
