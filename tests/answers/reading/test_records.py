"""Listings of nodes as scripts print them."""

from __future__ import annotations

import pytest

from labgrade.answers.reading.tabular.formats.records import find_records
from labgrade.core.task import TableType

KIND = TableType(
    row="node",
    sparse=True,
    columns={"channel": "count", "height": "count", "kernel_shape": "shape", "group": "count", "max": "number"},
)
PRINTED = """
Attribute range of all the operators:
Conv
  input
    input
      shape : (1, 3, 224, 224)
      memory_size : 602112
    475
      shape : (32, 3, 5, 5)
  output
    474
      shape : (1, 32, 112, 112)
  attribute
    group : 1
    kernel_shape : [3, 3]
Clip
input
474
shape : (1, 32, 112, 112)
output
317
attribute
max : 6.0
...
Gemm
  input
    464
      shape : (1, 1280)
  attribute
    transB : 1
"""


def shown(table):
    return [(row.name, {name: str(cell) for name, cell in row.cells.items() if cell is not None}) for row in table.rows]


def test_a_listing_is_read_with_and_without_its_indentation():
    expected = [
        ("Conv", {"channel": "3", "height": "224", "group": "1", "kernel_shape": "(3, 3)"}),
        ("Clip", {"channel": "32", "height": "112", "max": "6.0"}),
        ("Gemm", {}),
    ]
    flat = "\n".join(line.strip() for line in PRINTED.splitlines())
    for text in (PRINTED, flat):
        table = find_records(text, KIND)
        assert shown(table) == expected
        assert table.abridged


def test_without_dots_nothing_was_left_out():
    assert not find_records(PRINTED.replace("...", ""), KIND).abridged
    for dots in (".....", "……", "| ... |", "  . . .", "[...]", "... (32 more nodes)", ":\n:\n:", "(omitted)", "⋯"):
        assert find_records(PRINTED.replace("...", dots), KIND).abridged == ("|" not in dots)


def test_the_sizes_are_those_of_the_first_input_not_of_the_weight():
    (row, *_) = find_records(PRINTED, KIND).rows
    assert str(row.cells["height"]) == "224"


def test_what_onnx_prints_of_a_node_is_read_and_named_by_the_node():
    text = """
input: "x"
output: "conv1_out"
name: "conv1"
op_type: "Conv"
attribute {
  name: "group"
  i: 2
  type: INT
}
attribute {
  name: "kernel_shape"
  ints: 5
  ints: 3
  type: INTS
}

input: "conv1_out"
output: "y"
op_type: "Clip"
attribute {
  name: "max"
  f: 6
  type: FLOAT
}
"""
    table = find_records(text, KIND)
    assert shown(table) == [("conv1", {"group": "2", "kernel_shape": "(5, 3)"}), ("y", {"max": "6"})]


@pytest.mark.parametrize("key", ["node", "name", "Node"])
def test_a_node_of_a_listing_may_say_its_name_and_what_it_puts_out(key):
    text = f"Conv\n  input\n    x : image\n  output\n    Y : conv9_out\n  attribute\n    {key} : conv9\n    group : 2\n"
    (row,) = find_records(text, KIND).rows
    assert (row.name, row.also_named, str(row.cells["group"])) == ("Conv", ("conv9_out", "conv9"), "2")


@pytest.mark.parametrize("said", ["/conv1/Conv_output_0 : [1, 8, 4, 4]", "/conv1/Conv_output_0: (1, 8, 4, 4)"])
def test_a_node_is_named_by_the_tensor_whose_size_stands_under_output(said):
    text = f"Conv\ninput\n channel : 3\noutput\n {said}\n shape : (1, 8, 4, 4)\nattribute\n group : 2\n"
    (row,) = find_records(text, KIND).rows
    assert "/conv1/Conv_output_0" in row.also_named
    assert not {"shape", "(1, 8, 4, 4)"} >= set(row.also_named)


def test_prose_and_tables_are_no_listing():
    assert find_records("Conv layers take most time.\nInput\nis an image", KIND) is None
    assert find_records("| node | group |\n| Conv_0 | 1 |", KIND) is None
    assert find_records("", KIND) is None
    assert find_records("Conv\n" * 50_000, KIND) is None


def test_the_sizes_of_the_output_are_never_taken_for_those_of_the_input():
    said = "  input\n    channel : 3\n    height : 224\n  output\n    shape : 1 x 32 x 112 x 112\n"
    said += "  attribute\n    group : 1\n"
    none = "  input\n  output\n    shape : (1, 8, 4, 4)\n  attribute\n    max : 6.0\n"
    both = "  input\n    x\n      channel : 3\n      shape : (1, 5, 9, 9)\n  attribute\n    group : 1\n"
    text = f"Conv\n{said}\nClip\n{none}\nConv\n{both}"
    rows = [
        ("Conv", {"channel": "3", "height": "224", "group": "1"}),
        ("Clip", {"max": "6.0"}),
        ("Conv", {"channel": "3", "height": "9", "group": "1"}),
    ]
    assert shown(find_records(text, KIND)) == rows
    assert shown(find_records("\n".join(map(str.strip, text.splitlines())), KIND)) == rows
