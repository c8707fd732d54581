"""What `labgrade check --watch` knows of a folder's checks, from save to save, while servers stay warm.

What was saved comes first, of that what others call. What does not end in a first look, searches for the smallest wrong
network, and what did not change follow in a thread of their own, for which the next save does not wait: what still runs
then is broken off.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from labgrade.answers.python_source import code_digest, functions_behind
from labgrade.core import points, student_view
from labgrade.core.results import Report, SubmissionReport, TaskReport
from labgrade.core.task import CallForm
from labgrade.reports import student_terminal, summary, terminal
from labgrade.reports.plain_page import Page
from labgrade.run.student_check import WRONG, Shown, function_of, with_cause
from labgrade.run.student_memory import since_last
from labgrade.run.task import TaskGrading
from labgrade.sandbox.time_limits import FIRST_LOOK, NotYetError, Patience
from labgrade.submissions import find
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from rich.console import Console

    from labgrade.core.results import Graded, Submission
    from labgrade.core.task import Task
    from labgrade.judging.items import Item
    from labgrade.run.grader import Grader

_AS_ABOVE = "the same as above"
_NO_ANSWER = frozenset({Outcome.MISSING, Outcome.SKIPPED})
_SEARCHED = frozenset({*terminal.BROKEN, Outcome.INCORRECT})  # a search may call a crash wrong

_NAMED = 3  # of what is still to come

Place = tuple[str, str, str]  # lab, task, check
Function = tuple[str, str]  # file, name
_NOT_CALLED: Function = ("", "")


class _Asked(NamedTuple):
    """An item of a task, and the function that it is about, if any."""

    grading: TaskGrading
    item: Item
    called: Function

    @property
    def place(self) -> Place:
        """Where what is known of it is kept."""
        return self.grading.task.lab, self.grading.task.id, self.item.id


@dataclass
class _Round:
    """One state of the folder: its copy, and what is still to be looked for in it."""

    number: int
    who: Submission
    store: tempfile.TemporaryDirectory[str]
    patience: Patience = field(default_factory=Patience)
    gradings: dict[str, TaskGrading] = field(default_factory=dict)
    broken: dict[str, list[tuple[Task, Graded]]] = field(default_factory=dict)  # by the reason, which is shown once
    news: set[str] = field(default_factory=set)  # the reasons that were shown
    empty: dict[str, int] = field(default_factory=dict)  # checks without an answer or a point before, by task
    said: set[str] = field(default_factory=set)  # the hints that were shown
    late: list[_Asked] = field(default_factory=list)  # what is not waited for at first


class Session:
    """What is known of a folder's checks, from save to save."""

    def __init__(self, grader: Grader, tasks: list[Task], path: Path, console: Console) -> None:
        self._grader, self._tasks, self._path, self._console = grader, tasks, path, console
        self._known: dict[Place, Graded] = {}
        self._before: dict[Place, Graded] = {}  # what was known of code that is no more
        self._wrong: dict[Place, Function] = {}
        self._digests: dict[Function, str] = {}
        self._slow: set[Function] = set()
        self._lock = threading.Lock()
        self._number = 0
        self._gone: set[Path] = set()
        self._current: Path | None = None
        self._turn = threading.Lock()
        self._shown = False
        self._status = Shown(console, several=True)
        self.failed: Exception | None = None
        grader.prepare(tasks)

    def begin(self, stop: threading.Event) -> None:
        """Check what lies there now, in a thread; what runs from before is broken off.

        What goes wrong with a round is kept in `failed`, and sets `stop`.
        """
        self.close()
        threading.Thread(target=self._run, args=(self._number, stop), daemon=True).start()

    def close(self) -> None:
        """No more is shown of what runs."""
        with self._lock:
            self._number += 1
            self._gone |= {self._current} if self._current is not None else set()
            self._status.rests()

    def _run(self, number: int, stop: threading.Event) -> None:
        with self._turn:
            try:
                if number == self._number:
                    self._round(number)
            except Exception as error:  # noqa: BLE001 - the command raises it
                if number == self._number:
                    self.failed = error
                    stop.set()

    def _round(self, number: int) -> None:
        """What changed is shown as soon as it is known; what takes long follows, searches last."""
        first = not self._shown
        self._console.print(f"{datetime.now().astimezone():%H:%M:%S} checking", style="dim")
        current = self._taken(number)
        every = list(self._items(current))
        self._put_aside(every, self._changed(current.who))
        changed = [each for each in every if each.place not in self._known]
        changed.sort(key=partial(self._turn_of, current.who))
        same = [each for each in every if each not in changed and not self._takes_long(each)]
        for asked in (each for each in changed if not each.item.check.counterexample):
            self._judge(current, asked, quiet=first)
            if number != self._number:
                return
        self._shown = True
        if first:
            student_terminal.render(student_view.for_student(self._report(current)), console=self._console)
            self._console.print("checks again at each save; Ctrl-C ends it", style="dim")
        else:
            current.news |= {reason for reason, found in current.broken.items() if len(found) > 1}
            self._tell_of_repeats(current)
        searches = [each for each in changed if each.item.check.counterexample and self._is_there(each)]
        self._sum_up(current, [*current.late, *searches])
        threading.Thread(target=self._rest, args=(current, searches, same), daemon=True).start()

    def _put_aside(self, items: list[_Asked], functions: set[Function]) -> None:
        """Have what is known of code that is no more count no longer."""
        with self._lock:
            self._slow -= functions
            for each in items:
                if each.called in functions and each.place in self._known:
                    self._before[each.place] = self._known.pop(each.place)

    def _takes_long(self, asked: _Asked) -> bool:
        return bool(asked.item.check.counterexample) or asked.called in self._slow

    def _is_there(self, asked: _Asked) -> bool:
        """Whether anything of the task was handed in."""
        task = asked.grading.task
        known = (each for (lab, name, _), each in self._known.items() if (lab, name) == (task.lab, task.id))
        return any(each.verdict.outcome not in _NO_ANSWER for each in known)

    def _turn_of(self, who: Submission, asked: _Asked) -> tuple[bool, int]:
        """What others call comes first; what is known to take long comes last."""
        return asked.called in self._slow, len(functions_behind(who, *asked.called))

    def _sum_up(self, current: _Round, left: list[_Asked]) -> None:
        """What it comes to, and what is still to be tried; the next `labgrade check` compares itself with this."""
        since_last(self._path, student_view.for_student(self._report(current)), compare=False)
        names = list(dict.fromkeys(f"{each.grading.task.id} {each.item.id}" for each in left))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        Page(self._console).line(
            (self._total(current), "bold"),
            (f" so far; still to come: {', '.join(names[:_NAMED])}{more}" if names else "", ""),
            hang=2,
        )

    def _tell_of_repeats(self, current: _Round) -> None:
        """What broke for one reason, which was shown once."""
        for reason, found in current.broken.items():
            if reason in current.news:
                worth = sum((each.points - each.earned for _, each in found if not each.bonus), Fraction(0))
                first = reason.partition("\n")[0]
                counted = f"{len(found)} checks" if len(found) > 1 else f"{found[0][0].id} {found[0][1].id}"
                depend = "depend" if len(found) > 1 else "depends"
                text = f"{counted}, {summary.points(worth)} points, {depend} on this: {first}"
                Page(self._console).line((text, "red"), hang=2)
        current.news.clear()
        if current.empty:
            named = ", ".join(f"{task} ({count})" for task, count in current.empty.items())
            Page(self._console).line((f"not handed in yet: {named}", "dim"), hang=2)
            current.empty.clear()

    def _taken(self, number: int) -> _Round:
        store = tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True)
        who = find.take(self._path, find.name_of(self._path), Path(store.name), opening=self._grader.runner.open)
        current = _Round(number, who, store, Patience(self._gone, first_look=FIRST_LOOK))
        current.gradings = {f"{task.lab}/{task.id}": TaskGrading(self._grader, task, who) for task in self._tasks}
        with self._lock:
            self._current = who.folder
            if number != self._number:
                self._gone.add(who.folder)
        self._grader.runner.patience = current.patience
        return current

    def _items(self, current: _Round) -> Iterator[_Asked]:
        """Items with the function that each is about, if any."""
        for grading in current.gradings.values():
            for item in grading.items.values():
                forms = grading.task.answers[item.check.answer].forms
                called = ((form.file, form.function) for form in forms if isinstance(form, CallForm))
                yield _Asked(grading, item, next(called, _NOT_CALLED))

    def _changed(self, who: Submission) -> set[Function]:
        """The functions whose code, or what it leads to in its file, is not what it was; all, if another file changed.

        Among them is what stands for answers that no function gives.
        """
        functions = {
            (form.file, form.function)
            for task in self._tasks
            for answer in task.answers.values()
            for form in answer.forms
            if isinstance(form, CallForm)
        }
        files = {file for file, _ in functions}
        others = [(name, _state(self._path / name)) for name in who.files if name not in files]
        now = {each: code_digest(who.folder / each[0], each[1]) for each in functions} | {_NOT_CALLED: str(others)}
        changed = {each for each in now if self._digests.get(each) != now[each]}
        self._digests = now
        return set(now) if _NOT_CALLED in changed else changed

    def _judge(self, current: _Round, asked: _Asked, *, quiet: bool) -> None:
        task, item = asked.grading.task, asked.item
        with self._lock:
            if current.number != self._number:
                return
            self._status.runs(f"{task.id} {item.id}")
        current.patience.task(task.id)
        found = self._graded(current, asked)
        if found is None:
            return
        place = asked.place
        with self._lock:
            if current.number != self._number:
                return
            function = function_of(task, found)
            graded = with_cause(found, function, set(self._wrong.values()), current.who)
            self._wrong.pop(place, None)
            if function is not None and graded.verdict.outcome in WRONG:
                self._wrong[place] = function
            before = self._known.get(place) or self._before.pop(place, None)
            self._known[place] = graded
            cause = _cause(graded, current.broken)
            same = current.broken.setdefault(cause, [])
            if graded.verdict.outcome in terminal.BROKEN:
                same.append((task, graded))
            if quiet or not _differs(before, graded) or len(same) > 1:
                return
            if before is not None and graded.verdict.outcome in _NO_ANSWER and graded.earned >= before.earned:
                current.empty[task.id] = current.empty.get(task.id, 0) + 1
            elif same:
                current.news.add(cause)
                self._show_break(graded)
            else:
                self._show(current, task, before, graded)

    def _graded(self, current: _Round, asked: _Asked) -> Graded | None:
        """An item, graded; None where it is not waited for yet."""
        name = ""
        if asked.called not in self._slow or not current.patience.first_look:
            try:
                return asked.grading.graded(asked.item.id)
            except NotYetError as error:
                name = str(error)
        with self._lock:
            if current.number == self._number:
                current.late.append(asked)
                self._slow |= {asked.called} - {_NOT_CALLED}
                if name:
                    self._status.waits(asked.grading.task.id, name)
        return None

    def _rest(self, current: _Round, searches: list[_Asked], same: list[_Asked]) -> None:
        """What takes long, and then what did not change, in a thread of its own, for which no save waits."""
        current.patience.first_look = 0
        with current.store:
            for some in ([*searches, *current.late], same):
                total = self._total(current)
                for asked in some:
                    # The servers end with the session, whatever still waits for them.
                    with contextlib.suppress(Exception):
                        self._judge(current, asked, quiet=False)
                with self._lock:
                    if current.number == self._number and (
                        self._total(current) != total or (some and some is not same)
                    ):
                        self._tell_of_repeats(current)
                        self._sum_up(current, [])
            with self._lock:
                if current.number == self._number:
                    self._status.rests()

    def _show_break(self, graded: Graded) -> None:
        """Why something broke: the checks that depend on it are named later."""
        page = Page(self._console)
        page.line(terminal.mark(page, graded))
        page.paragraph(summary.full_reason(graded.verdict), indent=terminal.BODY)
        if helps := summary.hint(graded.verdict):
            page.paragraph(helps, indent=terminal.BODY, label="hint: ")

    def _show(self, current: _Round, task: Task, before: Graded | None, graded: Graded) -> None:
        """A check whose verdict changed, and what it was, if it was known."""
        page = Page(self._console)
        gained = graded.earned - (before.earned if before is not None else 0)
        was, now = before.verdict.outcome if before is not None else "", graded.verdict.outcome
        change = f"still {now}" if was == now else f"{was} -> {now}".removeprefix(" -> ")
        change += f", {float(gained):+g} points" if gained else ""
        style = "green" if gained > 0 else "red" if gained < 0 else ""
        page.line((f"{task.id}  ", "bold"), (change, style))
        report = Report(submissions=(SubmissionReport(name="", tasks=(_report_of(task, [graded]),)),))
        for check in student_view.for_student(report).submissions[0].tasks[0].checks:
            hint = check.verdict.hint
            if hint and hint in current.said:
                check = replace(check, verdict=replace(check.verdict, hint=_AS_ABOVE))  # noqa: PLW2901
            current.said |= {hint}
            terminal.check_lines(page, check, staff=False, said=current.said)

    def _total(self, current: _Round) -> str:
        return f"{terminal.spread(points.final_totals(self._report(current).submissions[0]))} points"

    def _report(self, current: _Round) -> Report:
        tasks = [
            _report_of(task, [self._known[place] for place in self._known if place[:2] == (task.lab, task.id)])
            for task in self._tasks
        ]
        return Report(submissions=(SubmissionReport(name=current.who.name, tasks=tuple(tasks)),))


def _report_of(task: Task, checks: list[Graded]) -> TaskReport:
    found = TaskReport(lab=task.lab, id=task.id, title=task.title, points=task.points, checks=tuple(checks))
    return replace(found, not_shown=task.hidden_points)


def _state(file: Path) -> tuple[int, ...]:
    """What tells whether a file was written since."""
    with contextlib.suppress(OSError):
        found = file.stat()
        return found.st_size, found.st_mtime_ns, found.st_ino
    return ()


def _cause(graded: Graded, known: Collection[str]) -> str:
    """The reason for which a check broke: one that another check broke for, if it is behind this one's, too."""
    own = graded.verdict.reason
    if graded.verdict.outcome not in _SEARCHED:
        return own
    return next((each for each in known if each and each.partition("\n")[0] in own), own)


def _differs(before: Graded | None, now: Graded) -> bool:
    """Whether there is something new to say: another outcome, other points, or another reason."""
    if before is None:
        return now.verdict.outcome not in {Outcome.CORRECT, *_NO_ANSWER}
    same = (before.verdict.outcome, before.earned, before.verdict.reason)
    return same != (now.verdict.outcome, now.earned, now.verdict.reason) and not (
        before.verdict.outcome is now.verdict.outcome is Outcome.CORRECT
    )
