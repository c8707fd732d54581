"""Which lines of a text are the rows of a table."""

from dataclasses import replace
from fractions import Fraction

import pytest

from checkers.same_rows import same_rows
from labgrade.answers.reading.documents import Document
from labgrade.answers.reading.lines import read_lines
from labgrade.answers.reading.passages.sections import Span
from labgrade.core.task import Check, LiteralValue, TableType
from labgrade.judging.judge import judge
from labgrade.judging.texts.choose_listed import in_order
from labgrade.judging.texts.choose_rows import rows_by_name
from labgrade.judging.texts.row_names import named_in_order, with_types_named
from labgrade.values import Number, Row, Table
from labgrade.verdict import Outcome, correct, incorrect

KIND = TableType(row="kind", columns={"count": "count"})


NAMES = {"conv": 20, "relu_": 17, "flatten": 1, "linear": 1, "max_pool2d": 1}


def table(counts):
    return Table(
        rows=tuple(Row(name=name, cells={"count": Number(value=Fraction(count))}) for name, count in counts.items())
    )


@pytest.mark.parametrize(
    "text",
    [
        "20 conv, 17 relu_, and one each of flatten, linear and max_pool2d (all inlined).",
        "counts: conv 20, relu_ 17, and one each of flatten, linear and max_pool2d.",
        "conv 20x, relu_ 17x, one each of flatten, linear, max_pool2d",
        "There are 20 calls of conv, 17 calls of relu_, 1 call of flatten, 1 call of linear and 1 call of max_pool2d.",
        "conv is called 20 times, flatten 1 time, linear 1 time, relu_ 17 times and max_pool2d 1 time.",
        "and conv 20; besides relu_ 17, flatten 1, linear 1, max_pool2d 1",
    ],
)
def test_a_number_of_each_of_several_names_is_that_of_all_of_them(text):
    document = Document(path="report.md", text=text)
    found = rows_by_name(KIND, table(NAMES), read_lines(document, (Span(start=0, end=len(text)),)))
    assert found is not None
    assert {row.name: row.cells["count"].value for row in found.table.rows} == NAMES


@pytest.mark.parametrize(
    ("handed_in", "expected", "meant"),
    [
        (["Conv", "Linear"], ["Conv2d", "Linear"], ["Conv2d", "Linear"]),
        (["convolution", "FC"], ["Conv2d", "Linear"], ["Conv2d", "Linear"]),
        (["Conv layers", "fully connected"], ["Conv2d", "Linear"], ["Conv2d", "Linear"]),
        (["BN", "Max Pooling", "avg_pool"], ["BatchNorm2d", "MaxPool2d", "AdaptiveAvgPool2d"], None),
        (["Conv", "Linear"], ["Conv1d", "Conv2d", "Linear"], ["Conv", "Linear"]),  # of which of them?
        (["Conv", "Conv2d"], ["Conv2d"], ["Conv", "Conv2d"]),  # a row of its own
        (["conv", "convs"], ["Conv2d"], ["conv", "convs"]),
        (["Pooling", "Dense"], ["Conv2d", "Linear"], ["Pooling", "Linear"]),
        (["Relu6", "Gemm"], ["Clip", "Gemm"], ["Relu6", "Gemm"]),
        (["conv1", "fc"], ["conv1", "fc"], ["conv1", "fc"]),
    ],
)
def test_a_type_of_layers_may_be_called_by_less_where_one_row_can_be_meant(handed_in, expected, meant):
    answer = table(dict.fromkeys(handed_in, 5))
    named = with_types_named(answer, table(dict.fromkeys(expected, 5)))
    assert [row.name for row in named.rows] == (meant or expected)


LAYERS = Table(
    rows=(
        Row(name="features.0", cells={}, also_named=("Conv2d: 2-1", "Conv2d (0): 2-1", "Conv2d-1", "conv1")),
        Row(name="features.3", cells={}, also_named=("Conv2d: 2-4", "Conv2d (3): 2-4", "Conv2d-4", "conv2")),
        Row(name="block.fc", cells={}, also_named=("Linear: 2-6", "Linear (fc): 2-6", "Linear-6")),
    )
)


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (["Conv2d: features.0", "conv features.3"], ["features.0", "features.3"]),
        (["features.0 (3→64)", "features.3 - Conv2d"], ["features.0", "features.3"]),
        (["conv1: Conv2d(3, 64, bias=False)", "2. conv2 11x11"], ["features.0", "features.3"]),
        (["Layer block.fc", "features/3", "/features/0/Conv"], ["block.fc", "features.3", "features.0"]),
        (["features[0]", "Conv2d (conv2)", "`block.fc`"], ["features.0", "features.3", "block.fc"]),
        (["Conv2d 1", "4_Conv2d", "Linear #6"], ["Conv2d-1", "Conv2d-4", "Linear-6"]),
        (["features.0 (weight)", "features.0 (bias)"], None),  # two rows of one layer
        (["features.0", "conv1 Conv2d"], None),  # the same
        (["after features.0", "before features.3"], None),
        (["features.0 + relu", "ReLU: features.3", "Linear: conv1"], None),
        (["features.0 to features.3", "block fc", "Conv2d (after conv1)"], None),
        (["first", "Conv2d", "1", "Dropout 1"], None),
    ],
)
def test_a_cell_that_says_a_layer_s_name_among_other_words(cells, names):
    answer = Table(rows=tuple(Row(name=cell, cells={}) for cell in cells))
    assert [row.name for row in with_types_named(answer, LAYERS).rows] == (names or cells)


