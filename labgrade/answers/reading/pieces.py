"""A line of a text as typed pieces, and what stands above it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labgrade.values import Number

OPEN = "???"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePiece:
    """A word, a number or a shape. `said` are the concepts that label a number, `measures` what its unit measures.

    `doubt`: why a number may not be claimed. `small`: it may be mentioned in passing. `titled`: only the section's
    heading labels it. `led`: a sign leads from its label to it, and it counts no items.
    """

    value: str | Number | tuple[int, ...]
    said: tuple[str, ...] = ()
    measures: str = ""
    doubt: str = ""
    small: bool = False
    titled: bool = False
    led: bool = False
    concludes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line with its pieces in order. `dots`: it stands for what was left out.

    `fenced`: it is in a fence; `row`: in a table. `shared`: under a heading of several tasks; `numbered`: its passage
    has the task's own number. `corrects`: before its first value it announces a correction; `undecided`: its writer
    does not know which number it is. `unread`: why nothing of the text could be read. `terms`: it has numbers that are
    no pieces, as those of a sum or a product. `pictured`: there is a picture.
    """

    place: str
    number: int
    pieces: tuple[LinePiece, ...] = ()
    code: bool = False
    quoted: bool = False
    fenced: bool = False
    row: bool = False
    shared: bool = False
    numbered: bool = False
    corrects: bool = False
    undecided: bool = False
    dots: bool = False
    terms: bool = False
    pictured: bool = False
    unread: str = ""

    @property
    def words(self) -> list[str]:
        """Return its words, in order."""
        return [piece.value for piece in self.pieces if isinstance(piece.value, str)]

    @property
    def values(self) -> tuple[LinePiece, ...]:
        """Return its numbers and shapes, in order."""
        return tuple(piece for piece in self.pieces if not isinstance(piece.value, str))


@dataclass(slots=True)
class Above:
    """What is above a line: the heading, the last line of words alone, the header of its table.

    `code`: that last line is source code, which labels its output if that is a line `alone`. `model`: the other model
    that a command was run for.
    """

    title: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    age: int = 0
    line: str = ""
    header: tuple[str, ...] = ()
    code: bool = False
    alone: bool = False
    model: str = ""
