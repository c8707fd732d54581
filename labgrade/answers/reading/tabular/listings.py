"""One-column tables without a header: `Conv2d: 1497352192`, `MACs for [ Conv2d ] layers is 1497352192`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.code import is_code
from labgrade.answers.reading.numerals.numbers import as_ascii, find_numbers
from labgrade.answers.reading.plain_values import find_shape
from labgrade.answers.reading.tabular.alike import written_alike
from labgrade.answers.reading.tabular.cells import cell_value, row_name, without_package
from labgrade.answers.reading.tabular.headers import answer_column, column_meant, names_rows
from labgrade.answers.reading.terms import JOINED, LEFT_OUT, TOTAL
from labgrade.answers.reading.typed_values import NUMBER_KINDS, WrongTypeError
from labgrade.values import Number, Row, Scalar, Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from labgrade.core.task import TableType

_LONGEST_LINE = 300
_LONGEST_NAME, _MOST_WORDS = 60, 4
_BRACKETED = re.compile(r"[\[<]\s*([^\[\]<>]{1,60}?)\s*[\]>]")
_SHAPE_CALL = re.compile(r"(?:(?:torch\.)?Size|(?:output[ _]?)?shape)?[\s(:=]*$", re.IGNORECASE)
_FILLER = re.compile(
    r"\b(?:number|amount|count|of|for|in|the|all|layers?|modules?|ops?|operators?|is|are|has|have|total|in|input)\b",
    re.IGNORECASE,
)
_TYPE = re.compile(r"[(\[]?[A-Z][a-z]\w*[)\]]?:?")
_SEVERAL = re.compile(r"[A-Za-z]\w{1,40}(?:,\s?(?:and\s)?[A-Za-z]\w{1,40}){1,8}")  # a name each, of one value
_OUTPUT = re.compile(
    r"(?<![A-Za-z])(?:output|out)(?:[ _]?(?:shape|size))?[\s:=]*(?:(?:torch\.)?Size\()?$", re.IGNORECASE
)
_DIGIT = re.compile(r"\d")
_ALONE = re.compile(r"[\s*_`~]{0,8}\d[\d., '\u00a0_]{0,40}(?:[kKMGT]i?)?[A-Za-z]{0,6}[\s*_`]{0,8}")
_PARTED = re.compile(r"(?<=[:=] )\d{1,3}(?:[ \u00a0]\d{3}){1,6}[ \t]*$")
_RULE = re.compile(r"\s*+(?:[-=*_+\u2500-\u257f\s]++|`{3,}.*|:::.*)$")


def find_listings(lines: list[str], kind: TableType, *, least: int) -> Iterator[tuple[Table, int]]:
    """Runs of at least `least` lines that say a name and its value, with the number of their first line (from 0).

    A blank line, a rule or a line of totals does not end a run; any other line does.
    """
    rows: list[Row] = []
    header: list[str] = []
    abridged, first = False, 0
    for number, whole in enumerate([*lines, "\0"]):
        line = whole[:_LONGEST_LINE]
        header = line.split("|") if "|" in line and not _DIGIT.search(line) and not _RULE.match(line) else header
        row = _row(_of_answer(line, header), kind) if len(whole) < _LONGEST_LINE else None
        if row is not None:
            first = first if rows else number
            rows.append(row)
        elif LEFT_OUT.match(line):
            abridged = bool(rows)
        elif line.strip() and not _RULE.match(line) and not TOTAL.match(row_name(line)):
            if len(rows) >= least:
                yield Table(rows=tuple(written_alike(rows, kind)), abridged=abridged), first
            rows, abridged = [], False


def _of_answer(line: str, header: list[str]) -> str:
    """A row of several numbers as its name and that of the column which is the answer: `now`, `final`.

    Without a number where none of the columns says so, or several do.
    """
    cells = line.split("|")
    numbers = [place for place, cell in enumerate(cells) if _ALONE.fullmatch(cell)]
    if len(numbers) < 2 or len(cells) != len(header):  # noqa: PLR2004 - several
        return line
    meant = answer_column(header)
    return "|".join(cell for place, cell in enumerate(cells) if place not in numbers or place == meant)


def _row(line: str, kind: TableType) -> Row | None:
    ((column, of),) = kind.columns.items()
    said = _shape(line) if of == "shape" else _number(line, of) if of in NUMBER_KINDS else _text(line)
    if said is None or is_code(line):
        return None
    before, value = said
    name = _name(before, column, kind.row)
    return Row(name=name, cells={column: value}) if name else None


def _number(line: str, kind: str) -> tuple[str, Scalar] | None:
    plain = as_ascii(line)
    parted = _PARTED.search(plain) if kind in ("count", "bytes") else None
    if parted is not None:
        return line[: parted.start()], Number(value=Fraction(re.sub(r"\D", "", parted[0])), text=parted[0].strip())
    found = [each for each in find_numbers(plain, kind) if each.number is not None and each.start > 0]
    found = [each for each in found if kind != "bytes" or not each.noun]  # 5 calls are none
    chosen = next((each for each in found if JOINED.search(plain[: each.start])), found[-1] if found else None)
    if (
        chosen is None
        or chosen.number is None
        or not re.match(r"[^A-Za-z]*(?:\(|[A-Za-z]{1,12}\W*$|$)", plain[chosen.end :])
    ):
        return None
    return line[: chosen.start], chosen.number


def _shape(line: str) -> tuple[str, Scalar] | None:
    """The first shape of a line, or the shape that is said to be the output: `conv1: in [1, 3] out [1, 64]`."""
    found = first = find_shape(line)
    if found is None or first is None:
        return None
    while not _OUTPUT.search(line[: found[1]]) and (later := find_shape(line, found[2])) is not None:
        found = later
    chosen = found if _OUTPUT.search(line[: found[1]]) else first
    return (_SHAPE_CALL.sub("", line[: first[1]]), chosen[0])


def _text(line: str) -> tuple[str, Scalar] | None:
    name, separator, value = as_ascii(line).partition(":")
    return (name, value.strip()) if separator and value.strip() else None


def _name(before: str, column: str, row: str) -> str:
    """The row's name in what stands before its value, or "" where that is prose, a total or only the column's word."""
    before = without_package(before)
    if TOTAL.match(row_name(before)):
        return ""
    bracketed = _BRACKETED.search(before)
    if bracketed is not None:
        return row_name(bracketed[1])
    name = row_name(re.sub(r"[\s:=|>,\u2192~\u2248-]+$", "", as_ascii(before).rstrip("*` ")))
    if _SEVERAL.fullmatch(name):
        return name
    words = [word for word in _FILLER.sub(" ", name).split() if column_meant(word.strip(":(),"), [column]) is None]
    short = 0 < len(words) <= _MOST_WORDS and len(name) <= _LONGEST_NAME
    return " ".join(_named(words, row)).strip(" :*`,'\"") if short else ""


def _named(words: list[str], row: str) -> list[str]:
    """Of a name that comes with its type or with a description, the part that names the row: `conv1 (Conv2d)`."""
    types = [word for word in words if _TYPE.fullmatch(word)]
    if row in ("type", "operator"):
        return [word.strip("()[]") for word in types] if len(types) == 1 else words
    return [word for word in words if word not in types] or words if len(types) == 1 else words


_OPERATOR = re.compile(r"[\s>*#`-]*([A-Z][A-Za-z0-9]*)[\s:*`]*$")
_HEADING = re.compile(r"[\s>*#`-]*(inputs?|outputs?|attributes?|attrs?)[\s:*`]*$", re.IGNORECASE)
_PAIR = re.compile(r"[\s>*`-]*([A-Za-z_][\w ]{0,40}?)\s*[:=]\s*(\S.*?)[\s,]*$")
_TENSOR = re.compile(r"[\s>*`-]*([^\s:=*`]+)\s*[:=]\s*[\[(]")
_NODE = re.compile(r'^\s*op_type\s*:\s*"([^"]+)"', re.MULTILINE)
_BLOCK = re.compile(r"attribute\s*\{(.*?)^\s*\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\s*(name|ints|i|f|s|floats)\s*:\s*(?:"([^"]*)"|(\S+))', re.MULTILINE)
_NAME = re.compile(r'^\s*(output|name)\s*:\s*"([^"]*)"', re.MULTILINE)
_SIZES = ("shape", "dims")
_AXES = ("channel", "height", "width")
_IMAGE = 4
_MOST_CHARS = 4_000_000
_LONGEST_RECORD_LINE = 2_000
_MOST_ROWS = 20_000
_MOST_NAMES = 8


@dataclass(slots=True)
class _Record:
    """A node while it is being read. `names`: what it is called besides its operator, and what it puts out.

    `heading`: what the line stands under, so far `indent`ed. `empty`: nothing was said under it yet.
    """

    operator: str
    cells: dict[str, Scalar | None] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    heading: str = ""
    indent: int = 0
    shaped: bool = False
    empty: bool = True


def find_records(text: str, kind: TableType) -> Table | None:
    """The nodes of a listing, a row a node, named by its operator; None where there is no such listing.

    Of the first input with four dimensions, the sizes are channel, height and width.
    """
    text = text[:_MOST_CHARS]
    rows = list(_from_protobuf(text, kind)) if _NODE.search(text) else []
    if rows:
        return Table(rows=tuple(rows[:_MOST_ROWS]))
    lines = [line[:_LONGEST_RECORD_LINE] for line in text.splitlines()]
    records: list[_Record] = []
    abridged = False
    current: _Record | None = None
    for number, line in enumerate(lines):
        if "|" not in line and LEFT_OUT.match(line):
            abridged, current = abridged or bool(records), None
        elif _begins(lines, number):
            current = _Record((_OPERATOR.match(line) or [""] * 2)[1])
            records.append(current)
        elif current is not None:
            _take(current, line, kind)
    whole = [record for record in records if record.heading][:_MOST_ROWS]
    found = tuple(
        Row(name=record.operator, cells=_all(record.cells, kind), also_named=tuple(record.names)) for record in whole
    )
    return Table(rows=found, abridged=abridged) if found else None


def _begins(lines: list[str], number: int) -> bool:
    """An operator's name alone on its line, with a heading on the next that says something."""
    if not _OPERATOR.match(lines[number]):
        return False
    following = next((line for line in lines[number + 1 : number + 4] if line.strip()), "")
    return bool(_HEADING.match(following))


