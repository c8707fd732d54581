"""Cells of a printed table: the text of one, as a value of its column's type."""

from __future__ import annotations

import re
from dataclasses import replace

from labgrade.answers.reading.numerals.numbers import MEASURED, as_ascii, explain_number, finest_of, with_point
from labgrade.answers.reading.plain_values import LEFT_OPEN, cut, not_finite, read_shape
from labgrade.answers.reading.typed_values import NUMBER_KINDS, WrongTypeError, as_scalar
from labgrade.values import Number, Row, Scalar, Table

_TREE = re.compile(r"^[\s\u2500-\u257f\u2022\u2023\u2043\u25aa\u25a0\u25cb\u25cf\u30fb\u00b7|+`>*-]+")
_LISTED = re.compile(r"\d{1,4}[.)]\s+(?=\S)")
_LABELLED = re.compile(r"(?:name|layer|module)s?\s*[=:]\s*(?=\S)", re.IGNORECASE)
_CLASS = re.compile(
    r"<class ['\"](?:[\w]{1,60}\.){0,8}(\w{1,60})['\"]>|\b(?:torch\.)?nn\.(?:modules\.\w{1,60}\.)?(?=[A-Z])"
)
_BLANKS = re.compile(r"\d{1,3}(?:[ \u00a0]\d{3}){1,10}")  # 9 408, alone in its cell
# Of a mean: 0.95 \u00b1 0.01
_SPREAD = re.compile(r"(?<=[\d%])[ \u00a0$]{0,3}(?:\u00b1|\+/?-|\\pm)[ \u00a0$]{0,3}[\d.]{1,20}[ \u00a0]?%?\$?$")
_REMARK = re.compile(r"(?<=[\d\w%])\s{0,3}\([^()]{1,80}\)$")  # 640 (+40 for the bias)
_MARKUP = "*_` \t\n\u00a0\u3000"


def row_of(
    name: str, cells: dict[str, str], kinds: dict[str, str], units: dict[str, str], *, as_text: bool = False
) -> Row:
    """Return a row from its cells as they were printed. `units`: the header's unit of a column (`M`, `MB`).

    `as_text`: a cell that is no value of its column stays there as text, and only it is wrong.

    Raises:
        WrongTypeError: a cell is no value of its column; names row and column.
    """
    typed: dict[str, Scalar | None] = {}
    for column, kind in kinds.items():
        try:
            typed[column] = cell_value(cells.get(column, ""), kind, units.get(column, ""))
        except WrongTypeError as error:
            if as_text:
                typed[column] = cut(cells[column])
                continue
            message = f"row '{cut(name)}', column '{column}': {error}"
            raise WrongTypeError(message) from None
    return Row(name=name, cells=typed)


def cell_value(written: str, kind: str, unit: str = "") -> Scalar | None:
    """Return the value of a cell; None if it was left open (`--`, `(recursive)`); text if it is not finite.

    Raises:
        WrongTypeError: it is no value of that kind.
    """
    plain = as_ascii(written).strip(_MARKUP)
    plain = _SPREAD.sub("", plain) if kind in MEASURED else plain
    if plain.lower() in LEFT_OPEN:
        return None
    if kind == "shape" and (shape := read_shape(plain)) is not None:
        return shape
    if (infinite := not_finite(plain)) and (kind in NUMBER_KINDS or infinite == "nan"):
        return infinite if kind in NUMBER_KINDS else None  # where pandas has no value
    if kind in ("count", "bytes") and _BLANKS.fullmatch(plain):
        plain = re.sub(r"\D", "", plain)
    if kind in ("count", "bytes", "time") and unit:
        found = explain_number(plain, kind, unit=unit)
        if found.number is not None:
            return found.number
    try:
        return as_scalar(plain, kind)
    except WrongTypeError:
        bare = _REMARK.sub("", plain) if kind in NUMBER_KINDS else ""
        if not bare or bare == plain:
            raise
        return cell_value(bare, kind, unit)


