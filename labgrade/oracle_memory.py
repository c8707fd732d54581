"""Expected values on disk: one file a value, named by all that it depends on, with a digest that tells damage.

Code that runs as the same user can write here, students' too where no jail holds it. So a run takes in what it needs
before the first of them runs, and in the end deletes what changed meanwhile and was not written by itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

State: TypeAlias = tuple[int, int, int, int]


class Memory:
    """The values in `folder`, by key. `written` has the digest of each file that this process wrote, by its name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before: dict[str, State] | None = None
        self.written: dict[str, str] = {}

    def read(self, key: str) -> tuple[object] | None:
        """The value under `key`, in a tuple; None where there is nothing, or something damaged."""
        try:
            found = json.loads(self._path(key, ".json").read_bytes())
            match found:
                case {"value": value, "digest": str(digest)} if digest == _digest_of(value):
                    return (value,)
                case {"arrays": str(digest)}:
                    data = self._path(key, ".npz").read_bytes()
                    return (load_arrays(data),) if digest == _digest(data) else None
        except (OSError, ValueError, RecursionError):
            return None
        return None

    def write(self, key: str, value: object) -> None:
        """Remember a plain value under `key`."""
        self._put(self._path(key, ".json"), json.dumps({"value": value, "digest": _digest_of(value)}).encode())

    def write_arrays(self, key: str, data: bytes) -> None:
        """Remember the arrays of an .npz file under `key`."""
        self._put(self._path(key, ".npz"), data)
        self._put(self._path(key, ".json"), json.dumps({"arrays": _digest(data)}).encode())

    def watch(self) -> None:
        """From now on, what others write is theirs."""
        self._before = dict(self._files())

    def discard_changes(self, written: Mapping[str, str]) -> list[str]:
        """Delete what changed since `watch` and is not in `written`; the names of those files.

        What another run wrote meanwhile goes, too, and is computed again.
        """
        if self._before is None:
            return []
        changed = []
        for name, state in list(self._files()):
            path = self._folder / name
            if self._before.get(name) == state or _is_as_written(path, written.get(name)):
                continue
            changed.append(name)
            with contextlib.suppress(OSError):
                path.unlink()
        return changed

    def _path(self, key: str, suffix: str) -> Path:
        return self._folder / key[:2] / f"{key}{suffix}"

    def _put(self, path: Path, content: bytes) -> None:
        """Written beside and renamed, so that no reader ever sees half a file; a full disk only costs time."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(content)
            Path(file.name).replace(path)
        except OSError:
            return
        self.written[path.relative_to(self._folder).as_posix()] = _digest(content)

    def _files(self) -> Iterator[tuple[str, State]]:
        """Everything but folders below the folder, links to folders included, and what tells that it was changed."""
        for base, folders, names in os.walk(self._folder):
            for name in [*names, *folders]:
                path = Path(base, name)
                with contextlib.suppress(OSError):
                    status = path.lstat()
                    if not stat.S_ISDIR(status.st_mode):
                        state = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                        yield path.relative_to(self._folder).as_posix(), state


def load_arrays(data: bytes) -> dict[str, Any]:
    """The arrays in the bytes of an .npz file, by name.

    Raises:
        ValueError: they are no such file.
    """
    import zipfile

    import numpy as np

    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        message = f"no arrays: {error}"
        raise ValueError(message) from error


def _is_as_written(path: Path, digest: str | None) -> bool:
    try:
        return digest is not None and not path.is_symlink() and _digest(path.read_bytes()) == digest
    except OSError:
        return False


def _digest_of(value: object) -> str:
    return _digest(json.dumps(value, sort_keys=True).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
