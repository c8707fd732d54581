"""The records of an archive's entries, as bytes: written where the archive is read, in a jail, and read by the grader.

A record is a letter, the number of bytes that follow (4 bytes, little endian), and these: `E` an entry (JSON), after
which its content may come in pieces `D`, with `.` behind the last one or `!` (why there is no more of it); `$` stands
at the end of all, `X` there with what is wrong with the archive. The reading side believes nothing: what is no such
record, or is larger than one, is a GarbledRecordError.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, Protocol

from labgrade.submissions import names
from labgrade.submissions.store import DamagedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

OPENED = "opened"  # what an archive is called where it is read
MOST_ENTRIES = 200_000
_HEAD = struct.Struct("<cI")
_PIECE = 1 << 20
_TOLD_BYTES = 1 << 16  # of all but content
_NAME_CHARS = 2_000
_WHY_CHARS = 300
TWICE = "the archive holds it more than once, and the last one counts"
CUT_SHORT = "it is damaged or cut short"
_BROKE_OFF = "what reads it broke off; what came before was taken"


class GarbledRecordError(Exception):
    """The bytes are no record: the sender is no longer what was started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """One entry of an archive.

    `parts`: its path, None where it belongs to no student; `why`: it is not taken; `at`: when it was last changed,
    without a zone where none is known.
    """

    name: str
    parts: tuple[str, ...] | None = None
    why: str = ""
    is_file: bool = True
    size: int = 0
    at: datetime | None = None

    @property
    def has_content(self) -> bool:
        """Return whether the entry is a file that may be taken."""
        return self.is_file and not self.why


def entry_record(entry: ArchiveEntry) -> bytes:
    """Encode an entry as a record."""
    plain = {
        "name": entry.name[:_NAME_CHARS],
        "parts": entry.parts,
        "why": entry.why,
        "is_file": entry.is_file,
        "size": entry.size,
        "at": entry.at.isoformat() if entry.at else "",
    }
    return _record(b"E", json.dumps(plain).encode())


def content_records(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield an entry's content as records; a DamagedError ends them with the reason."""
    try:
        for piece in pieces:
            yield _record(b"D", piece)
    except DamagedError as error:
        yield _record(b"!", str(error).encode())
    else:
        yield _record(b".", b"")


def end_record(*, note: str = "", problem: str = "") -> bytes:
    """Encode the last record."""
    return _record(b"X" if problem else b"$", (problem or note).encode())


def _record(kind: bytes, data: bytes) -> bytes:
    return _HEAD.pack(kind, len(data)) + data


class Opening(Protocol):
    """What opens what students packed, where it can do no harm: `Runner.open`."""

    def __call__(
        self, kind: str, source: Path, take: Callable[[IO[bytes]], None], arguments: Mapping[str, object]
    ) -> str:
        """Have `take` read the records of a file or a folder; why they ended before their end, or nothing.

        Raises:
            FaultError: the sandbox can't be used.
        """


def read(
    opening: Opening, kind: str, source: Path, take: Callable[[Records], None], arguments: Mapping[str, object]
) -> str:
    """Have `take` go through the records; why there are no more of them, or nothing.

    Raises:
        Exception: what `take` raises but DamagedError.
    """
    raised: list[Exception] = []

    def guarded(stream: IO[bytes]) -> None:  # in a thread of its own
        try:
            take(Records(stream, content=arguments.get("content") is True))
        except Exception as error:  # noqa: BLE001 - raised below, whatever it is
            raised.append(error)

    why = opening(kind, source, guarded, arguments)
    match raised:
        case []:
            return why
        case [CutShortError() | GarbledRecordError()]:
            return why or _BROKE_OFF
        case [DamagedError() as error]:
            return str(error)
    raise raised[0]


class Records:
    """The reading side: iterate over the entries, and read an entry's content with `read` before the next one.

    `content`: there is any. `note`: what is to be said of the archive in the end.

    Raises:
        GarbledRecordError: what comes is no record.
        DamagedError: what was read ends the archive with a reason of its own.
        CutShortError: it ends before its last record.
    """

    def __init__(self, stream: IO[bytes], *, content: bool) -> None:
        self._stream = stream
        self._content = content
        self.note = ""
        self._within = False
        self._piece = b""

    def __iter__(self) -> Iterator[ArchiveEntry]:
        """The entries, up to the last record."""
        while True:
            kind, data = self._next()
            while self._within and kind in {b"D", b".", b"!"}:  # of content that nobody wanted
                self._within = kind == b"D"
                kind, data = self._next()
            if kind == b"$":
                self.note = _text(data)
                return
            if kind == b"X":
                raise DamagedError(_text(data))
            if kind != b"E":
                raise GarbledRecordError(kind)
            entry = _entry(data)
            self._within, self._piece = self._content and entry.has_content, b""
            yield entry

    def read(self, most: int) -> bytes:
        """Read at most so many bytes of the entry's content; nothing at its end.

        Raises:
            DamagedError: there is no more, for a reason.
        """
        while self._within and not self._piece:
            kind, data = self._next()
            self._within = kind == b"D"
            if kind == b"D":
                self._piece = data
            elif kind == b"!":
                raise DamagedError(_text(data))
            elif kind != b".":
                raise GarbledRecordError(kind)
        piece, self._piece = self._piece[:most], self._piece[most:]
        return piece

    def _next(self) -> tuple[bytes, bytes]:
        kind, size = _HEAD.unpack(self._exactly(_HEAD.size))
        if size > (_PIECE if kind == b"D" else _TOLD_BYTES):
            raise GarbledRecordError(kind)
        return kind, self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            more = self._stream.read(size - len(data))
            if not more:
                raise CutShortError(CUT_SHORT)
            data += more
        return bytes(data)


class CutShortError(DamagedError):
    """The sender ended before the last record."""


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")[:_WHY_CHARS]


def _entry(data: bytes) -> ArchiveEntry:
    """Decode an entry. Its path is checked again, since it is trusted from here on.

    Raises:
        GarbledRecordError: it is none.
    """
    try:
        plain: Any = json.loads(data)
        parts = None if plain["parts"] is None else tuple(map(str, plain["parts"]))
        at = datetime.fromisoformat(plain["at"]) if plain["at"] else None
        name, why, size = str(plain["name"]), str(plain["why"])[:_WHY_CHARS], int(plain["size"])
        is_file = plain["is_file"] is True
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise GarbledRecordError(data[:100]) from error
    if parts is not None and names.split("/".join(parts)) != parts:
        raise GarbledRecordError(parts)
    return ArchiveEntry(name=name, parts=parts, why=why, is_file=is_file, size=size, at=at)
