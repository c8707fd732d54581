"""Arrays of a submission: .npy, .npz, .safetensors and plain bytes, checked first, and never unpickled."""

from __future__ import annotations

import io
import json
import math
import re
import warnings
import zipfile
from typing import TYPE_CHECKING, TypeVar

from labgrade.answers.reading.documents import Unreadable, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from labgrade.core.results import Submission
    from labgrade.values import Array

_Of = TypeVar("_Of")
LARGEST = 256_000_000
_MOST_ARRAYS = 2_000
_UNPACKED = 512_000_000
_HEADER_BYTES = 1 << 17
_MOST_HEADER = 8 << 20
_SAFE = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class _NpyError(Exception):
    """The bytes are no array that is read; the message says why."""


def read_npy(submission: Submission, relative: str) -> Array | Unreadable:
    """Return the array in a .npy file of at most `LARGEST` bytes; objects, which would be unpickled, are refused."""
    return _read(submission, relative, _array)


def read_npz(submission: Submission, relative: str) -> dict[str, Array] | Unreadable:
    """Return the arrays in a .npz file by name: at most 2,000 of them, and 512 MB once unpacked."""
    return _read(submission, relative, _members)


def read_raw(submission: Submission, relative: str, dtype: str, shape: tuple[int, ...]) -> Array | Unreadable:
    """Return a file's bytes as an array of a type and shape that the spec states."""
    return _read(submission, relative, lambda data: _numbers(data, dtype, shape))


def read_safetensors(submission: Submission, relative: str) -> dict[str, Array] | Unreadable:
    """Return the arrays in a .safetensors file by name: a header in JSON, then their bytes."""
    return _read(submission, relative, _of_safetensors)


def _read(submission: Submission, relative: str, of: Callable[[bytes], _Of]) -> _Of | Unreadable:
    data = read_bytes(submission, relative, LARGEST)
    if isinstance(data, Unreadable):
        return data
    try:
        with warnings.catch_warnings(action="ignore"):  # of headers that Python 2 wrote
            return of(data)
    except _NpyError as error:
        return Unreadable(path=relative, reason=f"'{relative}' {error}")


def _of_safetensors(data: bytes) -> dict[str, Array]:
    size = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8 : 8 + size] if size <= _MOST_HEADER else b"")
        parts = {str(name): own for name, own in header.items() if name != "__metadata__"}
        places = [(name, own["dtype"], tuple(own["shape"]), *own["data_offsets"]) for name, own in parts.items()]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        message = "is no .safetensors file that can be read: bad header"
        raise _NpyError(message) from None
    if len(places) > _MOST_ARRAYS:
        message = f"holds {len(places):,} arrays; at most {_MOST_ARRAYS:,} are read"
        raise _NpyError(message)
    body = memoryview(data)[8 + size :]
    found: dict[str, Array] = {}
    for name, kind, shape, start, end in places:
        whole = all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in (*shape, start, end))
        if kind not in _SAFE or not whole:
            message = f"holds '{name[:60]}', whose type, shape or place is none that is read"
            raise _NpyError(message)
        found[name] = _numbers(body[start:end], _SAFE[kind], shape)
    return found


def _numbers(data: bytes | memoryview, dtype: str, shape: tuple[int, ...]) -> Array:
    """Return an array from little-endian bytes; bfloat16 is widened without loss."""
    import numpy as np

    half = dtype == "bfloat16"
    kind = np.dtype("<u2" if half else dtype).newbyteorder("<")
    wanted = math.prod(shape) * kind.itemsize
    if wanted != len(data):
        message = f"has {len(data):,} bytes; {list(shape)[:16]} of {dtype} takes {wanted:,}"
        raise _NpyError(message)
    found = np.frombuffer(data, kind)
    if half:
        found = (found.astype(np.uint32) << 16).view(np.float32)
    return found.reshape(shape)


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
    """Return the array in the bytes of a .npy file, if its header promises no more than there is."""
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
    try:
        return found.reshape(shape, order="F" if in_columns else "C")
    except (TypeError, ValueError) as error:  # sizes that are truth values, more of them than an array has
        message = f"promises an array that there can't be: {_said(error)}"
        raise _NpyError(message) from None


def _said(error: Exception) -> str:
    """Return the first line of an error, without addresses, which differ each time."""
    return _ADDRESS.sub("", str(error).partition("\n")[0])[:120] or "bad header"


def _header(file: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    """Return the header's shape, whether columns come first, and the type; the first value is next in the stream."""
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
