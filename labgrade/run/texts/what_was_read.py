"""What grading read of a report, block by block: where, what was taken as an answer, and what was put aside and why.

It is the reading that the verdicts come from, not another one; it says of no value whether it is right.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from labgrade.answers.obtain import text_forms
from labgrade.answers.question import about
from labgrade.answers.reader.asks import ask_lines
from labgrade.core.text import for_terminal
from labgrade.values import Number
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from labgrade.answers.reader.reader import Reader
    from labgrade.answers.reading.lines import Line, LinePiece
    from labgrade.core.results import Submission, TaskReport
    from labgrade.core.task import Task

_WIDTH = 80
_MOST_BLOCKS, _MOST_NUMBERS = 6, 3  # of a task, of a block
_LONGEST_REASON = 140
_GAP = 2  # lines between two of one block
_PLACE = re.compile(r"(?P<path>.{1,300}?):(?P<line>\d{1,9})(?:,|$)")
_OPEN = frozenset({Outcome.MANUAL, Outcome.MISSING})


@dataclass(slots=True)
class _Block:
    """Lines of one kind that follow one another in a file."""

    path: str
    kind: str
    lines: list[Line]

    @property
    def place(self) -> str:
        """`report.md:3-5`."""
        first, last = self.lines[0].number, self.lines[-1].number
        return f"{self.path}:{first}" + (f"-{last}" if last > first else "")


def told(reader: Reader, tasks: Iterable[Task], reports: Iterable[TaskReport], submission: Submission) -> list[str]:
    """The lines of text that say it, for the tasks of which a report has a section."""
    known = {report.id: report for report in reports}
    of_tasks = ((task, _lines(reader, task, submission)) for task in tasks if task.id in known)
    said = [_of_task(task.id, lines, known[task.id]) for task, lines in of_tasks if lines]
    return [for_terminal(line) for line in chain.from_iterable(said)]


def _lines(reader: Reader, task: Task, submission: Submission) -> list[Line]:
    """What is read for any answer of a task in a report, each line once."""
    forms = (form for each in task.answers.values() for form in text_forms(each) if form.report)
    asks = {repr(ask): ask for ask in (ask_lines(form, about(task.subject)) for form in forms)}
    found: dict[tuple[str, int], Line] = {}
    for ask in asks.values():
        lines: tuple[Line, ...] = reader.ask(submission, ask)
        found |= {(line.place, line.number): line for line in lines}
    return sorted(found.values(), key=lambda line: (line.place.rpartition(":")[0], line.number))


def _of_task(name: str, lines: Sequence[Line], report: TaskReport) -> Iterator[str]:
    yield name
    taken = _taken(report)
    told = [part for block in _blocks(lines) if (part := _of_block(block, taken))]
    yield from chain.from_iterable(told[:_MOST_BLOCKS])
    if len(told) > _MOST_BLOCKS:
        yield f"  and {len(told) - _MOST_BLOCKS} more blocks"
    for check in report.checks:
        if check.verdict.outcome in _OPEN and not check.bonus:
            why = check.verdict.reason or check.verdict.outcome.lower()
            yield from _wrapped(f"nothing taken for {check.id}: ", textwrap.shorten(why, _LONGEST_REASON))


def _taken(report: TaskReport) -> dict[tuple[str, int], list[str]]:
    """The checks whose answers were taken from a line of a file, by file and line."""
    found: dict[tuple[str, int], list[str]] = {}
    for check in report.checks:
        place = _PLACE.match(check.answer_from)
        if place and check.verdict.outcome not in _OPEN:
            found.setdefault((place["path"], int(place["line"])), []).append(check.id)
    return found


def _blocks(lines: Iterable[Line]) -> Iterator[_Block]:
    block: _Block | None = None
    for line in lines:
        path, kind = line.place.rpartition(":")[0], _kind(line)
        goes_on = block is not None and (block.path, block.kind) == (path, kind)
        if block is not None and goes_on and line.number - block.lines[-1].number <= _GAP:
            block.lines.append(line)
            continue
        if block is not None:
            yield block
        block = _Block(path, kind, [line])
    if block is not None:
        yield block


def _kind(line: Line) -> str:
    if line.code:
        return "source code"
    if line.quoted:
        return "quotation"
    return "output" if line.fenced else "table" if line.row else "text"


def _of_block(block: _Block, taken: dict[tuple[str, int], list[str]]) -> list[str]:
    """What a block was read as: nothing of one without numbers."""
    numbers = [(line, piece) for line in block.lines for piece in line.pieces if isinstance(piece.value, Number)]
    answers = {line.number: taken.get((block.path, line.number), []) for line in block.lines}
    used = [
        f"line {at} for {' and '.join(checks)} ({_shown([piece for line, piece in numbers if line.number == at])})"
        for at, checks in answers.items()
        if checks
    ]
    aside = [(line, piece) for line, piece in numbers if not answers[line.number] or piece.doubt]
    why = list(_aside(block, aside))
    if not (used or why):
        return []
    text = "; ".join(
        [*([f"taken: {', '.join(used)}"] if used else []), *([f"put aside: {', '.join(why)}"] if why else [])]
    )
    return list(_wrapped(f"{block.place}  {block.kind}  ", text))


def _aside(block: _Block, numbers: Sequence[tuple[Line, LinePiece]]) -> Iterator[str]:
    """The numbers that are not taken, each with the reason."""
    if block.kind == "source code":
        yield "what it says; what it prints counts"
        return
    if block.kind == "quotation":
        yield from ["it is quoted"] if numbers else []
        return
    large = [(line, piece) for line, piece in numbers if not piece.small or piece.doubt]
    for line, piece in large[:_MOST_NUMBERS]:
        yield f"{piece.value} on line {line.number} ({_why(piece)})"
    if len(large) > _MOST_NUMBERS:
        yield f"{len(large) - _MOST_NUMBERS} more numbers"
    if passing := len(numbers) - len(large):
        yield f"{passing} small number{'s' * (passing > 1)}"


def _why(piece: LinePiece) -> str:
    """Why a number was not taken, as far as its line says."""
    if piece.doubt:
        return f"doubt: '{piece.doubt}'"
    if piece.said and not piece.titled:
        return f"said of {', '.join(piece.said)}"
    return "no word says what it is"


def _shown(pieces: Sequence[LinePiece]) -> str:
    numbers = [str(piece.value) for piece in pieces if not piece.doubt]
    more = len(numbers) - _MOST_NUMBERS
    return ", ".join([*numbers[:_MOST_NUMBERS], *([f"{more} more"] if more > 0 else [])]) or "rows"


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(head + text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
