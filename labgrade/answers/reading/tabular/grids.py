"""Blocks of lines as grids of cells, whatever sign stands between these; and grids on their other side."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_CELLS = 400  # of a line
_BLANKS = re.compile(r"\s{2,}")
RULE = re.compile(r"[\s|+:=\-_\u2500-\u257f]+$")
_MARKS = ("|", "\t", ";", ",", "  ")  # between cells: the first that a line has


def grids(lines: list[str]) -> Iterator[tuple[int, list[list[str]]]]:
    """Blocks of lines with cells between marks or blanks, in cells, without their rules; and where each begins."""
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
            cells = _BLANKS.split(bare) if own == "  " else bare.split(own)
            grid.append([cell.strip(" \t*`$") for cell in cells[:_MOST_CELLS]])


def turned(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The grids with a column for each row, as lines with pipes; and where each begins."""
    for first, grid in grids(lines):
        width = len(grid[0])
        if len(grid) > 1 and width > 1 and all(len(row) == width for row in grid):
            yield first, [f"| {' | '.join(column)} |" for column in zip(*grid, strict=True)]
