"""FlatBuffers, read with every step checked: TFLite, ONNX Runtime and ExecuTorch keep their models so.

A file may be hostile: each offset, length and count is looked at before it is followed, and of all together no more
than `_MOST` are. Field numbers are those of the published schemas.
"""

from __future__ import annotations

import mmap
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MOST = 2_000_000  # numbers, texts and tables: the largest models have a tenth
_LONGEST = 4096  # bytes of a text that is read


class DamagedError(ValueError):
    """An offset or a length leads out of the file."""


class Buffer:
    """The bytes of a file. What is read of them is counted."""

    def __init__(self, data: Any) -> None:
        self.data, self.size, self._left = data, len(data), _MOST

    def count(self, items: int) -> None:
        """Note that so many more are read.

        Raises:
            DamagedError: these are more than a model has.
        """
        self._left -= items
        if self._left < 0:
            message = f"it holds more than {_MOST:,} items"
            raise DamagedError(message)

    def read(self, form: str, at: int) -> Any:
        """One number.

        Raises:
            DamagedError: it lies outside of the file.
        """
        if at < 0 or at + struct.calcsize(form) > self.size:
            message = f"an offset leads to byte {at:,} of {self.size:,}"
            raise DamagedError(message)
        return struct.unpack_from(form, self.data, at)[0]

    def root(self) -> Table:
        """The table that holds all others.

        Raises:
            DamagedError: there is none.
        """
        return Table(self, self.read("<I", 0))


class Table:
    """A table of a file. Fields are asked for by their number in the schema."""

    __slots__ = ("_at", "_buffer", "_offsets", "_size")

    def __init__(self, buffer: Buffer, at: int) -> None:
        buffer.count(1)
        self._buffer, self._at = buffer, at
        self._offsets = at - buffer.read("<i", at)
        self._size = buffer.read("<H", self._offsets)

    def _place(self, field: int) -> int:
        """Where a field lies; 0 where the table has none."""
        entry = 4 + 2 * field
        if entry + 2 > self._size:
            return 0
        offset = self._buffer.read("<H", self._offsets + entry)
        return self._at + offset if offset else 0

    def number(self, field: int, form: str, default: Any = 0) -> Any:
        """A number of a struct format such as `i`."""
        place = self._place(field)
        return self._buffer.read(f"<{form}", place) if place else default

    def _pointed(self, place: int) -> int:
        return place + int(self._buffer.read("<I", place))

    def table(self, field: int) -> Table | None:
        """A table, or None."""
        place = self._place(field)
        return Table(self._buffer, self._pointed(place)) if place else None

    def _vector(self, field: int, size: int) -> tuple[int, int]:
        """Where the elements of a vector begin, and how many there are."""
        place = self._place(field)
        if not place:
            return 0, 0
        start = self._pointed(place)
        count = int(self._buffer.read("<I", start))
        if start + 4 + count * size > self._buffer.size:
            message = f"a vector of {count:,} elements at byte {start:,} does not fit into the file"
            raise DamagedError(message)
        return start + 4, count

    def has(self, field: int) -> bool:
        """Whether the table has the field."""
        return bool(self._place(field))

    def bytes_of(self, field: int) -> int:
        """How many bytes a vector of bytes holds; they are not read."""
        return self._vector(field, 1)[1]

    def content(self, field: int, most: int) -> bytes | None:
        """A vector of bytes; None where it has more than `most`."""
        start, count = self._vector(field, 1)
        return bytes(self._buffer.data[start : start + count]) if count <= most else None

    def numbers(self, field: int, form: str) -> tuple[Any, ...]:
        """A vector of numbers of a struct format such as `i`."""
        start, count = self._vector(field, struct.calcsize(f"<{form}"))
        self._buffer.count(count)
        return struct.unpack_from(f"<{count}{form}", self._buffer.data, start)

    def tables(self, field: int) -> list[Table]:
        """A vector of tables."""
        return [Table(self._buffer, self._pointed(place)) for place in self._places(field)]

    def _places(self, field: int) -> range:
        start, count = self._vector(field, 4)
        self._buffer.count(count)
        return range(start, start + 4 * count, 4)

    def text(self, field: int) -> str:
        """A text, cut where it is long."""
        place = self._place(field)
        return self._text(self._pointed(place)) if place else ""

    def texts(self, field: int) -> list[str]:
        """A vector of texts."""
        return [self._text(self._pointed(place)) for place in self._places(field)]

    def _text(self, start: int) -> str:
        count = int(self._buffer.read("<I", start))
        if start + 4 + count > self._buffer.size:
            message = f"a text of {count:,} bytes at byte {start:,} does not fit into the file"
            raise DamagedError(message)
        self._buffer.count(1 + min(count, _LONGEST) // 64)
        return bytes(self._buffer.data[start + 4 : start + 4 + min(count, _LONGEST)]).decode("utf-8", "replace")


@contextmanager
def opened(path: Path, what: str) -> Iterator[Buffer]:
    """A file, mapped. What is wrong with it is said of `what`.

    Raises:
        ValueError: it can't be read, or is damaged.
    """
    try:
        with path.open("rb") as reader, mmap.mmap(reader.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield Buffer(data)
    except DamagedError as error:
        message = f"this {what} is damaged or cut off: {error}"
        raise ValueError(message) from None
    except OSError as error:
        message = f"the file can't be read: {error.strerror}"
        raise ValueError(message) from None
