"""One run at a time writes into a results folder."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from typing import TYPE_CHECKING

from labgrade.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "lock"
_TRIES, _PAUSE_SECONDS = 10, 0.1


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make the folder where it is not there, and keep other runs out of it; the system lets go when we end.

    Raises:
        UsageError: another run is at work in it, or it can't be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    except OSError as error:
        message = f"'{folder}' can't hold results: {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error
    try:
        if not _locked_soon(descriptor):
            who = os.read(descriptor, 200).decode("utf-8", "replace").strip() or "another run"
            message = f"{who} is grading into '{folder}': wait for its end, or name another folder with --out"
            raise UsageError(message)
        with contextlib.suppress(OSError):  # who holds it is only said for people
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _locked_soon(descriptor: int) -> bool:
    """The processes of a run that was killed take a moment to end."""
    for _ in range(_TRIES):
        if _locked(descriptor):
            return True
        time.sleep(_PAUSE_SECONDS)
    return False


def _locked(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def refuse_within(results: Path, source: Path) -> None:
    """Results among the submissions would be somebody's.

    Raises:
        UsageError: they are.
    """
    if source.is_dir() and results.resolve().is_relative_to(source.resolve()):
        message = f"'{results}' lies in '{source}', where it would be a submission; name a folder beside it"
        raise UsageError(message)
