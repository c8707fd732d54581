"""Shapes as people print them: `[1, 64, 112, 112]`, `torch.Size([1, 64])`, `1x64x112x112`, `(None, 64)`."""

from __future__ import annotations

import re

from labgrade.answers.numbers import as_ascii

_DIMENSION = r"(?:-1|\d{1,12}|None|\?|[NB](?![A-Za-z]))"
_TIMES = r"\s{0,3}(?:[xX\u00d7*]|\\times)\s{0,3}"
_COMMA = r"\s{0,3},\s{0,3}"
_BRACKETED = (
    rf"[\[(]\s{{0,3}}(?P<inside>{_DIMENSION}(?:(?:{_COMMA}|{_TIMES}){_DIMENSION}){{0,15}})\s{{0,3}},?\s{{0,3}}[\])]"
)
_SHAPE = re.compile(rf"{_BRACKETED}|(?<![\w.,-])(?P<bare>{_DIMENSION}(?:{_TIMES}{_DIMENSION}){{1,15}})(?![\w,]|\.\d)")
_LISTED = re.compile(rf"\s*{_DIMENSION}(?:{_COMMA}{_DIMENSION}){{0,15}}\s*,?\s*")
_PIECE = re.compile(_DIMENSION)
_WRAPPING = re.compile(r"(?:torch\.)?Size|tuple|list|shape", re.IGNORECASE)
UNKNOWN = -1


def read_shape(text: str) -> tuple[int, ...] | None:
    """The shape that the text is, or None. `None`, `?`, `N` and -1 stand for an unknown size and become -1."""
    plain = as_ascii(text).strip().strip("`*_$ ")
    if _LISTED.fullmatch(plain):
        return _dimensions(plain)
    inner = _WRAPPING.sub("", plain).strip()
    while inner.startswith(("([", "((", "[[", "[(")) and inner.endswith((")", "]")):
        inner = inner[1:-1].strip()
    match = _SHAPE.fullmatch(inner)
    return _dimensions(match[0]) if match else None


def find_shape(text: str, position: int = 0) -> tuple[tuple[int, ...], int, int] | None:
    """The first shape from `position` on, with where it starts and ends; None where there is none."""
    match = _SHAPE.search(as_ascii(text), position)
    return (_dimensions(match[0]), match.start(), match.end()) if match else None


def _dimensions(text: str) -> tuple[int, ...]:
    pieces = _PIECE.findall(text)
    return tuple(int(piece) if piece.lstrip("-").isdigit() else UNKNOWN for piece in pieces)
