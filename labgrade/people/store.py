"""The file of people's decisions: rows are added and never changed, for they can't be computed again.

`decisions.sqlite` stands beside the ledger and shares nothing with it, so that the ledger can be deleted.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from labgrade.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = "decisions.sqlite"
VERSION = 1
_APPLICATION = 0x6C676470  # "lgdp": what `file` shows, and how another program's database is told apart
_PATIENCE = 30.0  # seconds that another writer is waited for
_TABLES = """
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
    hidden_too INTEGER NOT NULL, final TEXT NOT NULL, digest TEXT NOT NULL, view BLOB NOT NULL
);
CREATE INDEX released ON releases (submission);
"""
_FIXED = """
CREATE TRIGGER {table}_{word} BEFORE {word} ON {table}
BEGIN SELECT RAISE(ABORT, 'what a person decided is never changed; add a row'); END;
"""
_FIXES = "".join(
    _FIXED.format(table=table, word=word) for table in ("decisions", "releases") for word in ("UPDATE", "DELETE")
)


def exists(results: Path) -> bool:
    """Whether anybody has decided anything in a folder of results."""
    return (results / FILE).is_file()


@contextmanager
def reading(results: Path) -> Iterator[sqlite3.Connection]:
    """The decisions of a folder of results, as they stand; an empty file of them where there is none yet.

    Raises:
        UsageError: the file can't be read: damaged, another program's, or a newer labgrade's.
    """
    if not exists(results):
        with _worded(results):
            connection = sqlite3.connect(":memory:")
            _create(connection)
            try:
                yield connection
            finally:
                connection.close()
        return
    with _connected(results) as connection:
        yield connection


@contextmanager
def writing(results: Path) -> Iterator[sqlite3.Connection]:
    """One transaction: all that is added within is kept, or nothing of it.

    Raises:
        UsageError: nothing was kept, and why: locked, full, damaged, another program's, or a newer labgrade's.
    """
    with _connected(results) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            if connection.in_transaction:  # a full disk has ended it already
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


@contextmanager
def _connected(results: Path) -> Iterator[sqlite3.Connection]:
    with _worded(results):
        if not exists(results):
            _make(results)
        connection = _open(results / FILE)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")  # what a person typed is on the disk before they go on
            _check(connection, results / FILE)
            yield connection
        finally:
            connection.close()


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """That the file is one of ours and of this version.

    Raises:
        UsageError: it is not.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        message = f"'{path}' is no file of labgrade's decisions; move it away, and nothing that it holds is touched"
        raise UsageError(message)
    if version != VERSION:
        newer = "a newer" if version > VERSION else "an older"
        message = (
            f"'{path}' was written by {newer} labgrade (its version is {version}, this labgrade's {VERSION}); "
            f"use that labgrade, or install the newest"
        )
        raise UsageError(message)


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)


def _make(results: Path) -> None:
    """Make the file aside and put it in its place whole: whoever else makes it at this moment may be faster."""
    aside = results / f"{FILE}.{secrets.token_hex(4)}.new"
    try:
        connection = _open(aside)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN")
            _create(connection)
            connection.execute("COMMIT")
        finally:
            connection.close()
        with suppress(FileExistsError):
            _place(aside, results / FILE)
    finally:
        aside.unlink(missing_ok=True)


def _place(aside: Path, path: Path) -> None:
    """Give a file its name, unless there is one of that name."""
    try:
        os.link(aside, path)
    except FileExistsError:
        raise
    except OSError:  # a disk without hard links
        with path.open("xb") as file:
            file.write(aside.read_bytes())


def _create(connection: sqlite3.Connection) -> None:
    for statement in _statements(_TABLES + _FIXES):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _statements(script: str) -> Iterator[str]:
    """One by one, as `executescript` would end the transaction."""
    statement = ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def _worded(results: Path) -> Iterator[None]:
    """SQLite's errors as sentences with a remedy.

    Raises:
        UsageError: something of the database's failed.
    """
    path = results / FILE
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        match code:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                said = f"another labgrade is writing '{path}'; nothing was saved: try again when it has ended"
            case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
                said = f"'{path}' could not be written ({error}); nothing was saved: make room on the disk"
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                said = (
                    f"'{path}' is damaged ({error}) and was left as it is: put a backup in its place, "
                    f"or recover its rows with: sqlite3 {FILE} .recover"
                )
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
                said = f"'{path}' can't be written ({error}); nothing was saved: see to its permissions"
            case _:
                raise
        raise UsageError(said) from error
