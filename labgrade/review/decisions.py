"""A person's decision about one check of one submission: added, looked up, taken back. Nothing is ever lost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

from labgrade.core.errors import UsageError
from labgrade.core.text import encodable
from labgrade.ledger import database
from labgrade.ledger.database import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Kind: TypeAlias = Literal["mark", "override", "undo"]
_COLUMNS = 'number, kind, submission, lab, task, "check", basis, worth, credit, lines, reason, by, at, machine, undoes'


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """What a decision is about: one check (or one case of it) of one submission."""

    submission: str
    lab: str
    task: str
    check: str

    def __str__(self) -> str:
        return f"{self.submission} {self.task} {self.check}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricLine:
    """The points given for one line of a rubric."""

    what: str
    worth: Fraction
    points: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A decision as it is kept. `number` orders them, whatever the clock says; 0 until it is kept.

    `basis` is the digest of what it is about (`Graded.basis`), `worth` the points of the check then, `machine` what
    labgrade had said (outcome and credit). An `undo` takes back the decision with the number `undoes`.
    """

    place: Place
    kind: Kind
    basis: str
    worth: Fraction
    credit: Fraction
    reason: str
    by: str
    machine: str
    lines: tuple[RubricLine, ...] = ()
    at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    number: int = 0
    undoes: int | None = None


class Decisions:
    """All decisions of a folder of results, as they stood when they were read."""

    def __init__(self, rulings: Iterable[Ruling] = ()) -> None:
        self._histories: dict[Place, list[Ruling]] = {}
        for ruling in rulings:
            self._histories.setdefault(ruling.place, []).append(ruling)
        self._submissions = {place.submission for place in self._histories}

    @property
    def places(self) -> tuple[Place, ...]:
        """Return every check that was ever decided about, even if that was taken back."""
        return tuple(sorted(self._histories))

    def anything_about(self, submission: str) -> bool:
        """Return whether any of a submission's checks was ever decided about."""
        return submission in self._submissions

    def history(self, place: Place) -> tuple[Ruling, ...]:
        """Every row about a check, oldest first."""
        return tuple(self._histories.get(place, ()))

    def in_force(self, place: Place) -> Ruling | None:
        """Return the decision in force: the last that was not taken back."""
        return _in_force(self._histories.get(place, ()))

    def with_rows(self, rulings: Iterable[Ruling]) -> Decisions:
        """Return these decisions with later rows added."""
        return Decisions((*(row for rows in self._histories.values() for row in rows), *rulings))

    def last(self, place: Place) -> int:
        """Return the number of the last row about a check, or 0."""
        return max((ruling.number for ruling in self._histories.get(place, ())), default=0)


def _in_force(history: Iterable[Ruling]) -> Ruling | None:
    rows = tuple(history)
    undone = {ruling.undoes for ruling in rows}
    return next((each for each in reversed(rows) if each.kind != "undo" and each.number not in undone), None)


def read(results: Path) -> Decisions:
    """All decisions of a folder of results.

    Raises:
        UsageError: they can't be read.
    """
    if not database.exists(results):
        return Decisions()
    with Ledger(results) as ledger:
        return Decisions(_rows(ledger, ""))


def since(results: Path, number: int) -> tuple[Ruling, ...]:
    """Return the rows added after a number, oldest first.

    Raises:
        UsageError: they can't be read.
    """
    with Ledger(results) as ledger:
        return tuple(_rows(ledger, "WHERE number > ?", (number,)))


def add(results: Path, rulings: Iterable[tuple[Ruling, int]]) -> None:
    """Keep decisions, all or none. Each comes with the number of the last row about its check that its maker saw.

    Raises:
        UsageError: somebody decided about one of the checks meanwhile, or nothing could be written; nothing was kept.
    """
    with database.decision_transaction(results) as ledger:
        for ruling, seen in rulings:
            since = [each for each in _history(ledger, ruling.place) if each.number > seen]
            if since:
                message = (
                    f"'{ruling.place}' was decided meanwhile: {in_words(since[-1])}; nothing was saved: look at it, "
                    "then decide again"
                )
                raise UsageError(message)
            _insert(ledger, ruling)