def _take(record: _Record, line: str, kind: TableType) -> None:
    heading = _HEADING.match(line)
    if heading is not None and not _is_tensor(record, heading):
        record.heading = "attribute" if heading[1].lower().startswith("attr") else heading[1].lower().rstrip("s")
        record.indent, record.empty = heading.start(1), True
        return
    record.empty = record.empty and not line.strip()
    if record.heading == "output" and (tensor := _TENSOR.match(line)) and tensor[1].lower() not in _SIZES:
        record.names = [*record.names, tensor[1]][:_MOST_NAMES]  # `/conv/Conv_output_0 : [1, 8, 4, 4]`
        return
    pair = _PAIR.match(line)
    if pair is None:
        return
    if record.heading == "input":
        _take_size(record, line, pair, kind)
    elif record.heading == "output" or names_rows(pair[1], kind.row):
        record.names = [*record.names, pair[2]][:_MOST_NAMES]
    elif record.heading == "attribute":
        _cell(record.cells, pair[1], pair[2], kind)


def _take_size(record: _Record, line: str, pair: re.Match[str], kind: TableType) -> None:
    """A size of the node's first tensor, or its shape."""
    if pair[1].strip().lower() in _AXES:
        if record.cells.get(pair[1].strip().lower()) is None:  # the node's first tensor, not a weight behind it
            _cell(record.cells, pair[1], pair[2], kind)
    elif not record.shaped and pair[1].strip().lower() in _SIZES:
        record.shaped = True
        shape = find_shape(line)
        if shape is not None and len(shape[0]) == _IMAGE:
            for column, size in zip(_AXES, shape[0][1:], strict=True):
                if record.cells.get(column) is None:  # what is said in words stands
                    _cell(record.cells, column, str(size), kind)


