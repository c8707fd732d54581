"""Archives, unpacked entry by entry into stores: what an entry says of itself is never believed."""

from __future__ import annotations

import gzip
import tarfile
from typing import IO
from typing import TYPE_CHECKING
from typing import Any
from typing import cast
from labgrade.submissions.store import ALL_BYTES
from labgrade.submissions.store import DamagedError
import lzma
import stat
import struct
import zipfile
import zlib
from datetime import UTC
from datetime import datetime
from typing import TypeAlias
from labgrade.submissions import names
from labgrade.core.results import CLUTTER

if TYPE_CHECKING:
    from typing import Self

RATIO = 200
FREE_BYTES = 1 << 20  # what may come of nearly nothing
DAMAGED = "it is damaged or cut short"
TOLD_BEFORE = f"{DAMAGED}; what came before was taken"
_HEADER_BYTES = 1 << 20  # of one entry: names are shorter, and so are attributes
_SMALL_HEADER = 1 << 10
_MOST_WORK = (
    1 << 33
)  # takes seconds: Python 3.11 looks through attributes in time that grows with the square of their size
_TEXTS = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_ATTRIBUTES = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)


def opened(file: IO[bytes], *, packed: bool) -> tarfile.TarFile:
    """The archive, read once and in order. What is too much of it is a DamagedError, whoever reads."""
    size = file.seek(0, 2)
    file.seek(0)
    stream = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else file
    most = min(RATIO * size + FREE_BYTES, 2 * ALL_BYTES) if packed else size + FREE_BYTES
    bounded = cast("IO[bytes]", _Bounded(stream, most))
    return tarfile.open(fileobj=bounded, mode="r|", errors="surrogateescape", tarinfo=_Entry)


class _Bounded:
    """A stream that ends with an error where it has given more than a hand-in may hold, or than its file explains."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._left = most
        self._work = _MOST_WORK
        self._of_header: int | None = None

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
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
        """What is read from here on is content."""
        self._of_header = None


class _Entry(tarfile.TarInfo):
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
        """What tarfile lets be overridden: a header was read, and more of it may follow."""
        stream: _Bounded = archive.fileobj.fileobj
        stream.begin_header(self.size if self.type in (*_TEXTS, *_ATTRIBUTES) else 0)
        entry = super()._proc_member(archive)  # type: ignore[misc]
        stream.end_header()
        return entry


def _too_large() -> DamagedError:
    return DamagedError(f"the description of a file in it is too large; {TOLD_BEFORE.partition('; ')[2]}")


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from labgrade.submissions.store import Store

    # For the parts of an entry's path: the store that takes it, and the parts there; None where nobody wants it.
    Route: TypeAlias = Callable[[tuple[str, ...]], tuple[Store, tuple[str, ...]] | None]

ENDINGS = (".tar.gz", ".tgz", ".tar", ".zip")
OTHERS = (".rar", ".7z", ".tar.xz", ".tar.bz2", ".txz", ".tbz2", ".gz", ".xz", ".bz2", ".zst")
_MOST_ENTRIES = 200_000
_LARGEST_LIST = 64 << 20
_ENCRYPTED = 0x1
_EXTRA_HEAD, _STAMP = struct.Struct("<HH"), struct.Struct("<Bl")
_UNIX_TIME = 0x5455  # Info-ZIP's extended timestamp
_MADE_BY_DOS = 0
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError, lzma.LZMAError)
_TAR_ERRORS = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, OverflowError, RecursionError, DamagedError)


def ending(name: str) -> str:
    """`.zip` of `hw2.ZIP`; nothing where it is no archive that can be unpacked."""
    return next((known for known in ENDINGS if name.lower().endswith(known)), "")


def members(path: Path) -> Iterator[tuple[tuple[str, ...], bool]]:
    """The path of each entry that could be taken, and whether it is a file, not a folder.

    Raises:
        DamagedError: it is no such archive.
    """
    if ending(path.name) == ".zip":
        with _opened(path) as archive:
            for info in archive.infolist():
                if isinstance(parts := _zip_parts(info), tuple) and not _is_clutter(parts):
                    yield parts, not info.is_dir()
        return
    with path.open("rb") as file:
        try:
            with opened(file, packed=ending(path.name) != ".tar") as tar:
                for member in tar:
                    if isinstance(parts := _tar_parts(member), tuple) and not _is_clutter(parts):
                        yield parts, not member.isdir()
        except _TAR_ERRORS as error:
            raise DamagedError(DAMAGED) from error


def times(path: Path) -> Iterator[tuple[tuple[str, ...], datetime]]:
    """The path of each file that could be taken, and when it was last changed; without a zone where none is known.

    Raises:
        DamagedError: it is no such archive, or ends before its end.
    """
    if ending(path.name) == ".zip":
        with _opened(path) as archive:
            for info in archive.infolist():
                at = _zip_time(info)
                if isinstance(parts := _zip_parts(info), tuple) and not info.is_dir() and at is not None:
                    yield parts, at
        return
    with path.open("rb") as file:
        try:
            with opened(file, packed=ending(path.name) != ".tar") as tar:
                for member in tar:
                    if isinstance(parts := _tar_parts(member), tuple) and member.isreg():
                        yield parts, datetime.fromtimestamp(member.mtime, UTC)
        except _TAR_ERRORS as error:
            raise DamagedError(DAMAGED) from error


def unpack(path: Path, route: Route, refuse: Callable[[str, str], None], *, called: str) -> None:
    """Unpack a whole archive. `refuse(path, why)` hears of what is nobody's, and of damage to what is `called` so."""
    try:
        one = _unpack_zip if ending(path.name) == ".zip" else _unpack_tar
        full = one(path, route, refuse)
    except DamagedError as error:
        refuse(called, str(error))
        return
    if full:
        refuse(called, f"it holds more than {_MOST_ENTRIES:,} entries; the first were taken")


