"""Nodes as scripts list them: an operator's name with what it takes in, puts out and its attributes below or behind it.

Or as onnx prints its protobuf. A row is a node; it is named by its operator, and by its node and tensors as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labgrade.answers.reading.plain_values import find_shape
from labgrade.answers.reading.tabular.cells import cell_value
from labgrade.answers.reading.tabular.headers import column_meant, names_rows
from labgrade.answers.reading.typed_values import WrongTypeError
from labgrade.answers.reading.words.terms import LEFT_OUT
from labgrade.values import Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.task import TableType
    from labgrade.values import Scalar

_OPERATOR = re.compile(r"[\s>*#`-]*([A-Z][A-Za-z0-9]*)[\s:*`]*$")
_HEADING = re.compile(r"[\s>*#`-]*(inputs?|outputs?|attributes?|attrs?)[\s:*`]*$", re.IGNORECASE)
_PAIR = re.compile(r"[\s>*`-]*([A-Za-z_][\w ]{0,40}?)\s*[:=]\s*(\S.*?)[\s,]*$")
_TENSOR = re.compile(r"[\s>*`-]*([^\s=*`]{1,200}?)\s*[:=]\s*[\[(]")
_NODE = re.compile(r'^\s*op_type\s*:\s*"([^"]+)"', re.MULTILINE)
_BLOCK = re.compile(r"attribute\s*\{(.*?)^\s*\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\s*(name|ints|i|f|s|floats)\s*:\s*(?:"([^"]*)"|(\S+))', re.MULTILINE)
_NAME = re.compile(r'^\s*(output|name)\s*:\s*"([^"]*)"', re.MULTILINE)
_BEHIND = re.compile(r"(?:^|(?<=[\s*`(]))([A-Z][A-Za-z]{1,30})[`*)]{0,3}\s{0,2}:\s{0,3}(?=[`*]{0,3}[a-z])")
_SAID = re.compile(
    r"\b([A-Za-z_]\w{0,30})[`*]{0,3}\s{0,3}[=:]?\s{0,3}(\[[^\[\]\n]{0,80}\]|\([^()\n]{0,80}\)|-?\d[\d.]{0,20})"
    r"(\s{0,3}(?:or|and|to|\.\.|-|/)\s{0,2}[\d\[(.])?"
)
_SIZES = ("shape", "dims")
_AXES = ("channel", "height", "width")
_IMAGE = 4
_MOST_CHARS, _LONGEST_LINE, _MOST_ROWS, _MOST_NAMES = 4_000_000, 2_000, 20_000, 8


@dataclass(slots=True)
class _Record:
    """A node while it is being read. `names`: its names besides the operator's, and its outputs.

    `heading`: the line above, `indent`ed so far. `empty`: there is nothing below that yet.
    """

    operator: str
    cells: dict[str, Scalar | None] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    heading: str = ""
    indent: int = 0
    shaped: bool = False
    empty: bool = True


def find_records(text: str, kind: TableType) -> Table | None:
    """Return the nodes of a listing, a row for each, named by its operator; None if there is no such listing.

    Sizes are channel, height and width of the first input with four dimensions.
    """
    text = text[:_MOST_CHARS]
    lines = [line[:_LONGEST_LINE] for line in text.splitlines()]
    if _NODE.search(text):
        dots = any("|" not in line and LEFT_OUT.match(line) for line in lines)
        rows = tuple(_from_protobuf(text, kind))[:_MOST_ROWS]
        return Table(rows=rows, abridged=dots) if rows else None
    records: list[_Record] = []
    abridged = False
    current: _Record | None = None
    for number, line in enumerate(lines):
        if "|" not in line and LEFT_OUT.match(line):
            abridged, current = abridged or bool(records), None
        elif (operator := _OPERATOR.match(line)) and _says_more(lines, number):
            current = _Record(operator[1])
            records.append(current)
        elif current is not None:
            _take(current, line, kind)
    found = tuple(
        Row(name=record.operator, cells=_all(record.cells, kind), also_named=tuple(record.names))
        for record in records[:_MOST_ROWS]
        if record.heading
    )
    return Table(rows=found, abridged=abridged) if found else None


def find_in_line(text: str, kind: TableType) -> Table | None:
    """Return the rows of lines such as `Gemm: alpha = 1.0, beta = 1.0`; none of lines with a range of values."""
    rows = []
    for line in text[:_MOST_CHARS].splitlines():
        for match in _BEHIND.finditer(line[:_LONGEST_LINE]) if len(line) < _LONGEST_LINE else ():
            said = _SAID.findall(line, match.end())
            cells: dict[str, Scalar | None] = {}
            for name, written, _ in said:
                _cell(cells, name, written, kind)
            if len(cells) > 1 and not any(several for *_, several in said):
                rows.append(Row(name=match[1], cells=_all(cells, kind)))
    return Table(rows=tuple(rows[:_MOST_ROWS])) if rows else None


def _says_more(lines: list[str], number: int) -> bool:
    """Return whether the line below an operator's name is a heading."""
    following = next((line for line in lines[number + 1 : number + 4] if line.strip()), "")
    return bool(_HEADING.match(following))


def _take(record: _Record, line: str, kind: TableType) -> None:
    heading = _HEADING.match(line)
    if heading is not None and not _is_tensor(record, heading):
        record.heading = "attribute" if heading[1].lower().startswith("attr") else heading[1].lower().rstrip("s")
        record.indent, record.empty = heading.start(1), True
        return
    record.empty = record.empty and not line.strip()
    tensor, pair = _TENSOR.match(line), _PAIR.match(line)
    if record.heading == "output" and tensor and tensor[1].lower() not in _SIZES:
        record.names = [*record.names, tensor[1]][:_MOST_NAMES]  # `/conv/Conv_output_0 : [1, 8, 4, 4]`
    elif record.heading == "input" and (tensor or pair):
        _take_size(record, line, pair, kind)
    elif pair is not None and (record.heading == "output" or names_rows(pair[1], kind.row)):
        record.names = [*record.names, pair[2]][:_MOST_NAMES]
    elif pair is not None and record.heading == "attribute":
        _cell(record.cells, pair[1], pair[2], kind)


def _take_size(record: _Record, line: str, pair: re.Match[str] | None, kind: TableType) -> None:
    """Record a size of the node's first tensor, or its shape."""
    named = pair[1].strip().lower() if pair is not None else ""
    if pair is not None and named in _AXES:
        if record.cells.get(named) is None:  # the node's first tensor, not a weight behind it
            _cell(record.cells, pair[1], pair[2], kind)
    elif not record.shaped and (named in _SIZES or _TENSOR.match(line)):
        record.shaped = True
        shape = find_shape(line)
        if shape is not None and len(shape[0]) == _IMAGE:
            for column, size in zip(_AXES, shape[0][1:], strict=True):
                if record.cells.get(column) is None:  # what is said in words stands
                    _cell(record.cells, column, str(size), kind)


def _is_tensor(record: _Record, heading: re.Match[str]) -> bool:
    """Return whether a heading is the name of the first input tensor: `input`, or an indented name below it."""
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
    """Yield nodes as onnx prints them: names come before `op_type`, attributes behind it."""
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
