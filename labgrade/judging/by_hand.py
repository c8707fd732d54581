"""What waits for a person: the rubric, the text that is marked, and a digest of what a decision is about."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError
from labgrade.core.results import Answer, MarkingText, NoAnswer
from labgrade.core.text import encodable, excerpt
from labgrade.truth.measure import UnfitError
from labgrade.values import Artifact, Number, Table, show
from labgrade.verdict import ComparedNumber, Outcome, Suggestion, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import Check, Comparison, Source, SubjectSpec
    from labgrade.judging.items import Item
    from labgrade.values import Value
    from labgrade.verdict import Verdict

    Obtain = Callable[[str, "SubjectSpec | None"], Answered]
    Expect = Callable[[Source, "SubjectSpec | None", str], Value]

LONGEST = 40_000  # characters that are kept of what a person reads
_CHUNK = 1 << 20


def to_mark(found: Answered, passages: Callable[[], Iterable[str]]) -> MarkingText | None:
    """Return the text that a person marks, or None. `passages`: those in which the answer is looked for."""
    if isinstance(found, NoAnswer) and found.verdict.outcome is not Outcome.MANUAL:
        return None
    text = (found.written or _answer_as_text(found)) if isinstance(found, Answer) else ""
    text = text or "\n\n".join(passages())
    return MarkingText(text=encodable(_shortened(text)))


def with_rubric(shown: MarkingText | None, check: Check) -> MarkingText | None:
    """Update the rubric to the spec's current lines; a check without lines is marked as a whole."""
    lines = tuple((line.points, line.what) for line in check.by_hand)
    return replace(shown, rubric=lines) if shown is not None else None


_OF_TEXT, _OF_FILES = "text:", "files:"  # what a digest is of, before it


def text_digest(text: str) -> str:
    """Return the digest of a text answer; white space makes no difference."""
    words = " ".join(text.split())
    return _OF_TEXT + hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


def files_digest(submission: Submission) -> str:
    """Return the digest of all that was handed in: every file's path and content."""
    whole = hashlib.sha256()
    for relative in submission.files:
        one = hashlib.sha256()
        try:
            with (submission.folder / relative).open("rb") as file:
                while chunk := file.read(_CHUNK):
                    one.update(chunk)
        except OSError as error:
            one.update(f"can't be read: {error.errno}".encode())
        whole.update(f"{len(relative)}:".encode() + relative.encode("utf-8", "surrogateescape") + one.digest())
    return _OF_FILES + whole.hexdigest()


def is_of_text(basis: str) -> bool:
    """Return whether a digest is of one answer's text."""
    return basis.startswith(_OF_TEXT)


def is_of_files(basis: str) -> bool:
    """Return whether a digest is of all that was handed in."""
    return basis.startswith(_OF_FILES)


def _answer_as_text(found: Answer) -> str:
    value = found.value
    if isinstance(value, Artifact):
        return f"(the file '{value.name}')"
    return str(value) if isinstance(value, str | Number | tuple) else ""


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n... ({len(text) - LONGEST:,} more characters)"


_UNSURE = frozenset({Outcome.INCORRECT, Outcome.PARTIAL, Outcome.MISSING})


def waits_if_lossy(verdict: Verdict, place: str) -> Verdict:
    """Judge an answer read from a lossy format: CORRECT stays, anything else waits for a person."""
    if verdict.outcome not in _UNSURE:
        return verdict
    said = Suggestion(
        outcome=verdict.outcome, credit=verdict.credit, why=verdict.reason, place=place, kind="a part may be lost"
    )
    waits = without_value(Outcome.MANUAL, f"{verdict.reason}; compare with the file, of which a part may be lost here")
    return replace(waits, suggestion=said, facts=verdict.facts, rows=verdict.rows)


_MOST_MEANT = 12  # numbers of one entry: of more, one is right by accident
_RIVALS = 10  # a number within this factor of another may be said of the same
_HALF = Fraction(1, 2)


def decide_unsure(verdict: Verdict, answer: Answered, place: str, judged: Callable[[Value], Verdict]) -> Verdict:
    """Judge an answer of which a part may be lost, or that may only be meant; leave other verdicts as they are.

    `judged` is the verdict on another value that may be meant.
    """
    if isinstance(answer, Answer) and (answer.unsure or (answer.others and verdict.outcome is not Outcome.CORRECT)):
        others = [(each, judged(each)) for each in answer.others]
        return (
            _decide_meant(verdict, answer, others) if answer.unsure else _waits_if_contradicted(verdict, answer, others)
        )
    return waits_if_lossy(verdict, place) if answer.lossy else verdict


def _waits_if_contradicted(verdict: Verdict, answer: Answer, others: Sequence[tuple[Value, Verdict]]) -> Verdict:
    """Let a wrong answer wait for a person if a right value stands beside it."""
    right = next((value for value, found in others if found.outcome is Outcome.CORRECT), None)
    if right is None:
        return verdict
    reason = f"{verdict.reason or answer.origin}; {_on_one_line(right)} stands there, too"
    waits = without_value(Outcome.MANUAL, reason, hint="hand in one number")
    return replace(waits, facts=verdict.facts, rows=verdict.rows)


