"""A folder of a student's, read so that nothing in it can lead elsewhere: no link is followed, at any depth."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labgrade.core.results import CLUTTER
from labgrade.submissions import names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from labgrade.submissions.store import Store

_BELOW = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK
_MOST_ENTRIES = 100_000


@dataclass(frozen=True, slots=True, order=True)
class _FoundFile:
    """A regular file, by its path from the top."""

    size: int
    raw: tuple[str, ...]
    kept: tuple[str, ...]
    identity: tuple[int, int]


def owned(source: Path) -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    """What lies in a folder of submissions: whose it is, and its path within the hand-in.

    Beside a folder an archive of the same name is a hand-in of its own, which has its whole name.
    """
    entries = sorted(entry for entry in source.iterdir() if not entry.name.startswith("."))
    seen: set[str] = set()
    for entry in sorted(entries, key=lambda entry: not entry.is_dir()):
        found = names.owner((entry.name,), is_file=not entry.is_dir())
        if found is not None:
            name, below = found
            name = entry.name if not entry.is_dir() and below == (entry.name,) and name in seen else name
            seen.add(name)
            yield name, entry, below


def take(source: Path, store: Store, below: tuple[str, ...] = ()) -> None:
    """Copy a folder into the store, under `below`. Smallest files first, so that a huge one costs no other.

    Raises:
        OSError: the folder itself can't be read.
    """
    top = _Top(source)
    try:
        found = sorted(each for each in top.files(store))
        for each in found:
            if store.accepts("/".join(each.kept), each.size):
                _copy(top, each, store, below)
    finally:
        top.close()


def take_file(source: Path, store: Store, parts: tuple[str, ...]) -> None:
    """Copy one file into the store, under that path."""
    descriptor = os.open(source, _FILE)
    try:
        status = os.fstat(descriptor)
        why = _problem(status)
        if why:
            store.refuse("/".join(parts), why)
        elif store.accepts("/".join(parts), status.st_size):
            store.put(parts, lambda most: os.read(descriptor, most))
    finally:
        os.close(descriptor)


def _copy(top: _Top, found: _FoundFile, store: Store, below: tuple[str, ...]) -> None:
    path = "/".join(found.kept)
    try:
        descriptor = top.open(found.raw, _FILE)
    except OSError as error:
        store.give_up(path, error)
        return
    try:
        status = os.fstat(descriptor)
        if (status.st_dev, status.st_ino) != found.identity or _problem(status):
            store.refuse(path, "it changed while it was read")
        else:
            store.put((*below, *found.kept), lambda most: os.read(descriptor, most))
    finally:
        os.close(descriptor)


class _Top:
    """The folder at which all paths begin. Where the system can, each name is looked up in an open folder."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self._descriptor = os.open(source, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0)) if _BELOW else -1

    def close(self) -> None:
        if _BELOW:
            os.close(self._descriptor)

    def open(self, raw: tuple[str, ...], flags: int) -> int:
        """Open a path and return its descriptor.

        Raises:
            OSError: one of them is a link, or is not there any more.
        """
        if not _BELOW:
            return os.open(self._source.joinpath(*raw), flags)
        folder = os.dup(self._descriptor)
        try:
            for name in raw[:-1]:
                deeper = os.open(name, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = deeper
            return os.open(raw[-1], flags, dir_fd=folder)
        finally:
            os.close(folder)

    def files(self, store: Store) -> Iterator[_FoundFile]:
        """Yield every file that may be taken; tell the store why others may not."""
        waiting: list[tuple[str, ...]] = [()]
        seen = 0
        while waiting:
            raw = waiting.pop()
            for name, status in self._listed(raw, store):
                seen += 1
                if seen > _MOST_ENTRIES:
                    store.refuse("...", f"there are more than {_MOST_ENTRIES:,} files and folders")
                    return
                path = (*raw, name)
                parts = names.split("/".join(map(names.of_file_system, path)))
                if isinstance(parts, str):
                    store.refuse("/".join(path), parts)
                elif stat.S_ISDIR(status.st_mode):
                    waiting.append(path)
                elif why := _problem(status):
                    store.refuse("/".join(parts), why)
                else:
                    yield _FoundFile(status.st_size, path, parts, (status.st_dev, status.st_ino))

    def _listed(self, raw: tuple[str, ...], store: Store) -> list[tuple[str, os.stat_result]]:
        """The entries of one folder, sorted, without clutter."""
        found = []
        descriptor = -1
        try:
            if _BELOW:
                descriptor = self.open(raw, _FOLDER) if raw else os.dup(self._descriptor)
            with os.scandir(descriptor if _BELOW else self._source.joinpath(*raw)) as entries:
                own = (entry for entry in entries if entry.name not in CLUTTER)
                found += [(entry.name, entry.stat(follow_symlinks=False)) for entry in own]
        except OSError as error:
            store.give_up("/".join(raw) or ".", error)
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        return sorted(found, key=lambda each: each[0])


def _problem(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return "it is a link; hand in the file itself"
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    return "it is a hard link, which may be to a file of somebody else's; hand in a copy" if status.st_nlink > 1 else ""
