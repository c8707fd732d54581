"""What is kept on disk by content: values and files under a key of all that they depend on, with digests.

Expected values, subjects' files, builds, examples and a student's progress lie here. Nothing is lost with any of it.
Code that runs as the same user can write here, students' too where no jail holds it. So a run takes in what it needs
before the first of them runs, and in the end deletes what changed meanwhile and was not written by itself.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

State: TypeAlias = tuple[int, int, int, int]
_KEPT_SECONDS = 90 * 24 * 3600  # for a value that nobody reads, such as that of an older version
_CONTENTS = ".contents.json"  # of a folder: each file's state when it was made, and its digest


def cache_folder() -> Path:
    """Return the folder of remembered values: `LABGRADE_CACHE`, else the user's cache folder."""
    if own := os.environ.get("LABGRADE_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "labgrade"


def key_of(*parts: object) -> str:
    """Return the key of plain data that a value depends on."""
    return _digest(json.dumps(parts, sort_keys=True).encode())


def version_of(library: str) -> str:
    """Return a library's version, which is part of many keys; "" if it is not installed.

    By the name of the folder that pip leaves, as `importlib.metadata` takes a quarter of a quick command's time.
    """
    for folder in (Path(each).absolute() for each in sys.path):
        with contextlib.suppress(OSError):
            version = _installed(folder, folder.stat().st_mtime_ns).get(_plain_name(library))
            if version is not None:
                return version
    import importlib.metadata

    try:
        return importlib.metadata.version(library)  # other installers leave other traces
    except importlib.metadata.PackageNotFoundError:
        return ""


@functools.cache
def _installed(folder: Path, _changed: int) -> dict[str, str]:
    """The versions of what pip installed into a folder, as it is now: a grader asks for nine of them."""
    stems = [path.stem.rpartition("-") for path in folder.glob("*.dist-info")]
    return {_plain_name(name): version for name, _, version in reversed(stems)}


def _plain_name(library: str) -> str:
    return re.sub(r"[-_.]+", "_", library).lower()


def missing(packages: Iterable[str]) -> tuple[str, ...]:
    """Return which of some packages are not installed."""
    return tuple(name for name in packages if not version_of(name))


class Cache:
    """Values and folders in `folder`, by key. A value larger than `most` bytes is taken for damaged.

    `written` has the digest of each value's file that this process wrote, by its name.
    """

    def __init__(self, folder: Path, most: int | None = None) -> None:
        self._folder = folder
        self._most = most
        self._before: dict[str, State] | None = None
        self.written: dict[str, str] = {}

    def read(self, key: str) -> tuple[object] | None:
        """Return the value under `key` in a tuple; None if there is none or it is damaged."""
        found = self.read_packed(key)
        try:
            return None if found is None else (unpacked(found[0]),)
        except ValueError:
            return None

    def read_packed(self, key: str) -> tuple[object] | None:
        """As `read`, but arrays stay on disk as `KeptArrays`, since few of them are needed."""
        try:
            path = self._path(key, ".json")
            if self._most is not None and path.stat().st_size > self._most:
                return None
            found = json.loads(path.read_bytes())
            match found:
                case {"value": value, "digest": str(digest)} if digest == _digest_of(value):
                    return (value,)
                case {"arrays": str(digest)}:
                    file = self._path(key, ".npz")
                    return (KeptArrays(file, file.stat().st_size, digest),)
        except (OSError, ValueError, RecursionError):
            return None
        return None

    def write(self, key: str, value: object) -> None:
        """Remember a plain value under `key`."""
        self._put(self._path(key, ".json"), json.dumps({"value": value, "digest": _digest_of(value)}).encode())

    def write_arrays(self, key: str, arrays: PackedArrays) -> PackedArrays | KeptArrays:
        """Remember arrays under `key`; return them as kept, or the arrays themselves if that failed."""
        file, digest = self._path(key, ".npz"), _digest(arrays.data)
        kept = self._put(file, arrays.data) and self._put(
            self._path(key, ".json"), json.dumps({"arrays": digest}).encode()
        )
        return KeptArrays(file, len(arrays.data), digest) if kept else arrays

    def get(self, key: str, make: Callable[[Path], None]) -> Path:
        """Return the folder under `key`; if it is missing or damaged, `make` fills an empty one.

        It is put in its place as a whole, by one process at a time. Where `make` raises, nothing is kept.

        Raises:
            OSError: it can't be written.
        """
        place = self._path(key, "")
        place.parent.mkdir(parents=True, exist_ok=True)
        with _exclusive(place.with_suffix(".lock")):
            if not _is_whole(place):
                with tempfile.TemporaryDirectory(dir=place.parent, prefix=".making-") as temporary:
                    making = Path(temporary) / "made"
                    making.mkdir()
                    make(making)
                    contents = {path.name: _note_of(path) for path in sorted(making.iterdir())}
                    (making / _CONTENTS).write_text(json.dumps(contents), encoding="utf-8")
                    shutil.rmtree(place, ignore_errors=True)  # of what is damaged
                    with contextlib.suppress(OSError):  # without locks another process may have been faster
                        making.rename(place)
        return place

    def watch(self) -> None:
        """Begin to watch for changes that others make. What nobody used for long is deleted."""
        self._before = {}
        oldest = time.time() - _KEPT_SECONDS
        for name, status in self._files():
            if max(status.st_atime, status.st_mtime) < oldest:
                with contextlib.suppress(OSError):
                    (self._folder / name).unlink()
            else:
                self._before[name] = _state_in(status)

    def discard_changes(self, written: Mapping[str, str]) -> list[str]:
        """Delete what changed since `watch` and is not in `written`; the names of those files.

        What another run wrote meanwhile goes, too, and is computed again.
        """
        if self._before is None:
            return []
        changed = []
        for name, status in list(self._files()):
            path = self._folder / name
            if self._before.get(name) == _state_in(status) or _is_as_written(path, written.get(name)):
                continue
            changed.append(name)
            with contextlib.suppress(OSError):
                path.unlink()
        return changed

    def _path(self, key: str, suffix: str) -> Path:
        return self._folder / key[:2] / f"{key}{suffix}"

    def _put(self, path: Path, content: bytes) -> bool:
        """Written beside and renamed, so that no reader ever sees half a file; a full disk only costs time.

        Whether it could be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(content)
            Path(file.name).replace(path)
        except OSError:
            return False
        self.written[path.relative_to(self._folder).as_posix()] = _digest(content)
        return True

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield every file and link below the folder, with what the system says of it."""
        inner = [""]  # tens of thousands of files: without a Path for each
        while inner:
            prefix = inner.pop()
            with contextlib.suppress(OSError), os.scandir(self._folder / prefix) as found:
                for each in found:
                    if each.is_dir(follow_symlinks=False):
                        inner.append(f"{prefix}{each.name}/")
                        continue
                    with contextlib.suppress(OSError):
                        yield f"{prefix}{each.name}", os.lstat(each)


@dataclass(frozen=True, slots=True)
class PackedArrays:
    """The bytes of an .npz file whose arrays nobody needed yet."""

    data: bytes


@dataclass(frozen=True, slots=True)
class KeptArrays:
    """An .npz file that was not read yet, and the digest that it must have."""

    file: Path
    size: int
    digest: str

    def read(self) -> PackedArrays:
        """Its bytes.

        Raises:
            ValueError: it is gone, or another by now.
        """
        try:
            status = self.file.lstat()  # what never ends, such as a pipe, is not read
            data = self.file.read_bytes() if S_ISREG(status.st_mode) and status.st_size == self.size else b""
        except OSError as error:
            raise ValueError(str(error)) from error
        if _digest(data) != self.digest:
            message = "the arrays are not those that were remembered"
            raise ValueError(message)
        return PackedArrays(data)


def unpacked(value: object) -> object:
    """Return a value with packed or kept arrays loaded.

    Raises:
        ValueError: the bytes are no .npz file, or not those that were kept.
    """
    if isinstance(value, KeptArrays):
        value = value.read()
    if not isinstance(value, PackedArrays):
        return value
    import zipfile

    import numpy as np

    try:
        with np.load(io.BytesIO(value.data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        message = f"no arrays: {error}"
        raise ValueError(message) from error


def _note_of(path: Path) -> list[object]:
    with path.open("rb") as file:
        return [*_state(path), hashlib.file_digest(file, "sha256").hexdigest()]


def _state(path: os.PathLike[str]) -> State:
    return _state_in(os.lstat(path))


def _state_in(status: os.stat_result) -> State:
    """Return what shows a change."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _is_whole(place: Path) -> bool:
    """Return whether a folder is complete. A file that was not touched since is not read again."""
    try:
        contents = json.loads((place / _CONTENTS).read_bytes())
        names = {path.name for path in place.iterdir()} - {_CONTENTS}
        return names == contents.keys() and all(
            list(_state(place / name)) == noted[:-1] or _note_of(place / name)[-1] == noted[-1]
            for name, noted in contents.items()
        )
    except (OSError, ValueError, AttributeError, TypeError, IndexError, RecursionError):
        return False


@contextlib.contextmanager
def _exclusive(lock: Path) -> Iterator[None]:
    """Let one process in at a time, if the system has file locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                lock.unlink()


def _is_as_written(path: Path, digest: str | None) -> bool:
    try:
        return digest is not None and not path.is_symlink() and _digest(path.read_bytes()) == digest
    except OSError:
        return False


def _digest_of(value: object) -> str:
    return _digest(json.dumps(value, sort_keys=True).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
