"""Runs of a study that are no row each: a column a seed, a column a setting, or a line of `name=value` a run."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.code import is_code
from labgrade.answers.reading.numerals.numbers import as_ascii, explain_number
from labgrade.answers.reading.tabular.cells import row_of
from labgrade.answers.reading.tabular.headers import column_meant, could_head
from labgrade.answers.reading.tabular.splits import grids
from labgrade.answers.reading.typed_values import WrongTypeError
from labgrade.answers.reading.words.terms import letters_of
from labgrade.answers.reading.words.vocabulary import known_words
from labgrade.values import Number, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labgrade.core.task import TableType

_MOST_RUNS = 10_000
_SETTING = re.compile(r"([^\d=:#]{2,60}?)[\s=:#_(]{0,4}(\d[\d.^e+-]{0,20})\)?", re.IGNORECASE)
_UNIT = re.compile(
    r"(?<=[\d)])[\s,;]{0,3}(?:[(\[]\s?)?(?:in\s)?(?:%|percent|per\scent|prozent)[\s)\]]{0,3}$", re.IGNORECASE
)
_SAID = re.compile(
    r"(?<![A-Za-z_])((?:[A-Za-z_]{1,30}+[ .]{1,2}){0,3}[A-Za-z_]{1,30}+)[\s\"'`*]{0,4}"
    r"(?:[=:]|\bis\b|\bof\b)?[\s\"'`*]{0,4}"
    r"([+-]?\d[\d.,]{0,20}(?:(?:e|\^)[+-]?\d{1,3})?%?|nan|[+-]?inf)(?![\w.])",
    re.IGNORECASE,
)
_LONGEST_LINE = 600
_LAST_WORDS, _MOST_DIGITS = 3, 6


def find_runs(lines: list[str], kind: TableType) -> Iterator[tuple[Table, int]]:
    """Yield the tables of runs, each with the number of its first line, if the kind's rows begin with a setting."""
    if kind.row not in kind.columns or len(kind.columns) < 2:  # noqa: PLR2004 - a setting, and what came of it
        return
    for first, grid in grids(lines):
        spread = _spread(grid, kind) or _across(grid, kind) or _spread(_with_seeds(grid, kind), kind)
        yield from _tabled(spread or _numbered(grid, kind), kind, first)
    told = ((number, line[:_LONGEST_LINE]) for number, line in enumerate(lines) if could_head(line, kind.columns))
    said = [(number, found) for number, line in told if not is_code(line) and (found := _said(line, kind))]
    if len(said) > 1:
        yield from _tabled([found for _, found in said], kind, said[0][0])


def _tabled(runs: list[dict[str, str]], kind: TableType, first: int) -> Iterator[tuple[Table, int]]:
    """Yield the table of these runs, if there are two and the first can be read."""
    kinds = dict(kind.columns)
    told: list[dict[str, str]] = []
    for run in runs[:_MOST_RUNS]:
        plain = as_run(run, told[-1] if told else None, kind) if is_study(kind) else run
        told += [plain] if plain is not None else []
    try:
        rows = [row_of(run[kind.row], run, kinds, {}, as_text=place > 0) for place, run in enumerate(told)]
    except WrongTypeError:
        return
    if len(rows) > 1:
        yield Table(rows=tuple(rows)), first


def _spread(grid: list[list[str]], kind: TableType) -> list[dict[str, str]]:
    """Return the runs of a table with a column for each value of a setting: `batch size | seed 0 | seed 1`."""
    header, *rows = grid
    settings = {place: found for place, cell in enumerate(header) if (found := _setting(cell, kind))}
    spread = {column for column, _ in settings.values()}
    if len(settings) < 2 or len(spread) > 1:  # noqa: PLR2004 - one value of a setting is none
        return []
    named = {place: column for place, cell in enumerate(header) if (column := column_meant(cell, kind.columns))}
    value = _value(kind, spread)
    own = {column: place for place, column in reversed(named.items()) if column not in {value, *spread}}
    if kind.row not in {*own, *spread}:
        return []
    return [
        {**{each: row[at] for each, at in own.items()}, column: setting, value: row[place]}
        for row in rows
        if len(row) >= len(header)
        for place, (column, setting) in settings.items()
        if row[place]
    ]


def _with_seeds(grid: list[list[str]], kind: TableType) -> list[list[str]]:
    """Return the table with its header's `seed 0 | seed 1` in full, if successive numbers head all runs."""
    header, *rows = grid
    numbers = [int(cell) for cell in header if _is_bare(cell)]
    others = [column_meant(cell, kind.columns) or sums_up(cell) for cell in header if not _is_bare(cell)]
    follow = numbers == [*range(numbers[0], numbers[0] + len(numbers))] if numbers else False
    if not follow or "seed" not in kind.columns or {kind.row, True} | set(others) != {kind.row, True}:
        return grid
    return [[f"seed {cell}" if _is_bare(cell) else cell for cell in header], *rows]


def _is_bare(cell: str) -> bool:
    return cell.isdecimal() and len(cell) <= _MOST_DIGITS


def _across(grid: list[list[str]], kind: TableType) -> list[dict[str, str]]:
    """Return the runs of a transposed table: `batch size | 16 | 64`, and a row for the accuracy or each seed."""
    header, *rows = grid
    along = column_meant(header[0], kind.columns)
    if along != kind.row or len(header) < 3 or not all(map(_is_number, header[1:])):  # noqa: PLR2004 - two settings
        return []
    value = _value(kind, {along})
    runs = []
    for row in rows:
        setting = _setting(row[0], kind)
        if len(row) != len(header) or (setting is None and column_meant(row[0], kind.columns) != value):
            continue
        more = dict([setting]) if setting is not None else {}
        runs += [{along: at, **more, value: cell} for at, cell in zip(header[1:], row[1:], strict=True) if cell]
    return runs


