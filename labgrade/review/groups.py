"""The report with everybody's name on it: who handed in together, and which hand-in of a group counts."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.text import listed_names
from labgrade.review.late import lateness
from labgrade.review.roster import folded
from labgrade.submissions.handed_in_at import A_WHILE
from labgrade.submissions.names import owner_of_archive, without_number
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from labgrade.core.results import Report, SubmissionReport
    from labgrade.review.roster import Roster, Student
    from labgrade.spec.lab import Deadline

_NUMBER = re.compile(r"_(\d+)$")
_NOT_A_LETTER = re.compile(r"[\W_]+")


class Owners:
    """Looks up students by the name of a submission.

    First among what the roster calls submissions, then among ids, groups and addresses, last among names.
    """

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._indexes: tuple[dict[str, list[Student]], ...] = ({}, {}, {})
        for student in roster.students:
            for index, keys in zip(
                self._indexes, ({folded(student.submission)}, _known_as(student), _name_forms(student)), strict=True
            ):
                for key in keys - {""}:
                    index.setdefault(key, []).append(student)

    def of(self, submission: str) -> tuple[Student, ...]:
        """Return the owners of a submission: all of its group; nobody if the name is unknown or ambiguous."""
        found = self.named(submission)
        return self._roster.members(found[0]) if found else ()

    def named(self, submission: str) -> tuple[Student, ...]:
        """Return whom the name itself means: one student, or the whole group for the group's name."""
        submission = owner_of_archive(submission)
        names = {unicodedata.normalize("NFC", each) for each in (submission, without_number(submission))}
        plain = {folded(name) for name in names}
        number = _NUMBER.search(submission)
        wanted = (plain, plain | {number[1]} if number else plain, plain | {_squashed(name) for name in names})
        for index, keys in zip(self._indexes, wanted, strict=True):
            found = [student for key in sorted(keys) for student in index.get(key, ())]
            groups = {student.group or student.id for student in found}
            if groups:
                return tuple({student.id: student for student in found}.values()) if len(groups) == 1 else ()
        return ()


def drawn_as(roster: Roster, name: str) -> str:
    """Return the name that a variant is drawn by: the owner's group, else the owner's id, else the name itself."""
    found = Owners(roster).of(name) if roster.students else ()
    return folded(found[0].group or found[0].id) if found else folded(without_number(owner_of_archive(name)))


def unknown_name_warning(roster: Roster, name: str) -> str:
    """Return a warning about a name that the roster does not have, by which a variant is drawn all the same."""
    if not roster.students or Owners(roster).of(name):
        return ""
    known = [word for each in roster.students for word in (each.id, each.group, each.name) if word]
    return f"warning: '{name}' is not in the roster{did_you_mean(name, known)}"


def _known_as(student: Student) -> set[str]:
    return {folded(each) for each in (student.id, student.group, student.email, student.email.partition("@")[0])}


def _name_forms(student: Student) -> set[str]:
    """Return a student's name as written, and as Canvas writes it: `leeanna` for Anna Lee."""
    words = student.name.replace(",", " ").split()
    turned = {"".join(words[place:] + words[:place]) for place in range(len(words))}
    return {folded(student.name)} | {_squashed(each) for each in turned}


def _squashed(text: str) -> str:
    return _NOT_A_LETTER.sub("", folded(text))


_HALF = 2
_MOST_SAID = 10
_NO_ANSWER = frozenset({Outcome.MISSING, Outcome.SKIPPED})
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def grouped(report: Report, roster: Roster, deadlines: Mapping[str, Deadline]) -> Report:
    """The report with one submission a group, or a student without one, and its `members` (their ids and names).

    Where a group handed in more than once, those are passed over that have less than half of the answers of the
    fullest; of the rest the one counts that late rules take least from, and of those the latest. It has the `others`
    with it. What nobody in the roster owns stays as it is, and is named in the notes.
    """
    if not roster.students:
        return report
    whose = Owners(roster)
    owners = {each.name: whose.of(each.name) for each in report.submissions}
    by_owner: dict[tuple[str, ...], list[SubmissionReport]] = {}
    for each in report.submissions:
        ids = tuple(student.id for student in owners[each.name])
        called = tuple(student.name for student in owners[each.name])
        by_owner.setdefault(ids or ("", each.name), []).append(replace(each, members=ids, called=called))
    counted = tuple(
        _choose_hand_in(_with_roster_moments(own, owners[own[0].name], whose), owners[own[0].name], deadlines)
        if owners[own[0].name]
        else own[0]
        for own in by_owner.values()
    )
    notes = (*report.notes, *_notes(report, roster, owners), *_passed_over(counted))
    return replace(report, submissions=counted, notes=notes)


