"""Which lines of a text are the rows of a table."""

from fractions import Fraction

from labgrade.answers.reading.documents import Document
from labgrade.answers.reading.lines import read_lines
from labgrade.answers.reading.sections import Span
from labgrade.core.task import TableType
from labgrade.judging.choose_rows import rows_by_name
from labgrade.values import Number, Row, Table

KIND = TableType(row="kind", columns={"count": "count"})


def test_a_number_of_each_of_several_names_is_that_of_all_of_them():
    text = "20 conv, 17 relu_, and one each of flatten, linear and max_pool2d (all inlined)."
    document = Document(path="report.md", text=text)
    names = {"conv": 20, "relu_": 17, "flatten": 1, "linear": 1, "max_pool2d": 1}
    rows = (Row(name=name, cells={"count": Number(value=Fraction(count))}) for name, count in names.items())
    found = rows_by_name(KIND, Table(rows=tuple(rows)), read_lines(document, (Span(start=0, end=len(text)),)))
    assert found is not None
    assert {row.name: row.cells["count"].value for row in found.table.rows} == names
