"""Plain data as bytes: JSON for the structure, raw typed arrays behind it. Nothing is ever pickled.

A frame is: its length in all (8 bytes, little endian), the length of its header (4 bytes), the header, the arrays. The
header is JSON, `{"value": ..., "arrays": [[dtype, shape], ...]}`, in which a dict stands as `{"map": {...}}` and the
array number 3 as `{"array": 3}`.

The packing side runs in the student's process and must not depend on what a student may have replaced: it writes its
JSON itself. The unpacking side trusts nothing: whatever is not exactly one good frame is a NotPlainError.
"""

from __future__ import annotations

import json
import math
import re
import struct
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as _quote
from typing import TYPE_CHECKING, Any, NoReturn, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy import generic
    from numpy.typing import NDArray

FRAME_BYTES = 256 << 20
MODULE = "student_file"  # what a student's file is called where it is imported
MOST_NAMES = 200  # of functions that a reply lists
HEADER_BYTES = 8 << 20
DEPTH = 64
INT_DIGITS = 400
_ALIGNED = 16
_LARGEST_KEY = 10**18
DTYPES = frozenset({"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"})
_PREFIX = struct.Struct("<QI")
_INT_BITS = int(INT_DIGITS / math.log10(2))
_LONG = re.compile(rb"(?<!\d)\d{%d}" % INT_DIGITS)
_LEAVES = frozenset({int, float, bool, type(None)})
_MOST_AXES = 32
_GARBLED = "a garbled result"


class NotPlainError(Exception):
    """The data is not plain; `problem` goes on after "returned", `where` is the place within the value."""

    def __init__(self, problem: str, where: str = "") -> None:
        super().__init__(problem, where)
        self.problem = problem
        self.where = where

    def __str__(self) -> str:
        return f"{self.problem} (at {self.where})" if self.where else self.problem


@dataclass(frozen=True, slots=True)
class RawArray:
    """An array in C order: a dtype of `DTYPES`, its shape, its bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes | memoryview


def pack(value: object, convert: Callable[[object], object]) -> bytes:
    """Pack a value as one frame. `convert` turns other types into builtins or a RawArray, or raises NotPlainError.

    Raises:
        NotPlainError: the value is not plain data, is too large, or is nested too deep.
    """
    return b"".join(pack_in_parts(value, convert))


def pack_in_parts(value: object, convert: Callable[[object], object]) -> list[bytes | memoryview]:
    """Return the frame of `pack` in parts; its arrays are not copied."""
    packer = _Packer(convert)
    packer.add(value, 0)
    shapes = ",".join(f"[{_quote(array.dtype)},{list(array.shape)}]" for array in packer.arrays)
    header = f'{{"value":{"".join(packer.parts)},"arrays":[{shapes}]}}'.encode("ascii")
    header += b" " * (-(_PREFIX.size + len(header)) % _ALIGNED)  # then arrays can be used where they lie
    size = sum(len(array.data) for array in packer.arrays)
    prefix = _PREFIX.pack(_PREFIX.size + len(header) + size, len(header))
    return [prefix + header, *(array.data for array in packer.arrays)]


class _Packer:
    """Collects a frame's header and arrays. Types are compared by identity: a subclass may lie about everything."""

    def __init__(self, convert: Callable[[object], object]) -> None:
        self.convert = convert
        self.parts: list[str] = []
        self.arrays: list[RawArray] = []
        self.header_left = HEADER_BYTES - 1024
        self.frame_left = FRAME_BYTES - HEADER_BYTES

    def put(self, text: str) -> None:
        self.header_left -= len(text)
        if self.header_left < 0:
            problem = f"more than {HEADER_BYTES >> 20} MB of values; a tensor may hold {FRAME_BYTES >> 20} MB"
            raise NotPlainError(problem)
        self.parts.append(text)

    def add(self, item: Any, depth: int) -> None:
        if depth > DEPTH:
            problem = f"something nested more than {DEPTH} levels deep, or containing itself"
            raise NotPlainError(problem)
        kind = type(item)
        if kind is int:
            self.put(_int_text(item))
        elif kind is float:
            self.put(_float_text(item))
        elif kind is str:
            self.put(_quote(item[: self.header_left + 1]))
        elif item is None or kind is bool:
            self.put("null" if item is None else "true" if item else "false")
        elif kind is list or kind is tuple:
            self.add_list(item, depth)
        elif kind is dict:
            self.add_dict(item, depth)
        elif kind is RawArray:
            self.add_array(item)
        else:
            self.add(self.convert(item), depth + 1)

    def add_list(self, items: list[object] | tuple[object, ...], depth: int) -> None:
        self.put("[")
        for index, item in enumerate(items):
            if index:
                self.put(",")
            try:
                self.add(item, depth + 1)
            except NotPlainError as error:
                raise _inside(error, f"[{index}]") from None
        self.put("]")

    def add_dict(self, items: dict[object, object], depth: int) -> None:
        self.put('{"map":{')
        for index, (name, item) in enumerate(items.items()):
            key = self.key(name)
            self.put("," if index else "")
            self.put(_quote(key[: self.header_left + 1]) + ":")
            try:
                self.add(item, depth + 1)
            except NotPlainError as error:
                raise _inside(error, f"[{key[:40]!r}]") from None
        self.put("}}")

    def key(self, name: object) -> str:
        """Return a dict's key as text: a class stands for its name, an enumeration's member for its value."""
        try:
            key = name if type(name) in (str, int) else self.convert(name)
        except NotPlainError:
            key = name
        if type(key) is int and abs(key) < _LARGEST_KEY:
            return str(key)
        if type(key) is not str:
            problem = f"a dict with a key of type {type_name(key)}; keys must be text (str)"
            raise NotPlainError(problem)
        return key

    def add_array(self, array: RawArray) -> None:
        self.frame_left -= len(array.data)
        if self.frame_left < 0:
            problem = f"more than {(FRAME_BYTES - HEADER_BYTES) >> 20} MB of tensors"
            raise NotPlainError(problem)
        self.put(f'{{"array":{len(self.arrays)}}}')
        self.arrays.append(array)


