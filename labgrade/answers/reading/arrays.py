"""Arrays of a submission: .npy and .npz, checked before anything is allocated, and never unpickled."""

from __future__ import annotations

import io
import math
import re
import warnings
import zipfile
from typing import TYPE_CHECKING

from labgrade.answers.reading.documents import Unreadable, read_bytes

if TYPE_CHECKING:
    import numpy as np

    from labgrade.core.results import Submission
    from labgrade.values import Array

LARGEST = 256_000_000
_MOST_ARRAYS = 2_000
_UNPACKED = 512_000_000
_HEADER_BYTES = 1 << 17


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class _NpyError(Exception):
    """Bytes are no array that is read; the message says why."""


def read_npy(submission: Submission, relative: str) -> Array | Unreadable:
    """The array in a .npy file of at most `LARGEST` bytes; objects, which would be unpickled, are refused."""
    data = read_bytes(submission, relative, LARGEST)
    if isinstance(data, Unreadable):
        return data
    try:
        with warnings.catch_warnings(action="ignore"):  # of headers that Python 2 wrote
            return _array(data)
    except _NpyError as error:
        return Unreadable(path=relative, reason=f"'{relative}' {error}")


def read_npz(submission: Submission, relative: str) -> dict[str, Array] | Unreadable:
    """The arrays in a .npz file by name: at most 2,000 of them, and 512 MB once unpacked."""
    data = read_bytes(submission, relative, LARGEST)
    if isinstance(data, Unreadable):
        return data
    try:
        with warnings.catch_warnings(action="ignore"):
            return _members(data)
    except _NpyError as error:
        return Unreadable(path=relative, reason=f"'{relative}' {error}")


def _members(data: bytes) -> dict[str, Array]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            _check_size(members)
            return {member.filename.removesuffix(".npy"): _member(archive, member) for member in members}
    except _NpyError:
        raise
    except Exception as error:  # noqa: BLE001 - what zipfile and its decompressors raise has no common base
        message = f"is no .npz file that can be read: {_said(error)}"
        raise _NpyError(message) from None


def _check_size(members: list[zipfile.ZipInfo]) -> None:
    if len(members) > _MOST_ARRAYS:
        message = f"holds {len(members):,} files; at most {_MOST_ARRAYS:,} are read"
        raise _NpyError(message)
    if sum(member.file_size for member in members) > _UNPACKED:
        message = f"unpacks to more than {_UNPACKED / 1e6:,.0f} MB"
        raise _NpyError(message)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    with archive.open(member) as file:
        data = file.read(member.file_size + 1)
    try:
        return _array(data)
    except _NpyError as error:
        message = f"holds '{member.filename[:60]}', which {error}"
        raise _NpyError(message) from None


def _array(data: bytes) -> Array:
    """The array in the bytes of a .npy file, once its header promises no more than there is."""
    import numpy as np

    file = io.BytesIO(data[:_HEADER_BYTES])
    shape, in_columns, dtype = _header(file)
    if dtype.kind not in "biufc":
        message = f"holds {dtype} values; save an array of numbers (nothing is unpickled)"
        raise _NpyError(message)
    if any(size < 0 for size in shape) or math.prod(shape) * dtype.itemsize > len(data) - file.tell():
        message = f"promises an array of shape {list(shape)[:16]}, but is too short for it"
        raise _NpyError(message)
    found = np.frombuffer(data, dtype, math.prod(shape), file.tell())  # a copy may be too much for the reader
    return found.reshape(shape, order="F" if in_columns else "C")


def _said(error: Exception) -> str:
    """The first line of an error, without addresses, which are others each time."""
    return _ADDRESS.sub("", str(error).partition("\n")[0])[:120] or "bad header"


def _header(file: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    """The shape that the header promises, whether columns come first, and the type; then the first value is next."""
    import numpy as np

    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        version = np.lib.format.read_magic(file)
        if version in readers:
            return readers[version](file)
    except Exception as error:  # noqa: BLE001 - what numpy's reader raises on a hostile header has no common base
        message = f"is no .npy file that can be read: {_said(error)}"
        raise _NpyError(message) from None
    message = f"is written in version {version[0]}.{version[1]} of the .npy format; numpy.save it anew"
    raise _NpyError(message)
