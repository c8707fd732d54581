"""Grades submissions on a machine of a cluster: a process of its own, begun by `remote`, which asks by stdin.

A Dask worker runs several things in threads of one process; grading starts servers, changes limits and waits for
children. So it has a process, which ends when its asker does, and with it all code of students.
"""

from __future__ import annotations

import os
import queue
import tempfile
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Self

from labgrade import __version__
from labgrade.cluster.parcels import CourseParcel, SessionIntroduction, SessionRefusal, SessionVerdicts
from labgrade.core.errors import LabgradeError, UsageError
from labgrade.files import downloaded_weights
from labgrade.judging.items import items
from labgrade.ledger.depends import VerdictParts
from labgrade.ledger.verdict_memory import filled_in, judged_with_marks
from labgrade.review.apply import credits_of
from labgrade.run.grader import Grader
from labgrade.run.task import TaskGrading
from labgrade.sandbox.time_limits import Patience

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from labgrade.cluster.parcels import Proof, SubmissionParcel
    from labgrade.core.results import Graded
    from labgrade.core.task import Task
    from labgrade.judging.items import Item
    from labgrade.ledger.verdict_memory import MarkedVerdict

# Compilers are told apart by where they lie and since when, which differs between machines that have the same.
_OF_A_MACHINE = {"tools"}
_NAMED = {"libraries", "labgrade", "weights", "packages"}


def introduction(known: VerdictParts, tasks: Iterable[Task]) -> SessionIntroduction:
    """What this machine has, to be compared with another's."""
    parts: Proof = {}
    contents: dict[str, dict[str, str]] = {}
    for task in tasks:
        for item in items(task):
            found = {name: own for name, own in known.of(task, item).items() if name not in _OF_A_MACHINE}
            parts[f"{task.lab}/{task.id}/{item.id}"] = found
            contents |= {f"{name} {own}": known.contents[own] for name, own in found.items() if name in _NAMED}
    return SessionIntroduction(version=__version__, parts=parts, contents=contents)


class CourseSession:
    """A course on this machine, and the servers that run students' code. Use as a context manager."""

    def __init__(self, parcel: CourseParcel, folder: Path) -> None:
        self._folder = folder
        course = parcel.unpacked(folder / "course")
        self._tasks = parcel.tasks(course)
        weights = downloaded_weights.find(None)
        self._grader = Grader(course, torch_home=weights, secret=(folder,))
        self._grader.oracle.take_in(parcel.values)
        self.introduction = introduction(VerdictParts(course, weights), self._tasks)
        self._unsafe = parcel.unsafe

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._grader.stop()

    def protection(self) -> tuple[str, ...]:
        """What protects this machine from students' code: the first lines of a report.

        Raises:
            UsageError: nothing does, and nobody said that it need not.
        """
        return self._grader.protected_by(unsafe=self._unsafe)

    def verdicts(self, parcel: SubmissionParcel) -> SessionVerdicts | SessionRefusal:
        """Judge what is to be judged of a submission."""
        if parcel.proof != self.introduction.proof:
            return SessionRefusal(why="it has another labgrade, course or libraries", unfit=True)
        try:
            with tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as store:
                return self._graded(parcel, Path(store) / "0")
        except (LabgradeError, OSError) as error:  # this machine's disk or sandbox: no fault of the submission's
            return SessionRefusal(why=str(error))
        finally:
            self._grader.forget()

    def _graded(self, parcel: SubmissionParcel, store: Path) -> SessionVerdicts:
        who = parcel.unpacked(store)
        patience = Patience(seconds=parcel.seconds)
        self._grader.runner.patience = patience
        found: dict[tuple[str, str, str], MarkedVerdict] = {}
        for task in self._tasks:
            book = _CollectingBook(task, parcel, found)
            decided = credits_of(parcel.decisions, who.name, task.lab, task.id)
            patience.task(task.id)
            TaskGrading(self._grader, task, who, book, decided=decided).report()
        return SessionVerdicts(verdicts=found, cut=patience.cut)


class _CollectingBook:
    """What a task asks before it judges: what the grader's ledger has. The rest is collected for it."""

    def __init__(self, task: Task, parcel: SubmissionParcel, found: dict[tuple[str, str, str], MarkedVerdict]) -> None:
        self._task, self._parcel, self._found = task, parcel, found

    def graded(self, item: Item, grade: Callable[[Item], Graded]) -> Graded:
        """What is known of an item, else what `grade` comes to."""
        place = (self._task.lab, self._task.id, item.id)
        known = self._parcel.known.get(place)
        if known is None:
            known = self._found[place] = judged_with_marks(item, grade)
        return filled_in(item, known)

    def enter(self, item: Item, graded: Graded, place: int) -> None:
        """Nothing: the ledger is the grader's alone."""


def _requests() -> Iterator[object]:
    """What comes by stdin. When its other end is gone, so are we, at whatever point."""
    line = Connection(os.dup(0), writable=False)
    waiting: queue.Queue[object] = queue.Queue()

    def listen() -> None:
        try:
            while True:
                waiting.put(line.recv())
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield waiting.get()


def main() -> None:
    """Answer each parcel: a course first, with an introduction; then submissions, with their verdicts."""
    answers = Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # what is printed is no answer
    asked = _requests()
    course = next(asked)
    if not isinstance(course, CourseParcel):
        message = "a session begins with a course"
        raise TypeError(message)
    with tempfile.TemporaryDirectory(prefix="labgrade-session-", ignore_cleanup_errors=True) as folder:
        os.environ["LABGRADE_CACHE"] = str(Path(folder) / "cache")
        with CourseSession(course, Path(folder)) as session:
            answers.send(_introduced(session))
            for parcel in asked:
                answers.send(session.verdicts(parcel))  # type: ignore[arg-type]


def _introduced(session: CourseSession) -> SessionIntroduction:
    own = session.introduction
    try:
        protection, refused = session.protection(), ""
    except UsageError as error:
        protection, refused = (), str(error)
    return SessionIntroduction(
        version=own.version, parts=own.parts, contents=own.contents, protection=protection, refused=refused
    )


if __name__ == "__main__":
    main()
