"""The typed plain data that answers and expected values are made of.

A value is one of: `Number` (counts, bytes, numbers), `str`, a shape (tuple of int), a histogram (mapping of name to
`Number`), a tensor (`numpy.ndarray`), `Table`, named tensors (mapping of name to `numpy.ndarray`), an `Artifact`, or
`Findings`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, Union

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


_LARGEST = 1 << 1023  # of what fits into a double


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number as precise as it was given: `1.498 GMac` is 1,498,000,000 with a half unit of 500,000.

    `value` is in the base unit (bytes, MACs). `half_unit` is half of the last printed place, 0 where the number is
    exact; `digits` counts the significant digits printed, None where the number is exact. `text` is how it was
    written.
    """

    value: Fraction
    half_unit: Fraction = Fraction(0)
    digits: int | None = None
    text: str = ""

    @property
    def written(self) -> Fraction:
        """The value as its decimals say it: of 0.3 three tenths, and not the double just below, which a float is."""
        below = self.value.denominator
        if below == 1 or below & (below - 1) or self.digits is not None:
            return self.value
        nearest = float(self.value) if abs(self.value) < _LARGEST else 0.0
        return Fraction(repr(nearest)) if nearest == self.value else self.value

    def __str__(self) -> str:
        return self.text or show(self.value)

    def __hash__(self) -> int:
        return hash(self.text or self.value)  # a text knows its own, a fraction computes it each time


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a table. A cell is None where it was left open (`--` in a printed table), and is then not compared.

    `also_named`: other names under which an expected row may be handed in, or what a row that was handed in calls
    itself besides (a node of a listing: its name, its outputs). `optional`: an expected row that costs
    nothing when it is not there (a container, whose leaves are the rows that count). `also_right`: by column, other
    values that an expected cell may have (a container's parameters, which every tool counts another way).
    """

    name: str
    cells: Mapping[str, Scalar | None]
    also_named: tuple[str, ...] = ()
    also_right: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows in the order in which they were given. `abridged`: the writer left rows out and shows it (`...`)."""

    rows: tuple[Row, ...] = field(default=())
    abridged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file of the student's that is measured, not read: `path` is where it lies, `name` how the student calls it.

    Of several files `path` is the folder, and `parts` has them by group.
    """

    path: Path
    name: str
    parts: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The tiles of row block `block` of a layer of `tiles` (m, k, n): `lines` along k, signs along n, `#` is wrong.

    A sign stands for `scale` tiles (k, n).
    """

    layer: str
    block: int
    tiles: tuple[int, int, int]
    scale: tuple[int, int]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong with a file, in a sentence for the student.

    `certain` is False where a person has to look, and `opinion` then says what other evidence there is; `fault` is
    labgrade's own failure, and `absent` says that the file holds nothing of what is asked for. `picture` are lines of
    characters that show where it is; `grid` has the same in more detail.
    """

    says: str
    certain: bool = True
    opinion: str = ""
    fault: bool = False
    absent: bool = False
    picture: tuple[str, ...] = ()
    grid: Grid | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found wrong with a file, in the order in which to read it."""

    found: tuple[Finding, ...]


Scalar: TypeAlias = Union[Number, str, "tuple[int, ...]"]
Array: TypeAlias = "NDArray[np.generic]"
Value: TypeAlias = Union[Scalar, "Mapping[str, Number]", Table, Array, "Mapping[str, Array]", Artifact, Findings]


_MILLION = 1_000_000  # from here on %g would turn to exponents


def show(value: Fraction | float) -> str:
    """A number with thousands separators: `1,498,376,192`, `0.25`."""
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return f"{value.numerator:,}"
        value = float(value)
    return f"{value:,.6g}" if abs(value) < _MILLION else f"{value:,.1f}"
