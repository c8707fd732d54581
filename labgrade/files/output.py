"""Writing reports to files. Whether that can be done is checked before a student is graded."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from labgrade.core.errors import UsageError


def refuse_unwritable(target: str, option: str) -> None:
    """Refuse a file that can't be written, before anything is computed for it.

    Raises:
        UsageError: its folder is not there, or it is a folder.
    """
    path = Path(target)
    if target == "-":
        return
    if not path.parent.is_dir():
        message = f"{option} {target}: there is no folder '{path.parent}'"
        raise UsageError(message)
    if path.is_dir():
        message = f"{option} {target}: this is a folder; name a file in it"
        raise UsageError(message)


def write(target: str, text: str) -> None:
    """Write a report.

    Raises:
        UsageError: it could not be written whole (a full disk, no permission).
    """
    write_bytes(target, (text + "\n").encode())


def write_bytes(target: str, data: bytes) -> None:
    """Write a file as it is.

    Raises:
        UsageError: it could not be written whole (a full disk, no permission); what was there before still is.
    """
    try:
        replace(Path(target), data)
    except OSError as error:
        message = f"the report could not be written to '{target}': {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error


def replace(path: Path, data: bytes) -> None:
    """Replace a file's content. A kill or a power cut leaves the old file or the new one, whole.

    A kill may leave a hidden file beside it. A link stays one. What is no file of one name of our own, such as a pipe,
    is written to as it is.

    Raises:
        OSError: it could not be written.
    """
    path = Path(os.path.realpath(path))  # `resolve` raises for a ring of links
    mode = _own_mode(path)
    aside = path.with_name(f".{secrets.token_hex(8)}.new")
    try:
        file = aside.open("xb") if mode is not None else None
    except PermissionError:  # the folder is another's, and the file may be ours
        file = None
    if file is None:
        path.write_bytes(data)
        return
    try:
        with file:
            file.write(data)
            file.flush()
            if mode:
                aside.chmod(mode)
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def _own_mode(path: Path) -> int | None:
    """Return the permissions of a file that may be replaced; 0 if there is none, None if it must stay."""
    try:
        state = path.lstat()
    except FileNotFoundError:
        return 0
    user = getattr(os, "geteuid", lambda: state.st_uid)()
    own = path.is_file() and state.st_nlink == 1 and state.st_uid == user and os.access(path, os.W_OK)
    return state.st_mode & 0o777 if own else None
