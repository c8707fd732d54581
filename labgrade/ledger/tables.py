"""The ledger's tables, and how those of an older labgrade become today's.

`judged` only grows: what came of judging, under the digest of all that it depended on (`parts`, whose content is in
`part`). `graded` says how each check stands today, `history` how it stood before and why that changed, `held` what
waits to be said because it would lower a published result.
"""

from __future__ import annotations

VERSION = 1
APPLICATION = 0x6C616267  # "labg", in the file's header
TABLES = """
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
CREATE TABLE released (who TEXT PRIMARY KEY, at TEXT NOT NULL, earned TEXT NOT NULL) WITHOUT ROWID;
"""
# From each version to the next.
STEPS: dict[int, str] = {}
