"""The report for a student's own terminal: what is wrong and worth most first, and on one screen.

What is right takes a line each, what is missing a line a part of the lab; `terminal` prints everything.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.console import Console

from labgrade.core.points import NOT_SHOWN, final_totals, totals
from labgrade.core.text import is_own
from labgrade.reports import summary, terminal
from labgrade.reports.plain_page import Page
from labgrade.reports.summary import full_reason, hint, missing_task
from labgrade.reports.terminal import BODY, BROKEN, LONG_REASON, LOOKS
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labgrade.core.points import Totals
    from labgrade.core.results import Graded, Report, SubmissionReport, TaskReport

    Place: TypeAlias = tuple[TaskReport, Graded]

_LINES = 40  # of a report, where so many are enough
_LEAST = 12  # lines for what is wrong, however much is right
_MOST_NAMES = 6
_MOST_NOTES = 3
_NOT_WRONG = frozenset({Outcome.CORRECT, Outcome.MISSING, Outcome.SKIPPED, Outcome.MANUAL})
_PART = re.compile(r"(?:[a-z]+-?)?\d+(?:-\d+)?(?=-|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Checks that are wrong for one reason: of any tasks where a text says so, else of one task."""

    checks: tuple[Place, ...]

    @property
    def tasks(self) -> tuple[TaskReport, ...]:
        """The tasks in which it shows."""
        return tuple({(task.lab, task.id): task for task, _ in self.checks}.values())

    @property
    def outcome(self) -> Outcome:
        """How its first check ended."""
        return self.checks[0][1].verdict.outcome

    @property
    def points(self) -> Fraction:
        """What it may cost: a bonus that is not there costs nothing."""
        return sum((check.points - check.earned for _, check in self.checks if not check.bonus), Fraction(0))


def render(report: Report, *, console: Console, others: int = 0) -> None:
    """Print the report of one's own work on about a screen, beside `others`, lines that stand around it."""
    page = Page(console)
    for note in report.notes:
        page.paragraph(note, indent=0, label="note: ")
    for submission in report.submissions:
        tasks = submission.tasks
        if len(tasks) == 1:
            terminal.render(replace(report, notes=(), submissions=(submission,)), console=console, staff=False)
        else:
            _show(page, submission, _LINES - others)


def _show(page: Page, submission: SubmissionReport, lines: int) -> None:
    total, found = final_totals(submission), causes(submission.tasks)

    def above(page: Page) -> None:
        terminal.heading(page, submission, total)
        page.line(("do first: ", "dim"), (_first_step(submission, found, total), ""), hang=2)

    below = _height(page, lambda dry: _print_rest(dry, submission, shortened=bool(found)))
    room = max(_LEAST, lines - below - _height(page, above))
    above(page)
    shortened = _wrong(page, found, room)
    _print_rest(page, submission, shortened=shortened)


def causes(tasks: Sequence[TaskReport]) -> list[Cause]:
    """Why checks are wrong, what costs most first, bonus checks last; and what labgrade failed at."""
    found: defaultdict[tuple[str, ...], list[Place]] = defaultdict(list)
    for task in tasks:
        for check in terminal.merged_cases(task.checks):
            if check.verdict.outcome not in _NOT_WRONG:
                found[_key(task, check)].append((task, check))
    order = [Cause(checks=tuple(sorted(each, key=_weight))) for each in _without_second_crash(found)]
    return sorted(order, key=lambda cause: (all(check.bonus for _, check in cause.checks), -cause.points))


def _weight(each: Place) -> tuple[bool, Fraction]:
    return each[1].bonus, each[1].earned - each[1].points


def _key(task: TaskReport, check: Graded) -> tuple[str, ...]:
    verdict, kind = check.verdict, "bonus" if check.bonus else ""
    reason = full_reason(verdict)
    if verdict.outcome not in BROKEN and hint(verdict):
        return (task.lab, task.id, kind, summary.cause(verdict))
    if verdict.outcome in BROKEN or len(reason) >= LONG_REASON:
        return (verdict.outcome, reason)
    return (task.lab, task.id, kind, "", check.id)


def _without_second_crash(found: dict[tuple[str, ...], list[Place]]) -> list[list[Place]]:
    """Merge a crash that only a search found into the cause that showed without it."""
    crashes = [key for key in found if key[0] == Outcome.CRASHED]
    for key in crashes:
        first = found[key][0][1].verdict.reason
        same = [other for other in crashes if other != key and other in found and first.endswith(f": {other[1]}")]
        if same:
            found[same[0]] += found.pop(key)
    return list(found.values())


