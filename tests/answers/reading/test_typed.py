import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.core.errors import FaultError
from labgrade.core.task import TableOfType, TableType
from labgrade.values import Number, Table

MACS = TableType(row="layer", columns={"macs": "count"})
LAYERS = TableType(row="layer", columns={"parameters": "count", "output_shape": "shape"})
SHAPES = TableType(row="layer", columns={"output_shape": "shape"})


def refusal(plain, kind):
    with pytest.raises(WrongTypeError) as caught:
        as_value(plain, kind)
    return str(caught.value)


@pytest.mark.parametrize(
    ("plain", "value"),
    [(5, 5), (5.0, 5), (5.5, Fraction(11, 2)), (-5, -5), ("5 M", 5_000_000), (np.int64(5), 5), (np.array(5.0), 5)],
)
def test_counts(plain, value):
    assert as_value(plain, "count").value == value


@pytest.mark.parametrize(
    ("plain", "value"),
    [
        (3.0000000000000004, 3),
        (123256831.99999997, 123_256_832),
        (sum([0.1] * 10_000), 1000),  # 1000.0000000001588
        (0.1 + 0.2, Fraction(0.1 + 0.2)),
        (123256831.9, Fraction(123256831.9)),
        (1e-13, Fraction(1e-13)),
    ],
)
def test_what_adding_up_floats_loses_makes_no_count_wrong(plain, value):
    assert as_value(plain, "count").value == value
    assert as_value(plain, "bytes").value == value
    assert as_value(plain, "number").value == Fraction(plain)


def test_a_python_number_is_exact():
    number = as_value(0.1, "number")
    assert (number.value, number.half_unit, number.digits, number.text) == (Fraction(0.1), 0, None, "0.1")


def test_a_number_of_ours_stays_as_it_is():
    number = Number(value=Fraction(3, 2), half_unit=Fraction(1, 20), digits=2, text="1.5")
    assert as_value(number, "count") is number
    assert as_value(number, "text") == "1.5"


@pytest.mark.parametrize(
    ("plain", "says"),
    [
        (True, "True, but a count is asked for"),
        (None, "None, but a count is asked for; a function without a `return` gives None"),
        (float("nan"), "nan, but a count is asked for; look for a division by zero or an overflow"),
        (float("-inf"), "-inf, but a count is asked for; look for a division by zero or an overflow"),
        (10**400, "a number of about 401 digits, too large to be a count"),
        pytest.param(-(10**6000), "a number of about 6001 digits, too large to be a count", id="10**6000"),
        (1e300, "a number of about 301 digits, too large to be a count"),
        ([5], "a list of 1, but a count is asked for"),
        ({}, "a mapping of 0, but a count is asked for"),
        ("many", "'many' is not a count (a whole number such as 1,498,376,192 or 1.498 G)"),
        ("26.5 MB", "'26.5 MB' is in bytes or bits, but a count is asked for"),
        (np.zeros((2, 3)), "an array of shape [2, 3], but a count is asked for"),
        (np.True_, "True, but a count is asked for"),
    ],
)
def test_what_is_no_count_is_refused_with_the_reason(plain, says):
    assert refusal(plain, "count") == says


@pytest.mark.parametrize(
    "plain",
    [
        [1, 64, 112, 112],
        (1, 64.0, 112, 112),
        "[1, 64, 112, 112]",
        "(1, 64, 112, 112)",
        "1, 64, 112, 112",
        "1x64x112x112",
        "1 x 64 x 112 x 112",
        "1\u00d764\u00d7112\u00d7112",
        "torch.Size([1, 64, 112, 112])",
        "`[1, 64, 112, 112]`",
        [[1, 64, 112, 112]],
        np.array([1, 64, 112, 112]),
    ],
)
def test_shapes(plain):
    assert as_value(plain, "shape") == (1, 64, 112, 112)


def test_unknown_sizes_are_minus_one():
    assert as_value("(None, 64)", "shape") == as_value([None, 64], "shape") == as_value("[-1, 64]", "shape") == (-1, 64)


@pytest.mark.parametrize(
    ("plain", "says"),
    [
        ([1, 2.5], "a shape is made of whole numbers, but 2.5 is in it"),
        ([True], "a shape is made of whole numbers, but True is in it"),
        (["a"], "a shape is made of whole numbers, but the text 'a' is in it"),
        ([float("nan")], "a shape is made of whole numbers, but a number is in it"),
        ("Conv2d", "'Conv2d' is not a shape (such as [1, 64, 112, 112])"),
        ("2.13.0", "'2.13.0' is not a shape (such as [1, 64, 112, 112])"),
        (5, "a number, but a shape (a list of whole numbers) is asked for"),
        ([1] * 65, "a list of 65 is too long to be a shape"),
    ],
)
def test_what_is_no_shape_is_refused(plain, says):
    assert refusal(plain, "shape") == says


