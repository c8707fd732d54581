"""The kinds of jobs that a child does: each makes a frame from its arguments, on the copy of a hand-in in a folder.

Which there are follows from what the server imported: `student_jobs`, or `measure` or trusted code alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path


Arguments: TypeAlias = "Mapping[str, Any]"
KINDS: dict[str, Callable[[Arguments, Mapping[str, Any], Path], bytes]] = {}
_trusted: dict[str, Callable[[Arguments, Path], Iterable[bytes | memoryview]]] = {}


def add(name: str, function: Callable[[Arguments, Path], Iterable[bytes | memoryview]]) -> None:
    """Register a further kind of job, done by trusted code alone, that yields frames."""
    _trusted[name] = function


def trusted_alone() -> bool:
    """Return whether children of this server run no student's code."""
    return "call" not in KINDS


def do(job: Arguments, values: Mapping[str, object], folder: Path) -> Iterable[bytes | memoryview]:
    """Do a job on the copy of a hand-in in `folder` and yield its frames; a student's job has one."""
    trusted = _trusted.get(job["kind"])
    return trusted(job, folder) if trusted is not None else (KINDS[job["kind"]](job, values, folder),)
