"""What earlier versions of the spec language accepted, and what `labgrade validate --fix` writes in its place.

A word that goes away gets a row here in the same change, with a spec in tests/galleries/specs_older that still has it.
"""

from __future__ import annotations

import re

# What is said of a change, on which lines it is made, what is replaced there, and by what.
_RETIRED = (
    (
        "'opinion' of 'tiling_findings' is left out: what is not certain always says so",
        re.compile(r"\btiling_findings\b"),
        re.compile(r",\s*opinion:\s*(?:true|false)\b|\bopinion:\s*(?:true|false)\s*,\s*"),
        "",
    ),
)


def fixed(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a spec's text in today's language, and what was changed."""
    said: dict[str, None] = {}
    lines = [_line(line, said) for line in text.splitlines(keepends=True)]
    return "".join(lines), tuple(said)


def _line(line: str, said: dict[str, None]) -> str:
    for what, where, pattern, becomes in _RETIRED:
        if where.search(line) and pattern.search(line):
            line = pattern.sub(becomes, line)
            said[what] = None
    return line
