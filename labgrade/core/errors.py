"""Where something is wrong, whose fault it is, and how to say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# What a command exits with. NOT_RIGHT: something is wrong, is open, or was held back; FAULT: labgrade's own failure.
OK, NOT_RIGHT, USAGE, FAULT = 0, 1, 2, 3


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A place in a file. Lines and columns are counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class SpecFinding:
    """One thing that is wrong at one place of a spec, with its remedy."""

    mark: Mark
    message: str

    def __str__(self) -> str:
        return f"{self.mark}: {self.message}"


class LabgradeError(Exception):
    """The root of every error that labgrade raises on purpose."""


class UsageError(LabgradeError):
    """What the caller asked for cannot be done; the message says what can."""


class SpecError(LabgradeError):
    """A spec is wrong. Carries *all* findings, ordered by place."""

    def __init__(self, findings: Iterable[SpecFinding]) -> None:
        """Keep each finding once, ordered by file, line and column."""
        self.findings = tuple(sorted(set(findings)))
        super().__init__("\n".join(str(finding) for finding in self.findings))


class FaultError(LabgradeError):
    """A failure of labgrade's (a checker, a quantity, the sandbox): never costs a student a point."""


class NoSuchSlipError(FaultError):
    """The quantity is None: its slip can't be made on this subject. A fault anywhere but among misconceptions."""