def _inside(error: NotPlainError, place: str) -> NotPlainError:
    return NotPlainError(error.problem, (place + error.where)[:200])


def type_name(item: object) -> str:
    """Return the name of an object's type with its module, such as `collections.deque`."""
    kind = type(item)
    try:
        module, name = kind.__module__, kind.__qualname__
    except Exception:  # noqa: BLE001 - a metaclass of the student's may raise anything
        return "object"
    if type(module) is not str or type(name) is not str:
        return "object"
    return (name if module in {"builtins", "student_file"} else f"{module}.{name}")[:100]


def _int_text(number: int) -> str:
    bits = number.bit_length()
    if bits > _INT_BITS:
        problem = f"an integer of about {int(bits * math.log10(2)) + 1:,} digits; {INT_DIGITS} are the most"
        raise NotPlainError(problem)
    return int.__repr__(number)


def _float_text(number: float) -> str:
    if number != number:  # noqa: PLR0124 - the one value that differs from itself
        return "NaN"
    if number in {math.inf, -math.inf}:
        return "Infinity" if number > 0 else "-Infinity"
    return float.__repr__(number)


# ---- the other side --------------------------------------------------------------------------------------------


def unpack(frame: bytes | memoryview) -> object:
    """Return the plain data of exactly one frame: None, bool, int, float, str, list, dict, numpy arrays.

    Arrays of a writable frame share its memory if they are aligned; else they are copies.

    Raises:
        NotPlainError: for anything else, with what is wrong.
    """
    if len(frame) < _PREFIX.size:
        refuse("a truncated result")
    whole, header_size = _PREFIX.unpack_from(frame)
    if whole > FRAME_BYTES or header_size > HEADER_BYTES or whole < _PREFIX.size + header_size:
        raise NotPlainError(_GARBLED)
    if len(frame) < whole:
        refuse("a truncated result")
    if len(frame) > whole:
        refuse("more than one result")
    start = _PREFIX.size + header_size
    header = _read_header(bytes(frame[_PREFIX.size : start]))
    arrays = _read_arrays(memoryview(frame)[start:], header["arrays"])
    return _restore(header["value"], arrays, 0)


def unpack_each(frames: bytes | memoryview, most: int) -> list[object]:
    """Return the plain data of all whole frames, at most so many.

    Raises:
        NotPlainError: what is there is no frame.
    """
    found: list[object] = []
    start = 0
    while start + _PREFIX.size <= len(frames) and len(found) < most:
        size = _PREFIX.unpack_from(frames, start)[0]
        if start + size > len(frames):
            break
        found.append(unpack(frames[start : start + size]))
        start += size
    return found


def _read_header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("ascii"), parse_int=_bounded_int if _LONG.search(text) else int)
    except (ValueError, RecursionError):
        raise NotPlainError(_GARBLED) from None
    if not isinstance(header, dict) or header.keys() != {"value", "arrays"} or not isinstance(header["arrays"], list):
        raise NotPlainError(_GARBLED)
    return cast("dict[str, Any]", header)


def _bounded_int(digits: str) -> int:
    if len(digits) > INT_DIGITS + 1:
        raise ValueError(digits[:20])
    return int(digits)


def _read_arrays(data: memoryview, shapes: list[Any]) -> list[NDArray[generic] | None]:
    if not shapes and not data:
        return []
    import numpy as np

    arrays: list[NDArray[generic] | None] = []
    for entry in shapes:
        match entry:
            case [str(dtype), list(shape)] if dtype in DTYPES and len(shape) <= _MOST_AXES and _are_sizes(shape):
                kind = np.dtype(dtype)
                size = math.prod(shape)
                if size * kind.itemsize > len(data):
                    refuse("an array whose shape does not fit its data")
                try:
                    found = np.frombuffer(data[: size * kind.itemsize], kind).reshape(shape)
                except ValueError:  # no numbers at all, in more dimensions than numpy can count
                    refuse("a garbled array")
                arrays.append(found if found.flags.behaved else found.copy())
                data = data[size * kind.itemsize :]
            case _:
                refuse("a garbled array")
    if data:
        refuse("data that belongs to no array")
    return arrays


def _are_sizes(shape: list[Any]) -> bool:
    return all(type(size) is int and 0 <= size <= FRAME_BYTES for size in shape)


def _restore(node: Any, arrays: list[NDArray[generic] | None], depth: int) -> object:
    if depth > DEPTH:
        refuse("a value nested too deep")
    if type(node) in _LEAVES or (type(node) is str and node.isascii()):  # most are
        return node
    match node:
        case str():
            return node.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_restore(item, arrays, depth + 1) for item in node]
        case {"map": dict(items), **rest} if not rest:
            return {
                str(_restore(key, arrays, depth + 1)): _restore(item, arrays, depth + 1) for key, item in items.items()
            }
        case {"array": int(index), **rest} if not rest and type(index) is int and 0 <= index < len(arrays):
            found, arrays[index] = arrays[index], None  # once: a thousand names for one array are a thousand arrays
            return refuse("one array in two places") if found is None else found
        case _:
            raise NotPlainError(_GARBLED)


def refuse(problem: str) -> NoReturn:
    """Raise NotPlainError."""
    raise NotPlainError(problem)


def refuse_object(item: object) -> object:
    """Raise NotPlainError for any object: the `convert` of callers that pack plain data alone."""
    raise NotPlainError(type(item).__name__)
