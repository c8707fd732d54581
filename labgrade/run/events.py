"""What a run says while it goes on. Its listeners show it; the ledger holds what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from labgrade.ledger.book import Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The run knows what there is to do."""

    submissions: int
    checks: int


@dataclass(frozen=True, slots=True)
class SubmissionDone:
    """A submission is graded. `written`: what the worker wrote among the remembered expected values."""

    who: str
    written: dict[str, str]


@dataclass(frozen=True, slots=True)
class SubmissionFailed:
    """A submission could not be taken in, through no fault of its student's; why."""

    who: str
    why: str


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A job ended its process, twice; it was left undone. None: a process could not even begin."""

    job: Any
    code: int


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run can't go on; why."""

    message: str


# A text says what the run is at; None comes each second, so that a listener can show the time.
Event: TypeAlias = "Started | Recorded | SubmissionDone | str | None"