ORDERED = {"features.0": 100, "features.3": 200, "block.fc": 300}


@pytest.mark.parametrize(
    ("handed_in", "abridged", "meant"),
    [
        ({"a": 100, "b": 200, "c": 300}, False, list(ORDERED)),
        ({"a": 100, "b": 200, "c": 300, "Total": 600}, False, list(ORDERED)),
        ({"features.0": 100, "the second": 200, "block.fc": 300}, False, list(ORDERED)),
        ({"features.0": 100, "conv9": 200, "block.fc": 300}, False, None),  # another name is another layer
        ({"features.3": 100, "the second": 200, "block.fc": 300}, False, None),
        ({"a": 100, "b": 200}, False, None),
        ({"a": 100, "b": 200}, True, list(ORDERED)[:2]),
        ({"a": 100, "b": 300}, True, ["features.0", "block.fc"]),
        (ORDERED, False, None),
    ],
)
def test_rows_without_names_may_be_the_expected_ones_in_their_order(handed_in, abridged, meant):
    named = named_in_order(replace(table(handed_in), abridged=abridged), table(ORDERED))
    assert (None if named is None else [row.name for row in named.rows]) == meant


@pytest.mark.parametrize(("names", "waits"), [("ReLU Conv2d ReLU", True), ("ReLU Conv2d Linear", False)])
def test_what_several_rows_are_called_names_none_of_them(names, waits):
    expected = table({"relu": 100, "conv": 200, "again": 300})
    rows = (replace(row, name=name) for row, name in zip(expected.rows, names.split(), strict=True))
    assert named_in_order(Table(rows=tuple(rows)), expected) == (expected if waits else None)


@pytest.mark.parametrize(
    ("counts", "computed", "outcome", "suggested"),
    [
        ({"a": 100, "b": 200, "c": 300}, False, Outcome.MANUAL, Outcome.CORRECT),
        ({"a": 100, "b": 201, "c": 300}, False, Outcome.MANUAL, Outcome.PARTIAL),
        ({"a": 101, "b": 201, "c": 300}, False, Outcome.INCORRECT, None),
        ({"a": 100, "b": 200, "c": 300}, True, Outcome.INCORRECT, None),
        ({"features.0": 100, "the next": 200, "block.fc": 300}, False, Outcome.MANUAL, Outcome.CORRECT),
        ({"features.0": 100, "the next": 201, "block.fc": 300}, False, Outcome.PARTIAL, None),
    ],
)
def test_a_table_whose_rows_are_right_in_their_order_waits(counts, computed, outcome, suggested):
    check = Check(id="c", points=Fraction(1), answer="a", expected=LiteralValue(value=None))
    found = judge(check, table(counts), same_rows, lambda _: table(ORDERED), computed=computed)
    assert (found.outcome, found.suggestion and found.suggestion.outcome) == (outcome, suggested)


def test_what_a_function_returns_is_named_as_it_is_asked_for(judge_by_type):
    assert judge_by_type(computed=False).outcome is Outcome.CORRECT
    assert judge_by_type(computed=True).outcome is Outcome.INCORRECT


@pytest.fixture
def judge_by_type():
    right = table({"Conv2d": 5})
    check = Check(id="c", points=Fraction(1), answer="a", checker="same_rows", expected=LiteralValue(value=None))

    def judged(answer, expected):
        same = [row.name for row in answer.rows] == [row.name for row in expected.rows]
        return correct() if same else incorrect("another name")

    return lambda *, computed: judge(check, table({"Conv": 5}), judged, lambda _: right, computed=computed)


TWICE = '{"kind": "conv", "count": 20}\n{"kind": "conv", "count": 40}\n'


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (f"{TWICE}{TWICE.replace('conv', 'linear').replace('20', '1').replace('40', '2')}relu_ 17\nflatten 1", 6),
        ("conv 20\nrelu_ 17\nflatten 1\nlinear 1\n\nconv 40\nrelu_ 3\nflatten 2\nlinear 1\n", 4),  # two networks
    ],
)
def test_a_table_that_says_two_things_of_a_row_keeps_both(text, rows):
    document = Document(path="report.md", text=text)
    found = rows_by_name(KIND, table(NAMES), read_lines(document, (Span(start=0, end=len(text)),)))
    assert len(found.table.rows) == rows


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("conv occurs 20 times, relu_ 17 times, flatten 1, linear 1, max_pool2d 1 time", True),
        ("conv occurs 20 times, relu_ 17 times, flatten once, linear once, max_pool2d 1 time", False),
    ],
)
def test_a_row_that_is_named_without_a_number_is_not_surely_missing(text, sure):
    document = Document(path="report.md", text=text)
    found = rows_by_name(KIND, table(NAMES), read_lines(document, (Span(start=0, end=len(text)),)))
    assert found.sure is sure


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("conv and relu_\n20\n17", True),
        ("relu_, conv\n20\n17", False),
        ("relu_\n20\n17", True),  # not all names: nothing is known of their order
    ],
)
def test_numbers_in_another_order_than_the_names_are_those_of_other_rows(text, right):
    document = Document(path="report.md", text=text)
    lines = read_lines(document, (Span(start=0, end=len(text)),))
    assert in_order(lines, table({"conv": 20, "relu_": 17})) is right