def test_text():
    assert as_value(" GoogLeNet \n", "text") == "GoogLeNet"
    assert as_value(18, "text") == "18"
    plain: object = True
    assert refusal(plain, "text") == "True, but text is asked for"
    assert refusal(10**5000, "text") == "a number of about 5001 digits, but text is asked for"
    assert refusal("a" * 100_001, "text").startswith("a text of 100,001 characters is too long")


def test_histograms():
    assert {name: count.value for name, count in as_value({"Conv": 3, "Relu": "2"}, "histogram").items()} == {
        "Conv": 3,
        "Relu": 2,
    }
    assert as_value([["Conv", 3]], "histogram")["Conv"].value == 3
    assert refusal([3], "histogram") == "a list of 1, but a mapping of names to counts is asked for"
    assert refusal({"Conv": True}, "histogram") == "'Conv': True, but a count is asked for"


def test_tensors():
    assert as_value([[1, 2], [3, 4]], "tensor").shape == (2, 2)
    array = np.zeros((2, 2), dtype=np.float32)
    assert as_value(array, "tensor") is array
    assert as_value(np.array([True, False]), "tensor").tolist() == [1, 0]  # a mask
    assert "different lengths" in refusal([[1, 2], [3]], "tensor")
    assert refusal(np.array([object()]), "tensor") == "an array of object values, but an array of numbers is asked for"
    assert refusal([True], "tensor") == "an array of bool values, but an array of numbers is asked for"
    assert refusal("abc", "tensor") == "the text 'abc', but an array of numbers is asked for"
    assert list(as_value({"conv1": [1.0]}, TableOfType(kind="tensor"))) == ["conv1"]
    assert refusal([1], TableOfType(kind="tensor")) == "a list of 1, but a mapping of names to arrays is asked for"


@pytest.mark.parametrize(
    "plain",
    [
        {"conv": 5},
        {"conv": {"macs": 5}},
        {"conv": {"MACs": "5"}},
        {"conv": [5]},
        {"conv": (5,)},
        [{"layer": "conv", "macs": 5, "seconds": 0.1}],
        [{"name": "conv", "macs": 5, "also_named": ["x"], "optional": True}],
        [["conv", 5]],
        [("conv", 5)],
    ],
)
def test_a_table_of_one_column_in_every_shape(plain):
    (row,) = as_value(plain, MACS).rows
    assert (row.name, row.cells["macs"].value, row.also_named, row.optional) == ("conv", 5, (), False)


@pytest.mark.parametrize(
    "plain",
    [
        {"conv": {"parameters": 5, "output_shape": [1, 2]}},
        {"conv": {"Param #": 5, "Output Shape": "[1, 2]"}},
        {"conv": (5, [1, 2])},
        [["conv", 5, "1x2"]],
        [{"layer": "conv", "params": 5, "shape": (1, 2)}],
    ],
)
def test_a_table_of_two_columns_in_every_shape(plain):
    (row,) = as_value(plain, LAYERS).rows
    assert (row.name, row.cells["parameters"].value, row.cells["output_shape"]) == ("conv", 5, (1, 2))


@pytest.mark.parametrize(
    "row",
    [
        ["conv", "Conv2d", 9408, [1, 64]],
        ["conv", [1, 64], 9408],
        ["conv", (1, 64), 9408, "Conv2d", None],
        {"conv": ("Conv2d", "1x64", 9408)},
    ],
)
def test_columns_are_told_apart_by_their_types(row):
    table = as_value(row if isinstance(row, dict) else [row], LAYERS)
    assert table == as_value({"conv": {"parameters": 9408, "output_shape": [1, 64]}}, LAYERS)
    assert table.rows[0].cells["parameters"].value == 9408
    assert table.rows[0].cells["output_shape"] == (1, 64)


@pytest.mark.parametrize("row", [["conv", 9408, 57, [1, 64]], ["conv", "Conv2d", 9408], ["conv", [1], [2], 3]])
def test_columns_that_types_do_not_tell_apart_are_refused(row):
    with pytest.raises(WrongTypeError):
        as_value([row], LAYERS)


def test_numbers_beside_a_shape_may_be_sizes_of_it():
    shapes = TableType(row="layer", columns={"output_shape": "shape"})
    with pytest.raises(WrongTypeError, match="a shape is made of whole numbers"):
        as_value({"conv": [(1, 64, 8, 8), 8, 8]}, shapes)
    for more in ((), (9408,), ("Conv2d", 9408)):
        assert as_value({"conv": [(1, 64, 8, 8), *more]}, shapes).rows[0].cells["output_shape"] == (1, 64, 8, 8)


