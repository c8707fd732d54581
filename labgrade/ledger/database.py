"""Opens the results database: one SQLite file in the results folder. Every error of it says what to do.

It is written in WAL mode, a transaction a verdict. Killing the process at any moment loses no transaction that ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import sqlite3
import time
from typing import TYPE_CHECKING, Any, Self

from labgrade.core.errors import UsageError
from labgrade.ledger import tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK_NAME = "lock"
_TRIES, _PAUSE_SECONDS = 10, 0.1


@contextlib.contextmanager
def locked_folder(
    folder: Path, does: str = "is grading into", else_: str = "name another folder with --out"
) -> Iterator[None]:
    """Lock a results folder, made if it is not there, against other runs. The system unlocks it when we end.

    Raises:
        UsageError: another run is at work in it, or it can't be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    except OSError as error:
        message = f"'{folder}' can't hold results: {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error
    try:
        if not _lock_with_retry(descriptor, folder):
            who = os.read(descriptor, 200).decode("utf-8", "replace").strip() or "another run"
            message = f"{who} {does} '{folder}': wait for its end, or {else_}"
            raise UsageError(message)
        with contextlib.suppress(OSError):  # who holds it is only said for people
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _lock_with_retry(descriptor: int, folder: Path) -> bool:
    """Try to lock for a moment, since the processes of a killed run take a while to end."""
    try:
        for _ in range(_TRIES):
            if _locked(descriptor):
                return True
            time.sleep(_PAUSE_SECONDS)
    except OSError as error:
        message = (
            f"'{folder}' lies on a disk without file locks ({(error.strerror or str(error)).lower()}), so that two "
            "runs could write there at once: name a folder on a disk of this machine with --out"
        )
        raise UsageError(message) from error
    return False


