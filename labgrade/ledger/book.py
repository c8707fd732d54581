"""What is remembered of one submission while it is graded, and how its checks come to stand in the ledger."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labgrade import graded_plain, wording
from labgrade.ledger import parts, rows, why
from labgrade.ledger.rows import Judged, Standing
from labgrade.ledger.store import dump, load
from labgrade.verdict import PENDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from labgrade.items import Item
    from labgrade.ledger.rows import Place
    from labgrade.ledger.store import Ledger
    from labgrade.model import Task
    from labgrade.results import Graded, Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """A check that has come to stand in the ledger. `ran`: it was judged now, and not remembered."""

    who: str
    place: Place
    outcome: str
    seconds: float
    ran: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a run keeps its books.

    `again`: a TIMEOUT or a lack of memory that was met once is tried once more. `lower`: published results may fall.
    `before`: called when something is about to be judged. `after`: told of each check.
    """

    run: int
    again: bool = False
    lower: bool = False
    before: Callable[[], None] = lambda: None
    after: Callable[[Entered], None] = lambda _: None


class SubmissionBook:
    """The book of one submission: gives one for each of its tasks.

    Raises:
        LedgerError: from it and its tasks' books, where the ledger can't be read or written.
    """

    def __init__(self, ledger: Ledger, known: parts.Parts, submission: Submission, rules: Rules) -> None:
        self.ledger, self.known, self.rules = ledger, known, rules
        self.who = submission.name
        self._submission = submission
        self.files = known.keep(parts.handed_in(submission))
        self._imports = ""
        self.standing = rows.standing(ledger, self.who)
        self.held = set(ledger.rows("SELECT lab, task, item FROM held WHERE who = ?", self.who))
        released = ledger.rows("SELECT earned FROM released WHERE who = ?", self.who)
        self.released: dict[str, str] = load(ledger, released[0][0]) if released else {}
        self._enter_submission()

    def task(self, task: Task) -> TaskBook:
        """The book of one task."""
        return TaskBook(self, task)

    def parts(self, task: Task, item: Item) -> dict[str, str]:
        """All that an item's verdict depends on."""
        found = {"submission": self.files, **self.known.of(task, item)}
        if parts.runs(task, item):
            self._imports = self._imports or self.known.keep(parts.imports(self._submission))
            found["imports"] = self._imports
        return found

    def finish(self, stays: Callable[[Place], bool]) -> None:
        """Take out what the course does not ask for any more."""
        gone = [place for place in self.standing if not stays(place)]
        if not gone:
            return
        with self.ledger.transaction():
            for place in gone:
                said = "the spec asks for it no more"
                rows.remember(self.ledger, self.who, place, self.standing[place], None, said, self.rules.run)
                rows.forget(self.ledger, self.who, place)

    def _enter_submission(self) -> None:
        remarks = dump(self._submission.refused)
        if self.ledger.rows(
            "SELECT 1 FROM submission WHERE who = ? AND files = ? AND remarks = ?", self.who, self.files, remarks
        ):
            return
        with self.ledger.transaction():
            content = dump(self.known.contents[self.files])
            self.ledger.write("INSERT OR IGNORE INTO part VALUES (?, ?)", self.files, content)
            self.ledger.write(
                "INSERT OR REPLACE INTO submission VALUES (?, ?, ?, ?)", self.who, self.files, remarks, self.rules.run
            )


class TaskBook:
    """What `task_grading.TaskGrading` asks before it judges, and tells what a check came to."""

    def __init__(self, book: SubmissionBook, task: Task) -> None:
        self._book, self._task = book, task
        self._judged: dict[str, Judged] = {}
        self._places = 0

    def graded(self, item: Item, grade: Callable[[Item], Graded]) -> Graded:
        """What is remembered under all that the item depends on, else what `grade` comes to."""
        digests = self._book.parts(self._task, item)
        key = parts.key_of(digests)
        judged = rows.recall(self._book.ledger, key)
        if judged is None or (self._book.rules.again and judged.outcome in rows.UNSTEADY and judged.tries == 1):
            self._book.rules.before()
            mark = wording.nonce()
            graded = grade(replace(item, check=wording.silent(item.check, mark)))
            plain = graded_plain.plain(graded)
            tries = 1 if judged is None else judged.tries + 1
            judged = Judged(key=key, parts=digests, mark=mark, plain=plain, tries=tries)
        self._judged[item.id] = judged
        return graded_plain.from_plain(wording.spoken(judged.plain, item.check, judged.mark))

    def enter(self, item: Item, graded: Graded, place: int) -> None:
        """Bring an item to stand in the ledger, in one transaction; a published result does not fall unasked."""
        book, judged = self._book, self._judged.get(item.id)
        where = (self._task.lab, self._task.id, item.id)
        before = book.standing.get(where)
        plain = load(book.ledger, dump(graded_plain.plain(graded)))
        after = Standing(
            place=place,
            title=self._task.title,
            points=str(self._task.points),
            judged=judged.id if judged is not None else None,
            at=rows.now(),
            plain=plain,
        )
        fresh = judged is not None and not judged.id
        news = before is None or replace(before, at="") != replace(after, at="")
        if fresh or news or where in book.held:
            with book.ledger.transaction():
                if judged is not None and fresh:
                    number = rows.keep(book.ledger, judged, book.known.contents, book.rules.run)
                    after = replace(after, judged=number)
                self._stand(item, where, before, after)
        book.rules.after(
            Entered(who=book.who, place=where, outcome=str(graded.verdict.outcome), seconds=graded.seconds, ran=fresh)
        )

    def _stand(self, item: Item, where: Place, before: Standing | None, after: Standing) -> None:
        book = self._book
        reason = self._why(item, before, after) if before is not None else ""
        published = book.released.get("/".join(where))
        if published is not None and not book.rules.lower and _worth(after.plain) < Fraction(published):
            rows.hold(book.ledger, book.who, where, after.plain, reason, book.rules.run)
            return
        rows.let_go(book.ledger, book.who, where)
        if before is not None and not why.same(before.plain, after.plain):
            rows.remember(book.ledger, book.who, where, before, after.plain, reason, book.rules.run)
        rows.stand(book.ledger, book.who, where, after, book.rules.run)

    def _why(self, item: Item, before: Standing, after: Standing) -> str:
        ledger = self._book.ledger
        if before.judged == after.judged or not before.judged or not after.judged:
            return why.of_plain(before.plain, after.plain)
        changed = why.words(rows.parts_of(ledger, before.judged), rows.parts_of(ledger, after.judged), item)
        return changed or why.of_plain(before.plain, after.plain)


def _worth(plain: Any) -> Fraction:
    """What a check earns; one that waits is worth nothing to whoever saw it earn something."""
    pending = Outcome(plain["verdict"]["outcome"]) in PENDING
    return Fraction(0) if pending else Fraction(plain["earned"])
