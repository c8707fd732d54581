"""The ledger's rows: what is remembered of judging, how each check stands, and what a run began with."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from labgrade.ledger import tables
from labgrade.ledger.database import dump, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from labgrade.ledger.database import Ledger

Place: TypeAlias = tuple[str, str, str]  # the lab, the task, the item
_FAULT = "FAULT"
_MOST_VALUES = 500  # of one question: the least that any SQLite takes is 999


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptVerdict:
    """What judging came to, with a sign (`mark`) in place of each sentence of the spec's.

    `id` is 0 until it is in the ledger. `tries`: how often it was run and came to the same. `remembered`: it was judged
    in a run for other results.
    """

    key: str
    parts: Mapping[str, str]
    mark: str
    plain: Any
    tries: int = 1
    id: int = 0
    remembered: bool = False

    @property
    def outcome(self) -> str:
        """Its outcome."""
        return str(self.plain["verdict"]["outcome"])

    @property
    def unsteady(self) -> bool:
        """Return whether a busy machine may have caused it and it occurred only once."""
        return self.tries == 1 and bool(self.plain["verdict"].get("unsteady"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """The current row of one check of a submission. `place`: its index within the task."""

    place: int
    title: str
    points: str
    judged: int | None
    at: str
    plain: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A check as a release published it: points before decisions, and its row, None if no ledger had one."""

    earned: Fraction
    standing: CheckRow | None = None


def now() -> str:
    """Return the current time for display; nothing is ordered by it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def checksum(text: str) -> str:
    """Return a digest by which damage is noticed."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def recall(ledger: Ledger, keys: Sequence[str]) -> dict[str, KeptVerdict]:
    """Return the verdicts kept under these keys, without faults of labgrade's, which run again."""
    found: dict[str, KeptVerdict] = {}
    for number, key, parts, tries, mark, plain, sealed in _rows_with(
        ledger, "SELECT id, key, parts, tries, mark, plain, seal FROM judged WHERE key", keys, "ORDER BY id DESC"
    ):
        if key in found:  # the newest counts
            continue
        if checksum(plain) != sealed:
            raise ledger.damaged(number, "judged")
        judged = KeptVerdict(
            id=number, key=key, parts=load(ledger, parts), tries=tries, mark=mark, plain=load(ledger, plain)
        )
        if judged.outcome != _FAULT:
            found[key] = judged
    return found


def _rows_with(ledger: Ledger, question: str, values: Sequence[str], order: str = "") -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query in which a column has one of many values."""
    for at in range(0, len(values), _MOST_VALUES):
        some = values[at : at + _MOST_VALUES]
        yield from ledger.rows(f"{question} IN ({','.join('?' * len(some))}) {order}", *some)


def parts_of(ledger: Ledger, number: int | None) -> dict[str, Any]:
    """The content of each part that a verdict depended on, by the part's name."""
    found = ledger.rows("SELECT parts FROM judged WHERE id = ?", number)
    digests = load(ledger, found[0][0]) if found else {}
    contents = {}
    for name, digest in digests.items():
        rows = ledger.rows("SELECT content FROM part WHERE digest = ?", digest)
        contents[name] = load(ledger, rows[0][0]) if rows else {}
    return contents


def keep(ledger: Ledger, judged: KeptVerdict, contents: Mapping[str, Any], run: int) -> int:
    """Write a verdict and return the number of its row."""
    digests = {each for each in judged.parts.values() if each not in ledger.parts}  # most are those of the check before
    for digest in digests:
        ledger.write("INSERT OR IGNORE INTO part VALUES (?, ?)", digest, dump(contents[digest]))
    ledger.parts |= digests
    plain = dump(judged.plain)
    return ledger.write(
        "INSERT INTO judged (key, parts, run, at, outcome, tries, mark, plain, seal) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(
            judged.key,
            dump(judged.parts),
            run,
            now(),
            judged.outcome,
            judged.tries,
            judged.mark,
            plain,
            checksum(plain),
        ),
    )


def standing(ledger: Ledger, who: str) -> dict[Place, CheckRow]:
    """How each check of a submission stands."""
    return _standings(ledger, ledger.rows(f"{_STANDING} WHERE who = ?", who))


def each_standing(ledger: Ledger) -> Iterator[tuple[str, dict[Place, CheckRow]]]:
    """Each submission that has been judged, by its name, and how each of its checks stands."""
    for who, rows in groupby(ledger.each_row(f"{_STANDING} ORDER BY who"), key=itemgetter(0)):
        yield who, _standings(ledger, rows)


_STANDING = "SELECT who, lab, task, item, place, title, points, judged, at, plain, seal FROM graded"