def _numbered(grid: list[list[str]], kind: TableType) -> list[dict[str, str]]:
    """Return the runs of a table that numbers each setting's (not all) runs, `epochs | run | accuracy`."""
    header, *rows = grid
    named = {column: place for place, cell in enumerate(header) if (column := column_meant(cell, kind.columns))}
    numbers = [place for place, cell in enumerate(header) if cell.lower().rstrip("s #.") in SEEDS]
    lacking = set(kind.columns) - set(named)
    if lacking != {"seed"} or len(numbers) != 1:
        return []
    named["seed"] = numbers[0]
    runs = [{column: row[place] for column, place in named.items()} for row in rows if len(row) == len(header)]
    return runs if len({run["seed"] for run in runs}) < len(runs) else []


def _value(kind: TableType, settings: set[str]) -> str:
    """Return the column of what a study measures: the last column that is no setting."""
    return [column for column in kind.columns if column not in settings][-1]


def _setting(cell: str, kind: TableType) -> tuple[str, str] | None:
    """Return the column and the value in a cell with both: `Seed 0`, `lr=0.1`, `accuracy (seed 1)`, `run #2`."""
    match = _SETTING.fullmatch(_UNIT.sub("", as_ascii(cell)))
    column = _column_of(match[1], kind.columns) if match else None
    return (column, match[2]) if match and column else None


def _column_of(words: str, columns: Mapping[str, str]) -> str | None:
    """Return the column that the last words of a text name."""
    said = re.findall(r"[^\W\d_]+", words)
    for count in range(_LAST_WORDS, 0, -1):
        if found := column_meant(" ".join(said[-count:]), columns):
            return found
    alike = [column for column in columns if column in (*SEEDS, "seed")]
    return alike[0] if alike and said and said[-1].lower().rstrip("s") in SEEDS else None


def _said(line: str, kind: TableType) -> dict[str, str]:
    """Return a line's cells of one run: a value of the setting and of another column, each behind its name."""
    found: dict[str, str] = {}
    for match in _SAID.finditer(line) if any(sign in line for sign in (":", "=", "->")) else ():
        column = _column_of(match[1], kind.columns)
        if column is not None:
            found.setdefault(column, match[2].rstrip(".,"))
    return found if kind.row in found and _value(kind, {kind.row}) in found else {}


def _is_number(cell: str) -> bool:
    return isinstance(explain_number(cell, "number").number, Number)


SEEDS = frozenset(known_words("seeds"))
_SUMS_UP = re.compile(
    r"(?:(?:mean|average|avg|median|std|stdev|sd|variance|min|max|best|worst|total|sum|overall|mittel(?:wert)?|summe"
    r"|durchschnitt|standardabweichung|moyenne|m\u00e9diane|media|promedio|mediana|\u5e73\u5747\u503c?|\u5747\u503c"
    r"|\u6a19\u6e96\u5dee|\u6807\u51c6\u5dee|\ud3c9\uade0|\u03c3|\u03bc)"
    r"(?:\s(?:of|over|the|all|across|seeds?|runs?|and|dev|deviation|accuracy|acc))*\s?)+"
)
_LONGEST = 80
_NAMED = re.compile(r"([^\W\d_]{1,20})[\s_=:#-]{0,3}(\d[\d.^*e+-]{0,20})")
_POWER = re.compile(r"(\d{1,4}) ?(?:\^|\*\*) ?[({]?([+-]?\d{1,2})[)}]?")
_RAISED = re.compile(r"(?<=\d)[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}")
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_SHARE = re.compile(r"(\d{1,9}) ?/ ?(\d{1,9})")


def is_study(kind: TableType) -> bool:
    """Return whether rows are runs: each is named by a setting, and its last column has the outcome."""
    return kind.sparse and kind.row in kind.columns and len(kind.columns) > 1


def as_run(cells: dict[str, str], above: Mapping[str, str] | None, kind: TableType) -> dict[str, str] | None:
    """Return the cells of a run; None for a row that is empty or sums up others: `16,mean,0.95`.

    A setting that is only in the first row of its group is taken from the row `above`.
    """
    *settings, value = kind.columns
    if not any(cells.values()) or any(sums_up(cells.get(column, "")) for column in settings):
        return None
    run = {column: _of_setting(cell, column, kind) if column in settings else cell for column, cell in cells.items()}
    others = [run.get(column) for column in settings if column != kind.row]
    if above is not None and not run.get(kind.row) and any(others) and run.get(value):
        run[kind.row] = above[kind.row]
    share = _SHARE.fullmatch(run.get(value, "")) if kind.columns[value] == "number" else None
    if share is not None and 0 < int(share[2]) >= int(share[1]):
        run[value] = f"{int(share[1]) / int(share[2]):.10f}"
    return run


def sums_up(cell: str) -> bool:
    """Return whether a cell marks its row or column as a summary: `mean of 3 seeds`."""
    return bool(_SUMS_UP.fullmatch(letters_of(cell[:_LONGEST])))


def _of_setting(cell: str, column: str, kind: TableType) -> str:
    """Return the number of a cell such as `seed 0`, `bs16`, `2^4`; any other cell as it is."""
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
    """Return whether a word before a number names the column: in full, by synonym, by its beginning or initials."""
    initials = "".join(each[:1] for each in re.split(r"[\W_]+", column.lower()))
    return (
        column_meant(word, [column]) == column
        or column.lower().startswith(word)
        or word == initials
        or (column == "seed" and word.rstrip("s") in SEEDS)
    )
