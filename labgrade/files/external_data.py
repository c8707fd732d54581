"""What lies beside an ONNX file and belongs to it."""

from __future__ import annotations

import mmap
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BESIDE = (".data", ".bin", ".weight", ".weights", ".pb")
_MOST_BESIDE = 1000
_LONGEST_NAME = 250
_MOST_FIELDS = 100_000  # of one message; what stands behind them is looked at as it is
_LARGE = 4096
_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9  # fields of ModelProto, GraphProto, TensorProto
_ENTRY = re.compile(rb"\x0a\x08location\x12([\x01-\x7f]|[\x80-\xff][\x01-\x7f])")  # a key, then its value's length


def files_beside(path: Path) -> dict[str, Path]:
    """Return the files that are or look like a model's external data, by their places in its folder; no links."""
    found = {file.name: file for file in sorted(path.parent.iterdir())[:_MOST_BESIDE] if file.suffix in _BESIDE}
    found |= {name: path.parent / name for name in _named_files(path)}
    folder = path.parent.resolve()
    return {
        name: file
        for name, file in found.items()
        if file != path and file.is_file() and file.resolve() == folder / name  # no link on the way
    }


def _named_files(path: Path) -> list[str]:
    """Return the places that an ONNX file names for external data, without parsing the file."""
    if not path.is_file() or not path.stat().st_size:
        return []
    names: dict[str, None] = {}
    with path.open("rb") as reader, mmap.mmap(reader.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for entry in _entries(content):
            low, high = (*entry[1], 0)[:2]
            length = (low & 0x7F) + (high << 7)
            name = content[entry.end() : entry.end() + min(length, _LONGEST_NAME)].decode(errors="replace")
            place = PurePosixPath(name)
            if place.parts and ".." not in place.parts and not place.is_absolute() and "\0" not in name:
                names[str(place)] = None
            if len(names) >= _MOST_BESIDE:
                break
    return sorted(names)


def _entries(content: mmap.mmap) -> Iterator[re.Match[bytes]]:
    """Find where a file names a location, skipping large tensors, which take a second a GB to search."""
    begin = 0
    for start, end in _payloads(content):
        yield from _ENTRY.finditer(content, begin, start)
        begin = end
    yield from _ENTRY.finditer(content, begin)


def _payloads(content: mmap.mmap) -> Iterator[tuple[int, int]]:
    """Where the large `raw_data` of initializers begin and end, as far as the file is what ONNX files are."""
    for graph, behind in _fields(content, 0, len(content), _GRAPH):
        for tensor, end in _fields(content, graph, behind, _INITIALIZER):
            if end - tensor > _LARGE:
                yield from _fields(content, tensor, end, _RAW_DATA)


def _fields(content: mmap.mmap, at: int, end: int, wanted: int) -> Iterator[tuple[int, int]]:
    """Where fields of one number that hold bytes begin and end, of a message in protobuf's wire format."""
    for _ in range(_MOST_FIELDS):
        key, begin = _varint(content, at, end)
        size, behind = _varint(content, begin, end)
        match key & 7:
            case 0:
                at = behind
            case 1 | 5:
                at = begin + (8 if key & 7 == 1 else 4)
            case 2:
                at = behind + size
            case _:
                return
        if not begin < at <= end:
            return
        if key == wanted << 3 | 2:
            yield behind, at


def _varint(content: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """Decode a varint; return it and its end, which is beyond `end` if there is none."""
    value = 0
    for place, byte in enumerate(content[at : min(at + 10, end)]):
        value |= (byte & 127) << 7 * place
        if byte < 128:  # noqa: PLR2004 - the highest bit says that more follows
            return value, at + place + 1
    return 0, end + 1
