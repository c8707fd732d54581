"""Whose a submission is, by what it is called."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from labgrade.intake.bulk import bare
from labgrade.roster import folded

if TYPE_CHECKING:
    from labgrade.roster import Roster, Student

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
            for index, keys in zip(self._indexes, (_called(student), _known_as(student), _named(student)), strict=True):
                for key in keys - {""}:
                    index.setdefault(key, []).append(student)

    def of(self, submission: str) -> tuple[Student, ...]:
        """All of the group whose it is; nobody where the name fits none, or more than one."""
        found = self.named(submission)
        return self._roster.members(found[0]) if found else ()

    def named(self, submission: str) -> tuple[Student, ...]:
        """Whom the name itself means: one student of a group, or all where it is the group's; else nobody."""
        names = {unicodedata.normalize("NFC", each) for each in (submission, bare(submission))}
        plain = {folded(name) for name in names}
        number = _NUMBER.search(submission)
        wanted = (plain, plain | {number[1]} if number else plain, plain | {_squashed(name) for name in names})
        for index, keys in zip(self._indexes, wanted, strict=True):
            found = [student for key in sorted(keys) for student in index.get(key, ())]
            groups = {student.group or student.id for student in found}
            if groups:
                return tuple({student.id: student for student in found}.values()) if len(groups) == 1 else ()
        return ()


def _called(student: Student) -> set[str]:
    return {folded(student.submission)}


def _known_as(student: Student) -> set[str]:
    return {folded(each) for each in (student.id, student.group, student.email, student.email.partition("@")[0])}


def _named(student: Student) -> set[str]:
    """The name as it is written, and as Canvas writes it: `leeanna` for Anna Lee, family name first."""
    words = student.name.replace(",", " ").split()
    turned = {"".join(words[place:] + words[:place]) for place in range(len(words))}
    return {folded(student.name)} | {_squashed(each) for each in turned}


def _squashed(text: str) -> str:
    return _NOT_A_LETTER.sub("", folded(text))
