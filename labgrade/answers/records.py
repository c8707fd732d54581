"""Listings of nodes as scripts print them: a block a node, its operator first, then `name : value` below headings.

```
Conv
  input
    x
      shape : (1, 3, 224, 224)
  attribute
    kernel_shape : [3, 3]
```

Indentation is not needed. What `print(node)` of onnx prints (`op_type: "Conv"`, `attribute { ... }`) is read, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labgrade.answers.cells import cell_value
from labgrade.answers.headers import column_meant
from labgrade.answers.shapes import find_shape
from labgrade.answers.typed import WrongTypeError
from labgrade.values import Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.forms import TableType
    from labgrade.values import Scalar

_OPERATOR = re.compile(r"[\s>*#`-]*([A-Z][A-Za-z0-9]*)[\s:*`]*$")
_HEADING = re.compile(r"[\s>*#`-]*(inputs?|outputs?|attributes?|attrs?)[\s:*`]*$", re.IGNORECASE)
_PAIR = re.compile(r"[\s>*`-]*([A-Za-z_][\w ]{0,40}?)\s*[:=]\s*(\S.*?)[\s,]*$")
_LEFT_OUT = re.compile(r"[\s|*`]*(?:\.\.\.|\u2026|\u22ee)\s*$")
_NODE = re.compile(r'^\s*op_type\s*:\s*"([^"]+)"', re.MULTILINE)
_BLOCK = re.compile(r"attribute\s*\{(.*?)^\s*\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\s*(name|ints|i|f|s|floats)\s*:\s*(?:"([^"]*)"|(\S+))', re.MULTILINE)
_NAME = re.compile(r'^\s*(output|name)\s*:\s*"([^"]*)"', re.MULTILINE)
_AXES = ("channel", "height", "width")
_IMAGE = 4
_MOST_CHARS = 4_000_000
_LONGEST_LINE = 2_000
_MOST_ROWS = 20_000


@dataclass(slots=True)
class _Record:
    """A node while it is being read: the heading that the line stands under, and whether a shape was seen."""

    operator: str
    cells: dict[str, Scalar | None] = field(default_factory=dict)
    heading: str = ""
    shaped: bool = False
    names: list[str] = field(default_factory=list)


def find_records(text: str, kind: TableType) -> Table | None:
    """The nodes of a listing, a row a node, named by its operator; None where there is no such listing.

    Of the first input with four dimensions, the sizes are channel, height and width.
    """
    text = text[:_MOST_CHARS]
    rows = list(_from_protobuf(text, kind)) if _NODE.search(text) else []
    if rows:
        return Table(rows=tuple(rows[:_MOST_ROWS]))
    lines = [line[:_LONGEST_LINE] for line in text.splitlines()]
    records: list[_Record] = []
    abridged = False
    current: _Record | None = None
    for number, line in enumerate(lines):
        if _LEFT_OUT.match(line):
            abridged, current = abridged or bool(records), None
        elif _begins(lines, number):
            current = _Record((_OPERATOR.match(line) or [""] * 2)[1])
            records.append(current)
        elif current is not None:
            _take(current, line, kind)
    whole = [record for record in records if record.heading][:_MOST_ROWS]
    found = tuple(Row(name=record.operator, cells=_all(record.cells, kind)) for record in whole)
    return Table(rows=found, abridged=abridged) if found else None


def _begins(lines: list[str], number: int) -> bool:
    """An operator's name alone on its line, with a heading on the next that says something."""
    if not _OPERATOR.match(lines[number]):
        return False
    following = next((line for line in lines[number + 1 : number + 4] if line.strip()), "")
    return bool(_HEADING.match(following))


def _take(record: _Record, line: str, kind: TableType) -> None:
    heading = _HEADING.match(line)
    if heading is not None and not (record.heading == "input" and not record.names):
        record.heading = "attribute" if heading[1].lower().startswith("attr") else heading[1].lower().rstrip("s")
        record.names = []
        return
    pair = _PAIR.match(line)
    if pair is None:
        record.names.append(line.strip())
    elif record.heading == "attribute":
        _cell(record.cells, pair[1], pair[2], kind)
    elif record.heading == "input" and not record.shaped and pair[1].strip().lower() in ("shape", "dims"):
        record.shaped = True
        shape = find_shape(line)
        if shape is not None and len(shape[0]) == _IMAGE:
            for column, size in zip(_AXES, shape[0][1:], strict=True):
                _cell(record.cells, column, str(size), kind)


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