def row_name(written: str) -> str:
    """Return a row's name without a printer's tree, list marks or quotes: `nn.Conv2d`."""
    plain = without_tree(written).strip(_MARKUP.replace("_", ""))
    own = "_" if plain.endswith("_") and not plain.startswith("_") else ""  # of `relu_`, which works in place
    name = (plain.strip(_MARKUP) + own).rstrip(":|").strip()
    name = _begun(_LABELLED, _begun(_LISTED, name))
    return without_package(name).strip("'\"{,").strip()


def without_package(name: str) -> str:
    """Return a class without its package: `Conv2d` of `nn.Conv2d` and of `<class 'torch.nn.modules.conv.Conv2d'>`."""
    return _CLASS.sub(lambda match: match[1] or "", name)


def _begun(mark: re.Pattern[str], name: str) -> str:
    begin = mark.match(name)
    return name[begin.end() :] if begin else name


def without_tree(line: str) -> str:
    """Return a line without the tree or the list marks that a printer put before it."""
    return _TREE.sub("", line)


_DOTTED = re.compile(r"[1-9]\d{0,2}(?:\.\d{3}){1,10}")
_GROUPS = re.compile(r"\s*[+-]?\d{1,3}(?:,\d{3}){2}")


def as_meant(
    rows: list[Row],
    written: list[dict[str, str]],
    kinds: dict[str, str],
    units: dict[str, str],
    *,
    listed: bool = False,
) -> list[Row]:
    """Return the rows read of the `written` cells, with the points and commas of numbers as they are meant.

    `listed`: each cell has a unit of its own, or none.
    """
    measured = {column for column, of in kinds.items() if listed or of in MEASURED or units.get(column)}
    whole = {column for column, of in kinds.items() if of in ("count", "bytes") and not units.get(column)}
    meant = _with_points(_without_groups(written, whole), measured)
    if meant == written:
        return rows
    return [row_of(row.name, cells, kinds, units, as_text=True) for row, cells in zip(rows, meant, strict=True)]


def _without_groups(written: list[dict[str, str]], whole: set[str]) -> list[dict[str, str]]:
    """Return whole numbers as `9.408` without points, if all have such groups and one has two (`1.025.000`)."""
    dotted = [cell for cells in written for column, cell in cells.items() if column in whole and "." in cell]
    if not (all(map(_DOTTED.fullmatch, dotted)) and any(cell.count(".") > 1 for cell in dotted)):
        return written
    return [
        {name: cell.replace(".", "") if name in whole else cell for name, cell in cells.items()} for cells in written
    ]


def _with_points(written: list[dict[str, str]], measured: set[str]) -> list[dict[str, str]]:
    """Return cells with `1,234` as 1.234, if another one has a decimal comma, and none has commas of groups."""
    printed = [cell for cells in written for column, cell in cells.items() if column in measured]
    if not any(with_point(cell) != cell for cell in printed) or any(map(_GROUPS.match, printed)):
        return written
    return [
        {column: with_point(cell, surely=True) if column in measured else cell for column, cell in cells.items()}
        for cells in written
    ]


_NAMES_APART = re.compile(r"\s*(?:,\s*and\b|,|\band\b|&|、|\+|/)\s*")
_ONE_NAME = re.compile(r"[A-Za-z]\w*")


def each_apart(table: Table) -> Table:
    """Return the table with a row for each of several names with one count: `Shape, Gather, Concat | 1 each`.

    Only if the count is smaller than their number, and so can't be that of all together.
    """
    rows: list[Row] = []
    for row in table.rows:
        names = _NAMES_APART.split(row.name)
        (value, *more) = row.cells.values() or (None,)
        joined = len(names) > 1 and not more and all(map(_ONE_NAME.fullmatch, names))
        if joined and isinstance(value, Number) and 0 < value.value < len(names):
            rows += [replace(row, name=name) for name in names]
        else:
            rows.append(row)
    return replace(table, rows=tuple(rows))


def is_part(part: Table, whole: Table) -> bool:
    """Return whether another table has every row of this one, with values that agree to their printed precision."""
    rows = {row.name: row for row in whole.rows}
    return all(
        row.name in rows and all(_same(cell, rows[row.name].cells[column]) for column, cell in row.cells.items())
        for row in part.rows
    )


def _same(one: object, other: object) -> bool:
    if isinstance(one, Number) and isinstance(other, Number):
        return finest_of([one, other]) is not None
    return one is None or other is None or one == other
