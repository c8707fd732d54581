"""One hand-in in a folder of labgrade's: only regular files that we wrote ourselves, and bounded in number and size."""

from __future__ import annotations

import errno
import os
import unicodedata
from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from labgrade.core.errors import UsageError
from labgrade.submissions import names

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import FileIO
    from pathlib import Path

ONE_BYTES = 256 << 20
ALL_BYTES = 512 << 20
MOST_FILES = 5_000
MOST_NAMED = 50
_RARE, _OF_RARE = 20, 200
_CHUNK = 1 << 20


# Not there, or no file that has any content: whatever reads it, there is nothing to read.
_NOTHING_TO_READ = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})
# The grader's disk or process has no room: no file is to blame that happens to come then.
_OURS = frozenset({errno.ENOSPC, errno.EROFS, errno.EMFILE, errno.ENFILE, getattr(errno, "EDQUOT", errno.ENOSPC)})


def too_large(size: int) -> str:
    """Say why no file of that size is taken, or ""."""
    return f"it is larger than {ONE_BYTES >> 20} MiB" if size > ONE_BYTES else ""


class DamagedError(Exception):
    """The data is cut off or not what it claims to be; the message continues after "because"."""


class Store:
    """Takes files in, and says why it refuses others."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.files: dict[str, int] = {}
        self.unread: list[str] = []
        self._kinds: Counter[str] = Counter()
        self._bytes = 0
        self._written = 0
        self._refused: list[str] = []
        self._more = 0

    @property
    def refused(self) -> tuple[str, ...]:
        """Return what was left out, each with the reason, sorted."""
        more = (f"{self._more:,} more",) if self._more else ()
        return (*sorted(self._refused), *more)

    def refuse(self, path: str, why: str) -> None:
        """Leave something out."""
        if len(self._refused) < MOST_NAMED:
            self._refused.append(f"'{names.for_report(path)}', because {why}")
        else:
            self._more += 1

    def give_up(self, path: str, error: OSError) -> None:
        """Leave out what can't be read; `unread` lists it if that is not the student's fault."""
        why = f"it can't be read ({error.strerror})"
        self.refuse(path, why)
        if error.errno not in _NOTHING_TO_READ:
            self.unread.append(f"'{names.for_report(path)}' ({error.strerror})")

    def accepts(self, path: str, size: int) -> bool:
        """Return whether a file of that size may come in; note the reason if not."""
        kind = PurePosixPath(path).suffix.lower()
        why = self._too_much(size) or self._too_many(kind)
        if why:
            self.refuse(path, why)
        else:
            self._kinds[kind] += 1
        return not why

    def put(self, parts: tuple[str, ...], read: Callable[[int], bytes]) -> None:
        """Write what `read(most)` returns, until it returns nothing, as the file of that path.

        Raises:
            UsageError: our own disk takes no more.
        """
        path = "/".join(parts)
        target = self.folder.joinpath(*parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            descriptor = os.open(target, flags, 0o644)
        except (FileExistsError, NotADirectoryError):
            self.refuse(path, self._taken(path))
            return
        except OSError as error:
            if error.errno in _OURS:
                raise self._full(error) from error
            self.refuse(path, f"it can't be stored ({error.strerror})")
            return
        try:
            # Unbuffered: a short file would meet a full disk only when it is closed.
            with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor, for O_EXCL
                self._fill(file, read)
        except DamagedError as error:
            target.unlink()
            self.refuse(path, str(error))
        except OSError as error:
            target.unlink()
            if error.errno in _OURS:
                raise self._full(error) from error
            self.give_up(path, error)
        else:
            self.files[path] = target.stat().st_size
            self._bytes += self.files[path]

    def drop(self, path: str) -> None:
        """Remove a file."""
        self.move(path, None)

    def move(self, path: str, target: Path | None) -> None:
        """Remove a file, or move it to `target` if there is one."""
        self._bytes -= self.files.pop(path)
        own = self.folder.joinpath(*path.split("/"))
        if target is None:
            own.unlink()
        else:
            own.rename(target)

    def _full(self, error: OSError) -> UsageError:
        return UsageError(f"no more can be stored in '{self.folder}': {error.strerror}")

    def _fill(self, file: FileIO, read: Callable[[int], bytes]) -> None:
        """Copy until the end.

        Raises:
            DamagedError: what is read is damaged, or too much.
            OSError: it can't be read.
            UsageError: our own disk takes no more.
        """
        size = 0
        while data := read(_CHUNK):
            size += len(data)
            self._written += len(data)
            if why := self._too_much(size) or self._too_much_work():
                raise DamagedError(why)
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError as error:
                raise self._full(error) from error

    def _too_much(self, size: int) -> str:
        if why := too_large(size):
            return why
        if size > ALL_BYTES - self._bytes:
            return f"all files together are larger than {ALL_BYTES >> 20} MiB"
        return ""

    def _too_many(self, kind: str) -> str:
        """Say if there are too many files; a few more of a rare kind, such as the code, may come in."""
        most = MOST_FILES + (_OF_RARE if self._kinds[kind] < _RARE else 0)
        return f"{MOST_FILES:,} files are the most" if len(self.files) >= most else ""

    def _too_much_work(self) -> str:
        """Say if too much was read in all; removed content, as of nested archives, counts, too."""
        most = 4 * ALL_BYTES
        return f"all that was unpacked is larger than {most >> 20} MiB" if self._written > most else ""

    def _taken(self, path: str) -> str:
        if path in self.files:
            return "a file of that name came before it"
        folded = unicodedata.normalize("NFC", path).casefold()
        same = next((other for other in self.files if other.casefold() == folded), None)
        if same is not None:
            return f"its name differs from '{same}' only in upper and lower case"
        return "a file and a folder have the same name"