def _locked(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def refuse_within(results: Path, source: Path) -> None:
    """Refuse a results folder within the submissions, where it would be taken for a submission.

    Raises:
        UsageError: they are.
    """
    if source.is_dir() and results.resolve().is_relative_to(source.resolve()):
        message = f"'{results}' lies in '{source}', where it would be a submission; name a folder beside it"
        raise UsageError(message)


VERSION = 3
APPLICATION = 0x6C616267  # "labg", in the file's header
STEPS = {2: tables.MARKERS}  # from each version to the next
NAME = "results.sqlite"
WAIT_SECONDS = 30.0
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_CLOSED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_RESULT = 0xFF  # an extended result code has the plain one in its last byte


class LedgerError(UsageError):
    """The ledger can't be used: locked, damaged, no room, too new. The message says what to do."""


class Ledger:
    """An open results database, for one process and one thread. Use as a context manager, or call `close`.

    `durable`: what is written is on the disk, and survives a power cut, before the transaction ends.

    Raises:
        LedgerError: from every method, where the file can't be read or written.
    """

    def __init__(self, folder: Path, *, write: bool = False, durable: bool = False, name: str = NAME) -> None:
        self.path = folder / NAME
        if name == NAME and not self.path.is_file():
            self._make(folder, write=write)
        self._durable, self._lasts = durable, name == NAME
        self.parts: set[str] = set()  # digests that this process has written
        with self._in_words():
            place: str | Path = folder / name
            if not write and _is_read_only(folder):  # where SQLite would make a file beside it even to read
                place = f"{(folder / name).absolute().as_uri()}?immutable=1"
            self._connection = sqlite3.connect(
                place, timeout=WAIT_SECONDS, isolation_level=None, uri=place != folder / name
            )
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
        """Close the database."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def rows(self, question: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a SELECT."""
        try:  # without `_in_words`, which took as long as the question
            return self._connection.execute(question, values).fetchall()
        except sqlite3.Error as error:
            raise LedgerError(self._words(error)) from error

    def each_row(self, question: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a SELECT one by one, for large tables."""
        with self._in_words():
            for row in self._connection.execute(question):  # noqa: UP028 - `yield from` closes it behind the ledger
                yield row

    def write(self, statement: str, *values: object) -> int:
        """Execute one change within `transaction`; return the number of an inserted row."""
        try:
            return self._connection.execute(statement, values).lastrowid or 0
        except sqlite3.Error as error:
            raise LedgerError(self._words(error)) from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all changes made within, or none. A nested transaction is part of the outer one."""
        if self._connection.in_transaction:
            yield
            return
        with self._in_words():
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self._in_words():
                self._connection.execute("COMMIT")
        except BaseException:
            self.parts.clear()
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def damaged(self, what: object, table: str = "") -> LedgerError:
        """The error for content that can't be right."""
        message = (
            f"the ledger '{self.path}' is damaged ({f'{table}: ' if table else ''}{what}): put a copy of it back, or "
            f"judge all anew, which keeps what people decided: labgrade regrade {self.path.parent} --rebuild"
        )
        return LedgerError(message)

    def _make(self, folder: Path, *, write: bool) -> None:
        """Create a complete database beside the folder's, and refuse to replace a lost one."""
        if self.path.with_name(tables.KEPT).is_file() and not self.path.is_file():  # in this order: others make both
            self._refuse_lost("gone")
        if not write:
            raise self._nothing()
        aside = f"{NAME}.{secrets.token_hex(4)}.new"
        try:
            Ledger(folder, write=True, durable=True, name=aside).close()
            with contextlib.suppress(FileExistsError):  # the other process was faster
                _move_into_place(folder / aside, self.path)
        except OSError as error:
            raise LedgerError(str(error)) from error
        finally:
            for path in folder.glob(f"{aside}*"):
                path.unlink(missing_ok=True)

    def _refuse_lost(self, what: str) -> None:
        kept = self.path.with_name(tables.KEPT)
        if kept.is_file():
            message = (
                f"'{self.path}' is {what}, and with it all that people decided and released: put a copy of it back; to "
                f"begin without any of it, delete '{kept}'"
            )
            raise LedgerError(message)

    def _nothing(self) -> LedgerError:
        folder = self.path.parent
        return LedgerError(
            f"there are no results in '{folder}'; grade first: labgrade grade SUBMISSIONS --out {folder}"
        )

    def _open(self, *, write: bool) -> None:
        version = self._version()
        if version > VERSION:
            message = (
                f"the ledger '{self.path}' was written by a newer labgrade (version {version} of its tables, "
                f"this one knows {VERSION}): update labgrade, or grade into another folder"
            )
            raise LedgerError(message)
        if not version and self._lasts:
            self._refuse_lost("empty")
        if not write and not version:  # a run was killed before it began
            raise self._nothing()
        if write or version < VERSION:
            with self._in_words():
                # In WAL mode NORMAL survives every end of a process; after a power cut the last verdicts may run again.
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
                self._connection.execute("PRAGMA foreign_keys = ON")
            if version < VERSION:
                self._bring_up_to_date()
        if not write:
            with self._in_words():
                self._connection.execute("PRAGMA query_only = ON")

    def _version(self) -> int:
        """The version of the tables; 0 where there are none yet."""
        ((version,),) = self.rows("PRAGMA user_version")
        ((application,),) = self.rows("PRAGMA application_id")
        if application != APPLICATION and self.rows("SELECT 1 FROM sqlite_master LIMIT 1"):
            message = f"'{self.path}' is no ledger of labgrade's: grade into another folder"
            raise LedgerError(message)
        return int(version)

    def _bring_up_to_date(self) -> None:
        """Create the tables, or the new ones. If two processes try, the second finds them there."""
        with self.transaction():
            version = self._version()
            steps = [tables.ALL] if not version else [STEPS[v] for v in range(version, VERSION)]
            for statement in (part for step in steps for part in _statements(step)):
                self.write(statement)
            self.write(f"PRAGMA application_id = {APPLICATION}")
            self.write(f"PRAGMA user_version = {VERSION}")

    @contextlib.contextmanager
    def _in_words(self) -> Iterator[None]:
        """Turn SQLite's errors into LedgerErrors with a remedy."""
        try:
            yield
        except sqlite3.Error as error:
            raise LedgerError(self._words(error)) from error

    def _words(self, error: sqlite3.Error) -> str:
        code = getattr(error, "sqlite_errorcode", 0) & _RESULT
        if code in _LOCKED:
            return (
                f"the ledger '{self.path}' is locked by another program: end that program, then run the same command "
                "again; nothing is lost"
            )
        if code in _NO_ROOM:
            return (
                f"the ledger '{self.path}' can't be written ({error}): make room on that disk, then run the same "
                "command again; what was graded so far is kept"
            )
        if code in _CLOSED:
            return f"the ledger '{self.path}' can't be opened ({error}): may you write to that folder?"
        if code in _DAMAGED:
            return (
                f"the ledger '{self.path}' is damaged ({error}) and was left as it is: put a copy of it back, or "
                f"recover its rows with: sqlite3 {NAME} .recover"
            )
        return f"the ledger '{self.path}' can't be used: {error}"


def rebuild(ledger: Ledger) -> None:
    """Forget all verdicts: the next run judges anew. Runs, history, decisions and releases stay.

    Raises:
        LedgerError: nothing was forgotten.
    """
    with ledger.transaction():
        for table in tables.REBUILT:
            ledger.write(f"DELETE FROM {table}")  # noqa: S608 - labgrade's own name


def _is_read_only(folder: Path) -> bool:
    """Return whether the folder lies on a read-only file system, where no program writes to the ledger.

    What a program that was killed left beside the ledger has to be written into it first.
    """
    left = folder / f"{NAME}-wal"
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY) and not (left.is_file() and left.stat().st_size)
    except (OSError, AttributeError):  # Windows has no such call
        return False


def exists(results: Path) -> bool:
    """Return whether a folder of results has a database, or had a database that is lost."""
    return (results / NAME).is_file() or (results / tables.KEPT).is_file()


@contextlib.contextmanager
def decision_transaction(results: Path) -> Iterator[Ledger]:
    """Open a transaction for a person's decisions: all that is added within is kept, or none.

    Raises:
        LedgerError: nothing was kept, and why.
    """
    with Ledger(results, write=True, durable=True) as ledger:
        _note_decisions_exist(results)
        with ledger.transaction():
            yield ledger


def _note_decisions_exist(results: Path) -> None:
    """Note beside the database that it holds decisions, so that its loss is noticed."""
    path = results / tables.KEPT
    try:
        if not path.is_file():
            path.write_text(tables.KEPT_TEXT, encoding="utf-8")
    except OSError as error:
        message = f"'{path}' can't be written ({(error.strerror or str(error)).lower()}); nothing was saved"
        raise LedgerError(message) from error


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            if statement.strip("; \n"):
                yield statement
            statement = ""


def _move_into_place(aside: Path, path: Path) -> None:
    """Move a file into its place, unless there is one already."""
    try:
        os.link(aside, path)
    except FileExistsError:
        raise
    except OSError:  # a disk without hard links
        with path.open("xb") as file:
            file.write(aside.read_bytes())


def load(ledger: Ledger, text: str) -> Any:
    """Parse plain data from the ledger.

    Raises:
        LedgerError: it is damaged.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise ledger.damaged(str(error)) from error


def dump(plain: object) -> str:
    """Serialise plain data in its order, as ASCII, since names may be invalid UTF-8."""
    return _as_text(plain)


_as_text = json.JSONEncoder(separators=(",", ":")).encode