def _passed_over(counted: tuple[SubmissionReport, ...]) -> list[str]:
    """Return which hand-ins do not count, with the reason for staff."""
    said = [why for each in counted for _, why in each.others]
    more = [f"and {len(said) - _MOST_SAID:,} more hand-ins do not count"] if len(said) > _MOST_SAID else []
    return [f"does not count: {why}" for why in said[:_MOST_SAID]] + more


def _with_roster_moments(
    own: list[SubmissionReport], owners: tuple[Student, ...], whose: Owners
) -> list[SubmissionReport]:
    """Return a group's hand-ins with the moments that the roster states.

    A moment is that of the hand-in which its student is found by; it is that of any member's where there is only one.
    """
    told = []
    for each in own:
        known = _moments(whose.named(each.name)) or (_moments(owners) if len(own) == 1 else [])
        told.append(replace(each, handed_in=max(known).isoformat(), handed_in_by="the roster") if known else each)
    return told


def _moments(students: Iterable[Student]) -> list[datetime]:
    return [at for each in students if (at := each.handed_in) is not None and not _is_in_future(each)]


def _is_in_future(student: Student) -> bool:
    """Return whether the roster's moment lies in the future, so that it is not believed."""
    return student.handed_in is not None and student.handed_in > datetime.now(UTC) + A_WHILE


def _choose_hand_in(
    own: list[SubmissionReport], owners: tuple[Student, ...], deadlines: Mapping[str, Deadline]
) -> SubmissionReport:
    if len(own) == 1:
        return own[0]

    def order(each: SubmissionReport) -> tuple[bool, Fraction, float]:
        if not each.handed_in:
            return (True, Fraction(0), 0)
        at = datetime.fromisoformat(each.handed_in)
        labs = {task.lab for task in each.tasks} & deadlines.keys()
        taken = sum((lateness(deadlines[lab], at, owners).share for lab in labs), Fraction(0))
        return (False, taken, -(at - _LONG_AGO).total_seconds())

    full = [each for each in own if not _is_stub(each, own)]
    first, *rest = sorted(full, key=order)
    who = f"group '{owners[0].group}'" if owners[0].group else f"'{owners[0].id}'"
    why = "the latest of those that cost least" if first.handed_in else "the first by name, as no times are known"
    because = f"because {who} handed in {len(own)} times and '{first.name}' ({_moment_of(first)}) counts"
    passed = [each for each in own if each not in full]
    most = max(map(_answers, own))
    others = (
        *((each.name, f"'{each.name}' ({_moment_of(each)}), {because}, {why}") for each in rest),
        *(
            (
                each.name,
                f"'{each.name}' ({_moment_of(each)}), {because}: this one has {_answers(each)} of its {most} answers"
                + (f"; left out of it: {each.remarks[0]}" if each.remarks else ""),
            )
            for each in passed
        ),
    )
    return replace(first, others=others)


def _answers(each: SubmissionReport) -> int:
    """Count the checks that found an answer, right or wrong."""
    return sum(check.verdict.outcome not in _NO_ANSWER for task in each.tasks for check in task.checks)


def _is_stub(each: SubmissionReport, own: list[SubmissionReport]) -> bool:
    """Return whether a hand-in is a stub, such as `see my partner`, beside another one of the same students."""
    return _HALF * _answers(each) < max(map(_answers, own))


def _moment_of(each: SubmissionReport) -> str:
    return each.handed_in or "nobody knows when"


def _notes(report: Report, roster: Roster, owners: Mapping[str, tuple[Student, ...]]) -> list[str]:
    strangers = [each.name for each in report.submissions if not owners[each.name]]
    there = {student.id for found in owners.values() for student in found}
    absent = [student.id for student in roster.students if student.id not in there]
    notes = []
    if wrong := [student.id for student in roster.students if _is_in_future(student)]:
        notes.append(f"'handed_in' of these lies in the future and is ignored: {listed_names(wrong)}")
    if strangers:
        notes.append(f"the roster names no owner of these; add them under 'submission': {listed_names(strangers)}")
    if absent:
        notes.append(f"of the roster, {len(absent):,} handed in nothing, or were not graded: {listed_names(absent)}")
    return notes
