"""What the grader asks of the sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from labgrade.model import Limits, SubjectSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """One call of a student's function: `function` of `file`, a POSIX path within `folder`, with the `given` values."""

    folder: Path
    file: str
    function: str
    given: tuple[str, ...]
    subject: SubjectSpec | None
    limits: Limits
