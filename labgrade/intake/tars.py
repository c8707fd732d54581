"""A tar archive as a stream, in which no header can make its reader work or remember without end."""

from __future__ import annotations

import gzip
import tarfile
from typing import IO, TYPE_CHECKING, Any, cast

from labgrade.intake.store import ALL_BYTES, DamagedError

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
