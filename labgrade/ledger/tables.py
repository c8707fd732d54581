"""The tables of the results database, and how those of an older labgrade, which lay in two files, are taken over.

What people decided and released is added and never changed. The verdicts can be judged anew, and rebuilt.
"""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from labgrade.ledger.database import Ledger

KEPT = "decided.txt"
KEPT_TEXT = """\
results.sqlite beside this file holds what people decided and what students were shown; nothing can compute that again.
Keep copies of it. labgrade refuses to begin anew where that file is gone and this one is not.
"""
OLD_LEDGER, OLD_DECISIONS = "ledger.sqlite", "decisions.sqlite"
REBUILT = ("held", "graded", "submission", "judged", "part")
_VERDICTS = """
CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT, began TEXT NOT NULL, ended TEXT, asked TEXT NOT NULL, notes TEXT NOT NULL
);
CREATE TABLE part (digest TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE judged (
  id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, parts TEXT NOT NULL, run INTEGER NOT NULL, at TEXT NOT NULL,
  outcome TEXT NOT NULL, tries INTEGER NOT NULL, mark TEXT NOT NULL, plain TEXT NOT NULL, seal TEXT NOT NULL
);
CREATE INDEX judged_key ON judged (key, id);
CREATE TABLE submission (who TEXT PRIMARY KEY, files TEXT NOT NULL, remarks TEXT NOT NULL, run INTEGER NOT NULL);
CREATE TABLE graded (
  who TEXT NOT NULL, lab TEXT NOT NULL, task TEXT NOT NULL, item TEXT NOT NULL, place INTEGER NOT NULL,
  title TEXT NOT NULL, points TEXT NOT NULL, judged INTEGER, run INTEGER NOT NULL, at TEXT NOT NULL,
  plain TEXT NOT NULL, seal TEXT NOT NULL, PRIMARY KEY (who, lab, task, item)
) WITHOUT ROWID;
CREATE TABLE history (
  id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT NOT NULL, lab TEXT NOT NULL, task TEXT NOT NULL, item TEXT NOT NULL,
  run INTEGER NOT NULL, at TEXT NOT NULL, before_at TEXT NOT NULL, before TEXT NOT NULL, after TEXT, why TEXT NOT NULL
);
CREATE INDEX history_who ON history (who, lab, task, item, id);
CREATE TABLE held (
  who TEXT NOT NULL, lab TEXT NOT NULL, task TEXT NOT NULL, item TEXT NOT NULL, run INTEGER NOT NULL,
  plain TEXT NOT NULL, why TEXT NOT NULL, PRIMARY KEY (who, lab, task, item)
) WITHOUT ROWID;
"""
# `view`: what students were shown, packed; NULL where only an older labgrade's points are left. `published`: of each
# check what it earned, without decisions, and how it stood.
_PEOPLE = """
CREATE TABLE decisions (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind IN ('mark', 'override', 'undo')),
  submission TEXT NOT NULL, lab TEXT NOT NULL, task TEXT NOT NULL, "check" TEXT NOT NULL,
  basis TEXT NOT NULL, worth TEXT NOT NULL, credit TEXT NOT NULL, lines TEXT NOT NULL,
  reason TEXT NOT NULL, by TEXT NOT NULL, at TEXT NOT NULL, machine TEXT NOT NULL,
  undoes INTEGER REFERENCES decisions (number)
);
CREATE INDEX decided ON decisions (submission, lab, task, "check");
CREATE TABLE releases (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  submission TEXT NOT NULL, by TEXT NOT NULL, at TEXT NOT NULL, reason TEXT NOT NULL,
  hidden_too INTEGER NOT NULL, final TEXT NOT NULL, digest TEXT NOT NULL, view BLOB, published BLOB NOT NULL
);
CREATE INDEX released ON releases (submission);
"""
# `lease`: who looks at what, for a while. `second`: another person's mark of what a decision gave.
_MARKERS = """
CREATE TABLE lease (
  submission TEXT NOT NULL, lab TEXT NOT NULL, task TEXT NOT NULL, "check" TEXT NOT NULL, by TEXT NOT NULL,
  until REAL NOT NULL, PRIMARY KEY (submission, lab, task, "check")
) WITHOUT ROWID;
CREATE TABLE second (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  submission TEXT NOT NULL, lab TEXT NOT NULL, task TEXT NOT NULL, "check" TEXT NOT NULL,
  decision INTEGER NOT NULL REFERENCES decisions (number), credit TEXT NOT NULL, worth TEXT NOT NULL,
  reason TEXT NOT NULL, by TEXT NOT NULL, at TEXT NOT NULL
);
"""
_FIXED = """
CREATE TRIGGER {table}_{word} BEFORE {word} ON {table}
BEGIN SELECT RAISE(ABORT, 'what a person decided is never changed; add a row'); END;
"""


def _fixed(*of: str) -> str:
    return "".join(_FIXED.format(table=table, word=word) for table in of for word in ("UPDATE", "DELETE"))