def _standings(ledger: Ledger, rows: Iterable[tuple[Any, ...]]) -> dict[Place, CheckRow]:
    standings = {}
    for who, lab, task, item, place, title, points, judged, at, plain, sealed in rows:
        if checksum(plain) != sealed:
            raise ledger.damaged((who, task, item), "graded")
        standings[lab, task, item] = CheckRow(
            place=place, title=title, points=points, judged=judged, at=at, plain=load(ledger, plain)
        )
    return standings


def write_standing(ledger: Ledger, who: str, place: Place, standing: CheckRow, run: int, plain: str = "") -> None:
    """Write how a check stands from now on. `plain`: its plain data as `dump` has it, where it is at hand."""
    plain = plain or dump(standing.plain)
    ledger.write(
        "INSERT OR REPLACE INTO graded (who, lab, task, item, place, title, points, judged, run, at, plain, seal) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(who, *place, standing.place, standing.title, standing.points, standing.judged),
        *(run, standing.at, plain, checksum(plain)),
    )


def add_history(ledger: Ledger, who: str, place: Place, before: CheckRow, after: Any, why: str, run: int) -> None:
    """Add a check's former state to the history, with why it changed. `after` is None if the check is gone."""
    ledger.write(
        "INSERT INTO history (who, lab, task, item, run, at, before_at, before, after, why) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(who, *place, run, now(), before.at, dump(before.plain), None if after is None else dump(after), why),
    )


def delete_check(ledger: Ledger, who: str, place: Place) -> None:
    """Delete a check from the report."""
    ledger.write("DELETE FROM graded WHERE who = ? AND lab = ? AND task = ? AND item = ?", who, *place)
    drop_held(ledger, who, place)


def hold(ledger: Ledger, who: str, place: Place, plain: Any, why: str, run: int) -> None:
    """Hold a verdict back because the check's points are published."""
    values = (who, *place, run, dump(plain), why)
    ledger.write(
        "INSERT OR REPLACE INTO held (who, lab, task, item, run, plain, why) VALUES (?, ?, ?, ?, ?, ?, ?)", *values
    )


def drop_held(ledger: Ledger, who: str, place: Place) -> None:
    """Delete a verdict that was held back."""
    ledger.write("DELETE FROM held WHERE who = ? AND lab = ? AND task = ? AND item = ?", who, *place)


def begin(ledger: Ledger, asked: Mapping[str, Any]) -> int:
    """Add a run and return its number."""
    with ledger.transaction():
        return ledger.write("INSERT INTO run (began, asked, notes) VALUES (?, ?, '[]')", now(), dump(asked))


def add_to_run(ledger: Ledger, run: int, more: Mapping[str, Any]) -> None:
    """Add to a run's request."""
    with ledger.transaction():
        ((asked,),) = ledger.rows("SELECT asked FROM run WHERE id = ?", run)
        ledger.write("UPDATE run SET asked = ? WHERE id = ?", dump({**load(ledger, asked), **more}), run)


def end(ledger: Ledger, run: int, notes: tuple[str, ...]) -> None:
    """Note that a run has ended."""
    with ledger.transaction():
        ledger.write("UPDATE run SET ended = ?, notes = ? WHERE id = ?", now(), dump(notes), run)


def publish(ledger: Ledger, who: str) -> bytes:
    """What a release publishes of a submission's checks: how each stands; what was held back before is dropped.

    Within a transaction, in which the release is written, too.
    """
    ledger.write("DELETE FROM held WHERE who = ?", who)
    return tables.packed(
        {
            "/".join(place): [each.plain["earned"], [each.place, each.title, each.points, each.at, dump(each.plain)]]
            for place, each in standing(ledger, who).items()
        }
    )


def published(ledger: Ledger, who: str) -> dict[str, Published]:
    """Return what the last release of a submission published, by `lab/task/check`.

    Raises:
        LedgerError: it is damaged.
    """
    found = ledger.rows("SELECT published FROM releases WHERE submission = ? ORDER BY number DESC LIMIT 1", who)
    try:
        plain = tables.unpacked(found[0][0]) if found else {}
        return {place: _published(earned, stood) for place, (earned, stood) in plain.items()}
    except (ValueError, TypeError) as error:
        raise ledger.damaged(error, "releases") from error


def _published(earned: str, stood: Any) -> Published:
    if stood is None:
        return Published(earned=Fraction(earned))
    place, title, points, at, plain = stood
    row = CheckRow(place=place, title=title, points=points, judged=None, at=at, plain=json.loads(plain))
    return Published(earned=Fraction(earned), standing=row)
