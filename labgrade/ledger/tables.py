"""The tables of the results database.

What people decided and released is added and never changed. The verdicts can be judged anew, and rebuilt.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

KEPT = "decided.txt"
KEPT_TEXT = """\
results.sqlite beside this file holds what people decided and what students were shown; nothing can compute that again.
Keep copies of it. labgrade refuses to begin anew where that file is gone and this one is not.
"""
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
# `view`: what students were shown, packed. `published`: of each check what it earned, without decisions, and how it
# stood.
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
  hidden_too INTEGER NOT NULL, final TEXT NOT NULL, digest TEXT NOT NULL, view BLOB NOT NULL, published BLOB NOT NULL
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


def packed(published: dict[str, Any]) -> bytes:
    """Encode what was published for the database."""
    return zlib.compress(json.dumps(published, separators=(",", ":"), sort_keys=True).encode())


def unpacked(data: bytes) -> dict[str, Any]:
    """Decode what `packed` encoded.

    Raises:
        ValueError: it is damaged.
    """
    try:
        found: dict[str, Any] = json.loads(zlib.decompress(data))
    except zlib.error as error:
        raise ValueError(str(error)) from error
    return found