MARKERS = _MARKERS + _fixed("second")  # new in version 3
ALL = _VERDICTS + _PEOPLE + _fixed("decisions", "releases") + MARKERS
_OLD_APPLICATIONS = {OLD_LEDGER: 0x6C616267, OLD_DECISIONS: 0x6C676470}


def packed(published: dict[str, Any]) -> bytes:
    """What was published, as the database holds it."""
    return zlib.compress(json.dumps(published, separators=(",", ":"), sort_keys=True).encode())


def unpacked(data: bytes) -> dict[str, Any]:
    """What `packed` was called with.

    Raises:
        ValueError: it is damaged.
    """
    try:
        found: dict[str, Any] = json.loads(zlib.decompress(data))
    except zlib.error as error:
        raise ValueError(str(error)) from error
    return found


# ---- files of an older labgrade --------------------------------------------------------------------------------


def is_older(folder: Path) -> bool:
    """Whether a folder holds the two files of an older labgrade, or one of them."""
    return any((folder / name).is_file() for name in _OLD_APPLICATIONS)


def take_over(ledger: Ledger, folder: Path) -> None:
    """Copy all that an older labgrade kept in two files into an empty database.

    A release keeps the points that it published. Where the old ledger was deleted, they are those of the view.

    Raises:
        UsageError: a file can't be read, or is none of labgrade's.
    """
    earned: dict[str, dict[str, str]] = {}
    stood: dict[tuple[str, str], Any] = {}
    if _attached(ledger, folder, OLD_LEDGER):
        with ledger.transaction():
            for table in ("run", "history", *REBUILT):
                ledger.write(f"INSERT INTO main.{table} SELECT * FROM old.{table}")  # noqa: S608 - labgrade's own names
        earned = {who: json.loads(text) for who, text in ledger.rows("SELECT who, earned FROM old.released")}
        found = ledger.rows("SELECT who, lab, task, item, place, title, points, at, plain FROM main.graded")
        for who, lab, task, item, *standing in found:
            stood[who, f"{lab}/{task}/{item}"] = standing
        ledger.write("DETACH old")
    releases = []
    if _attached(ledger, folder, OLD_DECISIONS):
        with ledger.transaction():
            ledger.write("INSERT INTO main.decisions SELECT * FROM old.decisions")
        releases = ledger.rows("SELECT * FROM old.releases ORDER BY number")
        ledger.write("DETACH old")
    with ledger.transaction():
        _take_over_releases(ledger, releases, earned, stood)


def _take_over_releases(
    ledger: Ledger, releases: list[Any], earned: dict[str, dict[str, str]], stood: dict[tuple[str, str], Any]
) -> None:
    places = ", ".join("?" * 9)
    for number, who, *more, view in releases:
        published = _of_ledger(who, earned.get(who, {}), stood)
        # A release that was killed before it reached the ledger published its view all the same.
        published |= {k: each for k, each in _of_view(view).items() if k not in published or published[k][0] != each[0]}
        values = (number, who, *more, view, packed(published))
        ledger.write(f"INSERT INTO releases VALUES ({places}, ?)", *values)  # noqa: S608 - question marks
    for who in earned.keys() - {row[1] for row in releases}:
        published = _of_ledger(who, earned[who], stood)
        columns = "submission, by, at, reason, hidden_too, final, digest, published"
        ledger.write(f"INSERT INTO releases ({columns}) VALUES (?, '', '', '', 0, '0', '', ?)", who, packed(published))  # noqa: S608


def _of_view(view: bytes) -> dict[str, Any]:
    """The points of the checks that a view shows. What a person decided is kept by the decision."""
    try:
        plain = json.loads(zlib.decompress(view))
    except (zlib.error, ValueError):
        return {}  # the next reader of the release finds the damage
    return {
        f"{task['lab']}/{task['id']}/{check['id']}": [
            check["earned"],
            [place, task["title"], task["points"], "", json.dumps(check, separators=(",", ":"))],
        ]
        for task in plain["tasks"]
        for place, check in enumerate(task["checks"])
        if not check.get("decision")
    }


def _of_ledger(who: str, earned: dict[str, str], stood: dict[tuple[str, str], Any]) -> dict[str, Any]:
    return {place: [points, stood.get((who, place))] for place, points in earned.items()}


def _attached(ledger: Ledger, folder: Path, name: str) -> bool:
    path = folder / name
    if not path.is_file():
        return False
    ledger.write("ATTACH ? AS old", str(path))
    ((application,),) = ledger.rows("PRAGMA old.application_id")
    ((version,),) = ledger.rows("PRAGMA old.user_version")
    if not version and not ledger.rows("SELECT 1 FROM old.sqlite_master LIMIT 1"):  # a run was killed before it began
        ledger.write("DETACH old")
        return False
    if application != _OLD_APPLICATIONS[name] or version != 1:
        message = f"'{path}' is no file of labgrade's, or one of another version; move it away"
        raise UsageError(message)
    return True


def put_aside(folder: Path) -> None:
    """Rename the files of an older labgrade, so that nothing is written to them any more."""
    for name in _OLD_APPLICATIONS:
        with suppress(OSError):
            (folder / name).rename(folder / f"{name}.old")
