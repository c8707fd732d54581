"""Writing reports to files. Whether that can be done is checked before a student is graded."""

from __future__ import annotations

from pathlib import Path

from labgrade.core.errors import UsageError


def refuse_unwritable(target: str, option: str) -> None:
    """Refuse a file that can't be written, before anything was computed for it.

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
        UsageError: it could not be written whole (a full disk, no permission).
    """
    try:
        Path(target).write_bytes(data)
    except OSError as error:
        message = f"the report could not be written to '{target}': {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error
