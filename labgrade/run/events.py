"""What a run says while it goes on, one event after the other. Its listeners show it; the ledger keeps the results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from labgrade.ledger.verdict_memory import Recorded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.core.errors import SpecFinding
    from labgrade.ledger.read import Change, HeldCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The run begins; it knows what there is to do."""

    submissions: int
    checks: int


@dataclass(frozen=True, slots=True)
class Judging:
    """A check is about to be judged; named as `2-1-4-macs total`."""

    who: str
    what: str


@dataclass(frozen=True, slots=True)
class CutOff:
    """A submission's time is used up; the rest of it waits."""

    who: str


@dataclass(frozen=True, slots=True)
class SubmissionDone:
    """A submission is graded. `written`: the expected values that the worker stored.

    `values`: what else it computed, as JSON, for the next run.
    """

    who: str
    written: dict[str, str]
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SubmissionFailed:
    """A submission could not be read, through no fault of its student's, and why."""

    who: str
    why: str


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A job ended its process twice and was given up; None where a process could not even start."""

    job: Any
    code: int


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run can't go on, and why."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The run ended. `names`: its submissions; `lost`: those that were not graded, and why.

    `held`: what would lower a published result. `broken`: specs that can't be read. `ran`: how many checks were judged,
    and not remembered.
    """

    names: tuple[str, ...]
    changes: tuple[Change, ...]
    held: tuple[HeldCheck, ...]
    broken: tuple[SpecFinding, ...]
    lost: tuple[str, ...]
    ran: int


# A text names what the run does now; None comes each second, so that a listener can show the time.
Event: TypeAlias = (
    Started
    | Judging
    | Recorded
    | CutOff
    | SubmissionDone
    | SubmissionFailed
    | WorkerLost
    | RunFailed
    | Finished
    | str
    | None
)
