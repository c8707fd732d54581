"""A file for a runtime, whose initializers never lie in memory twice.

A message of protobuf's holds them as long as it lives, beside the arrays that a runtime makes of them. So the file is
cut into its initializers and the rest, each of which protobuf parses by itself. Nothing here is the proof's: what it
takes for the file's weights is not believed a second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np
import onnx
from onnx import external_data_helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .values import Array

_GRAPH, _INITIALIZER, _RAW = 7, 5, 9  # fields of ModelProto, GraphProto, TensorProto
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LARGE_BYTES = 1 << 16  # of an initializer that a runtime may map


class _UnknownLayoutError(Exception):
    """Something that this does not read: protobuf itself says what is wrong with the file, if anything is."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """A model without its initializers, and the values of those by name."""

    model: onnx.ModelProto
    initializers: dict[str, Array]


def in_pieces(path: Path) -> Pieces:
    """Read a file, external data included.

    Raises:
        Exception: what onnx makes of a file that is none.
    """
    with path.open("rb") as file:
        try:
            rest, places = _cut(file)
        except _UnknownLayoutError:
            model = onnx.load(str(path))
            found = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
            del model.graph.initializer[:]
            return Pieces(model, found)
        model = onnx.load_model_from_string(rest)
        external_data_helper.load_external_data_for_model(model, str(path.parent))
        return Pieces(model, dict(_values(file, places, path.parent)))


def _values(file: IO[bytes], places: list[tuple[int, int]], folder: Path) -> Iterator[tuple[str, Array]]:
    for begin, finish in places:
        file.seek(begin)
        tensor = onnx.TensorProto.FromString(file.read(finish - begin))
        if external_data_helper.uses_external_data(tensor):
            external_data_helper.load_external_data_for_tensor(tensor, str(folder))
        yield tensor.name, np.asarray(numpy_helper.to_array(tensor))


def mapped(path: Path) -> bytes:
    """The file as a message whose large initializers are external data: that of the very file, where they lie.

    A runtime that finds the file in its folder maps them, and copies none.

    Raises:
        ValueError: its layout is another than that of any file that onnx writes.
    """
    with path.open("rb") as file:
        try:
            rest, places = _cut(file)
            graph = onnx.GraphProto()
            graph.initializer.extend(_placed(file, begin, finish, path.name) for begin, finish in places)
        except _UnknownLayoutError:
            message = "the file is laid out in another way than onnx does"
            raise ValueError(message) from None
    initializers: bytes = onnx.ModelProto(graph=graph).SerializeToString()
    return rest + initializers  # protobuf joins the two graphs


def _placed(file: IO[bytes], start: int, end: int, name: str) -> onnx.TensorProto:
    """One initializer; where it is large, without its bytes."""
    fields = list(_fields(file, start, end))
    raw = [(begin, finish) for number, wire, _, begin, finish in fields if (number, wire) == (_RAW, _BYTES)]
    tensor = onnx.TensorProto()
    if len(raw) != 1 or raw[0][1] - raw[0][0] < _LARGE_BYTES:
        tensor.ParseFromString(_bytes(file, start, end))
        return tensor
    tensor.ParseFromString(
        b"".join(_bytes(file, tag, finish) for number, _, tag, _, finish in fields if number != _RAW)
    )
    (begin, finish), tensor.data_location = raw[0], onnx.TensorProto.EXTERNAL
    entries = {"location": name, "offset": str(begin), "length": str(finish - begin)}
    del tensor.external_data[:]
    tensor.external_data.extend(onnx.StringStringEntryProto(key=key, value=value) for key, value in entries.items())
    return tensor


def _cut(file: IO[bytes]) -> tuple[bytes, list[tuple[int, int]]]:
    """The model's message without its initializers, and where these lie."""
    rest, places = bytearray(), []
    for number, wire, tag, begin, finish in _fields(file, 0, file.seek(0, 2)):
        if (number, wire) != (_GRAPH, _BYTES):
            rest += _bytes(file, tag, finish)
            continue
        graph = bytearray()
        for inner, kind, start, *place in _fields(file, begin, finish):
            if (inner, kind) == (_INITIALIZER, _BYTES):
                places.append((place[0], place[1]))
            else:
                graph += _bytes(file, start, place[1])
        rest += bytes([_GRAPH << 3 | _BYTES]) + _as_varint(len(graph)) + graph
    return bytes(rest), places


def _bytes(file: IO[bytes], begin: int, finish: int) -> bytes:
    file.seek(begin)
    return file.read(finish - begin)


def _fields(file: IO[bytes], at: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Number, wire type, where the tag begins, and where the content begins and ends, of each field of a message."""
    while at < end:
        key, begin = _varint(file, at)
        number, wire, finish = key >> 3, key & 7, begin
        if wire == _VARINT:
            _, finish = _varint(file, begin)
        elif wire == _BYTES:
            length, begin = _varint(file, begin)
            finish = begin + length
        elif wire in (_FIXED64, _FIXED32):
            finish = begin + (8 if wire == _FIXED64 else 4)
        else:
            raise _UnknownLayoutError
        if not number or finish > end:
            raise _UnknownLayoutError
        yield number, wire, at, begin, finish
        at = finish


def _varint(file: IO[bytes], at: int) -> tuple[int, int]:
    """A number of varying length, and where it ends."""
    file.seek(at)
    value = shift = 0
    for byte in file.read(10):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:  # noqa: PLR2004 - the highest bit says that more follows
            return value, at + shift // 7
    raise _UnknownLayoutError


def _as_varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