def _decide_meant(verdict: Verdict, answer: Answer, others: Sequence[tuple[Value, Verdict]]) -> Verdict:
    """Let an answer wait if a value that may be meant is right; otherwise it is wrong as handed in.

    Where each of several numbers is right, it makes no difference which of them is meant.
    """
    everything = [(answer.value, verdict), *others]
    right = [value for value, found in everything if found.outcome is Outcome.CORRECT]
    if len(right) == len(everything) > 1:
        return replace(verdict, notes=(*verdict.notes, f"each of them is right: {', '.join(map(_on_one_line, right))}"))
    mostly = (isinstance(answer.value, Table | Mapping) or not others) and verdict.credit >= _HALF
    if not right and not mostly:
        return verdict if verdict.outcome is Outcome.MANUAL else without_value(Outcome.INCORRECT, answer.unsure)
    waits = without_value(
        Outcome.MANUAL, answer.unsure, hint="hand in the number alone, under its own name" if right else ""
    )
    chosen = right[0] if right else answer.value
    rivals = [value for value, found in everything if found.outcome is not Outcome.CORRECT]
    if len(everything) > _MOST_MEANT or (
        not _is_sum(chosen, rivals) and any(_are_rivals(chosen, each) for each in rivals)
    ):
        return waits
    says = "is right" if right else f"is: {verdict.reason}"
    said = Suggestion(
        outcome=Outcome.CORRECT if right else verdict.outcome,
        credit=Fraction(1) if right else verdict.credit,
        why=f"{_on_one_line(chosen)} may be meant, which {says}",
        place=answer.origin,
        kind="value meant",
    )
    return replace(waits, suggestion=said, rows=() if right else verdict.rows)


def _is_sum(one: Value, others: Sequence[Value]) -> bool:
    numbers = [each for each in others if isinstance(each, Number)]
    return isinstance(one, Number) and len(numbers) > 1 and sum(each.value for each in numbers) == one.value


def _are_rivals(one: Value, other: Value) -> bool:
    """Return whether two different numbers are so alike in size that both may be said of the same."""
    if not isinstance(one, Number) or not isinstance(other, Number) or one is other:
        return False
    small, large = sorted((one.value, other.value))
    return 0 < large < _RIVALS * small


_TEXT_CHARS, _LONGEST_SHOWN = 4000, 400
_TEXT = "handed in"


def waiting(item: Item, answer: Answered, obtain: Obtain, expect: Expect) -> Verdict:
    """Return the waiting verdict of a check that a person marks, with what staff see beside the text.

    A number to compare with that was not handed in, or can't be computed, costs no other.
    """
    verdict = answer.verdict if isinstance(answer, NoAnswer) else without_value(Outcome.MANUAL, "")
    value = (answer.written or answer.value) if isinstance(answer, Answer) else None
    text = {_TEXT: excerpt(value, _TEXT_CHARS)} if isinstance(value, str) else {}
    compared = tuple(_compared(row, item, obtain, expect) for row in item.check.beside)
    return replace(verdict, facts={**verdict.facts, **text}, comparisons=compared)


def _compared(row: Comparison, item: Item, obtain: Obtain, expect: Expect) -> ComparedNumber:
    subject = row.subject or item.subject
    return ComparedNumber(
        name=row.says, got=_answer_beside(row, obtain, subject), expected=_expected_as_text(row, expect, subject)
    )


def _answer_beside(row: Comparison, obtain: Obtain, subject: SubjectSpec | None) -> str:
    try:
        answer = obtain(row.answer, subject)
    except (FaultError, UnfitError) as error:
        return f"nothing: {error}"
    if not isinstance(answer, Answer):
        return f"nothing ({answer.verdict.outcome})"
    return f"{_on_one_line(answer.value)} (from {answer.origin})"


def _expected_as_text(row: Comparison, expect: Expect, subject: SubjectSpec | None) -> str:
    try:
        return _on_one_line(expect(row.expected, subject, row.answer))
    except (FaultError, UnfitError) as error:
        return f"unknown: {error}"


def _on_one_line(value: Value) -> str:
    """Return a value on one line: a table's rows, or counts with their names."""
    if isinstance(value, Table):
        return excerpt("; ".join(f"{row.name}: {_cells(row.cells)}" for row in value.rows), _LONGEST_SHOWN)
    if isinstance(value, Mapping):
        return excerpt(_cells(value), _LONGEST_SHOWN)
    return show(value.value) if isinstance(value, Number) else excerpt(str(value), _LONGEST_SHOWN)


def _cells(cells: Mapping[str, object]) -> str:
    named = ((name, show(cell.value) if isinstance(cell, Number) else cell) for name, cell in cells.items())
    return ", ".join(f"{name} {value}" for name, value in named if value is not None)