def _wrong(page: Page, found: Sequence[Cause], room: int) -> bool:
    """Print what is wrong, in full while there is room, then a line each; return whether any was shortened."""
    shortened = False
    last = ""
    for number, cause in enumerate(found):
        later = [each for each in found[number + 1 :] if each.points]
        reserved = len(later) + (len(later) < len(found) - number - 1)
        write, height, cut = _fitting(page, cause, last, room - reserved)
        if number == 0 or (height + reserved <= room and not shortened):
            last = cause.tasks[-1].id if len(cause.tasks) == 1 else ""
            shortened = cut
        elif room > 1 or number == len(found) - 1:
            write, height, shortened = partial(_in_a_line, cause=cause), 1, True
        else:
            rest = sum((each.points for each in found[number:]), Fraction(0))
            worth = f"worth {summary.points(rest)} points" if rest else "all of them bonus checks"
            page.line((f"  and {len(found) - number} more, {worth}", "dim"))
            return True
        write(page)
        room -= height
    return shortened


def _fitting(page: Page, cause: Cause, last: str, room: int) -> tuple[Callable[[Page], None], int, bool]:
    """Choose how to print a cause in the room that is left, and say whether anything but names is left out.

    Where lines are too many, its first check alone is shown in full; where they still are, without its program.
    """
    (task, first), *others = cause.checks
    told = replace(first, verdict=replace(first.verdict, lines=(), picture=()))
    ways = ((cause, True, False), (cause, False, False), (Cause(checks=((task, told), *others)), False, True))
    written = [(partial(_cause, cause=each, last=last, whole=whole), cut) for each, whole, cut in ways]
    heights = [_height(page, write) for write, _ in written]
    best = next((at for at, height in enumerate(heights) if height <= room), len(ways) - 1)
    return written[best][0], heights[best], written[best][1]


def _cause(page: Page, cause: Cause, last: str, *, whole: bool) -> None:
    (task, first), *others = cause.checks
    if len(cause.tasks) > 1 or (others and first.verdict.outcome in BROKEN):
        _shared(page, cause)
        return
    if task.id != last:
        page.blank()
        points = terminal.spread(totals(task.checks))
        page.line((f"{task.id}  ", "bold"), (task.title, ""), right=(points, "bold"), hang=4)
    terminal.check_lines(page, first, staff=False, said=set())
    if others and not whole:
        _in_a_line(page, Cause(checks=tuple(others)))
        return
    for _, check in others:
        short = replace(check.verdict, reason=summary.first_line(check.verdict)[0], lines=(), picture=(), notes=())
        short = replace(short, hint="", suggestions=(), diagnosis=None)
        terminal.check_lines(page, replace(check, verdict=short, answer_from=""), staff=False, said=set())


def _shared(page: Page, cause: Cause) -> None:
    """Print one reason that several checks share, and the checks that depend on it."""
    check = cause.checks[0][1]
    page.blank()
    names = sorted(task.id for task in cause.tasks)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    lost = "no points are lost" if check.verdict.outcome is Outcome.FAULT else f"{_worth(cause.points)} on it"
    page.line(terminal.mark(page, check), (lost, "bold"))
    page.paragraph(full_reason(check.verdict), indent=BODY)
    page.say(", ".join(names[:_MOST_NAMES]) + more, indent=BODY, label="in: ", style="dim")
    if hint(check.verdict):
        page.paragraph(hint(check.verdict), indent=BODY, label="hint: ")


def _worth(points: Fraction) -> str:
    return f"{_points(points)} {'depends' if points == 1 else 'depend'}"


def _in_a_line(page: Page, cause: Cause) -> None:
    """Print a cause on a single line."""
    check = cause.checks[0][1]
    earned = sum((each.earned for _, each in cause.checks), Fraction(0))
    right = f"{summary.points(earned)} / {summary.points(sum((each.points for _, each in cause.checks), Fraction(0)))}"
    kind = " (bonus)" if check.bonus else ""
    reason = summary.first_line(check.verdict)[0]
    gutter = "" if is_own(reason) else page.gutter
    _clipped_line(page, terminal.mark(page, check), f"{_places_of(cause)}{kind}: {gutter}{reason}", right)


def _clipped_line(page: Page, mark: tuple[str, str], text: str, right: str) -> None:
    shown = page.visible(text)
    room = page.width - cell_len(mark[0]) - len(right) - 2
    page.line(
        mark,
        (set_cell_size(shown, room - 3).rstrip() + "..." if cell_len(shown) > room else shown, ""),
        right=(right, mark[1]),
    )


def _print_rest(page: Page, submission: SubmissionReport, *, shortened: bool) -> None:
    """Print what is right, what is missing, what waits, and the total."""
    began = [task for task in submission.tasks if missing_task(task) is None]
    right = [task for task in began if any(_is_right(check) for check in task.checks)]
    if right:
        page.blank()
    for task in right:
        _right(page, task)
    notes = dict.fromkeys(note for task in right for check in task.checks for note in check.verdict.notes)
    for note in list(notes)[:_MOST_NOTES]:
        page.paragraph(note, indent=2, label="note: ")
    part = _missing(page, submission)
    page.rule()
    terminal.outcome_line(page, replace(submission, tasks=tuple(began)), Outcome.SKIPPED, "waits for other checks: ")
    terminal.outcome_line(page, submission, Outcome.MANUAL, "waits to be marked by a person: ")
    if part or shortened:
        options = "--all" + (f", or --task {part}" if part else "")
        page.say(f"{options}, says all of it", label="more: ", style="dim")
    names = [f"{task.id} +{summary.points(task.not_shown)}" for task in began if task.not_shown and task not in right]
    if names:
        page.line((f"+ {NOT_SHOWN}, in points: {', '.join(names)}", "dim"), hang=2)
    terminal.total_line(page, submission, final_totals(submission))


