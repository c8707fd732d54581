"""What is remembered of one submission while it is graded, and how its checks come to stand in the ledger."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from labgrade.core import serialise
from labgrade.core.by_identity import ByIdentity
from labgrade.judging.graded_items import fill_in, with_placeholders
from labgrade.judging.items import items
from labgrade.ledger import depends, rows, why_changed
from labgrade.ledger.database import dump, load
from labgrade.ledger.rows import CheckRow, KeptVerdict
from labgrade.verdict import PENDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from labgrade.core.results import Graded, Submission
    from labgrade.core.task import Task
    from labgrade.judging.items import Item
    from labgrade.ledger.database import Ledger
    from labgrade.ledger.memory import VerdictMemory
    from labgrade.ledger.rows import Place


class MarkedVerdict(NamedTuple):
    """Plain data of what judging came to, with a sign in place of each sentence of the spec's."""

    mark: str
    plain: Any


_CHECKS = 512  # of the specs of a course that are graded at once
_with_placeholders = ByIdentity(with_placeholders, _CHECKS)  # one mark serves a class: nobody is shown it


def judged_with_marks(item: Item, grade: Callable[[Item], Graded]) -> MarkedVerdict:
    """Judge an item with marks for the spec's sentences, so that rewording the spec needs no new judgement."""
    check, mark = _with_placeholders(item.check)
    return MarkedVerdict(mark, serialise.plain(grade(replace(item, check=check))))


def filled_in(item: Item, judged: MarkedVerdict) -> Graded:
    """Fill the sentences of today's spec into a verdict."""
    found: Graded = serialise.from_plain(fill_in(judged.plain, item.check, judged.mark))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A check with a row in the ledger. `ran`: judged now; `remembered`: judged in an earlier run.

    `graded` is all of it, and is not sent to other processes.
    """

    who: str
    place: Place
    ran: bool
    outcome: Outcome
    seconds: float
    remembered: bool = False
    graded: Graded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a run keeps its books.

    `again`: what is unsteady and was met once is tried once more. `lower`: published results may fall.
    `specs`: the tasks that the course has, (lab, task), None where that is not known. `before`: called with the
    submission and the check when it is about to be judged. `after`: called with each check. `at_fault`: called before a
    fault of labgrade's is entered, and raises where the run itself has ended, of which such a fault may come.
    `elsewhere`: what another machine came to, where nothing is judged here. `memory`: what is remembered beside the
    ledger. `fresh`: everything is judged anew.
    """

    run: int
    again: bool = False
    lower: bool = False
    specs: frozenset[tuple[str, str]] | None = None
    before: Callable[[str, Place], None] = lambda _who, _place: None
    after: Callable[[Recorded], None] = lambda _: None
    at_fault: Callable[[], object] = lambda: None
    elsewhere: Callable[[str, Place], MarkedVerdict] | None = None
    memory: VerdictMemory | None = None
    fresh: bool = False

    def holds(self, judged: KeptVerdict | None) -> bool:
        """Return whether a remembered verdict need not be judged again."""
        return judged is not None and not (self.again and judged.unsteady)

    def recall(self, ledger: Ledger, keys: Mapping[str, str]) -> dict[str, KeptVerdict]:
        """What is known under each of some keys: by the ledger, else by the memory, which has keys of its own."""
        if self.fresh:
            return {}
        found = rows.recall(ledger, [*keys])
        lacking = {own: key for key, own in keys.items() if key not in found}
        if self.memory is not None and lacking:
            for own, (mark, plain) in self.memory.recall([*lacking]).items():
                found[lacking[own]] = KeptVerdict(key=lacking[own], parts={}, mark=mark, plain=plain, remembered=True)
        return found


class SubmissionKeys:
    """The keys of a submission's verdicts: in a ledger, and in the memory that outlasts it."""

    def __init__(self, known: depends.VerdictParts, submission: Submission) -> None:
        self.known, self._submission = known, submission
        self.files = known.keep(depends.handed_in(submission))
        self._imports = ""
        self._digests: dict[Place, tuple[str, dict[str, str]]] = {}

    def parts(self, task: Task, item: Item) -> tuple[str, dict[str, str]]:
        """Return a verdict's key, and all that the verdict depends on."""
        place = (task.lab, task.id, item.id)
        if place not in self._digests:
            found = {"submission": self.files, **self.known.of(task, item)}
            if depends.runs_student_code(task, item):
                self._imports = self._imports or self.known.keep(depends.imports(self._submission))
                found["imports"] = self._imports
            self._digests[place] = depends.key_of(found), found
        return self._digests[place]

    def lasting(self, task: Task) -> dict[str, str]:
        """Return each item's key in the memory, by its key in the ledger."""
        return {key: self.known.lasting(task, key) for key, _ in (self.parts(task, item) for item in items(task))}


