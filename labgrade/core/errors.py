"""Where something is wrong, whose fault it is, and how to say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

T = TypeVar("T")

# What a command exits with. NOT_RIGHT: something is wrong, is open, or was held back; FAULT: labgrade's own failure.
OK, NOT_RIGHT, USAGE, FAULT = 0, 1, 2, 3
_PART = 3  # characters from which a part of a name says which is meant


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


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The tail of a message that offers the closest known word, or else the shortest with this one as its end or start.

    >>> did_you_mean("equals", ["equal", "close"])
    "; did you mean 'equal'?"
    >>> did_you_mean("resnet18", ["micro/lenet", "torchvision/resnet18"])
    "; did you mean 'torchvision/resnet18'?"
    """
    import difflib  # only where something is mistyped

    names, said = sorted(known), word.lower()
    parts = names if len(word) >= _PART else []
    ends = [name for name in parts if name.lower().endswith((f"/{said}", f"-{said}"))]
    starts = [name for name in parts if name.lower().rpartition("/")[2].startswith(said)]
    close = ends or difflib.get_close_matches(word, names, n=1, cutoff=0.6) or starts
    return f"; did you mean '{min(close, key=len)}'?" if close else ""


def offer(word: str, known: Iterable[str], most: int = 8) -> str:
    """The tail of a message that offers the closest known word, or else the first `most` of them.

    >>> offer("hw9", ["lab1", "lab2"])
    '; there is lab1, lab2'
    """
    names = list(known)
    there = f"; there is {', '.join(names[:most])}{', ...' if len(names) > most else ''}" if names else ""
    return did_you_mean(word, names) or there


def look_up(name: str, known: Mapping[str, T], what: str, where: str = "") -> T:
    """The entry under a name. A message says `what` it names, and `where` one looked.

    Raises:
        UsageError: there is none; the message offers the closest name.
    """
    if name not in known:
        message = f"there is no {what} '{name}'{f' in {where}' if where else ''}{offer(name, known)}"
        raise UsageError(message)
    return known[name]
