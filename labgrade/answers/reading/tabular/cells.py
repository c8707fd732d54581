"""Cells of a printed table: the text of one, as a value of its column's type."""

from __future__ import annotations

import re

from labgrade.answers.reading.numerals.numbers import MEASURED, as_ascii, explain_number
from labgrade.answers.reading.plain_values import LEFT_OPEN, cut, not_finite, read_shape
from labgrade.answers.reading.typed_values import NUMBER_KINDS, WrongTypeError, as_scalar
from labgrade.values import Row, Scalar

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
    """A row from its cells as they were printed. `units`: what the header says of a column (`M`, `MB`).

    `as_text`: a cell that is no value of its column stays there as text, and is wrong by itself alone.

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
    """The value of a cell; None where it was left open (`--`, `(recursive)`). A number that is not finite stays text.

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
    """A row's name without the tree, the list marks or the quotes that a printer drew around it: `nn.Conv2d`."""
    plain = without_tree(written).strip(_MARKUP.replace("_", ""))
    own = "_" if plain.endswith("_") and not plain.startswith("_") else ""  # of `relu_`, which works in place
    name = (plain.strip(_MARKUP) + own).rstrip(":|").strip()
    name = _begun(_LABELLED, _begun(_LISTED, name))
    return without_package(name).strip("'\"{,").strip()


def without_package(name: str) -> str:
    """A class by its own name: `Conv2d` of `nn.Conv2d` and of `<class 'torch.nn.modules.conv.Conv2d'>`."""
    return _CLASS.sub(lambda match: match[1] or "", name)


def _begun(mark: re.Pattern[str], name: str) -> str:
    begin = mark.match(name)
    return name[begin.end() :] if begin else name


def without_tree(line: str) -> str:
    """A line without the tree or the list marks that a printer drew before it."""
    return _TREE.sub("", line)
