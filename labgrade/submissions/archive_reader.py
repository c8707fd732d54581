"""Archives, read entry by entry where they can do no harm: in the reader's jail. No word of an entry is believed.

What is found goes out as records (`archive_records.py`), one after the other, so that no archive is ever in memory as
a whole.
"""

from __future__ import annotations

import gzip
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, cast

from labgrade.core.results import CLUTTER
from labgrade.submissions import archive_records, names
from labgrade.submissions.archive_records import MOST_ENTRIES, ArchiveEntry
from labgrade.submissions.store import ALL_BYTES, DamagedError, too_large

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Self

RATIO = 200
FREE_BYTES = 1 << 20  # what may come of nearly nothing
DAMAGED = archive_records.CUT_SHORT
TOLD_BEFORE = f"{DAMAGED}; what came before was taken"
_HEADER_BYTES = 1 << 20  # of one entry: names are shorter, and so are attributes
_SMALL_HEADER = 1 << 10
# Takes seconds: Python 3.11 looks through attributes in time that grows with the square of their size.
_MOST_WORK = 1 << 33
_MOST_IN_VAIN = 1_000  # readings behind the end: what skips a file that is said to be huge goes on for minutes
_TEXTS = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_ATTRIBUTES = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)


_PIECE = 1 << 18
_LARGEST_LIST = 64 << 20
_ENCRYPTED = 0x1
_TOO_MUCH = f"it would unpack to more than {RATIO} times its size"
_EXTRA_HEAD, _STAMP = struct.Struct("<HH"), struct.Struct("<Bl")
_UNIX_TIME = 0x5455  # Info-ZIP's extended timestamp
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError, lzma.LZMAError)
_TAR_ERRORS = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, OverflowError, RecursionError, DamagedError)


def write_records(job: Mapping[str, Any], folder: Path) -> Iterator[bytes]:
    """Yield the records of the archive `opened` in a folder.

    `ending`: `.zip` and the like; `owners`: names, where only what belongs to these students is wanted; `content`: what
    is in the files, too.
    """
    path, wanted = folder / archive_records.OPENED, job["owners"]
    walk = _zip_entries(path) if job["ending"] == ".zip" else _tar_entries(path, packed=job["ending"] != ".tar")
    try:
        for found in islice(walk, MOST_ENTRIES):
            if wanted is None or _is_of(found.entry, wanted):
                yield archive_records.entry_record(found.entry)
                if job["content"] and found.entry.has_content:
                    yield from archive_records.content_records(found.pieces())
        more = next(walk, None) is not None
    except DamagedError as error:
        yield archive_records.end_record(problem=str(error))
    else:
        yield archive_records.end_record(
            note=f"it holds more than {MOST_ENTRIES:,} entries; the first were taken" if more else ""
        )


def _is_of(entry: ArchiveEntry, wanted: list[str]) -> bool:
    """Return whether an entry may belong to one of these owners; an entry without a path does."""
    owned = names.owner(entry.parts, is_file=True) if entry.parts is not None else None
    return entry.parts is None or (owned is not None and owned[0] in wanted)


@dataclass(frozen=True, slots=True)
class _Found:
    """An entry, and a function that yields its content."""

    entry: ArchiveEntry
    pieces: Callable[[], Iterator[bytes]]


def _pieces(opened: Callable[[], IO[bytes] | None], damage: tuple[type[Exception], ...]) -> Iterator[bytes]:
    """Yield the content of an entry.

    Raises:
        DamagedError: it ends before its end.
    """
    try:
        file = opened()
        while file is not None and (piece := file.read(_PIECE)):
            yield piece
    except DamagedError:
        raise
    except damage as error:
        raise DamagedError(DAMAGED) from error


# ---- zip -------------------------------------------------------------------------------------------------------


