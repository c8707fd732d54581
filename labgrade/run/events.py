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
    """The run knows what there is to do."""

    submissions: int
    checks: int


@dataclass(frozen=True, slots=True)
class Judging:
    """Something of a submission is about to be judged; what, as `2-1-4-macs total`."""

    who: str
    what: str


@dataclass(frozen=True, slots=True)
class CutOff:
    """The time of a submission was used up; what is left of it waits."""

    who: str


@dataclass(frozen=True, slots=True)
class SubmissionDone:
    """A submission is graded. `written`: what the worker wrote among the remembered expected values.

    `values`: what else it computed, as JSON, for the next run.
    """

    who: str
    written: dict[str, str]
    values: Mapping[str, str] = field(default_factory=dict)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The run came to its end. `names`: the submissions it was about; `lost`: which were not graded, and why.

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
