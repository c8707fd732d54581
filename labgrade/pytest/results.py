"""`pytest --results DIR`: a grading run that reads and writes the ledger of a results folder, under xdist too."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from labgrade.ledger import database, rows
from labgrade.ledger.book import Rules, SubmissionBook
from labgrade.ledger.database import Ledger, LedgerError
from labgrade.ledger.depends import Parts
from labgrade.review import decisions
from labgrade.review.apply import credits_of
from labgrade.run.class_run import Asked
from labgrade.run.task import TaskGrading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from labgrade.core.results import Graded, Submission
    from labgrade.core.task import Task
    from labgrade.judging.graded import Book
    from labgrade.judging.items import Item
    from labgrade.run.grader import Grader
    from labgrade.spec.course import Course

_RUN = "labgrade_run"


def secret(config: pytest.Config) -> tuple[Path, ...]:
    """The results folder, which no student's code may see."""
    given = config.getoption("results")
    return (config.invocation_params.dir / Path(given).expanduser(),) if given else ()


def of(config: pytest.Config, course: Course, weights: Path | None) -> Results | None:
    """The results folder that was asked for, ours alone from now on; None where none was.

    Raises:
        UsageError: another run is at work in it, or its ledger can't be used.
    """
    if not secret(config):
        return None
    (folder,) = secret(config)
    told = getattr(config, "workerinput", {}).get(_RUN)
    if told is None:
        source = config.invocation_params.dir / Path(
            config.getoption("submissions_dir") or config.rootpath / "submissions"
        )
        database.refuse_within(folder, source)
        stack = contextlib.ExitStack()
        config.add_cleanup(stack.close)
        stack.enter_context(database.held(folder))
        told = _begin(config, folder, course, source, weights)
    known = Parts(course, weights)
    return Results(folder, known, told)


def _begin(config: pytest.Config, folder: Path, course: Course, source: Path, weights: Path | None) -> int:
    names = config.getoption("submission")
    asked = Asked(
        source=source,
        results=folder,
        root=course.root,
        names=() if "all" in names else tuple(names),
        torch_home=weights,
    )
    with Ledger(folder, write=True) as ledger:
        return rows.begin(ledger, asked.plain())


class Results:
    """The ledger of a pytest run. `run` is the run's number, which xdist's workers are told."""

    def __init__(self, folder: Path, known: Parts, run: int) -> None:
        self._folder, self._known, self.run = folder, known, run
        self._ledger: Ledger | None = None
        self._books: dict[str, SubmissionBook] = {}
        self._decisions = decisions.read(folder)

    def tell(self, workerinput: dict[str, Any]) -> None:
        """Tell an xdist worker which run it belongs to."""
        workerinput[_RUN] = self.run

    def book(self, task: Task, who: Submission) -> Book:
        """The book of one task of one submission, opened when it is first asked."""
        return _Opened(lambda: self._of(who).task(task))

    def grading(self, grader: Grader, task: Task, who: Submission) -> TaskGrading:
        """One task of one submission by its book. What needs a check goes by what people had decided about it."""
        decided = credits_of(self._decisions, who.name, task.lab, task.id)
        return TaskGrading(grader, task, who, self.book(task, who), decided=decided)

    def end(self, notes: tuple[str, ...]) -> None:
        """The run came to its end.

        Raises:
            LedgerError: that can't be written.
        """
        with Ledger(self._folder, write=True) as ledger:
            rows.end(ledger, self.run, notes)

    def close(self) -> None:
        """Let go of the ledger."""
        if self._ledger is not None:
            self._ledger.close()

    def _of(self, who: Submission) -> SubmissionBook:
        if self._ledger is None:
            self._ledger = Ledger(self._folder, write=True)
        if who.name not in self._books:
            self._books[who.name] = SubmissionBook(self._ledger, self._known, who, Rules(run=self.run))
        return self._books[who.name]


class _Opened:
    """A book that is opened by its first reader. Where the ledger fails, the run ends: what is kept is kept."""

    def __init__(self, opened: Callable[[], Book]) -> None:
        self._open = opened
        self._book: Book | None = None

    def graded(self, item: Item, grade: Callable[[Item], Graded]) -> Graded:
        """As the book has it."""
        with _ending():
            self._book = self._book or self._open()
            return self._book.graded(item, grade)

    def enter(self, item: Item, graded: Graded, place: int) -> None:
        """Into the book."""
        with _ending():
            self._book = self._book or self._open()
            self._book.enter(item, graded, place)


@contextlib.contextmanager
def _ending() -> Iterator[None]:
    try:
        yield
    except LedgerError as error:
        pytest.exit(f"labgrade: {error}", returncode=pytest.ExitCode.USAGE_ERROR)
