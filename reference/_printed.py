"""Tensors as they are printed in a text: numbers in brackets, of torch, numpy or plain Python."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import torch

_MOST_BYTES, _MOST_TENSORS = 4_000_000, 400
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?", re.IGNORECASE)
_OPENED = re.compile(r"\[[\s\[]*")
_FIRST = re.compile(r"[-+.\d]")  # of a number, or of "..."
_WITHIN = re.compile(r"[\s,\[\]\d.eE+-]+")
_BRACKET = re.compile(r"[\[\]]")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Printed:
    """A printed tensor: its values in order, the line that it begins in, half of the last place printed of each.

    `shape` tells apart what was printed in other rows, or abridged at other places.
    """

    values: torch.Tensor
    line: int
    half_units: torch.Tensor
    shape: tuple[object, ...]


def printed_tensors(file: Path) -> list[Printed]:
    """The tensors that a text prints, in order; a list of whole numbers is none, since it may be a shape.

    Raises:
        ValueError: it is no text, or too long for a report.
    """
    if file.stat().st_size > _MOST_BYTES:
        message = f"it is longer than {_MOST_BYTES / 1e6:g} MB, which no report needs to be"
        raise ValueError(message)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        message = "it is no text in UTF-8"
        raise ValueError(message) from None
    return list(_found(_without_comments(text)))


def _without_comments(text: str) -> str:
    """The text without HTML's comments; its lines keep their numbers. In time linear in its length."""
    pieces: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + len("<!--"))) >= 0:
        pieces += (text[at:start], "\n" * text.count("\n", start, end))
        at = end + len("-->")
    return "".join(pieces) + text[at:]


def _found(text: str) -> Iterator[Printed]:
    closings = _closings(text)
    end = made = seen = 0
    line = 1
    for start in _openings(text):
        if start < end or made >= _MOST_TENSORS or start not in closings:
            continue
        end = closings[start]
        line, seen = line + text.count("\n", seen, start), start
        if (printed := _printed(text[start:end], line)) is not None:
            made += 1
            yield printed


def _openings(text: str) -> Iterator[int]:
    """Where the brackets are behind which, brackets and blanks aside, a number stands. In linear time."""
    for run in _OPENED.finditer(text):
        if _FIRST.match(text, run.end()):
            yield from (run.start() + place for place, letter in enumerate(run[0]) if letter == "[")


def _closings(text: str) -> dict[int, int]:
    """Where each bracket that is closed is closed, among numbers: the place behind, by its own. In linear time."""
    closings: dict[int, int] = {}
    for run in _WITHIN.finditer(text):
        opened: list[int] = []
        for bracket in _BRACKET.finditer(text, run.start(), run.end()):
            if bracket[0] == "[":
                opened.append(bracket.start())
            elif opened:
                closings[opened.pop()] = bracket.end()
    return closings


def _printed(body: str, line: int) -> Printed | None:
    import torch

    numbers = _NUMBER.findall(body.replace("...", " "))
    if not any("." in number for number in numbers):
        return None
    shape = tuple(re.sub(r"[^\[\]]+", lambda run: "*" if "..." in run[0] else _count(run[0]), body))
    return Printed(
        values=torch.tensor([float(number) for number in numbers], dtype=torch.float64),
        line=line,
        half_units=torch.tensor(_half_units(numbers), dtype=torch.float64),
        shape=shape,
    )


def _count(run: str) -> str:
    return f"({len(_NUMBER.findall(run))})" if _NUMBER.search(run) else ""


def _half_units(numbers: list[str]) -> list[float]:
    """Half of the last place of each number: of decimals, the finest of all, since `0.5` in a list is 0.5000."""
    places = [len(number.lower().partition("e")[0].partition(".")[2]) for number in numbers]
    exponents = [int(number.lower().partition("e")[2] or 0) for number in numbers]
    if not any(exponents):
        places = [max(places)] * len(numbers)
    return [0.5 * 10.0 ** (exponent - place) for place, exponent in zip(places, exponents, strict=True)]
