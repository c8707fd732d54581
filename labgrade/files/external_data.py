"""What lies beside an ONNX file and belongs to it."""

from __future__ import annotations

import mmap
import re
from pathlib import Path, PurePosixPath

_BESIDE = (".data", ".bin", ".weight", ".weights", ".pb")
_MOST_BESIDE = 1000
_LONGEST_NAME = 250
_ENTRY = re.compile(rb"\x0a\x08location\x12([\x01-\x7f]|[\x80-\xff][\x01-\x7f])")  # a key, then its value's length


def beside(path: Path) -> dict[str, Path]:
    """The files that look like a model's external data or that it names, by their places in its folder; no links."""
    found = {file.name: file for file in sorted(path.parent.iterdir())[:_MOST_BESIDE] if file.suffix in _BESIDE}
    found |= {name: path.parent / name for name in _named(path)}
    folder = path.parent.resolve()
    return {
        name: file
        for name, file in found.items()
        if file != path and file.is_file() and file.resolve() == folder / name  # no link on the way
    }


def _named(path: Path) -> list[str]:
    """The places below its folder that an ONNX file names for its external data, without parsing the file."""
    if not path.is_file() or not path.stat().st_size:
        return []
    names: dict[str, None] = {}
    with path.open("rb") as reader, mmap.mmap(reader.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for entry in _ENTRY.finditer(content):
            low, high = (*entry[1], 0)[:2]
            length = (low & 0x7F) + (high << 7)
            name = content[entry.end() : entry.end() + min(length, _LONGEST_NAME)].decode(errors="replace")
            place = PurePosixPath(name)
            if place.parts and ".." not in place.parts and not place.is_absolute() and "\0" not in name:
                names[str(place)] = None
            if len(names) >= _MOST_BESIDE:
                break
    return sorted(names)
