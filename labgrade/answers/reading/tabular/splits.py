"""How the lines of a printed table are split into cells: by signs, by blanks, by the places of its header's words."""

from __future__ import annotations

import csv
import re
from itertools import takewhile
from typing import TYPE_CHECKING

from labgrade.answers.reading.words.terms import RULE

if TYPE_CHECKING:
    from collections.abc import Iterator

_PRINTED = re.compile(
    r"layer \(type(?::depth-idx)?(?: \(var_name\))?\)|input (?:shape|size)|output (?:shape|size)|kernel (?:shape|size)"
    r"|params? #|# ?params?|param %|mult-adds|total mult-adds|groups|trainable|\S+",
    re.IGNORECASE,
)
PIECE = re.compile(
    r"\[[^\n\[\]]{0,120}\]|\[\[[^\n]{0,120}?\]\]|\((?:-?\d+|None)(?:, ?(?:-?\d+|None)){0,15},?\)"
    r"|\d{1,9}(?:[x\u00d7]\d{1,9}){1,8}(?!\w)"
    r"|\d[\d,._]*(?:e[+-]?\d+)?(?: ?[kKMGT]i?(?:B|MACs?|Mac|FLOPs)?(?![\w]))?%?|\S+"
)
_CELL = re.compile(r"\[[^\n\[\]]{0,120}\]|\([^\n()]{0,120}\)|\S+")
_GAP = re.compile(r"\S {2,}\S")
_INDEX = re.compile(r"^\d+(?=\s)")


def by_pipes(line: str) -> list[str]:
    """Return the cells between the pipes of a line."""
    return [cell.strip().strip("*`").strip() for cell in line.strip().strip("|").split("|")] if "|" in line else []


def by_tabs(line: str) -> list[str]:
    """Return the cells between tabs; the last ones may be empty."""
    return _by(line.lstrip().rstrip(" \r\n"), "\t")


def by_commas(line: str) -> list[str]:
    """Return the cells between commas; quoted cells may hold some."""
    return _by(line.strip(), ",")


def by_semicolons(line: str) -> list[str]:
    """Return the cells between semicolons."""
    return _by(line.strip(), ";")


def _by(line: str, mark: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=mark, skipinitialspace=True), [])]


def by_blanks(line: str) -> list[str]:
    """Return the pieces that are separated by two blanks or more."""
    return re.split(r"\s{2,}", line.strip())


def by_words(line: str) -> list[str]:
    """Return the words of a header; words that belong together are one piece."""
    return [match[0] for match in _PRINTED.finditer(line)]


def by_frame(header: str) -> list[str]:
    """Return the words of a header that begins with blanks, as pandas prints it: one blank may part two columns."""
    words = header.split() if header[:1] == " " and _GAP.search(header) else []
    return words if all(word[0].isalpha() or word[0] == "_" for word in words) else []


def places(header: str, pieces: list[str]) -> tuple[tuple[int, int], ...]:
    """Return the start and end of each piece of a header."""
    found: list[tuple[int, int]] = []
    plain = header.expandtabs()
    for piece in pieces:
        start = plain.find(piece, found[-1][1] if found else 0)
        if start < 0:
            return ()
        found.append((start, start + len(piece)))
    return tuple(found)


def by_place(line: str, header: tuple[tuple[int, int], ...], *, right: bool) -> list[str] | None:
    """Return the cells that begin below a header's words, or end there (`right`); None if one does not.

    Some cells may be empty. A number with which pandas begins a row is left out.
    """
    cells = [""] * len(header)
    end = 0
    for match in _CELL.finditer(_INDEX.sub(_blanks, line.expandtabs()) if right else line.expandtabs()):
        if right:
            below = next((place for place, (_, behind) in enumerate(header) if match.end() <= behind), None)
        else:
            below = next(
                (place for place, (start, _) in reversed([*enumerate(header)]) if start <= match.start()), None
            )
        if below is None or (cells[below] and match.start() > end + 1):
            return None
        cells[below] = f"{cells[below]} {match[0]}".strip()
        end = match.end()
    return cells if sum(map(bool, cells)) > 1 else None


def _blanks(match: re.Match[str]) -> str:
    return " " * len(match[0])


def unwrapped(lines: list[str]) -> list[str]:
    """Return the lines with a table joined again that pandas broke into several, as a stroke behind a header shows."""
    found = list(lines)
    number = 0
    while number < len(found):
        # A line of code that goes on is followed by another, or by nothing that begins with its rows' numbers.
        first = _goes_on(found[number]) and not (number and _goes_on(found[number - 1]))
        rows = [*takewhile(str.strip, found[number:])] if first else []
        behind = number + len(rows) + 1
        more = [*takewhile(str.strip, found[behind:])] if first else []
        own = [line.split()[0] for line in rows[1:]]
        if not own or [line.split()[0] for line in more[1:]][: len(own)] != own:
            number += 1
            continue
        width = max(map(len, rows))
        joined = [
            row.rstrip().removesuffix("\\").ljust(width) + "  " + each[len(name) :]
            for row, each, name in zip(rows, more, ["", *own], strict=False)
        ]
        found[number : behind + len(joined)] = [*joined, *[""] * (len(rows) + 1)]
    return found


def _goes_on(line: str) -> bool:
    return line[:1].isspace() and line.rstrip().endswith(" \\")


_MOST_CELLS = 400  # of a line
_WIDE = re.compile(r"\s{2,}")
_MARKS = ("|", "\t", ";", ",", "  ")  # between cells: the first that a line has


def grids(lines: list[str]) -> Iterator[tuple[int, list[list[str]]]]:
    """Yield blocks of lines as cells, without rules, and where each begins; marks or blanks part the cells."""
    grid: list[list[str]] = []
    first, mark = 0, ""
    for number, whole in enumerate([*lines, ""]):
        line = whole.strip(" ")
        own = mark if grid and mark in line else next((each for each in _MARKS if each in line), "")
        if grid and own != mark:
            yield first, grid
            grid = []
        if own and not RULE.match(line):
            first, mark = (first, mark) if grid else (number, own)
            bare = line.removeprefix(own).removesuffix(own)
            cells = _WIDE.split(bare) if own == "  " else bare.split(own)
            grid.append([cell.strip(" \t*`$") for cell in cells[:_MOST_CELLS]])


def turned(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the grids with rows and columns exchanged, as lines with pipes; and where each begins."""
    for first, grid in grids(lines):
        width = len(grid[0])
        if len(grid) > 1 and width > 1 and all(len(row) == width for row in grid):
            yield first, [f"| {' | '.join(column)} |" for column in zip(*grid, strict=True)]
