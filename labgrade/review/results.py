"""A folder of results with everything that people decided: what staff see, and what students may see."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.errors import UsageError
from labgrade.core.points import hidden_points
from labgrade.core.text import listed_names
from labgrade.ledger import database
from labgrade.ledger.database import Ledger
from labgrade.ledger.read import report_of, run_requests
from labgrade.review import decisions, handed_in_times, pseudonyms, releases, roster
from labgrade.review.apply import with_decisions
from labgrade.review.decisions import Decisions
from labgrade.review.groups import grouped
from labgrade.review.late import with_late
from labgrade.review.pseudonyms import Pseudonyms, anonymised
from labgrade.review.roster import Roster
from labgrade.spec import course, load
from labgrade.spec.kinds import HIDDEN_POINTS, UNTOLD
from labgrade.submissions import collected as collecting

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from labgrade.core.results import Report, SubmissionReport
    from labgrade.review.releases import Release
    from labgrade.spec.lab import Deadline


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A folder of results, read: `machine` is labgrade's report alone, `staff` the one with all that people decided.

    `key` is set where names are kept back from staff; `root` is the folder of the course.
    """

    folder: Path
    machine: Report
    staff: Report
    decisions: Decisions = field(default_factory=Decisions)
    releases: Mapping[str, Release] = field(default_factory=dict)
    key: bytes | None = None
    root: Path = field(default_factory=Path.cwd)

    @cached_property
    def collected(self) -> collecting.Collection:
        """Return what `labgrade collect` recorded; empty if nothing was collected."""
        return collecting.read(self.folder / collecting.FOLDER)

    @cached_property
    def shown(self) -> Report:
        """Return what staff may see, with pseudonyms if names are hidden until release."""
        return self.staff if self.key is None else anonymised(self.staff, self.key, self.releases)

    @cached_property
    def students(self) -> Report:
        """Return what students may see: what was released, or else what needs no release.

        Of a group the hand-in that counts; under pseudonyms where names are kept back, until it is released.
        """
        counts = {each.name for each in self.staff.submissions}
        seen = releases.released(self.machine, self.releases).submissions
        report = replace(self.machine, submissions=tuple(each for each in seen if each.name in counts))
        return report if self.key is None else anonymised(report, self.key, self.releases)

    @cached_property
    def names(self) -> Pseudonyms:
        """Return how staff call submissions, which also finds a submission by what they say."""
        names = [each.name for each in self.staff.submissions]
        return Pseudonyms(self.key or b"", names, names if self.key is None else self.releases)


def read(folder: Path, roster_file: Path | None = None) -> Whole:
    """Read a folder of results, with the rules and the roster of the course that they were graded with.

    Raises:
        UsageError: there are no results, decisions that can't be read, or another course is around us.
        SpecError: a lab.yaml or the roster is wrong.
    """
    here = Path.cwd()
    specs, root = course.folders(course_of(folder))
    machine = with_hidden_points(handed_in_times.with_noted_moments(report_of(folder), folder), secret_labs(specs))
    _refuse_without_labs(folder, machine, specs)
    deadlines = load.deadlines(specs)
    found = roster_file or roster.find(root)
    if found is not None and found.is_relative_to(here):
        found = found.relative_to(here)
    students = roster.read(found, _labs(specs, machine)) if found is not None else Roster()
    rulings = decisions.read(folder)
    return Whole(
        folder=folder,
        machine=machine,
        staff=in_force(machine, rulings, deadlines, students),
        decisions=rulings,
        releases=releases.read(folder),
        key=pseudonyms.key_of(folder),
        root=root,
    )


def course_of(folder: Path) -> Path:
    """Return the folder of the course that results were graded with: another one has other deadlines and students.

    Raises:
        UsageError: the current folder is another course.
    """
    here = Path.cwd()
    graded = _graded_with(folder)
    there = [root for root in graded if (root / "specs").is_dir()]
    current = course.folders(here)[1].resolve()
    moved = (here / "specs").is_dir() and folder.resolve().is_relative_to(current)  # with its results, or a copy
    if current in there or moved or not graded:
        return current
    if there and not (here / "specs").is_dir():
        return there[0]
    if there:
        where = "a folder without 'specs'" if there[0] == course.home().resolve() else "that folder"
        message = f"'{folder}' was graded with the course in '{there[0]}'; run this in {where}"
        raise UsageError(message)
    return here


def _refuse_without_labs(folder: Path, machine: Report, specs: Path) -> None:
    """Refuse specs that have none of the labs of these results: their course was moved, or is elsewhere."""
    graded = {task.lab for each in machine.submissions for task in each.tasks}
    if graded and not any((specs / lab).is_dir() for lab in graded):
        message = (
            f"'{folder}' was graded for {listed_names(sorted(graded))}, which '{specs}' does not have; "
            "run this in the folder of the course"
        )
        raise UsageError(message)


def _graded_with(folder: Path) -> list[Path]:
    """Return the folders of the courses that graded into a folder of results, the last one first."""
    if not database.exists(folder):
        return []
    with Ledger(folder) as ledger:
        asked = [plain["root"] for plain in run_requests(ledger).values() if "root" in plain]
    return [(Path(root) if root else course.home()).resolve() for root in dict.fromkeys(asked)]


def marker(said: str, results: Path, roster_file: Path | None = None) -> str:
    """Return the name of the person who decides, as the roster of the results' course has it.

    Raises:
        UsageError: the roster has staff, and nobody of that id.
        SpecError: the roster is wrong.
    """
    found = roster_file or roster.find(course.folders(course_of(results))[1])
    return (roster.read(found) if found is not None else Roster()).marker(said)


def secret_labs(specs: Path) -> set[str]:
    """Return the labs that don't tell students what hidden checks are worth."""
    return {lab for lab, data in load.labs(specs).items() if data.get(HIDDEN_POINTS) == UNTOLD}


def with_hidden_points(report: Report, secret: Collection[str]) -> Report:
    """Return the report with what hidden checks are worth, except for labs that keep it secret."""
    return replace(report, submissions=tuple(_told_of(each, secret) for each in report.submissions))


def _told_of(submission: SubmissionReport, secret: Collection[str]) -> SubmissionReport:
    tasks = (
        replace(task, not_shown=None if task.lab in secret else hidden_points(task.checks)) for task in submission.tasks
    )
    return replace(submission, tasks=tuple(tasks))


def in_force(report: Report, rulings: Decisions, deadlines: Mapping[str, Deadline], students: Roster) -> Report:
    """Apply people's decisions, groups and late rules to labgrade's report, in this order."""
    return with_late(grouped(with_decisions(report, rulings), students, deadlines), deadlines, students)


def _labs(specs: Path, report: Report) -> set[str]:
    graded = {task.lab for each in report.submissions for task in each.tasks}
    return graded | {path.parent.name for path in load.files(specs)}
