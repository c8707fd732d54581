"""What came of a submission: what was run, which answers it gave, how each check was graded. Frozen data."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from labgrade.core.execution import Execution as Execution  # noqa: PLC0414 - a part of what follows
from labgrade.core.execution import ExecutionStatus as ExecutionStatus  # noqa: PLC0414
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from labgrade.values import Value
    from labgrade.verdict import ComparedRow, TileGrid, Verdict

# What tools leave in a folder, and nobody hands in.
CLUTTER = frozenset(
    {
        *(".git", ".gitkeep", ".hg", ".svn", ".venv", "venv", "__pycache__", "node_modules", ".ipynb_checkpoints"),
        *("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".pytest_cache", ".mypy_cache", ".hypothesis"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A student's folder: untrusted. `files` are its regular files, sorted, as POSIX paths relative to `folder`.

    `refused` names what was left out and why (a link that leads out of the folder, a device); `unread` what of it
    could not be read here, through no fault of the student's. These and `name` can be printed; `files` are as the file
    system has them.
    """

    name: str
    folder: Path
    files: tuple[str, ...]
    refused: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def unread_verdict(self) -> Verdict:
        """FAULT, where an answer may lie in what could not be read here."""
        reason = f"it may lie in {self.unread[0]}, which could not be read here: no points are lost"
        return without_value(Outcome.FAULT, reason, hint="let the grader read it, and grade again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The value that a submission gives, where it was found, and what staff should know about other forms of it.

    `notes` are for the student, too: what holds for the value although nothing is wrong with it. `printed` is what the
    code behind it wrote, cut. `computed`: by the student's code, of a subject that labgrade handed to it. `free`: it
    was read in free text, of which other readings may be possible. `lossy`: in a format that may lose a part of it.
    `unsure`: why it is no value as it was handed in, where `value` is what may be meant; "" for one that is. `others`:
    what else stands there that may be. `instead`: the name of the entry that was taken, where its own is not there.
    `written`: a text as people see it, with addresses and images; "" where the value has all of it.
    """

    value: Value
    origin: str
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    printed: str = ""
    computed: bool = False
    free: bool = False
    lossy: bool = False
    unsure: str = ""
    others: tuple[Value, ...] = ()
    instead: str = ""
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """Why there is no value to judge: nothing handed in, a crash, a value of the wrong type.

    `free`: free text may hold one all the same. `lossy`: as of an Answer.
    """

    verdict: Verdict
    origin: str = ""
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    printed: str = ""
    free: bool = False
    lossy: bool = False


Answered: TypeAlias = Answer | NoAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person decided: the check has their verdict, `machine` is labgrade's own. `at`: ISO 8601, in UTC."""

    by: str
    at: str
    reason: str
    machine: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkingText:
    """What a person marks by: the lines of the rubric (points, what for), and what was handed in, as text."""

    rubric: tuple[tuple[Fraction, str], ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """What was handed in, as points in a plane by their `names`; with a `step` how many numbers (`ys`) lie at `xs`.

    `peak` and `slopes` are roofs, as in a `Picture`. `measured`: the points are of labgrade's own measuring, of data
    that may be kept back.
    """

    x: str
    y: str
    names: tuple[str, ...] = ()
    xs: tuple[float, ...] = ()
    ys: tuple[float, ...] = ()
    peak: float | None = None
    slopes: tuple[tuple[str, float], ...] = ()
    step: float | None = None
    measured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """A check (or one case of it) of one submission, judged. `earned` is rounded to hundredths.

    `seconds`: how long obtaining and judging took. `printed`: what the student's code wrote meanwhile. `rows`: a table
    beside the expected one, which a student may see where the check is `revealed`. `grids`: the tiles that are wrong.
    `plot`: the answer as points or a histogram.
    `basis`: a digest of what was judged; a person's decision holds while it is the same. `needs`: the checks that it
    needs full credit for. Where one of them waits for a person, `once_met` is the verdict that will count if they find
    it right.
    """

    id: str
    points: Fraction
    earned: Fraction
    verdict: Verdict
    answer_from: str = ""
    hidden: bool = False
    bonus: bool = False
    seconds: float = 0.0
    printed: str = ""
    rows: tuple[ComparedRow, ...] = ()
    revealed: bool = False
    grids: tuple[TileGrid, ...] = ()
    decision: Decision | None = None
    basis: str = ""
    needs: tuple[str, ...] = ()
    once_met: Verdict | None = None
    to_mark: MarkingText | None = None
    plot: Plot | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """All graded checks of one task, in the spec's order.

    `not_shown`: what its hidden checks are worth, bonus checks aside, as students are shown; None: they are not shown.
    """

    lab: str
    id: str
    title: str
    points: Fraction
    checks: tuple[Graded, ...]
    not_shown: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduction:
    """Points that a late rule takes from what a lab earned.

    It is the `share` (of 1) of the lab's points, or of what was earned in it (`of_earned`); `points` is what that
    comes to, in hundredths, for what is settled so far (`points.deducted`).
    """

    lab: str
    points: Fraction
    why: str
    share: Fraction | None = None
    of_earned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NotShown:
    """What a lab's checks that are kept from a student are worth, and what was earned there, once that is released."""

    lab: str
    points: Fraction
    earned: Fraction | None = None
    at_most: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionReport:
    """All tasks of one submission.

    `remarks`: what was refused at the door (links, devices). `members`: the students who handed in together,
    `called`: their names, in that order, as far as the roster has them.
    `handed_in`: when, in ISO 8601 with its offset; empty where nothing tells. `handed_in_by`: what tells it.
    `others`: further hand-ins of the same students that do not count, by name, with the reason. `not_shown`: in a
    student's view, what stands for the checks that are not in it. `released`: when it was, as `handed_in`.
    """

    name: str
    tasks: tuple[TaskReport, ...]
    remarks: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    handed_in: str = ""
    deductions: tuple[Deduction, ...] = ()
    handed_in_by: str = ""
    others: tuple[tuple[str, str], ...] = ()
    not_shown: tuple[NotShown, ...] = ()
    released: str = ""
    called: tuple[str, ...] = ()


def people(members: tuple[str, ...], called: tuple[str, ...]) -> tuple[str, ...]:
    """A submission's `members` by what they are `called`: `Anna Lee (b10901001)`, or the id alone."""
    names = itertools.zip_longest(members, called[: len(members)], fillvalue="")
    return tuple(f"{name} ({member})" if name and name != member else member for member, name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabText:
    """What stands around a lab's results on a page: course and title, as its lab.yaml has them, and what was asked.

    `statements` are by the task's id.
    """

    lab: str
    title: str
    course: str = ""
    statements: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of a run. `notes` are its first lines: which protection was in force, what was missing.

    `labs` and `at`, when a student checked their own work, are for pages alone.
    """

    submissions: tuple[SubmissionReport, ...]
    notes: tuple[str, ...] = ()
    labs: tuple[LabText, ...] = ()
    at: str = ""