# ---- zip -------------------------------------------------------------------------------------------------------


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        if _list_bytes(path) <= _LARGEST_LIST:
            return zipfile.ZipFile(path)
    except (*_ZIP_ERRORS, OSError) as error:
        message = f"it is no zip archive, or {DAMAGED.removeprefix('it is ')}"
        raise DamagedError(message) from error
    message = "it lists more files than any hand-in holds"
    raise DamagedError(message)


def _list_bytes(path: Path) -> int:
    """The size of its list of files, which zipfile reads as a whole; 0 where it has none."""
    with path.open("rb") as file:
        end = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # noqa: SLF001
    return int(end[zipfile._ECD_SIZE]) if end else 0  # type: ignore[attr-defined]  # noqa: SLF001


def _unpack_zip(path: Path, route: Route, refuse: Callable[[str, str], None]) -> bool:
    """Whether there was more than is taken."""
    with _opened(path) as archive:
        entries = archive.infolist()
        # Smallest first, so that a huge entry costs no other.
        for info in sorted(entries[:_MOST_ENTRIES], key=lambda info: info.file_size):
            parts = _zip_parts(info)
            if info.is_dir() or _is_clutter(parts):
                continue
            if isinstance(parts, str):
                refuse(_zip_name(info), parts)
                continue
            routed = route(parts)
            if routed is None:
                continue
            store, kept = routed
            if why := _zip_problem(info):
                store.refuse("/".join(kept), why)
            elif store.accepts("/".join(kept), info.file_size):
                _put_zipped(archive, info, store, kept)
    return len(entries) > _MOST_ENTRIES


def _put_zipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo, store: Store, kept: tuple[str, ...]) -> None:
    try:
        with archive.open(info) as entry:
            store.put(kept, _reader(entry, (*_ZIP_ERRORS, OSError)))
    except (*_ZIP_ERRORS, OSError):
        store.refuse("/".join(kept), DAMAGED)


def _reader(entry: IO[bytes], damage: tuple[type[Exception], ...]) -> Callable[[int], bytes]:
    def read(most: int) -> bytes:
        try:
            return entry.read(most)
        except DamagedError:
            raise
        except damage as error:
            raise DamagedError(DAMAGED) from error

    return read


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Without its flag for UTF-8 a name is in the encoding of the system that it was written on."""
    name = info.orig_filename
    if not info.flag_bits & zipfile._MASK_UTF_FILENAME:  # type: ignore[attr-defined]  # noqa: SLF001 - bit 11
        name = names.decoded(name.encode("cp437"), name)
    return name.replace("\\", "/") if info.create_system == _MADE_BY_DOS else name


def _zip_parts(info: zipfile.ZipInfo) -> tuple[str, ...] | str:
    return names.split(_zip_name(info))


def _zip_time(info: zipfile.ZipInfo) -> datetime | None:
    """Exact and in UTC where the archive says so, else to two seconds and by the clock of the machine that wrote it."""
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
        return f"it would unpack to more than {RATIO} times its size"
    return ""


# ---- tar -------------------------------------------------------------------------------------------------------


def _unpack_tar(path: Path, route: Route, refuse: Callable[[str, str], None]) -> bool:
    """Whether there was more than is taken."""
    with path.open("rb") as file:
        try:
            with opened(file, packed=ending(path.name) != ".tar") as archive:
                for count, info in enumerate(archive):
                    if count >= _MOST_ENTRIES:
                        return True
                    _take_member(archive, info, route, refuse)
        except DamagedError:
            raise
        except _TAR_ERRORS as error:
            raise DamagedError(TOLD_BEFORE) from error
    return False


def _take_member(
    archive: tarfile.TarFile, info: tarfile.TarInfo, route: Route, refuse: Callable[[str, str], None]
) -> None:
    parts = _tar_parts(info)
    if info.isdir() or _is_clutter(parts):
        return
    if isinstance(parts, str):
        refuse(_tar_name(info), parts)
        return
    routed = route(parts)
    if routed is None:
        return
    store, kept = routed
    if not info.isreg():
        linked = info.issym() or info.islnk()
        why = "it is a link; hand in the file itself" if linked else "it is not a regular file"
        store.refuse("/".join(kept), why)
    elif store.accepts("/".join(kept), info.size):
        entry = archive.extractfile(info)
        if entry is not None:
            store.put(kept, _reader(entry, _TAR_ERRORS))


def _tar_name(info: tarfile.TarInfo) -> str:
    return names.of_file_system(info.name)


def _tar_parts(info: tarfile.TarInfo) -> tuple[str, ...] | str:
    return names.split(_tar_name(info))


def _is_clutter(parts: tuple[str, ...] | str) -> bool:
    return isinstance(parts, tuple) and any(part in CLUTTER or part.startswith("._") for part in parts)
