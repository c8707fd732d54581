"""An ONNX file without its weights: the protobuf wire format is walked, and large payloads are left where they lie.

What remains is a valid message for `onnx.ModelProto`, in which a tensor whose payload was left out is marked as
external data without a location, and its doc_string says where in the file the payload lies (`weights.py` reads it),
behind a word that no file can know.
Field numbers are those of onnx.proto, wire types those of protobuf's encoding guide.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .problems import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from mmap import mmap

KEPT_BYTES = 8192  # a payload of integers up to this size stays: shapes are computed from small tensors
_KEPT_FLOAT_BYTES = 256  # the scales of a Resize; biases may go
_KEPT_BOOL_BYTES = 1 << 20  # what Compress keeps, an element a byte
_MOST_KEPT = 64 << 20
# Drawn anew in each process: what it stands before was written here, whatever doc_strings a file brings along.
LEFT_OUT_HERE = os.urandom(8).hex()
SCATTERED = "scattered"  # a payload in several fields
_WHOLE_BYTES = 1024  # a message up to this size holds no payload worth looking for
_MOST_FIELDS = 2_000_000
_MOST_DEPTH = 60
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Of each message: the fields that hold messages in which a tensor may lie. Others are copied as they are.
_INSIDE: Mapping[str, Mapping[int, tuple[str, str]]] = {
    "model": {7: ("graph", "graph"), 25: ("functions", "function")},
    "graph": {1: ("node", "node"), 5: ("initializer", "tensor"), 15: ("sparse_initializer", "sparse")},
    "function": {7: ("node", "node"), 11: ("attribute_proto", "attribute")},
    "node": {5: ("attribute", "attribute")},
    "attribute": {
        5: ("t", "tensor"),
        6: ("g", "graph"),
        10: ("tensors", "tensor"),
        11: ("graphs", "graph"),
        22: ("sparse_tensor", "sparse"),
        23: ("sparse_tensors", "sparse"),
    },
    "sparse": {1: ("values", "tensor"), 2: ("indices", "tensor")},
}
# Training, documentation, metadata, and declared shapes: those are computed here, not believed.
_LEFT_OUT: Mapping[str, frozenset[int]] = {
    "model": frozenset({6, 14, 20, 26}),
    "graph": frozenset({10, 13, 14, 16}),
    "function": frozenset({8, 12, 14}),
    "node": frozenset({6, 9, 10}),
}
_INTEGERS = frozenset({2, 3, 4, 5, 6, 7, 9, 12, 13})
_ALWAYS = frozenset({"tensor", "graph"})
_DIMS, _DATA_TYPE, _NAME, _RAW, _DOC, _ENTRIES, _LOCATION = 1, 2, 8, 9, 12, 13, 14
_TYPED = frozenset({4, 5, 6, 7, 10, 11})
_BOOL = 9
# How an attribute ends that says its type: FLOATS, INTS or STRINGS. A forest's have a field a number.
_PLAIN_ENDS = tuple(bytes([0xA0, 0x01, kind]) for kind in (6, 7, 8))
_EXTERNAL_MARK = bytes([14 << 3, 1])  # data_location: EXTERNAL
# Bits of an element by TensorProto.DataType; strings (8) have no size of their own.
BITS: Mapping[int, int] = {
    **dict.fromkeys((1, 6, 12), 32),
    **dict.fromkeys((2, 3, 9, 17, 18, 19, 20, 24), 8),
    **dict.fromkeys((4, 5, 10, 16), 16),
    **dict.fromkeys((7, 11, 13, 14), 64),
    15: 128,
    **dict.fromkeys((21, 22, 23), 4),
    **dict.fromkeys((25, 26), 2),
}


def size_of(data_type: int, shape: tuple[int, ...]) -> int | None:
    """The bytes of a tensor, elements below a byte packed; None for strings and types that no one knows.

    A tensor of no dimensions has one element.
    """
    bits = BITS.get(data_type)
    return None if bits is None else (math.prod(shape) * bits + 7) // 8


def without_weights(data: mmap | bytes) -> bytes:
    """The model's message without payloads over 8 KiB.

    Raises:
        ModelError: this is not protobuf, or it ends too early; names the field.
    """
    return _Walk(data).message("model", 0, len(data), "model", 0)


@dataclass(slots=True)
class _Head:
    """What a tensor says of itself; its name is its place in the file until it has one."""

    name: str
    dims: list[int] = field(default_factory=list)
    data_type: int = 0
    is_external: bool = False


class _Walk:
    """One pass over a file. It counts the fields that it sees, so that no file takes forever."""

    def __init__(self, data: mmap | bytes) -> None:
        self._data = data
        self._seen = 0

    def message(self, kind: str, start: int, end: int, place: str, depth: int) -> bytes:
        """A message without the payloads in it. `place` says in errors where it stands."""
        if depth > _MOST_DEPTH:
            message = f"{place[:200]}: graphs are nested more than {_MOST_DEPTH // 4} deep"
            raise ModelError(message)
        if kind == "tensor":
            return self._tensor(start, end, place)
        inside, left_out = _INSIDE[kind], _LEFT_OUT.get(kind, frozenset())
        kept, count = bytearray(), 0
        for number, wire, tag, begin, finish in self._fields(start, end, place):
            count += 1
            if wire == _BYTES and number in inside:
                name, below = inside[number]
                plain = below == "attribute" and self._data[finish - 3 : finish] in _PLAIN_ENDS
                if below in _ALWAYS or (finish - begin > _WHOLE_BYTES and not plain):
                    here = f"{place}.{name}[{count - 1}]"
                    content = self.message(below, begin, finish, here, depth + 1)
                    kept += _head(number, len(content)) + content
                    continue
            if number not in left_out:
                kept += self._data[tag:finish]
            if len(kept) > _MOST_KEPT:
                message = f"{place[:200]}: without its weights it still has more than {_MOST_KEPT >> 20} MiB"
                raise ModelError(message)
        return bytes(kept)

    def _tensor(self, start: int, end: int, place: str) -> bytes:
        kept, payload, entries = bytearray(), bytearray(), bytearray()
        head = _Head(place)
        raw, typed = -1, 0
        where: list[tuple[int, int, int]] = []
        for number, wire, tag, begin, finish in self._fields(start, end, place):
            if number == _RAW and wire == _BYTES:
                raw = finish - begin
            elif number in _TYPED and wire in (_BYTES, _VARINT, _FIXED32, _FIXED64):
                typed += finish - begin
            elif number == _ENTRIES:
                entries += self._data[tag:finish]
                continue
            else:
                kept += self._data[tag:finish] if number != _DOC else b""
                self._note(head, number, wire, begin, finish)
                continue
            where.append((number if wire == _BYTES else 0, begin, finish))
            if finish - tag + len(payload) <= (_KEPT_BOOL_BYTES if head.data_type == _BOOL else KEPT_BYTES):
                payload += self._data[tag:finish]
        if head.is_external:
            if raw > 0 or typed:
                message = f"the tensor '{head.name}' holds its values twice: in the file, and as external data"
                raise ModelError(message)
            return bytes(kept + entries)
        # The entries of a tensor that is not external mean nothing: runtimes read its own bytes, and so does this.
        wanted = size_of(head.data_type, tuple(head.dims))
        if raw >= 0 and wanted is not None and raw != wanted:
            message = f"the tensor '{head.name}' holds {raw:,} bytes where its shape {head.dims} needs {wanted:,}"
            raise ModelError(message)
        complete = max(raw, 0) + typed <= (len(payload) if head.data_type in _INTEGERS else _KEPT_FLOAT_BYTES)
        return bytes(kept + (payload if complete else _EXTERNAL_MARK + _whereabouts(where)))

    def _note(self, head: _Head, number: int, wire: int, begin: int, finish: int) -> None:
        """What a field of a tensor says of it, where it is one of those that count here."""
        if number == _DIMS:
            head.dims += self._integers(wire, begin, finish, head.name)
        elif number == _DATA_TYPE and wire == _VARINT:
            head.data_type = self._varint(begin, finish, head.name)[0]
        elif number == _NAME and wire == _BYTES:
            head.name = bytes(self._data[begin:finish]).decode("utf-8", "replace") or head.name
        elif number == _LOCATION and wire == _VARINT:
            head.is_external = self._varint(begin, finish, head.name)[0] == 1

    def _fields(self, start: int, end: int, place: str) -> Iterator[tuple[int, int, int, int, int]]:
        """Number, wire type, where the tag begins, and where the content begins and ends, of each field."""
        at = start
        while at < end:
            self._seen += 1
            if self._seen > _MOST_FIELDS:
                message = f"this is not an ONNX model: it has more than {_MOST_FIELDS:,} fields"
                raise ModelError(message)
            key, begin = self._data[at], at + 1
            if key > 127:  # noqa: PLR2004 - most keys and lengths have one byte, and most of the time goes into them
                key, begin = self._varint(at, end, place)
            number, wire = key >> 3, key & 7
            finish = begin
            if wire == _BYTES:
                length = self._data[begin] if begin < end else 128
                begin += 1
                if length > 127:  # noqa: PLR2004
                    length, begin = self._varint(begin - 1, end, place)
                finish = begin + length
            elif wire == _VARINT:
                _, finish = self._varint(begin, end, place)
            elif wire in (_FIXED64, _FIXED32):
                finish = begin + (8 if wire == _FIXED64 else 4)
            else:
                number = 0
            if number == 0:
                message = f"this is not an ONNX model: at byte {at:,} ({place}) stands no field of protobuf"
                raise ModelError(message)
            if finish > end:
                raise _cut(place, number, finish - end)
            yield number, wire, at, begin, finish
            at = finish

    def _varint(self, at: int, end: int, place: str) -> tuple[int, int]:
        value = shift = 0
        while True:
            if at >= end:
                raise _cut(place, 0, 1)
            byte = self._data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:  # noqa: PLR2004 - the highest bit says that more follows
                return value & ((1 << 64) - 1), at
            shift += 7
            if shift > 63:  # noqa: PLR2004 - ten bytes hold 64 bits
                message = f"this is not an ONNX model: a number at byte {at:,} ({place}) never ends"
                raise ModelError(message)

    def _integers(self, wire: int, begin: int, finish: int, place: str) -> list[int]:
        found = []
        while begin < finish:
            value, begin = self._varint(begin, finish, place)
            found.append(value - (1 << 64) if value >> 63 else value)
            if wire == _VARINT:
                break
        return found


def _whereabouts(where: list[tuple[int, int, int]]) -> bytes:
    """A doc_string that says which field of the file holds a payload; the file's own doc_strings are left out."""
    known = len(where) == 1 and where[0][0]
    said = f"{LEFT_OUT_HERE} {' '.join(map(str, where[0])) if known else SCATTERED}"
    return _head(_DOC, len(said)) + said.encode()


def _cut(place: str, number: int, missing: int) -> ModelError:
    field = f"field {number} of {place}" if number else place
    return ModelError(f"the file is truncated or damaged: {field} ends {missing:,} bytes beyond what is there")


def _head(number: int, length: int) -> bytes:
    return _as_varint(number << 3 | _BYTES) + _as_varint(length)


def _as_varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
