"""Opens the ledger: one SQLite file in the results folder. Every error of it is told with what to do.

It is written in WAL mode, a transaction a verdict. Killing the process at any moment loses no transaction that ended.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import TYPE_CHECKING, Any, Self

from labgrade.errors import UsageError
from labgrade.ledger import tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "ledger.sqlite"
WAIT_SECONDS = 30.0
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_CLOSED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_RESULT = 0xFF  # an extended result code has the plain one in its last byte


class LedgerError(UsageError):
    """The ledger can't be used: locked, damaged, no room, too new. The message says what to do."""


class Ledger:
    """An open ledger, for one process and one thread. Use as a context manager, or call `close`.

    Raises:
        LedgerError: from every method, where the file can't be read or written.
    """

    def __init__(self, folder: Path, *, write: bool = False) -> None:
        self.path = folder / NAME
        if not write and not self.path.is_file():
            raise self._nothing()
        with self._told():
            self._connection = sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None)
        try:
            self._open(write=write)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def rows(self, question: str, *values: object) -> list[tuple[Any, ...]]:
        """What a SELECT finds."""
        with self._told():
            return self._connection.execute(question, values).fetchall()

    def write(self, statement: str, *values: object) -> int:
        """One change, within `transaction`; the number of the row that an INSERT made."""
        with self._told():
            return self._connection.execute(statement, values).lastrowid or 0

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what is written within, or nothing of it."""
        with self._told():
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self._told():
                self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def damaged(self, what: object, table: str = "") -> LedgerError:
        """The error for content that can't be right."""
        message = (
            f"the ledger '{self.path}' is damaged ({f'{table}: ' if table else ''}{what}): put a copy of it back, "
            "or move it away and grade anew, which finds every verdict again, but not how they stood before"
        )
        return LedgerError(message)

    def _nothing(self) -> LedgerError:
        folder = self.path.parent
        return LedgerError(
            f"there are no results in '{folder}'; grade first: labgrade grade SUBMISSIONS --out {folder}"
        )

    def _open(self, *, write: bool) -> None:
        version = self._version()
        if version > tables.VERSION:
            message = (
                f"the ledger '{self.path}' was written by a newer labgrade (version {version} of its tables, "
                f"this one knows {tables.VERSION}): update labgrade, or grade into another folder"
            )
            raise LedgerError(message)
        if not write:
            if not version:  # a run was killed before it began
                raise self._nothing()
            if version < tables.VERSION:
                message = f"the ledger '{self.path}' is of an older labgrade: `labgrade regrade` brings it up to date"
                raise LedgerError(message)
            with self._told():
                self._connection.execute("PRAGMA query_only = ON")
            return
        with self._told():
            # In WAL mode NORMAL survives every end of a process; after a power cut the last verdicts may run again.
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
        if version < tables.VERSION:
            self._bring_up_to_date()

    def _version(self) -> int:
        """The version of the tables; 0 where there are none yet."""
        ((version,),) = self.rows("PRAGMA user_version")
        ((application,),) = self.rows("PRAGMA application_id")
        if application != tables.APPLICATION and self.rows("SELECT 1 FROM sqlite_master LIMIT 1"):
            message = f"'{self.path}' is no ledger of labgrade's: grade into another folder"
            raise LedgerError(message)
        return int(version)

    def _bring_up_to_date(self) -> None:
        """Make the tables, or those that are new since. Two processes may try: the second finds them made."""
        with self.transaction():
            version = self._version()
            steps = [tables.TABLES] if not version else [tables.STEPS[v] for v in range(version, tables.VERSION)]
            for statement in (part for step in steps for part in step.split(";") if part.strip()):
                self.write(statement)
            self.write(f"PRAGMA application_id = {tables.APPLICATION}")
            self.write(f"PRAGMA user_version = {tables.VERSION}")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of SQLite's, in words."""
        try:
            yield
        except sqlite3.Error as error:
            raise LedgerError(self._words(error)) from error

    def _words(self, error: sqlite3.Error) -> str:
        code = getattr(error, "sqlite_errorcode", 0) & _RESULT
        if code in _LOCKED:
            return (
                f"the ledger '{self.path}' is locked by another program: end that one, and say the same again; "
                "nothing is lost"
            )
        if code in _NO_ROOM:
            return (
                f"the ledger '{self.path}' can't be written ({error}): make room on that disk, and say the same again; "
                "what was graded so far is kept"
            )
        if code in _CLOSED:
            return f"the ledger '{self.path}' can't be opened ({error}): may you write to that folder?"
        if code in _DAMAGED:
            return str(self.damaged(str(error)))
        return f"the ledger '{self.path}' can't be used: {error}"


def load(ledger: Ledger, text: str) -> Any:
    """Plain data that the ledger holds.

    Raises:
        LedgerError: it is damaged.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise ledger.damaged(str(error)) from error


def dump(plain: object) -> str:
    """Plain data as the ledger holds it, in its order, and in ASCII: names may be no UTF-8."""
    return json.dumps(plain, separators=(",", ":"))
