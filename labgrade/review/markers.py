"""Several people who mark the same class: who looks at what, and what was marked a second time.

A lease keeps an answer from others while somebody looks at it; it ends by itself, and decides nothing. A second mark is
added and never changed, as decisions are; no points come of it.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.core.text import encodable
from labgrade.ledger import database
from labgrade.ledger.database import Ledger
from labgrade.review.decisions import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from labgrade.review.decisions import Ruling

LEASE_SECONDS = 600.0
_ONE_IN = 10
_PLACE = 'submission = ? AND lab = ? AND task = ? AND "check" = ?'


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondMark:
    """Another person's mark of an answer that was decided in row `decision`."""

    place: Place
    decision: int
    credit: Fraction
    worth: Fraction
    reason: str
    by: str
    at: str


def lease(results: Path, places: Collection[Place], by: str) -> dict[Place, str]:
    """Reserve answers for one person, who gives up earlier ones; return who has already reserved which.

    Raises:
        UsageError: it can't be written down.
    """
    now = time.time()
    with Ledger(results, write=True) as ledger, ledger.transaction():
        ledger.write("DELETE FROM lease WHERE by = ? OR NOT until BETWEEN ? AND ?", by, now, now + LEASE_SECONDS)
        held = {place: holder for place in places for (holder,) in ledger.rows(_HOLDER, *_values(place))}
        for place in places:
            if place not in held:
                ledger.write("INSERT INTO lease VALUES (?, ?, ?, ?, ?, ?)", *_values(place), by, now + LEASE_SECONDS)
    return held


_HOLDER = f"SELECT by FROM lease WHERE {_PLACE}"  # noqa: S608 - labgrade's own words


def held_by_others(results: Path, by: str) -> frozenset[Place]:
    """Return what other people are looking at.

    Raises:
        UsageError: it can't be read.
    """
    now = time.time()
    # What ends later than any lease from now on was begun before the clock was set back.
    question = 'SELECT submission, lab, task, "check" FROM lease WHERE by != ? AND until BETWEEN ? AND ?'
    with Ledger(results) as ledger:
        rows = ledger.rows(question, by, now, now + LEASE_SECONDS)
    return frozenset(Place(submission=a, lab=b, task=c, check=d) for a, b, c, d in rows)


def sampled(place: Place) -> bool:
    """Return whether an answer is in the tenth that is marked twice, the same for everybody."""
    return int.from_bytes(hashlib.sha256("\0".join(_values(place)).encode()).digest()[:8]) % _ONE_IN == 0


def add_second(results: Path, ruling: Ruling, decision: int) -> bool:
    """Keep the first second mark of a decision; return whether it was kept.

    Raises:
        UsageError: nothing could be written.
    """
    with database.decision_transaction(results) as ledger:
        if ledger.rows("SELECT 1 FROM second WHERE decision = ?", decision):
            return False
        ledger.write(
            'INSERT INTO second (submission, lab, task, "check", decision, credit, worth, reason, by, at) '
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(*_values(ruling.place), decision, str(ruling.credit), str(ruling.worth)),
            *(encodable(ruling.reason), encodable(ruling.by), ruling.at),
        )
    return True


def seconds(results: Path) -> tuple[SecondMark, ...]:
    """All second marks, oldest first.

    Raises:
        UsageError: they can't be read.
    """
    columns = 'submission, lab, task, "check", decision, credit, worth, reason, by, at'
    with Ledger(results) as ledger:
        rows = ledger.rows(f"SELECT {columns} FROM second ORDER BY number")  # noqa: S608 - labgrade's own words
    return tuple(
        SecondMark(
            place=Place(submission=a, lab=b, task=c, check=d),
            decision=decision,
            credit=Fraction(credit),
            worth=Fraction(worth),
            reason=reason,
            by=by,
            at=at,
        )
        for a, b, c, d, decision, credit, worth, reason, by, at in rows
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondMarking:
    """The state of a question's sample. `open`: what this person can mark again; `differ`: where two marks differ."""

    open: tuple[Place, ...]
    done: int
    differ: tuple[tuple[Ruling, SecondMark], ...]

    @property
    def rate(self) -> float:
        """Return the share of twice-marked answers whose marks differ."""
        return len(self.differ) / self.done if self.done else 0.0


def second_marking(in_force: Iterable[Ruling], marks: Sequence[SecondMark], by: str) -> SecondMarking:
    """Return the state of a question's sample. Decisions that were taken back or replaced no longer count."""
    rulings = {ruling.number: ruling for ruling in in_force if ruling.kind == "mark"}
    counted = [each for each in marks if each.decision in rulings]
    twice = {each.decision for each in counted}
    return SecondMarking(
        open=tuple(
            ruling.place
            for number, ruling in rulings.items()
            if sampled(ruling.place) and ruling.by != by and number not in twice
        ),
        done=len(twice),
        differ=tuple(
            (rulings[each.decision], each) for each in counted if rulings[each.decision].credit != each.credit
        ),
    )


def _values(place: Place) -> tuple[str, str, str, str]:
    return place.submission, place.lab, place.task, place.check