def _first_step(submission: SubmissionReport, found: Sequence[Cause], total: Totals) -> str:
    """What to mend first, as it stands at the top; else what to hand in, else a bonus that is wrong."""
    cause = next((each for each in found if each.points and each.outcome is not Outcome.FAULT), None)
    if cause is not None:
        return f"{_places_of(cause)}, worth {_points(cause.points, 'more ')}"
    return terminal.advice(submission, total)


def _places_of(cause: Cause) -> str:
    """The tasks in which a cause shows; the checks, where it is one task."""
    if len(cause.tasks) > 1:
        return ", ".join(each.id for each in cause.tasks)
    return f"{cause.tasks[0].id} {', '.join(check.id for _, check in cause.checks)}"


def _points(worth: Fraction, more: str = "") -> str:
    return f"{summary.points(worth)} {more}{'point' if worth == 1 else 'points'}"


def _is_right(check: Graded) -> bool:
    return check.verdict.outcome is Outcome.CORRECT


def _right(page: Page, task: TaskReport) -> None:
    """Print what of a task is right: all of it, or the names of its checks."""
    good = [check for check in task.checks if _is_right(check)]
    missed = [check for check in task.checks if check.bonus and check.verdict.outcome is Outcome.MISSING]
    whole = len(good) + len(missed) == len(task.checks)
    got, worth = (totals(good).earned, totals(good).points)
    names = "" if whole else f"  {', '.join(check.id for check in terminal.merged_cases(good))}"
    right = f"{summary.points(got)} / {summary.points(worth)}{_not_shown_points([task])}"
    text = f"{task.id}  {task.title}" if whole else f"{task.id}{names}"
    symbol, plain, style = LOOKS[Outcome.CORRECT]
    mark = (f"  {symbol if page.can_show(symbol) else plain} ", style)
    _clipped_line(page, mark, text, right)


def _not_shown_points(tasks: Sequence[TaskReport]) -> str:
    """What cases are worth that are not shown, behind the points."""
    worth = sum((task.not_shown or Fraction(0) for task in tasks), Fraction(0))
    return f"  +{summary.points(worth)} not shown" if worth else ""


def _missing(page: Page, submission: SubmissionReport) -> str:
    """A line for each part of the lab of which something is missing; the first such part, which can be asked for."""
    parts: defaultdict[str, list[tuple[TaskReport, list[Graded]]]] = defaultdict(list)
    for task in submission.tasks:
        missed = [check for check in task.checks if check.verdict.outcome is Outcome.MISSING]
        if (
            missed
            and (task.points or task.not_shown)
            and (missing_task(task) is not None or not all(check.bonus for check in missed))
        ):
            parts[part_of(task.id)].append((task, missed))
    if parts:
        page.blank()
    symbol, _, style = LOOKS[Outcome.MISSING]
    for name, tasks in parts.items():
        said, points = _missing_in_words(tasks)
        whole = [task for task, _ in tasks if missing_task(task) is not None]
        right = f"0 / {summary.points(points)}{_not_shown_points(whole)}"
        _clipped_line(page, (f"  {symbol} ", style), f"{name}  missing: {said}", right)
    return next(iter(parts), "")


def _missing_in_words(tasks: Sequence[tuple[TaskReport, list[Graded]]]) -> tuple[str, Fraction]:
    """Say what is missing in a part of the lab, and what it is worth."""
    whole = [task for task, _ in tasks if missing_task(task) is not None]
    some = [f"{task.id} ({', '.join(each.id for each in missed)})" for task, missed in tasks if task not in whole]
    counted = f"nothing of {len(whole)} tasks" if len(whole) > 1 else "".join(task.title for task in whole)
    checks = (check for task, missed in tasks for check in (task.checks if task in whole else missed))
    points = sum((check.points for check in checks if not check.bonus), Fraction(0))
    return "; ".join(filter(None, (counted, *some))), points


def part_of(task: str) -> str:
    """The part of a lab that a task belongs to, by its name.

    >>> [part_of(name) for name in ("2-1-4-macs", "lab-2-3-1-conv-inputs", "hw3-sizes", "macs")]
    ['2-1', 'lab-2-3', 'hw3', 'macs']
    """
    found = _PART.match(task)
    return found[0] if found else task


def _height(page: Page, write: Callable[[Page], object]) -> int:
    """How many lines something takes."""
    file = io.StringIO()
    write(Page(Console(file=file, width=page.width)))
    return len(file.getvalue().splitlines())
