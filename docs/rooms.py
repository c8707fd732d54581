"""Prints the picture in ARCHITECTURE.md, made from the imports: `python docs/rooms.py`; `--write` puts it there.

An arrow is left out where a longer way leads to the same room.
"""

from __future__ import annotations

import sys
from pathlib import Path

import grimp

ARCHITECTURE = Path(__file__).parents[1] / "ARCHITECTURE.md"
BEGIN, END = "```mermaid\n", "```\n"


def imports() -> dict[str, set[str]]:
    """What each room of the engine imports of the others."""
    graph = grimp.build_graph("labgrade", cache_dir=None)
    found: dict[str, set[str]] = {}
    for module in sorted(graph.modules):
        for imported in graph.find_modules_directly_imported_by(module):
            a, b = _room(module), _room(imported)
            if a and b and a != b:
                found.setdefault(a, set()).add(b)
                found.setdefault(b, set())
    return found


def _room(module: str) -> str:
    return ".".join(module.split(".")[1:2])


def _reached(found: dict[str, set[str]], room: str) -> set[str]:
    """All rooms below this one."""
    below = set(found[room])
    return below.union(*(_reached(found, each) for each in found[room]))


def picture() -> str:
    """The flow chart, in the language of Mermaid."""
    found = imports()
    lines = ["flowchart TD"]
    for room, below in sorted(found.items()):
        kept = sorted(each for each in below if not any(each in _reached(found, other) for other in below - {each}))
        lines += [f"  {room} --> {' & '.join(kept)}"] if kept else []
    return "\n".join(lines) + "\n"


def pictured(text: str) -> str:
    """ARCHITECTURE.md with the picture of today in place of the one that is there."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + picture() + END + rest.partition(END)[2]


if __name__ == "__main__":
    if "--write" in sys.argv:
        ARCHITECTURE.write_text(pictured(ARCHITECTURE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.stdout.write(picture())