def test_one_value_stands_in_one_column():
    both = TableType(row="layer", columns={"macs": "count", "parameters": "count"})
    with pytest.raises(WrongTypeError, match="row 'conv', column 'macs'"):
        as_value([("conv", "Conv2d", 5)], both)
    assert as_value([("conv", None, 5)], both).rows[0].cells["macs"] is None


def test_a_layers_type_may_stand_before_its_only_value():
    assert as_value([("conv", "Conv2d", 5)], MACS) == as_value({"conv": 5}, MACS)
    assert as_value([("conv", "Conv2d", [1, 2])], SHAPES) == as_value({"conv": [1, 2]}, SHAPES)
    with pytest.raises(WrongTypeError, match="row 'conv' has 2 values, but 1 are asked for: macs"):
        as_value([("conv", 5, 6)], MACS)


def test_arrays_may_come_as_pairs():
    pairs = as_value([["a", np.zeros(2)], ["b", np.ones(1)]], TableOfType(kind="tensor"))
    assert {name: array.tolist() for name, array in pairs.items()} == {"a": [0, 0], "b": [1]}


def test_a_shape_alone_is_a_cell():
    assert as_value({"conv": [1, 2]}, SHAPES).rows[0].cells == {"output_shape": (1, 2)}
    assert as_value([["conv", [1, 2]]], SHAPES).rows[0].cells == {"output_shape": (1, 2)}


def test_rows_keep_their_order_and_their_double_names():
    assert [row.name for row in as_value([["b", 1], ["a", 2], ["b", 3]], MACS).rows] == ["b", "a", "b"]


def test_our_own_rows_may_say_more():
    also = {"macs": [0, 7], "type": ["x"]}
    plain = [{"layer": "conv", "macs": None, "also_named": ["Conv2d: 1-1"], "also_right": also, "optional": True}]
    (row,) = as_value(plain, MACS, trusted=True).rows
    assert (row.cells["macs"], row.also_named, row.optional) == (None, ("Conv2d: 1-1",), True)
    assert {column: [each.value for each in others] for column, others in row.also_right.items()} == {"macs": [0, 7]}
    assert not as_value([{**plain[0], "macs": 5}], MACS).rows[0].also_right


def test_columns_go_by_their_usual_short_names():
    kind = TableType(row="layer", columns={"mean": "number", "variance": "number"})
    (row,) = as_value({"fc": {"avg": 0.5, "var": 0.25}}, kind).rows
    assert {name: float(cell.value) for name, cell in row.cells.items()} == {"mean": 0.5, "variance": 0.25}
    assert "no column 'variance'" in refusal({"fc": {"mean": 0.5, "std": 0.25}}, kind)


def test_a_table_stays_as_it_is():
    table = Table(rows=())
    assert as_value(table, MACS) is table


@pytest.mark.parametrize(
    ("plain", "kind", "says"),
    [
        (5, MACS, "a number, but a table is asked for: a mapping of each layer to its macs"),
        ([5], MACS, "row 1 has no 'layer': a table is a mapping of each layer to its macs"),
        ([{"macs": 5}], MACS, "row 1 has no 'layer': a table is a mapping of each layer to its macs"),
        ({"conv": True}, MACS, "row 'conv', column 'macs': True, but a count is asked for"),
        ({"conv": 10**400}, MACS, "row 'conv', column 'macs': a number of about 401 digits, too large to be a count"),
        ({"conv": {"parameters": 5}}, LAYERS, "row 'conv' has no column 'output_shape'; it has 'parameters'"),
        ({"conv": {}}, LAYERS, "row 'conv' has no column 'parameters'; it has nothing"),
        ([["conv", 5]], LAYERS, "row 'conv' has 1 values, but 2 are asked for: parameters, output_shape"),
        (
            {"conv": 5},
            LAYERS,
            "row 'conv' has a number, but a table is a mapping of each layer to {parameters: ..., output_shape: ...}",
        ),
        ({"a" * 99: True}, MACS, f"row '{'a' * 59}\u2026', column 'macs': True, but a count is asked for"),
        (dict.fromkeys(map(str, range(100_001)), 1), MACS, "a table of 100,001 rows is too long; 100,000 are read"),
    ],
)
def test_a_wrong_table_names_row_and_column(plain, kind, says):
    assert refusal(plain, kind) == says


def test_an_unknown_type_is_our_fault():
    with pytest.raises(FaultError, match="no type of answer is called 'onnx'"):
        as_value(5, "onnx")


