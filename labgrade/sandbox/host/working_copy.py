"""The copy of a submission that a child may do with what it likes."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

COPY_BYTES = 256 << 20
_MOST_FILES = 20_000
_FOLDER_MODE, _PROGRAM_MODE, _FILE_MODE = 0o755, 0o755, 0o644
_LEFT_OUT = frozenset({".git", ".venv", "venv", "__pycache__", "node_modules", ".ipynb_checkpoints", "__MACOSX"})


def copy(source: Path, target: Path, *, link: bool = False) -> list[str]:
    """Copy the regular files of a submission, smallest first; return the names of those that had to be left out.

    Links, devices and pipes are left out in silence (the submission's own listing names them), as are the folders of
    tools (.git, .venv, ...). `link`: hard links will do for files that everybody may read; they take no room.
    """
    target.mkdir(parents=True)
    target.chmod(_FOLDER_MODE)
    room = COPY_BYTES
    left_out = []
    for count, (size, relative) in enumerate(sorted((each.st_size, name) for name, each in _regular_files(source))):
        if count >= _MOST_FILES:
            left_out.append(relative)
            continue
        if link and _hard_link(source / relative, target / relative):
            continue
        room -= size
        if room < 0:
            left_out.append(relative)
            continue
        try:
            _copy_file(source / relative, target / relative, size)
        except OSError as error:
            left_out.append(f"{relative} ({error.strerror})")
    return left_out


def stamp(source: Path) -> object:
    """Return a value that changes with a submission's files: the path, size, time of change and inode of each."""
    told = [(relative, each.st_size, each.st_mtime_ns, each.st_ino) for relative, each in _regular_files(source)]
    return str(source), sorted(told)


def lend(source: Path, target: Path, *, link: bool) -> None:
    """Put one file into a folder, whatever its size; by a hard link if `link` allows.

    Raises:
        OSError: it can't be read.
    """
    if not (link and _hard_link(source, target)):
        shutil.copyfile(source, target)
        target.chmod(_FILE_MODE)


def _hard_link(source: Path, target: Path) -> bool:
    """Hard-link a regular file that everybody may read; return whether that worked."""
    try:
        mode = source.lstat().st_mode
        if not (stat.S_ISREG(mode) and mode & stat.S_IROTH):
            return False
        try:
            os.link(source, target, follow_symlinks=False)
        except FileNotFoundError:
            make_folders(target.parent)
            os.link(source, target, follow_symlinks=False)
    except OSError:
        return False
    return True


def discard(folder: Path) -> None:
    """Remove all that a child left behind, even locked folders and paths deeper than Python can go."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists() and os.name == "posix":
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run([*command, "--", str(folder)], check=False, stderr=subprocess.DEVNULL)


def _regular_files(top: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the path and the status of each regular file below a folder."""
    folders = [""]
    while folders:
        base = folders.pop()
        with contextlib.suppress(OSError), os.scandir(f"{top}/{base}") as entries:
            for entry in entries:
                relative = f"{base}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _LEFT_OUT:
                        folders.append(f"{relative}/")
                elif entry.is_file(follow_symlinks=False):
                    yield relative, entry.stat(follow_symlinks=False)


def _copy_file(source: Path, target: Path, size: int) -> None:
    """Copy at most `size` bytes: a file that grows meanwhile takes no more room than was counted for it."""
    descriptor = os.open(source, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as reader:  # noqa: PTH123 - a descriptor: a path could become a link meanwhile
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        make_folders(target.parent)
        with target.open("xb") as writer:
            while size > 0 and (chunk := reader.read(min(size, 1 << 20))):
                writer.write(chunk)
                size -= len(chunk)
        target.chmod(_PROGRAM_MODE if os.fstat(descriptor).st_mode & stat.S_IXUSR else _FILE_MODE)


def make_folders(folder: Path) -> None:
    """Make a folder and its parents so that other users may read them, whatever the umask."""
    if not folder.exists():
        make_folders(folder.parent)
        folder.mkdir()
        folder.chmod(_FOLDER_MODE)


def place(files: Mapping[str, Path], folder: Path, *, link: bool = False) -> None:
    """Copy files to their names within `folder`, in place of any file or folder that is in the way there.

    `link`: hard links will do for files that everybody may read.

    Raises:
        OSError: one of them cannot be read, or its name leads out of the folder.
    """
    for name, source in files.items():
        target = folder / name
        if target.resolve() == folder.resolve() or not target.resolve().is_relative_to(folder.resolve()):
            message = f"'{name}' is no place within the folder"
            raise OSError(message)
        for parent in target.relative_to(folder).parents:
            if (folder / parent).is_file():
                (folder / parent).unlink()
        make_folders(target.parent)
        if target.is_dir():
            discard(target)
        target.unlink(missing_ok=True)
        if link and _hard_link(source, target):
            continue
        shutil.copyfile(source, target)
        target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)  # whatever the umask: the job is another user
