"""The cells of one run of a study, as people write them: merged, with a setting's name, as a power or a fraction."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.numbers import as_ascii
from labgrade.answers.reading.tabular.headers import column_meant
from labgrade.answers.reading.words.vocabulary import known_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.core.task import TableType

SEEDS = frozenset(known_words("seeds"))
_SUMS_UP = re.compile(
    r"(?:(?:mean|average|avg|median|std|stdev|sd|variance|min|max|best|worst|total|sum|overall|mittel(?:wert)?|summe"
    r"|durchschnitt|standardabweichung|moyenne|m\u00e9diane|media|promedio|mediana|\u5e73\u5747\u503c?|\u5747\u503c"
    r"|\u6a19\u6e96\u5dee|\u6807\u51c6\u5dee|\ud3c9\uade0|\u03c3|\u03bc)"
    r"(?:\s(?:of|over|the|all|across|seeds?|runs?|and|dev|deviation|accuracy|acc))*\s?)+"
)
_LONGEST = 80
_WORD = re.compile(r"[^\W\d_]+")
_NAMED = re.compile(r"([^\W\d_]{1,20})[\s_=:#-]{0,3}(\d[\d.^*e+-]{0,20})")
_POWER = re.compile(r"(\d{1,4}) ?(?:\^|\*\*) ?[({]?([+-]?\d{1,2})[)}]?")
_RAISED = re.compile(r"(?<=\d)[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}")
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_SHARE = re.compile(r"(\d{1,9}) ?/ ?(\d{1,9})")


def is_study(kind: TableType) -> bool:
    """Whether rows are runs: each has a setting, by which it is named, and what came of it in the last column."""
    return kind.sparse and kind.row in kind.columns and len(kind.columns) > 1


def as_run(cells: dict[str, str], above: Mapping[str, str] | None, kind: TableType) -> dict[str, str] | None:
    """The cells of a run; None for a row that is empty or sums up others: `16,mean,0.95`.

    A setting that stands in the first row of its group alone is that of the row `above`.
    """
    *settings, value = kind.columns
    if not any(cells.values()) or any(sums_up(cells.get(column, "")) for column in settings):
        return None
    run = {column: _setting(cell, column, kind) if column in settings else cell for column, cell in cells.items()}
    others = [run.get(column) for column in settings if column != kind.row]
    if above is not None and not run.get(kind.row) and any(others) and run.get(value):
        run[kind.row] = above[kind.row]
    share = _SHARE.fullmatch(run.get(value, "")) if kind.columns[value] == "number" else None
    if share is not None and 0 < int(share[2]) >= int(share[1]):
        run[value] = f"{int(share[1]) / int(share[2]):.10f}"
    return run


def sums_up(cell: str) -> bool:
    """Whether a cell says that its row or column sums up others: `mean of 3 seeds`."""
    return bool(_SUMS_UP.fullmatch(" ".join(_WORD.findall(cell[:_LONGEST].lower()))))


def _setting(cell: str, column: str, kind: TableType) -> str:
    """The number of a cell such as `seed 0`, `bs16`, `2^4`; any other cell as it is."""
    plain = as_ascii(_RAISED.sub(lambda match: f"^{match[0].translate(_SUPERSCRIPTS)}", cell)).strip(" \t*`$")
    named = _NAMED.fullmatch(plain)
    if named is not None and _is_name(named[1].lower(), column):
        plain = named[2]
    power = _POWER.fullmatch(plain)
    if power is None or not int(power[1]):
        return plain if named is not None else cell
    number = Fraction(int(power[1])) ** int(power[2])
    if kind.columns[column] == "count":
        return str(number) if number.denominator == 1 else cell
    return f"{float(number)!r}"


def _is_name(word: str, column: str) -> bool:
    """Whether a word before a number names the column: in full, by a synonym, by how it begins, by its initials."""
    initials = "".join(each[:1] for each in re.split(r"[\W_]+", column.lower()))
    return (
        column_meant(word, [column]) == column
        or column.lower().startswith(word)
        or word == initials
        or (column == "seed" and word.rstrip("s") in SEEDS)
    )
