"""What a free text says where no value was read in it, or a wrong one: asked of the reader, chosen by what is right."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.answers.obtain import mentions_of, report_path, text_forms
from labgrade.answers.reader.asks import ask_around, ask_lines, ask_value
from labgrade.answers.reading.documents import locate
from labgrade.answers.reading.passages.mentions import any_like
from labgrade.answers.text import POINTS_ELSEWHERE
from labgrade.core.errors import FaultError, NoSuchSlipError
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import ARTIFACT_KINDS, EntryForm, FileForm, TableOfType, TableType, TextForm
from labgrade.judging.texts.beside import claimed_by, labelled_otherwise, said_in_order
from labgrade.judging.texts.choice import Choice
from labgrade.judging.texts.choose_listed import (
    choose_shape,
    count_listed,
    left_open,
    unfilled,
)
from labgrade.judging.texts.decide import Decision
from labgrade.judging.texts.evidence import NUMBERS, WantedNumber, is_one, numbers_of
from labgrade.judging.texts.unexpected import unexpected
from labgrade.judging.texts.unread import (
    as_many_numbers,
    doubted,
    first_number,
    holds_values,
    in_words,
    is_open,
    left_to_person,
    merged,
    only_suggested,
    own_lines,
    printed_tensors,
    right_among,
    right_anywhere,
    right_in_full,
    right_in_other_words,
    unread,
)
from labgrade.run.texts.free_tables import FreeTable, is_table
from labgrade.values import Number, show
from labgrade.verdict import Outcome, Verdict, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from fractions import Fraction

    from labgrade.answers.reader.reader import Reader
    from labgrade.answers.reading.lines import Line
    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import Alternative, Check, Source, Task
    from labgrade.values import Value

_TASK = re.compile(r"\d{1,2}(?:-\d{1,2}){1,2}")
_WORD = re.compile(r"\w+(?:[.-]\w+)*")
_MOST_WORDS, _LONGEST = 40, 80  # of a sentence that is looked through; of what a reason repeats


class FreeText:
    """One answer of one submission in free text. `judged`: the verdict on a value; `expect`: a source's value."""

    def __init__(
        self,
        reader: Reader,
        task: Task,
        submission: Submission,
        about: str,
        check: Check,
        judged: Callable[[Value], Verdict],
        expect: Callable[[Source], Value],
    ) -> None:
        self._reader, self._task, self._submission, self._about = reader, task, submission, about
        self._check, self._judged, self._expect = check, judged, expect
        self._wanted = task.answers[check.answer]

    def verdict(self, answer: Answered, verdict: Verdict) -> Choice:
        """The verdict, and where the answer stands; `verdict` itself where the text says nothing better."""
        as_it_is = Choice(verdict=verdict, place=answer.origin)
        number = self._wanted.type in ("count", "bytes") and self._check.expected is not None
        measured = self._wanted.type == "number" and isinstance(answer, Answer)  # digits of a measurement prove nothing
        if not answer.free or measured or (verdict.credit == 1 and not number):
            return as_it_is
        judged = self._check.expected is not None and verdict.outcome is Outcome.INCORRECT
        judged_by_number = is_one(self._wanted.type) and self._check.expected is not None
        if self._wanted.type == "text" and isinstance(answer, Answer) and judged:
            return self._word_of(str(answer.value), as_it_is)
        unread = next((line for line in self._lines() if line.unread), None)
        if unread is not None:
            return Choice(verdict=without_value(Outcome.MANUAL, f"{unread.place} can't be read: {unread.unread}"))
        found = self._read(answer, as_it_is, self._lines())
        found = self._unless_told(found, self._lines()) if self._may_be_told(found.verdict) else found
        if judged_by_number and found.verdict.credit < 1:
            found = self._in_order(found)
        if found.verdict.outcome in (Outcome.INCORRECT, Outcome.PARTIAL) and judged_by_number:
            return self._unless_right_beside(found)
        return self._unless_pictured(self._unless_elsewhere(found)) if self._may_be_told(found.verdict) else found

    def _unless_pictured(self, missing: Choice) -> Choice:
        """MANUAL where all that is said of the task is a picture, or more than words."""
        if missing.verdict.outcome is not Outcome.MISSING:
            return missing
        pictured = next((line for line in self._lines() if line.pictured), None)
        if pictured is not None:
            said = any(line.words or line.pieces for line in self._lines() if not line.pictured)
            what = POINTS_ELSEWHERE.replace(" alone", "") if said else POINTS_ELSEWHERE
            verdict = without_value(Outcome.MANUAL, f"{pictured.place}: {what}")
            return Choice(verdict=verdict, place=pictured.place)
        right = self._right() if is_table(self._wanted.type) and self._check.expected is not None else []
        held = as_many_numbers(self._lines(), right, self._taken())
        return merged(missing, unread(self._task.id, held, "")) if held else missing

    def _in_order(self, found: Choice) -> Choice:
        """CORRECT where the section says the numbers that are right for all answers of the task, in their order."""
        checks = {each.answer: each for each in self._task.checks if each.expected is not None and not each.cases}
        own = [name for name, each in self._task.answers.items() if is_one(each.type) and name in checks]
        if self._check.answer not in own:
            return found
        right = [self._expect(each) for name in own if (each := checks[name].expected) is not None]
        numbers = [each for each in right if isinstance(each, Number)]
        line, said = said_in_order(numbers, self._lines()) if len(numbers) == len(own) else (None, ())
        words = [" ".join(form.after or "" for form in text_forms(self._task.answers[name])) for name in own]
        if line is None or labelled_otherwise(words, self._lines()):
            return found
        number = said[own.index(self._check.answer)]
        verdict = self._judged(number)
        return Choice(verdict=verdict, place=line.place, number=number) if verdict.credit == 1 else found

    def _unless_right_beside(self, wrong: Choice) -> Choice:
        """MANUAL where a line of the section, or one with the task's number, says what is right in full."""
        wanted, path = self._number_wanted(self._right(), ()), report_path(self._wanted)
        right = right_in_full(wanted, (*self._lines(), *(self._mentions(path) if path else ())))
        return wrong if right is None else doubted(wrong, right)

    def _unless_elsewhere(self, missing: Choice) -> Choice:
        """MANUAL where a report has no section of the task, and says something in parts that may be of it."""
        if self._lines() or missing.verdict.outcome is not Outcome.MISSING:
            return missing
        path = report_path(self._wanted)
        number = next((each[0] for each in map(_TASK.search, path) if each), "")
        if number == "".join(path):  # whose parts were looked through
            lines = (*self._around(path), *self._mentions(path)) if is_table(self._wanted.type) else ()
            held = lines and self._check.expected is not None and holds_values(lines, self._right())
        else:
            lines = (*self._of(number), *self._mentions((number,))) if number else self._of_any(path)
            held = first_number(lines) is not None
        return merged(missing, unread(self._task.id, lines, "")) if held else missing

    def _of_any(self, path: tuple[str, ...]) -> tuple[Line, ...]:
        """The whole report, unless it names its tasks."""
        alike = any_like(path[-1]) if path else ""
        named = self._mentions(()) or (alike and self._mentions((alike,)))
        return () if named else self._report()

    def _of(self, number: str) -> tuple[Line, ...]:
        return tuple(self._reader.ask(self._submission, ask_lines(TextForm(report=(number,)), self._about)))

    def _read(self, answer: Answered, as_it_is: Choice, lines: tuple[Line, ...], *, told: bool = False) -> Choice:
        """What these lines say, where words led to nothing, or to what is wrong. `told`: of no section of the task."""
        verdict = as_it_is.verdict
        if not any(line.pieces for line in lines):
            return self._beside_right(as_it_is)
        if self._check.expected is None:
            return self._unexpected(answer, as_it_is, lines)
        if is_one(self._wanted.type):
            return self._number(answer, as_it_is, lines, told=told)
        if is_table(self._wanted.type):
            return self._table().verdict(answer, as_it_is, lines, told=told)
        if self._wanted.type == "shape" and isinstance(answer, NoAnswer):
            return self._shape(as_it_is, lines)
        if isinstance(self._wanted.type, TableOfType) and verdict.outcome is Outcome.MISSING:
            return printed_tensors(lines, _NO_FUNCTION) or as_it_is
        return as_it_is

    def _word_of(self, text: str, wrong: Choice) -> Choice:
        """MANUAL where a sentence was read and a word was wanted, and one of its words is right; else `wrong`."""
        words = _WORD.findall(text)[:_MOST_WORDS]
        right = [place for place, word in enumerate(words) if self._judged(word).credit == 1] if words[1:] else []
        if not right:
            return wrong
        said = f"the report says '{text[:_LONGEST]}'"
        if right[0]:
            return replace(wrong, verdict=without_value(Outcome.MANUAL, said))
        return left_to_person(replace(wrong, verdict=self._judged(words[0])), said, "first word")

    def _table(self) -> FreeTable:
        return FreeTable(
            self._reader, self._submission, self._wanted, self._check, self._judged, self._expect, self._taken()
        )

    def _may_be_told(self, verdict: Verdict) -> bool:
        """Whether an answer that is missing may stand in a text: tensors and files don't."""
        missing = verdict.outcome is Outcome.MISSING or (is_open(verdict) and bool(verdict.looked_for))
        kind = self._wanted.type
        in_text = not isinstance(kind, TableOfType) and kind not in ("tensor", *ARTIFACT_KINDS)
        return missing and in_text and not self._check.bonus and bool(text_forms(self._wanted))

    def _unless_told(self, missing: Choice, lines: tuple[Line, ...]) -> Choice:
        """MANUAL where the report speaks of the task, or may do so: nothing is missing that a person might find."""
        path, task = report_path(self._wanted), " / ".join(report_path(self._wanted)) or self._task.id
        told = self._mentions(path) if path else ()
        alike = any_like(path[-1]) if path else ""
        numbered = bool(self._mentions(()) or (alike and self._mentions((alike,))))
        found = self._read(NoAnswer(verdict=missing.verdict, free=True), missing, told, told=True)
        wanted = self._number_wanted(self._right() if self._check.expected else (), ())
        named = numbered and (not told or any(line.numbered for line in told))
        found = found if named else in_words(wanted, found, missing, told)
        if numbered and not named and (found.verdict.suggestion or found.verdict).credit < 1:
            found = missing  # what is wrong is of the tasks that the report names
        if found.verdict.outcome is not Outcome.MISSING and not is_open(found.verdict):
            return only_suggested(found, task) if numbered and found.verdict.credit < 1 else found
        tabular = is_table(self._wanted.type)
        if (tabular or not any(line.pieces for line in lines)) and (
            evident := self._evident(missing, path)
        ) is not None:
            return evident
        words = (form.after or "" for each in self._task.answers.values() for form in text_forms(each))
        given = (self._task.statement, self._task.title, *words)
        own = own_lines(wanted, (*lines, *told), given, self._task.title)
        if tabular:
            return self._table().if_missing(missing, own, task)
        among = right_among(wanted, own) if own and self._check.expected and is_one(self._wanted.type) else None
        among = among or (None if numbered else right_in_other_words(wanted, told))
        if among is not None:
            return merged(missing, among)
        at = own if numbered or lines else []
        beside = [line for line in self._around(path) if line not in lines] if at and is_one(self._wanted.type) else []
        if (elsewhere := right_in_other_words(wanted, beside)) is not None:
            return merged(missing, elsewhere)
        at = at or (self._in_passing(wanted, numbered=numbered) if path and not (lines or (told and numbered)) else [])
        return merged(missing, unread(task, at, wanted.hint)) if at else missing

    def _evident(self, missing: Choice, path: tuple[str, ...]) -> Choice | None:
        """What a report says of a task outside of its tasks' sections, where that is right beyond doubt.

        Else MANUAL with what is right as a suggestion, and nothing of what is wrong: it may be of another task.
        """
        lines = self._around(path)
        if not any(line.pieces for line in lines):
            return None
        found = self._read(NoAnswer(verdict=missing.verdict, free=True), missing, lines, told=True)
        said = found.verdict.suggestion
        if found.verdict.credit == 1 or (said is not None and said.credit == 1):
            return found
        return None

    def _around(self, path: tuple[str, ...]) -> tuple[Line, ...]:
        """The lines of the report that are in no task's section."""
        return tuple(self._reader.ask(self._submission, ask_around(path, self._about))) if path else ()

    def _in_passing(self, wanted: WantedNumber, *, numbered: bool) -> list[Line]:
        """The line of a report that says what is right, or any number where a report names no task."""
        found = right_anywhere(wanted, self._report()) or (None if numbered else first_number(self._report()))
        return [found] if found else []

    def _mentions(self, path: tuple[str, ...]) -> tuple[Line, ...]:
        """The lines of the report that have a task's number."""
        return tuple(self._reader.ask(self._submission, mentions_of(self._task, path, self._about)))

    def _beside_right(self, waits: Choice) -> Choice:
        """What waits with nothing read, and the number that is right for a person to look for."""
        kind, source = self._wanted.type, self._check.expected
        if waits.verdict.outcome is not Outcome.MANUAL or source is None or not is_one(kind):
            return waits
        right = self._expect(source)
        facts = {"expected": show(right.value)} if isinstance(right, Number) else {}
        return replace(waits, verdict=replace(waits.verdict, facts={**waits.verdict.facts, **facts}))

    def _made(self, known: Alternative) -> Iterator[Value]:
        with contextlib.suppress(FaultError if known.known else NoSuchSlipError):
            yield self._expect(known.source)

    def _lines(self) -> tuple[Line, ...]:
        """The lines of every place in which the answer is looked for; for tensors, in which any of the task is."""
        printed = isinstance(self._wanted.type, TableOfType)
        wanted = self._task.answers.values() if printed else (self._wanted,)
        forms = [form for each in wanted for form in text_forms(each)]
        there = (form for form in forms if form.file is None or locate(self._submission, form.file) is not None)
        asks = {repr(ask): ask for ask in (ask_lines(form, self._about) for form in there)}
        found: dict[tuple[str, int], Line] = {}
        for ask in asks.values():
            lines: tuple[Line, ...] = self._reader.ask(self._submission, ask)
            found |= {(line.place, line.number): line for line in lines}
        return tuple(found.values())

    def _number(self, answer: Answered, as_it_is: Choice, lines: tuple[Line, ...], *, told: bool) -> Choice:
        """What the section says of a number; what the report says where it sums up counts as beside it."""
        wanted = self._number_wanted(self._right(), self._known())
        if isinstance(answer, Answer) and as_it_is.verdict.credit < 1:
            blank = unfilled(wanted, lines, as_it_is.verdict)
            if blank is not None:
                return blank
        claimed = claimed_by(answer, lines, self._words())
        if claimed is not None:
            own = claimed.line.place.partition(":")[0]
            lines = tuple(line for line in lines if line.place.partition(":")[0] == own)
        lines = tuple(replace(line, shared=True) for line in lines) if told else self._with_told(lines)
        found = None if claimed is None and left_open(wanted, lines) else Decision(wanted, lines, claimed).made()
        if isinstance(answer, NoAnswer) and (found is None or is_open(found.verdict)):
            found = count_listed(wanted, lines) or found
        waits = found is not None and found.verdict.outcome is Outcome.MANUAL
        if found is None or (self._check.bonus and waits) or (claimed and found.number == claimed.number and not waits):
            return as_it_is
        return merged(as_it_is, found) if isinstance(answer, NoAnswer) else found

    def _with_told(self, lines: tuple[Line, ...]) -> tuple[Line, ...]:
        """The lines, and those that have the task's number elsewhere in the report, as where it sums up."""
        path = report_path(self._wanted)
        if not path or not any(line.pieces for line in lines) or all(line.shared for line in lines):
            return lines
        known = {line.place for line in lines}
        return (*lines, *(line for line in self._mentions(path) if line.place not in known))

    def _words(self) -> tuple[str, ...]:
        return tuple(form.after for form in text_forms(self._wanted) if form.after)

    def _report(self) -> tuple[Line, ...]:
        return tuple(self._reader.ask(self._submission, ask_lines(TextForm(report=()), self._about)))

    def _right(self) -> list[Value]:
        sources = [self._check.expected, *(each.source for each in self._check.also_right)]
        return [self._expect(each) for each in sources if each is not None]

    def _known(self) -> list[Value]:
        return [value for each in self._check.misconceptions for value in self._made(each)]

    def _shape(self, as_it_is: Choice, lines: tuple[Line, ...]) -> Choice:
        found = None if self._check.bonus else choose_shape(self._right(), self._known(), self._judged, lines)
        return as_it_is if found is None else merged(as_it_is, found)

    def _number_wanted(self, right: Sequence[Value], known: Sequence[Value]) -> WantedNumber:
        return WantedNumber(
            kind=str(self._wanted.type),
            words=self._words(),
            right=tuple(right),
            known=tuple(known),
            judged=self._judged,
            taken=self._taken(),
            beside=self._words_beside(),
        )

    def _unexpected(self, answer: Answered, as_it_is: Choice, lines: tuple[Line, ...]) -> Choice:
        """Of a check that expects no value: the verdict, or that a person has to look."""
        if isinstance(self._wanted.type, TableType):
            return self._table().no_rows(answer, as_it_is, lines)
        if self._check.bonus or self._wanted.type not in NUMBERS:
            return as_it_is
        return unexpected(self._number_wanted((), ()), answer, as_it_is, lines)

    def _words_beside(self) -> tuple[str, ...]:
        return tuple(form.after for form in self._forms_beside(alike=True) if form.after)

    def _forms_beside(self, *, alike: bool) -> list[TextForm]:
        beside = [each for name, each in self._task.answers.items() if name != self._check.answer]
        return [form for each in beside if each.type == self._wanted.type or not alike for form in text_forms(each)]

    def _taken(self) -> frozenset[Fraction]:
        """The numbers that other answers of the task have read in the same text."""
        return frozenset(
            number
            for name, other in self._task.answers.items()
            if name != self._check.answer and (isinstance(other.type, TableType) or str(other.type) in NUMBERS)
            for form in other.forms
            if isinstance(form, EntryForm | FileForm | TextForm)
            for number in numbers_of(self._reader.ask(self._submission, ask_value(other.type, form, self._about)))
        )


_NO_FUNCTION = "the task asks for a function, which is called with labgrade's own weights and input"