def test_reading_imports_no_numpy():
    program = (
        "import sys, labgrade.answers.text, labgrade.answers.file, labgrade.answers.reading.typed_values as typed\n"
        "typed.as_value({'a': 5}, 'histogram'); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_row_of_a_sparse_table_leaves_out_what_it_has_nothing_for():
    kind = TableType(row="node", columns={"group": "count", "pads": "shape", "max": "number"}, sparse=True)
    table = as_value([{"node": "a", "group": 2, "padding": [1, 1]}, {"node": "b", "max": 6.0}], kind)
    cells = [{name: cell for name, cell in row.cells.items() if cell is not None} for row in table.rows]
    assert [set(each) for each in cells] == [{"group", "pads"}, {"max"}]
    assert cells[0]["pads"] == (1, 1)
    assert "has no column 'group'" in refusal([{"node": "b", "max": 6.0}], TableType(row="node", columns=kind.columns))


@pytest.mark.parametrize("written", ["", "-", "--", "N/A", "None", " null "])
def test_a_cell_that_says_that_it_is_open_is_open_as_in_a_printed_table(written):
    kind = TableType(row="node", columns={"group": "count", "pads": "shape", "mode": "text"})
    rows = as_value([{"node": "relu", "group": written, "pads": written, "mode": written}], kind).rows
    assert rows[0].cells == {"group": None, "pads": None, "mode": written.strip()}


def test_a_shape_that_is_not_a_number_is_no_shape():
    kind = TableType(row="node", columns={"pads": "shape"})
    assert as_value([{"node": "relu", "pads": float("nan")}, {"node": "conv", "pads": [1]}], kind).rows[0].cells == {
        "pads": "nan"
    }


NODES = TableType(row="node", columns={"group": "number", "strides": "shape", "channel": "count"}, sparse=True)


@pytest.mark.parametrize(
    "row",
    [
        {"node": "c", "group": 2, "strides": [2, 2], "channel": 3},
        {"node": "c", "attributes": {"group": 2, "strides": "2 2"}, "input": {"channel": 3}},
        {"node": "c", "attributes": [("group", 2), ("strides", (2, 2))], "channel": "3"},
        {"node": "c", "attrs": {"group": np.array([2]), "strides": np.array([2, 2]), "channel": 3.0}},
    ],
)
def test_cells_may_lie_in_a_part_with_a_name_of_its_own(row):
    cells = as_value([row], NODES).rows[0].cells
    assert (cells["group"].value, cells["strides"], cells["channel"].value) == (2, (2, 2), 3)


def test_one_cell_that_cannot_be_read_spoils_no_other():
    table = as_value({"a": 1, "b": None, "c": "many", "d": [1, 2, 3], "e": 5, "f": 6, "g": 7}, MACS)
    assert [row.name for row in table.rows if isinstance(row.cells["macs"], str)] == ["c", "d"]
    assert "row 'a', column 'macs'" in refusal({"a": "x", "b": "y", "c": 3}, MACS)


@pytest.mark.parametrize("listed", ["3 3", "[3 3]", "3x3", "(3, 3)", "[3, 3]", "3; 3", "torch.Size([3, 3])", "3,3"])
def test_a_shape_as_people_and_libraries_print_it(listed):
    assert as_value(listed, "shape") == (3, 3)


@pytest.mark.parametrize("one", [5, np.int32(5), np.array([5]), np.array([[5.0]]), "5"])
def test_one_number_in_an_array_is_that_number(one):
    assert as_value({"a": one}, MACS).rows[0].cells["macs"].value == 5


def test_a_list_of_names_is_a_text():
    assert as_value(["x", "conv.weight"], "text") == "x, conv.weight"
    assert "but text is asked for" in refusal([["x"], {}], "text")


@pytest.mark.parametrize(
    ("printed", "numbers"),
    [
        (" 0.6580  0.0130 -0.3352\n[ CPUFloatType{1,3} ]", [0.658, 0.013, -0.3352]),
        ("0.01 *\n 1.0 -2.5\n[ CPUFloatType{1,2} ]\n", [0.01, -0.025]),
        ("1e-05\n[ CPUDoubleType{1} ]", [1e-05]),
    ],
)
def test_a_tensor_as_cpp_prints_it(printed, numbers):
    assert as_value(printed, "tensor") == pytest.approx(numbers)


@pytest.mark.parametrize("printed", ["", "0.5", "[0.5, 1]", "1 - 2\n[ CPUFloatType{1,2} ]", "0.5 [ CPUFloatType ]"])
def test_another_text_is_no_tensor(printed):
    with pytest.raises(WrongTypeError):
        as_value(printed, "tensor")