class MemoryBook:
    """The book of one task without a ledger: it asks the memory and writes no rows."""

    def __init__(self, memory: VerdictMemory, keys: SubmissionKeys, task: Task) -> None:
        self._memory, self._task, self._of = memory, task, keys
        self._keys = keys.lasting(task)
        self._found = memory.recall([*self._keys.values()])

    def graded(self, item: Item, grade: Callable[[Item], Graded]) -> Graded:
        """Return the remembered verdict of an item, or else what `grade` returns."""
        key = self._keys[self._of.parts(self._task, item)[0]]
        known = self._found.get(key)
        found = judged_with_marks(item, grade) if known is None else MarkedVerdict(*known)
        if known is None:
            self._memory.keep(key, *found)
        return filled_in(item, found)

    def enter(self, item: Item, graded: Graded, place: int) -> None:
        """Enter nothing: there is no ledger."""


class SubmissionBook:
    """The book of one submission, which opens a book for each task.

    Raises:
        LedgerError: from it and its tasks' books, where the ledger can't be read or written.
    """

    def __init__(self, ledger: Ledger, known: depends.VerdictParts, submission: Submission, rules: Rules) -> None:
        self.ledger, self.known, self.rules = ledger, known, rules
        self.who = submission.name
        self._submission = submission
        self._keys = SubmissionKeys(known, submission)
        self.files, self.parts, self.lasting = self._keys.files, self._keys.parts, self._keys.lasting
        self.recalled: dict[str, KeptVerdict] = {}
        self.standing = rows.standing(ledger, self.who)
        self.held = set(ledger.rows("SELECT lab, task, item FROM held WHERE who = ?", self.who))
        self.published = rows.published(ledger, self.who)
        self._enter_submission()
        if rules.specs is not None:
            self._take_out(place for place in self.standing if place[:2] not in rules.specs)

    def task(self, task: Task) -> TaskBook:
        """Open the book of a task, after deleting checks that its spec no longer has."""
        known = {item.id for item in items(task)}
        own = (place for place in self.standing if place[:2] == (task.lab, task.id))
        self._take_out(place for place in own if place[2] not in known)
        return TaskBook(self, task)

    def remembered(self, task: Task) -> dict[str, MarkedVerdict | None]:
        """Return each item's remembered verdict; None if it has to be judged again."""
        keys = {item.id: self.parts(task, item)[0] for item in items(task)}
        known = self.rules.recall(self.ledger, self.lasting(task))
        held = {key: MarkedVerdict(each.mark, each.plain) for key, each in known.items() if self.rules.holds(each)}
        return {name: held.get(key) for name, key in keys.items()}

    def _take_out(self, places: Iterable[Place]) -> None:
        gone = list(places)
        if not gone:
            return
        with self.ledger.transaction():
            for place in gone:
                said = "the spec asks for it no more"
                rows.add_history(self.ledger, self.who, place, self.standing[place], None, said, self.rules.run)
                rows.delete_check(self.ledger, self.who, place)
        for place in gone:
            del self.standing[place]

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
    """Answers `task.TaskGrading` before it judges, and records what a check came to."""

    def __init__(self, book: SubmissionBook, task: Task) -> None:
        self._book, self._task = book, task
        self._judged: dict[str, KeptVerdict] = {}
        self._asked = False
        self._keys: dict[str, str] = {}

    def graded(self, item: Item, grade: Callable[[Item], Graded]) -> Graded:
        """Return the remembered verdict of an item, or else what `grade` returns."""
        key, digests = self._book.parts(self._task, item)
        if not self._asked:
            self._keys = self._book.lasting(self._task)
            self._book.recalled |= self._book.rules.recall(self._book.ledger, self._keys)
            self._asked = True
        judged = self._book.recalled.get(key)
        if judged is not None and judged.remembered:
            judged = replace(judged, parts=digests)
        if judged is None or not self._book.rules.holds(judged):
            mark, plain = self._anew(item, grade)
            tries = 1 if judged is None else judged.tries + 1
            judged = KeptVerdict(key=key, parts=digests, mark=mark, plain=plain, tries=tries)
            if judged.outcome == Outcome.FAULT:
                self._book.rules.at_fault()
            if self._book.rules.memory is not None:
                self._book.rules.memory.keep(self._keys[key], mark, plain)
        self._judged[item.id] = judged
        return filled_in(item, MarkedVerdict(judged.mark, judged.plain))

    def _anew(self, item: Item, grade: Callable[[Item], Graded]) -> MarkedVerdict:
        rules, who, place = self._book.rules, self._book.who, (self._task.lab, self._task.id, item.id)
        if rules.elsewhere is not None:
            return rules.elsewhere(who, place)
        rules.before(who, place)
        return judged_with_marks(item, grade)

    def enter(self, item: Item, graded: Graded, place: int) -> None:
        """Record an item's verdict in the ledger, in one transaction; a published result does not fall unasked."""
        book, judged = self._book, self._judged.get(item.id)
        where = (self._task.lab, self._task.id, item.id)
        before = book.standing.get(where)
        plain = serialise.plain(graded)
        text = dump(plain)
        after = CheckRow(
            place=place,
            title=self._task.title,
            points=str(self._task.points),
            judged=judged.id if judged is not None else None,
            at=rows.now(),
            plain=plain if before is None else load(book.ledger, text),  # as what it is compared with
        )
        fresh = judged is not None and not judged.id
        news = before is None or replace(before, at="") != replace(after, at="")
        if fresh or news or where in book.held:
            with book.ledger.transaction():
                if judged is not None and fresh:
                    number = rows.keep(book.ledger, judged, book.known.contents, book.rules.run)
                    after = replace(after, judged=number)
                self._stand(item, where, before, after, text)
            if judged is not None and fresh and judged.outcome != Outcome.FAULT:  # another check may ask for the same
                book.recalled[judged.key] = replace(judged, id=after.judged or 0, remembered=False)
        outcome, seconds = graded.verdict.outcome, graded.seconds
        ran = judged is not None and fresh and not judged.remembered
        known = judged is not None and not ran
        told = Recorded(who=book.who, place=where, ran=ran, outcome=outcome, seconds=seconds, remembered=known)
        book.rules.after(replace(told, graded=graded))

    def _stand(self, item: Item, where: Place, before: CheckRow | None, after: CheckRow, text: str) -> None:
        book = self._book
        reason = self._why(item, before, after) if before is not None else ""
        published = book.published.get("/".join(where))
        if published is not None and not book.rules.lower and _worth(after.plain) < published.earned:
            rows.hold(book.ledger, book.who, where, after.plain, reason, book.rules.run)
            book.held.add(where)
            if before is None:  # the verdicts were rebuilt: what was published stands again
                rows.write_standing(book.ledger, book.who, where, published.standing or after, book.rules.run)
            return
        if where in book.held:
            rows.drop_held(book.ledger, book.who, where)
        if before is not None and not why_changed.says_the_same(before.plain, after.plain):
            rows.add_history(book.ledger, book.who, where, before, after.plain, reason, book.rules.run)
        rows.write_standing(book.ledger, book.who, where, after, book.rules.run, text)

    def _why(self, item: Item, before: CheckRow, after: CheckRow) -> str:
        ledger = self._book.ledger
        if before.judged == after.judged or not before.judged or not after.judged:
            return why_changed.changed_wording(before.plain, after.plain)
        old, new = rows.parts_of(ledger, before.judged), rows.parts_of(ledger, after.judged)
        changed = self._redrawn(old.get("spec", {}), item) or why_changed.difference(old, new, item)
        return changed or why_changed.changed_wording(before.plain, after.plain)

    def _redrawn(self, old: Mapping[str, Any], item: Item) -> str:
        """Say that the student's variant changed, where that is the spec's change."""
        for other in self._task.variants:
            same = next((each for each in items(other) if each.id == item.id), None)
            if same is not None and other.variant != self._task.variant and depends.spec_of_item(other, same) == old:
                return (
                    f"another variant is drawn ({other.variant} before, {self._task.variant} now): 'course.key', or "
                    "who this is in the roster, changed"
                )
        return ""


def _worth(plain: Any) -> Fraction:
    """Return what a check earns; a waiting check counts as nothing."""
    pending = Outcome(plain["verdict"]["outcome"]) in PENDING
    return Fraction(0) if pending else Fraction(plain["earned"])