def undo(results: Path, place: Place, *, by: str, reason: str) -> tuple[Ruling, Ruling | None]:
    """Take back the decision in force by a further row; return it and the decision that holds instead.

    Raises:
        UsageError: there is none, or nothing could be written.
    """
    with database.decision_transaction(results) as ledger:
        history = _history(ledger, place)
        found = _in_force(history)
        if found is None:
            message = f"nobody decided anything about '{place}', so there is nothing to take back"
            raise UsageError(message)
        row = _undoing(found, by, reason)
        _insert(ledger, row)
        return found, _in_force((*history, row))


def take_back(results: Path, rulings: Iterable[Ruling], *, by: str, reason: str) -> None:
    """Take back these decisions, all or none: each has to be in force still.

    Raises:
        UsageError: one of them is not, or nothing could be written.
    """
    with database.decision_transaction(results) as ledger:
        for ruling in rulings:
            found = _in_force(_history(ledger, ruling.place))
            if found is None or found.number != ruling.number:
                now = f"now holds: {in_words(found)}" if found is not None else "it was taken back already"
                message = f"'{ruling.place}' was decided meanwhile; {now}; nothing was taken back"
                raise UsageError(message)
            _insert(ledger, _undoing(ruling, by, reason))


def _undoing(ruling: Ruling, by: str, reason: str) -> Ruling:
    """The row that takes back a decision."""
    return Ruling(
        place=ruling.place,
        kind="undo",
        basis=ruling.basis,
        worth=ruling.worth,
        credit=ruling.credit,
        reason=reason,
        by=by,
        machine=ruling.machine,
        undoes=ruling.number,
    )


def in_words(ruling: Ruling) -> str:
    """A decision in words, for staff: `7 of 10 by ann, 2026-11-21T10:00:00+00:00: a bug of labgrade's`."""
    what = f"{points(ruling.worth * ruling.credit)} of {points(ruling.worth)}"
    what = f"took back {what}" if ruling.kind == "undo" else what
    return f"{what} by {ruling.by}, {ruling.at}" + (f": {ruling.reason}" if ruling.reason else "")


def points(value: Fraction) -> str:
    """Points as they are written: `7`, `7.5`, `0.33`."""
    return f"{float(round(value, 2)):.2f}".rstrip("0").rstrip(".")


# ---- rows ------------------------------------------------------------------------------------------------------


def _history(ledger: Ledger, place: Place) -> tuple[Ruling, ...]:
    where = 'WHERE submission = ? AND lab = ? AND task = ? AND "check" = ?'
    return tuple(_rows(ledger, where, (place.submission, place.lab, place.task, place.check)))


def _rows(ledger: Ledger, where: str, values: tuple[str | int, ...] = ()) -> Iterator[Ruling]:
    query = f"SELECT {_COLUMNS} FROM decisions {where} ORDER BY number"  # noqa: S608 - both are ours
    for row in ledger.rows(query, *values):
        number, kind, submission, lab, task, check, basis, worth, credit, lines, reason, by, at, machine, undoes = row
        yield Ruling(
            place=Place(submission=submission, lab=lab, task=task, check=check),
            kind=kind,
            basis=basis,
            worth=Fraction(worth),
            credit=Fraction(credit),
            reason=reason,
            by=by,
            machine=machine,
            lines=tuple(
                RubricLine(what=what, worth=Fraction(most), points=Fraction(got))
                for what, most, got in json.loads(lines)
            ),
            at=at,
            number=number,
            undoes=undoes,
        )


def _insert(ledger: Ledger, ruling: Ruling) -> None:
    lines = [[line.what, str(line.worth), str(line.points)] for line in ruling.lines]
    place = ruling.place
    values = (
        ruling.kind,
        *(place.submission, place.lab, place.task, place.check),
        *(ruling.basis, str(ruling.worth), str(ruling.credit), json.dumps(lines, ensure_ascii=False)),
        *(encodable(ruling.reason), encodable(ruling.by), ruling.at, ruling.machine, ruling.undoes),
    )
    columns = _COLUMNS.removeprefix("number, ")
    marks = ", ".join("?" * len(values))
    ledger.write(f"INSERT INTO decisions ({columns}) VALUES ({marks})", *values)  # noqa: S608 - both are ours