def _zip_entries(path: Path) -> Iterator[_Found]:
    with _opened_zip(path) as archive:
        # Smallest first, so that a huge entry costs no other.
        called = ((info, _zip_name(info)) for info in archive.infolist())
        listed = [(info, name, names.split(name)) for info, name in called]
        last = {parts: info for info, name, parts in listed if not name.endswith("/")}  # of one name, as all unpack it
        for info, name, parts in sorted(listed, key=lambda each: each[0].file_size):
            if not _is_clutter(parts):
                entry = _entry(
                    name,
                    parts,
                    is_folder=name.endswith("/"),
                    size=info.file_size,
                    at=_zip_time(info),
                    problem=_zip_problem(info) if last.get(parts, info) is info else archive_records.TWICE,
                )
                yield _Found(entry, partial(_pieces, partial(archive.open, info), (*_ZIP_ERRORS, OSError)))


def _opened_zip(path: Path) -> zipfile.ZipFile:
    try:
        if _list_bytes(path) <= _LARGEST_LIST:
            return zipfile.ZipFile(path)
    except (*_ZIP_ERRORS, OSError) as error:
        message = f"it is no zip archive, or {DAMAGED.removeprefix('it is ')}"
        raise DamagedError(message) from error
    message = "it lists more files than any hand-in holds"
    raise DamagedError(message)


def _list_bytes(path: Path) -> int:
    """Return the size of a zip's central directory, which zipfile reads as a whole; 0 if there is none."""
    with path.open("rb") as file:
        end = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # noqa: SLF001
    return int(end[zipfile._ECD_SIZE]) if end else 0  # type: ignore[attr-defined]  # noqa: SLF001


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Decode an entry's name; without the UTF-8 flag it is in the writing system's encoding."""
    name = info.orig_filename
    if not info.flag_bits & zipfile._MASK_UTF_FILENAME:  # type: ignore[attr-defined]  # noqa: SLF001 - bit 11
        name = names.decoded(name.encode("cp437"), name)
    return name.replace("\\", "/")


def _zip_time(info: zipfile.ZipInfo) -> datetime | None:
    """Return an entry's time: exact and in UTC if the archive has it, else to two seconds by the writer's clock."""
    extra = info.extra
    while len(extra) >= _EXTRA_HEAD.size:
        kind, size = _EXTRA_HEAD.unpack_from(extra)
        if kind == _UNIX_TIME and size >= _STAMP.size:
            flags, seconds = _STAMP.unpack_from(extra, _EXTRA_HEAD.size)
            if flags & 1:
                return datetime.fromtimestamp(seconds, UTC)
        extra = extra[_EXTRA_HEAD.size + size :]
    try:
        return datetime(*info.date_time)  # noqa: DTZ001 - nobody knows the zone
    except ValueError:
        return None


def _zip_problem(info: zipfile.ZipInfo) -> str:
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
        return "it is a link; hand in the file itself" if stat.S_ISLNK(mode) else "it is not a regular file"
    if info.flag_bits & _ENCRYPTED:
        return "it is encrypted; hand it in without a password"
    if info.file_size > RATIO * info.compress_size + FREE_BYTES:
        return _TOO_MUCH
    return ""


# ---- tar -------------------------------------------------------------------------------------------------------


def _opened_tar(file: IO[bytes], *, packed: bool) -> tarfile.TarFile:
    """The archive, read once and in order. What is too much of it is a DamagedError, at each reading."""
    size = file.seek(0, 2)
    file.seek(0)
    stream = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else file
    most = min(RATIO * size + FREE_BYTES, 2 * ALL_BYTES) if packed else size + FREE_BYTES
    bounded = cast("IO[bytes]", _Bounded(stream, most))
    return tarfile.open(fileobj=bounded, mode="r|", errors="surrogateescape", tarinfo=_Member)


class _Bounded:
    """A stream that fails after more bytes than a hand-in may hold, or than its compressed size explains."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._left = most
        self._work = _MOST_WORK
        self._of_header: int | None = None
        self._in_vain = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        self._in_vain += not data
        if self._in_vain > _MOST_IN_VAIN:
            raise DamagedError(TOLD_BEFORE)
        if self._left < 0:
            message = f"it unpacks to more than {RATIO} times its size, or than {2 * ALL_BYTES >> 20} MiB"
            raise DamagedError(message)
        if self._of_header is not None:
            self._of_header -= len(data)
            if self._of_header < 0:
                raise _too_large()
        return data

    def begin_header(self, size: int) -> None:
        """Until it ends, count what is read. `size`: of the attributes in it."""
        self._of_header = _HEADER_BYTES
        self._work -= size * size if size > _SMALL_HEADER else 0
        if self._work < 0 or size > _HEADER_BYTES:
            raise _too_large()

    def end_header(self) -> None:
        """Count what is read from here on as content."""
        self._of_header = None


