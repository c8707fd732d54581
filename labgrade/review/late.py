"""The report with what late rules take: raw and final points stay apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.core.points import deducted, of_lab
from labgrade.core.results import Deduction
from labgrade.core.text import listed_names
from labgrade.review.decisions import points
from labgrade.spec import lab as late_rules
from labgrade.submissions import handed_in_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from labgrade.core.results import Report, SubmissionReport
    from labgrade.review.roster import Roster, Student
    from labgrade.spec.lab import Deadline

_NOBODY_KNOWS = "when it was handed in is not known, so no late rule was applied; say 'handed_in' in the roster: "
_UNSURE = (
    "late only by the times of files, which copying may have changed; where that is not so, say 'handed_in' in the "
    "roster: "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How late a hand-in is for one lab: `due` with the extension, `days` begun since, the `share` that they cost."""

    due: datetime
    extended: bool
    days: int
    share: Fraction


def with_late(report: Report, deadlines: Mapping[str, Deadline], roster: Roster) -> Report:
    """The report with a deduction for each lab that was handed in late.

    A group has the longest extension of its members: what is handed in together is late for all or for none.
    """
    submissions = tuple(_submission(each, deadlines, roster) for each in report.submissions)
    unknown = [each.name for each in submissions if not each.handed_in and _deadlines_with_rules(each, deadlines)]
    unsure = [each.name for each in submissions if each.deductions and each.handed_in_by == handed_in_at.UNSURE]
    notes = [f"{said}{listed_names(names)}" for said, names in ((_NOBODY_KNOWS, unknown), (_UNSURE, unsure)) if names]
    return replace(report, submissions=submissions, notes=(*report.notes, *notes))


def lateness(deadline: Deadline, handed_in: datetime, owners: Iterable[Student]) -> Lateness:
    """Return how late a hand-in at a moment is for these students."""
    due = due_for(deadline, owners)
    grace = deadline.rule.grace if deadline.rule is not None else timedelta(0)
    days = late_rules.days_late(due, handed_in, grace)
    return Lateness(due=due, extended=due != deadline.due, days=days, share=late_rules.cost(deadline.rule, days))


def due_for(deadline: Deadline, owners: Iterable[Student]) -> datetime:
    """Return when the lab is due for these students: a group has its members' longest extension."""
    dues = [late_rules.extended(deadline.due, each.extension(deadline.lab)) for each in owners] or [deadline.due]
    return max(dues, key=lambda each: each.astimezone(UTC))


def owners_of(submission: SubmissionReport, roster: Roster) -> tuple[Student, ...]:
    """The students behind a submission of a report that was grouped."""
    return tuple(student for student in roster.students if student.id in submission.members)


def _deadlines_with_rules(submission: SubmissionReport, deadlines: Mapping[str, Deadline]) -> list[Deadline]:
    """The deadlines with a rule, of the labs that the submission was graded for."""
    labs = dict.fromkeys(task.lab for task in submission.tasks)
    return [deadlines[lab] for lab in labs if lab in deadlines and deadlines[lab].rule is not None]


def _submission(submission: SubmissionReport, deadlines: Mapping[str, Deadline], roster: Roster) -> SubmissionReport:
    if not submission.handed_in:
        return submission
    handed_in = datetime.fromisoformat(submission.handed_in)
    owners = owners_of(submission, roster)
    labs = dict.fromkeys(task.lab for task in submission.tasks)
    found = (_deduction(submission, deadlines[lab], handed_in, owners) for lab in labs if lab in deadlines)
    return replace(submission, deductions=tuple(each for each in found if each is not None))


def _deduction(
    submission: SubmissionReport, deadline: Deadline, handed_in: datetime, owners: tuple[Student, ...]
) -> Deduction | None:
    late = lateness(deadline, handed_in, owners)
    if not late.days:
        return None
    of_earned = deadline.rule is not None and deadline.rule.of == "earned"
    source = f"; told by {submission.handed_in_by}" if submission.handed_in_by else ""
    whole = Deduction(
        lab=deadline.lab,
        points=Fraction(0),
        why=_deduction_reason(deadline, late, handed_in, of_earned=of_earned) + source,
        share=late.share,
        of_earned=of_earned,
    )
    raw = of_lab(submission, deadline.lab)
    return replace(whole, points=deducted(whole, raw, raw.earned))


def _deduction_reason(deadline: Deadline, late: Lateness, handed_in: datetime, *, of_earned: bool) -> str:
    days = f"{late.days:,} day{'s' if late.days > 1 else ''} begun"
    due = f"due {_moment_in_words(late.due)}" + (", an extension" if late.extended else "")
    zone = late.due.tzinfo
    when = f"handed in {_moment_in_words(handed_in.astimezone(zone))} ({due}): {days}"
    rule = deadline.rule
    if rule is None:
        return f"{when}; this lab deducts nothing"
    of = "what was earned" if of_earned else "the lab's points"
    taken = f"{points(late.share * 100)} % of {of}"
    if rule.per_day * late.days > rule.cap:
        taken += ", the most that is deducted" if rule.after_cap == "stays" else ", as it is past the cap"
    return f"{when}, which costs {taken}"


def _moment_in_words(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} {moment.isoformat()[-6:]}" if moment.tzinfo else f"{moment}"
