"""Verdicts that outlast a folder of results: what `grade` and `pytest` came to, in the user's cache folder.

A verdict is found again by the key that it has in a ledger (`depends`) together with what else its task asks, since a
check may look at its neighbours. A ledger is the record of a class, and asks here for what it lacks. Nothing that
people decide lies here, and nothing is lost with it. What failed at labgrade's side, or ran out of time or memory, is
not remembered.

No student's code sees the cache folder where a jail holds it. Where none does, it could write here what it wants to be
believed: then nothing is read and nothing is kept (`safe`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from typing import TYPE_CHECKING, Any

from labgrade.files.cache import cache_folder
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NAME = "verdicts.sqlite"
_PASSING = frozenset({Outcome.FAULT, Outcome.TIMEOUT, Outcome.MEMORY})
_MOST = 50_000  # verdicts; a course of 400 has some 20,000 at an end of term
_MOST_KEYS = 500  # of one question
_WAIT_SECONDS = 5.0
_OWN = 0o600
_TABLE = """
CREATE TABLE IF NOT EXISTS verdict (
  number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, mark TEXT NOT NULL, plain TEXT NOT NULL, seal TEXT NOT NULL
)
"""


def memory_exists() -> bool:
    """Return whether this machine has a memory; where only students' own checks ran, it has none."""
    return (cache_folder() / NAME).is_file()


class VerdictMemory:
    """Use it from one process and one thread, and `close` it. No error of the disk's is anybody's: then it is empty.

    `safe` says whether students' code can't write here; it is asked once, when the first verdict is looked for.
    """

    def __init__(self, safe: Callable[[], bool]) -> None:
        self._safe = safe
        self._is_safe: bool | None = None
        self._connection: sqlite3.Connection | None = None
        self._kept = False

    def recall(self, keys: Sequence[str]) -> dict[str, tuple[str, Any]]:
        """Return the mark and the plain data of each verdict remembered under these keys."""
        found = {}
        for at in range(0, len(keys), _MOST_KEYS):
            some = keys[at : at + _MOST_KEYS]
            places = ",".join("?" * len(some))
            question = f"SELECT key, mark, plain, seal FROM verdict WHERE key IN ({places})"  # noqa: S608 - question marks
            for key, mark, plain, seal in self._do(question, *some):
                with contextlib.suppress(ValueError, RecursionError):
                    if seal == _seal(key, mark, plain):
                        found[key] = (mark, json.loads(plain))
        return found

    def keep(self, key: str, mark: str, plain: Any) -> None:
        """Remember a verdict, unless it may differ next time."""
        verdict = plain["verdict"]
        if Outcome(verdict["outcome"]) in _PASSING or verdict.get("unsteady"):
            return
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        statement = "INSERT OR REPLACE INTO verdict (key, mark, plain, seal) VALUES (?, ?, ?, ?)"
        self._do(statement, key, mark, text, _seal(key, mark, text))
        self._kept = True

    def close(self) -> None:
        """Close the file, after deleting the oldest verdicts if there are too many."""
        if self._connection is None:
            return
        if self._kept:
            self._do("DELETE FROM verdict WHERE number <= (SELECT max(number) FROM verdict) - ?", _MOST)
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        self._connection = None

    def _do(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        if self._is_safe is None:
            self._is_safe = self._safe()
        if not self._is_safe:
            return []
        try:
            return self._opened().execute(statement, values).fetchall()
        except (sqlite3.Error, OSError, UnicodeEncodeError):
            return []

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            folder = cache_folder()
            folder.mkdir(parents=True, exist_ok=True)
            (folder / NAME).touch(mode=_OWN)  # students' answers and expected values: nobody else's to read
            if (folder / NAME).stat().st_mode & 0o077:  # of an earlier release
                (folder / NAME).chmod(_OWN)
            made = sqlite3.connect(folder / NAME, timeout=_WAIT_SECONDS, isolation_level=None)
            made.execute("PRAGMA journal_mode = WAL")
            made.execute("PRAGMA synchronous = OFF")  # after a power cut some verdicts are judged again
            made.execute(_TABLE)
            self._connection = made
        return self._connection


def _seal(key: str, mark: str, plain: str) -> str:
    return hashlib.sha256(f"{key}\0{mark}\0{plain}".encode()).hexdigest()[:16]