class _Member(tarfile.TarInfo):
    """An entry of bounded size, and after which an archive does not end as if that were all of it."""

    @classmethod
    def fromtarfile(cls, archive: Any) -> Self:
        """Read the next."""
        try:
            return super().fromtarfile(archive)
        except tarfile.HeaderError as error:
            if type(error).__name__ == "EOFHeaderError":  # the blocks of zeros at its end
                raise
            raise DamagedError(TOLD_BEFORE) from error

    def _proc_member(self, archive: Any) -> Any:
        """Override tarfile's hook: a header was read, and more of it may follow."""
        stream: _Bounded = archive.fileobj.fileobj
        stream.begin_header(self.size if self.type in (*_TEXTS, *_ATTRIBUTES) else 0)
        entry = super()._proc_member(archive)  # type: ignore[misc]
        stream.end_header()
        return entry


def _too_large() -> DamagedError:
    return DamagedError(f"the description of a file in it is too large; {TOLD_BEFORE.partition('; ')[2]}")


def _tar_entries(path: Path, *, packed: bool) -> Iterator[_Found]:
    with path.open("rb") as file:
        try:
            with _opened_tar(file, packed=packed) as archive:
                for info in archive:
                    name = names.of_file_system(info.name)
                    parts = names.split(name)
                    if not _is_clutter(parts):
                        at, problem = _tar_time(info), _tar_problem(info)
                        entry = _entry(name, parts, is_folder=info.isdir(), size=info.size, at=at, problem=problem)
                        yield _Found(entry, partial(_pieces, partial(archive.extractfile, info), _TAR_ERRORS))
        except DamagedError:
            raise
        except _TAR_ERRORS as error:
            raise DamagedError(TOLD_BEFORE) from error


def _tar_time(info: tarfile.TarInfo) -> datetime | None:
    try:
        return datetime.fromtimestamp(info.mtime, UTC)
    except (ValueError, OverflowError, OSError):  # a year that no calendar has
        return None


def _tar_problem(info: tarfile.TarInfo) -> str:
    if info.isreg():
        held: Any = info.sparse  # the places of what is no hole, and their sizes
        holes = held is not None and info.size > RATIO * sum(size for _, size in held) + FREE_BYTES
        return _TOO_MUCH if holes else ""
    return "it is a link; hand in the file itself" if info.issym() or info.islnk() else "it is not a regular file"


def _entry(
    name: str,
    parts: tuple[str, ...] | str,
    *,
    is_folder: bool,
    size: int,
    at: datetime | None,
    problem: str,
) -> ArchiveEntry:
    if isinstance(parts, str):
        return ArchiveEntry(name=name, why=parts, is_file=not is_folder)
    problem = problem or too_large(size)  # nobody takes it: nothing of it is unpacked
    return ArchiveEntry(
        name=name, parts=parts, why="" if is_folder else problem, is_file=not is_folder, size=size, at=at
    )


def _is_clutter(parts: tuple[str, ...] | str) -> bool:
    return isinstance(parts, tuple) and any(part in CLUTTER or part.startswith("._") for part in parts)