def _is_tensor(record: _Record, heading: re.Match[str]) -> bool:
    """Whether a heading's word is the name of the first tensor that comes in: `input`, or what is set in below it."""
    if record.heading != "input" or not record.empty:
        return False
    return heading[1].lower() == "input" or heading.start(1) > record.indent


def _cell(cells: dict[str, Scalar | None], name: str, written: str, kind: TableType) -> None:
    column = column_meant(name, kind.columns)
    if column is None:
        return
    try:
        cells[column] = cell_value(written, kind.columns[column])
    except WrongTypeError:
        cells[column] = None


def _all(cells: dict[str, Scalar | None], kind: TableType) -> dict[str, Scalar | None]:
    return {column: cells.get(column) for column in kind.columns}


def _from_protobuf(text: str, kind: TableType) -> Iterator[Row]:
    """Nodes as onnx prints them: what stands before `op_type` names the node, what stands behind are its attributes."""
    nodes = list(_NODE.finditer(text))
    for at, match in enumerate(nodes):
        end = nodes[at + 1].start() if at + 1 < len(nodes) else len(text)
        before = text[nodes[at - 1].end() if at else 0 : match.start()]
        names = dict(_NAME.findall(before[before.rfind("}") + 1 :]))
        cells: dict[str, Scalar | None] = {}
        for block in _BLOCK.finditer(text, match.end(), end):
            fields = _FIELD.findall(block[1])
            name = next((quoted for word, quoted, _ in fields if word == "name"), "")
            values = [quoted or bare for word, quoted, bare in fields if word != "name"]
            repeated = any(word in ("ints", "floats") for word, _, _ in fields)
            _cell(cells, name, f"[{', '.join(values)}]" if repeated else "".join(values[:1]), kind)
        yield Row(name=names.get("name") or names.get("output") or match[1], cells=_all(cells, kind))
