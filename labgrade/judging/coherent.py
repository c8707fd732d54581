"""Answers of one task that are right of different files: each by itself may be right, and not all of them are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.core.task import LiteralValue
from labgrade.verdict import ALL_NUMBERS, Outcome, Verdict, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.core.task import Check

_GIVEN = ""  # the task's own subject, among the names that `of` gives other files


def tells_files(check: Check) -> bool:
    """Return whether a check's right values say which file they belong to."""
    return any(each.of for each in check.also_right)


def of_one_file(check: Check, verdict: Verdict, beside: Iterable[tuple[Check, Verdict]]) -> Verdict:
    """Return MANUAL if an answer is right for another file than the one `beside` it, else the verdict.

    What is right of the task's own subject stays: it is the other answer that has to be looked at.
    """
    own = _files(check, verdict)
    if not own or _GIVEN in own:
        return verdict
    for other, found in beside:
        files = _files(other, found)
        if _has_strange_rows(other, found):
            return _waiting(verdict, f"{verdict.reason}; but '{other.answer}' has rows that are of no known file")
        if verdict.outcome is Outcome.MANUAL and _is_of_no_file(found):
            return _waiting(verdict, f"{verdict.reason}; but '{other.answer}' is of no known file: {found.reason}")
        if files and not own & files:
            of = "of the task's own file" if _GIVEN in files else _why(found).removeprefix("right: ")
            return _waiting(verdict, f"{verdict.reason}; but '{other.answer}' is right {of}")
    return verdict


def _is_of_no_file(found: Verdict) -> bool:
    """Return whether a number that was read, or is suggested, is wrong of every known file."""
    said = found.suggestion.outcome if found.suggestion is not None else found.outcome
    return "got" in found.facts and not found.rows and said in (Outcome.INCORRECT, Outcome.PARTIAL)


def _has_strange_rows(check: Check, found: Verdict) -> bool:
    """Return whether a table has more rows that no known file has than rows that are missing, which may be misnamed."""
    literals = [each.source.value for each in check.also_right if isinstance(each.source, LiteralValue)]
    known = {
        str(row[0]) for rows in literals if isinstance(rows, list | tuple) for row in rows if isinstance(row, list)
    }
    strange = {row.name for row in found.rows if row.expected is None and not row.expected_text} - known
    missing = {row.name for row in found.rows if row.got is None and not row.got_text}
    return len(strange) > len(missing)


def _waiting(verdict: Verdict, why: str) -> Verdict:
    """Return MANUAL without a suggestion: a person finds out which file the student's numbers belong to."""
    waits = without_value(Outcome.MANUAL, why, hint="hand in numbers of one file")
    return replace(waits, facts=verdict.facts, notes=verdict.notes)


def _files(check: Check, verdict: Verdict) -> frozenset[str] | None:
    """Return the files that a right (or suggested) answer may belong to; None for any."""
    said_of = verdict.suggestion
    suggested = said_of.outcome if said_of is not None and said_of.kind != ALL_NUMBERS else None
    if Outcome.CORRECT not in (verdict.outcome, suggested) or not tells_files(check):
        return None
    said = next((each for each in check.also_right if _why(verdict) == f"right: {each.says}"), None)
    return frozenset(said.of if said is not None else (_GIVEN,)) or None


def _why(verdict: Verdict) -> str:
    """Return why an answer is right, from the verdict or the suggestion."""
    said = verdict.suggestion
    return verdict.reason if said is None else said.why[said.why.find("right: ") :]
