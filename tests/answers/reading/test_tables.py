from fractions import Fraction

import pytest
from helpers.linear import takes_linear_time

from labgrade.answers.reading.tabular.cells import row_name
from labgrade.answers.reading.tabular.tables import TableFound, TableProblem, find_tables
from labgrade.core.task import TableType

LAYERS = TableType(row="layer", columns={"parameters": "count", "output_shape": "shape"})
MACS = TableType(row="layer", columns={"macs": "count"})
BY_TYPE = TableType(row="type", columns={"macs": "count"})
SHAPES = TableType(row="layer", columns={"output_shape": "shape"})

TORCHINFO = """
==========================================================================================
Layer (type:depth-idx)                   Param #                   Output Shape
==========================================================================================
GoogLeNet                                --                        [1, 1000]
├─BasicConv2d: 1-1                       --                        [1, 64, 112, 112]
│    └─Conv2d: 2-1                       9,408                     [1, 64, 112, 112]
│    └─BatchNorm2d: 2-2                  128                       [1, 64, 112, 112]
├─MaxPool2d: 1-2                         (recursive)               [1, 64, 56, 56]
==========================================================================================
Total params: 6,624,904
Trainable params: 6,624,904
Total mult-adds (G): 1.50
==========================================================================================
"""
TORCHSUMMARY = """
----------------------------------------------------------------
        Layer (type)               Output Shape         Param #
================================================================
            Conv2d-1           [-1, 64, 55, 55]          23,296
              ReLU-2           [-1, 64, 55, 55]               0
AdaptiveAvgPool2d-14            [-1, 256, 6, 6]               0
================================================================
Total params: 61,100,840
"""
WIDE = """
\tLayer (type (var_name))   Kernel Shape  Input Shape       Output Shape       Param #  Param %  Mult-Adds
\t========================================================================================================
\tGoogLeNet (GoogLeNet)     --            [1, 3, 224, 224]  [1, 1000]          --       --       --
\t├─Conv2d (conv): 1-1      [7, 7]        [1, 3, 224, 224]  [1, 64, 112, 112]  9,408    0.14%    118,013,952
\t========================================================================================================
"""


def found(text, kind, words=None):
    return find_tables(text, 0, len(text), kind, words=words)


def rows(text, kind, words=None):
    (table,) = found(text, kind, words)
    assert isinstance(table, TableFound), table
    return [(row.name, *(str(cell) for cell in row.cells.values())) for row in table.table.rows]


def test_what_the_profiler_prints():
    printed = """
------------------  ------------  ------------
              Name  Self CPU Mem    # of Calls
------------------  ------------  ------------
       aten::empty       9.25 MB            11
       aten::relu_           0 B             7
------------------  ------------  ------------
"""
    kind = TableType(row="operator", columns={"calls": "count", "self_cpu_mem": "bytes"})
    (found,) = find_tables(printed, 0, len(printed), kind)
    assert [(row.name, row.cells["calls"].value) for row in found.table.rows] == [
        ("aten::empty", 11),
        ("aten::relu_", 7),
    ]


def test_torchinfo():
    expected = [
        ("GoogLeNet", "None", "(1, 1000)"),
        ("BasicConv2d: 1-1", "None", "(1, 64, 112, 112)"),
        ("Conv2d: 2-1", "9,408", "(1, 64, 112, 112)"),
        ("BatchNorm2d: 2-2", "128", "(1, 64, 112, 112)"),
        ("MaxPool2d: 1-2", "None", "(1, 64, 56, 56)"),
    ]
    assert rows(TORCHINFO, LAYERS) == expected
    collapsed = "\n".join(" ".join(line.split()) for line in TORCHINFO.split("\n"))
    assert rows(collapsed, LAYERS) == expected


def test_torchinfo_with_all_its_columns():
    assert rows(WIDE, LAYERS) == [
        ("GoogLeNet (GoogLeNet)", "None", "(1, 1000)"),
        ("Conv2d (conv): 1-1", "9,408", "(1, 64, 112, 112)"),
    ]
    assert rows(WIDE, MACS)[1] == ("Conv2d (conv): 1-1", "118,013,952")


def test_torchsummary():
    assert rows(TORCHSUMMARY, LAYERS) == [
        ("Conv2d-1", "23,296", "(-1, 64, 55, 55)"),
        ("ReLU-2", "0", "(-1, 64, 55, 55)"),
        ("AdaptiveAvgPool2d-14", "0", "(-1, 256, 6, 6)"),
    ]


@pytest.mark.parametrize("dots", ["...", "\u2026", "\u22ee", "│ ...", "... (40 layers)", "(omitted)"])
def test_a_line_of_dots_says_that_rows_are_left_out(dots):
    (table,) = found(TORCHINFO.replace("├─MaxPool2d", f"{dots}\n├─MaxPool2d"), LAYERS)
    assert table.table.abridged
    assert len(table.table.rows) == 5
    (table,) = found(TORCHINFO, LAYERS)
    assert not table.table.abridged


def test_markdown_with_other_columns_dots_and_a_total():
    text = (
        "| Layer | Type | Output Shape | Params |\n|---|---|---|---:|\n"
        "| conv1.conv | Conv2d | `[1, 64, 112, 112]` | 9,408 |\n| ... | ... | ... | ... |\n"
        "| **fc** | Linear | 1x1000 | 1.025 M |\n| **Total** | | | 6,624,904 |\n\nend\n"
    )
    assert rows(text, LAYERS) == [("conv1.conv", "9,408", "(1, 64, 112, 112)"), ("fc", "1.025 M", "(1, 1000)")]
    assert found(text, LAYERS)[0].table.abridged


@pytest.mark.parametrize(
    "text",
    [
        "layer,macs\nconv1,5000\nfc,6\n",
        "Layer, MACs\nconv1, 5000\nfc, 6\n",
        'layer,macs\nconv1,"5,000"\nfc,6\n',
        "layer\tmacs\nconv1\t5000\nfc\t6\n",
        "layer MACs\nconv1 5000\nfc 6\n",
        "Layer    Mult-Adds\nconv1    5000\nfc       6\n",
        "| name | MACs |\n|---|---|\n| conv1 | 5000 |\n| fc | 6 |\n",
        "| MACs | name |\n|---|---|\n| 5000 | conv1 |\n| 6 | fc |\n",
        "| # | layer | MACs |\n|---|---|---|\n| 1 | conv1 | 5000 |\n| 2 | fc | 6 |\n",
        "name | MACs\n--- | ---\nconv1 | 5000\nfc | 6\n",
        "+-------+------+\n| layer | MACs |\n+=======+======+\n| conv1 | 5000 |\n+-------+------+\n| fc | 6 |\n+--+\n",
        "│ layer │ MACs │\n├───────┼──────┤\n│ conv1 │ 5000 │\n│ fc │ 6 │\n",
        "conv1: 5000\nfc: 6\n",
        "- conv1 = 5000\n- fc = 6\n",
        "* **conv1**: 5000 MACs\n* **fc**: 6 MACs\n",
        "conv1: 5000 MACs (99.9%)\nfc: 6 MACs (0.1%)\nTotal: 5006\n",
        "conv1 5000\nfc 6\n",
        "conv1 MACs: 5000\n\nfc MACs: 6\n",
        "MACs for [ conv1 ] layers is 5000\nMACs for [  fc   ] layers is     6\n",
        "MACs of conv1 layers: 5000\nMACs of fc layers: 6\n",
    ],
)
def test_one_column_in_every_dress(text):
    assert [(name, cell.split()[0].replace(",", "")) for name, cell in rows(text, MACS)] == [
        ("conv1", "5000"),
        ("fc", "6"),
    ]


def test_a_unit_in_the_header_holds_for_the_column():
    assert rows("| layer | MACs (M) |\n|---|---|\n| conv1 | 118.01 |\n", MACS) == [("conv1", "118.01 M")]


def test_a_column_with_one_decimal_comma_has_no_commas_between_thousands():
    kind = TableType(row="run", columns={"batch": "count", "loss": "number", "crop": "shape"})
    (found_table,) = found("run;batch;loss;crop\nr1;8;1,234;3,3\nr2;16;0,9;5,5\nr3;32;nan;7,7\n", kind)
    table = found_table.table
    assert [str(row.cells["loss"]) for row in table.rows] == ["1.234", "0.9", "nan"]
    assert table.rows[0].cells["crop"] == (3, 3)


def test_shapes_behind_names():
    expected = [("conv1.conv", "(1, 64, 112, 112)"), ("conv2.conv", "(1, 64, 56, 56)")]
    assert (
        rows("conv1.conv: torch.Size([1, 64, 112, 112])\nconv2.conv torch.Size([1, 64, 56, 56])\n", SHAPES) == expected
    )
    assert rows("conv1.conv output shape: [1, 64, 112, 112]\nconv2.conv -> (1, 64, 56, 56)\n", SHAPES) == expected


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("| Layer | N | C | H | W |\n|---|---|---|---|---|\n| conv1 | 1 | 64 | 112 | 112 |", (1, 64, 112, 112)),
        ("layer,batch,channels,height,width,type\nconv1,1,64,112,112,Conv2d", (1, 64, 112, 112)),
        ("name   n c_out h_out w_out\nconv1  1   64   112   112", (1, 64, 112, 112)),
        ("layer;B;Out C;Out H;Out W\nconv1;1;64;112;112", (1, 64, 112, 112)),
    ],
)
def test_the_axes_of_a_shape_may_have_a_column_each(text, shape):
    (found_table,) = found(text, SHAPES)
    assert [(row.name, row.cells["output_shape"]) for row in found_table.table.rows] == [("conv1", shape)]


DOTTED = "| Schicht | Parameter | Ausgabeform |\n|---|---|---|\n| conv | 9.408 | [1, 64] |\n| bn | 128 | [1, 64] |\n"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (DOTTED + "| fc | 1.025.000 | [1, 10] |", 9408),
        (DOTTED, 9.408),  # nothing tells the groups from a fraction
        (DOTTED + "| fc | 1.025.000 | [1, 10] |\n| x | 0.5 | [1] |", 9.408),
        (
            "| Couche | Paramètres | Forme de sortie |\n|---|---|---|\n| conv | 9 408 | [1, 64] |\n| fc | 1 | [1] |",
            9408,
        ),
        ("capa;tipo;parámetros;salida\nconv;Conv2d;9.408;1x64\nfc;Linear;1.025.000;1x10", 9408),
    ],
)
def test_groups_of_digits_as_other_languages_part_them(text, count):
    (found_table,) = found(text, LAYERS)
    assert float(found_table.table.rows[0].cells["parameters"].value) == count


def test_one_decimal_comma_tells_the_others_of_a_listing():
    (found_table,) = found("- Conv2d: 1 497,352192 M\n- Linear: 1,024 M\n", BY_TYPE)
    assert [int(row.cells["macs"].value) for row in found_table.table.rows] == [1_497_352_192, 1_024_000]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("- Conv2d: 1.497.352.192\n- BatchNorm2d: 50.176\n", [1_497_352_192, 50_176]),
        ("Conv2d 6.452.320\nLinear 999.000\nReLU 1.001\n", [6_452_320, 999_000, 1_001]),
        ("- Conv2d: 50.176\n- Linear: 1.024\n", [Fraction("50.176"), Fraction("1.024")]),  # nothing tells
        ("- Conv2d: 6.452.320\n- Linear: 0.176\n", [6_452_320, Fraction("0.176")]),
    ],
)
def test_groups_by_dots_tell_the_others_of_a_listing(text, values):
    (found_table,) = found(text, BY_TYPE)
    assert [row.cells["macs"].value for row in found_table.table.rows] == values


@pytest.mark.parametrize("text", ["layer,n,w,h,c\nconv1,1,112,56,64", "layer,C,H,W\nconv1,64,112,112"])
def test_axes_in_another_order_or_without_a_batch_are_no_shape(text):
    assert not [each for each in found(text, SHAPES) if isinstance(each, TableFound)]


def test_words_name_the_table():
    text = "MACs by type\nConv2d  1497352192\nLinear  1024000\n\nMACs by layer:\nconv1: 5000\nfc: 6000\n"
    assert rows(text, BY_TYPE, "MACs by type") == [("Conv2d", "1497352192"), ("Linear", "1024000")]
    assert rows(text, MACS, "MACs by layer") == [("conv1", "5000"), ("fc", "6000")]
    assert found(text, MACS, "MACs by block") == []


def test_double_names_and_order_are_kept():
    assert [name for name, _ in rows("layer,macs\nb,1\na,2\nb,3\n", MACS)] == ["b", "a", "b"]


def test_a_first_cell_that_is_wrong_is_named_with_row_and_column_and_a_later_one_spoils_no_other():
    (problem,) = found("layer,macs\nconv1,few\nfc,9408\n", MACS)
    assert problem == TableProblem(
        position=11,
        reason="row 'conv1', column 'macs': 'few' is not a count (a whole number such as 1,498,376,192 or 1.498 G)",
    )
    (one,) = found("layer,macs\nconv1,9408\nfc,few\nhead,5\n", MACS)
    assert [row.cells["macs"] for row in one.table.rows][1] == "few"
    assert [row.name for row in one.table.rows] == ["conv1", "fc", "head"]


def test_a_missing_column_is_named():
    (problem,) = found("| layer | params |\n|---|---|\n| conv1 | 5 |\n", LAYERS)
    assert problem.reason == "the table has no column 'output_shape'; it has 'layer', 'params'"


@pytest.mark.parametrize(
    "text",
    [
        "We think that the answer is 5.\nAnd the other 7 layers are good.\n",
        "for layer in layers:\n    macs[layer] = 5\n    n = 6\n",
        "Total: 5\nTotal params: 6\n",
        "conv1: 5\n",
        "MACs: 5\nMACs: 6\n",
        "The MACs of a layer depend on its shape\n",
        "",
    ],
)
def test_prose_and_code_are_no_tables(text):
    assert found(text, MACS) == []


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a: 1\n", "layer,macs\n", "\n", "| a | b |\n", "layer macs ", "[", "│ └─"])
def test_hostile_text_takes_linear_time(piece):
    assert takes_linear_time(lambda size: found(piece * (size // len(piece)), MACS), 4_000_000, parts=1024)


HOSTILE = ["x{} y\n", "x{}y: 5\n", "| {} | 5 |\n", "layer macs\n{} 5\n", "x: [{}\n", "({}", "- {}: 5\n"]


@pytest.mark.slow
@pytest.mark.parametrize("fill", [" ", "_", "*", "`", "(", "[", "1,", "1 ", "|", "a ", "\t", ",", "\u2502"])
@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("kind", [MACS, SHAPES], ids=["numbers", "shapes"])
def test_a_long_line_takes_linear_time(text, fill, kind):
    assert takes_linear_time(lambda size: found(text.format(fill * (size // len(fill))) * 3, kind), 80_000)


@pytest.mark.parametrize("text", [
    "| Run | Batch size | Test accuracy |\n|---|---|---|\n| a | 16 | 0.95 |\n| b | 16 | 0.94 |\n",
    "batch,seed,acc\n16,,0.95\n16,,0.94\n",
])  # fmt: skip
def test_a_column_that_names_the_rows_is_read_too(text):
    """As in a study, whose rows are known by what was changed."""
    columns = {"batch_size": "count", "seed": "count", "accuracy": "number"}
    kind = TableType(row="batch_size", sparse=True, columns=columns)
    assert rows(text, kind) == [("16", "16", "None", "0.95"), ("16", "16", "None", "0.94")]


def test_shapes_of_one_word_stand_between_single_blanks():
    text = "layer input output parameters\nConv2d_1 1x3x64x64\t1x64x32x32\t9408\nLinear_2 1×2048 1×1000 2049000\n"
    kind = TableType(row="layer", columns={"input": "shape", "output": "shape", "parameters": "count"})
    (found,) = find_tables(text, 0, len(text), kind)
    assert isinstance(found, TableFound), found
    assert [row.name for row in found.table.rows] == ["Conv2d_1", "Linear_2"]
    assert [row.cells["output"] for row in found.table.rows] == [(1, 64, 32, 32), (1, 1000)]


@pytest.mark.parametrize("bullet", ["・", "•", "● ", "○ ", "▪ ", "· ", "- "])
def test_a_bullet_is_no_part_of_a_name(bullet):
    assert row_name(f"{bullet}Conv2d") == "Conv2d"


def test_a_long_dictionary_without_a_line_end_is_read_behind_its_words():
    layers = {f"conv{number}": number + 1 for number in range(200)}
    (found,) = find_tables(text := f"MACs by layer: {layers}", 0, len(text), MACS, words="MACs by layer")
    assert len(found.table.rows) == 200


OPERATIONS = TableType(row="layer", columns={"macs": "count", "flops": "count"})


@pytest.mark.parametrize(
    "text",
    [
        "Layer fc1: MACs = 200, FLOPs = 400\nLayer fc2: MACs = 1,300, FLOPs = 2,600\nTotal: MACs = 1500, FLOPs = 0\n",
        "fc1\uff1a200 MACs\u3001400 FLOPs\uff1bfc2\uff1a1300 MACs\u30012600 FLOPs\u3002\n",
        "- fc1: 10*20 = 200 MACs, 400 FLOPs\n- fc2: MACs: 65*20 = 1300 and FLOPs: 2600\n",
        "|  | fc1 | fc2 | total |\n|---|---|---|---|\n| MACs | 200 | 1300 | 1500 |\n| FLOPs | 400 | 2600 | 3000 |\n",
        "| \u5c64 layer | macs | flops |\n|-|-|-|\n| fc1 | 200 | 400 |\n| fc2 | 1300 | 2600 |\n| \u03a3 | 1500 | 0 |\n",
    ],
)
def test_rows_may_stand_in_a_line_or_on_their_side(text):
    (found,) = find_tables(text, 0, len(text), OPERATIONS)
    assert isinstance(found, TableFound), found
    said = [(row.name, *(int(cell.value) for cell in row.cells.values())) for row in found.table.rows]
    assert said == [("fc1", 200, 400), ("fc2", 1300, 2600)]


@pytest.mark.parametrize(
    "text",
    [
        "The first layer takes 200 MACs and 400 FLOPs.\nNote: the second takes 300 MACs, 600 FLOPs.\n",
        "print('fc1: MACs = 200, FLOPs = 400')\nprint('fc2: MACs = 1300, FLOPs = 2600')\n",
        "|  | fc1 | fc2 |\n|---|---|---|\n| MACs | 200 | 300 |\n",
    ],
)
def test_prose_code_and_a_half_are_no_rows(text):
    assert not [each for each in find_tables(text, 0, len(text), OPERATIONS) if isinstance(each, TableFound)]


def test_the_head_of_a_column_may_say_its_scale_in_full_width_brackets():
    head = "| layer | macs\uff08\u767e\u4e07\uff09 | flops\uff08\u767e\u4e07\uff09 |\n"
    text = f"{head}|--|--|--|\n| fc | 70.2768 | 140.5536 |\n"
    (found,) = find_tables(text, 0, len(text), OPERATIONS)
    assert [int(cell.value) for cell in found.table.rows[0].cells.values()] == [70_276_800, 140_553_600]


def test_a_number_of_calls_is_no_number_of_bytes():
    kind = TableType(row="operator", columns={"self_cpu_mem": "bytes"})
    text = "- aten::conv2d: 5 calls\n- aten::addmm: 3 calls\n\n- aten::empty: 9.25 MB\n- aten::addmm: 179 KB\n"
    (found,) = find_tables(text, 0, len(text), kind)
    assert [row.name for row in found.table.rows] == ["aten::empty", "aten::addmm"]


NODES = TableType(
    row="node", sparse=True, columns={"channel": "count", "kernel_shape": "shape", "pads": "shape", "alpha": "number"}
)
FRAME = """
             node    op  channel kernel_shape          pads  alpha
0   /a/b/c.0/Conv  Conv      3.0       [3, 3]  [1, 1, 1, 1]    NaN
1   /a/b/c.1/Clip  Clip      NaN          NaN           NaN    NaN
10  /a/b/c.2/Conv  Conv     32.0       [1, 1]  [0, 0, 0, 0]    NaN
11 /a.b/long.Gemm  Gemm      NaN          NaN           NaN    1.0

[4 rows x 6 columns]
"""
IN_PIECES = """
Nodes:
             node    op  channel  \\
0   /a/b/c.0/Conv  Conv      3.0
1   /a/b/c.1/Clip  Clip      NaN
10  /a/b/c.2/Conv  Conv     32.0
11           Gemm  Gemm      NaN

   kernel_shape          pads  alpha
0        [3, 3]  [1, 1, 1, 1]    NaN
1           NaN           NaN    NaN
10       [1, 1]  [0, 0, 0, 0]    NaN
11          NaN           NaN    1.0
"""
WITH_GAPS = """
node           op    channel  kernel_shape  pads          alpha
/a/b/c.0/Conv  Conv  3        [3, 3]        [1, 1, 1, 1]
/a/b/c.1/Clip  Clip
/a/b/c.2/Conv  Conv  32       [1, 1]        [0, 0, 0, 0]
Gemm           Gemm                                       1.0
"""


@pytest.mark.parametrize("text", [FRAME, IN_PIECES, WITH_GAPS], ids=["whole", "in pieces", "with gaps"])
def test_a_frame_with_shapes_and_without_values(text):
    (found,) = find_tables(text, 0, len(text), NODES)
    said = [
        (row.name, [str(cell) for cell in row.cells.values() if cell not in (None, "nan")])
        for row in found.table.rows
        if row.name != "/a/b/c.1/Clip"
    ]
    names = [row.name for row in found.table.rows]
    assert names[-1] in ("Gemm", "/a.b/long.Gemm")
    first, second = (["(3, 3)", "(1, 1, 1, 1)"], ["(1, 1)", "(0, 0, 0, 0)"])
    channels = [row.cells["channel"].value for row in found.table.rows if row.name.endswith("Conv")]
    assert channels == [3, 32]
    assert [(name, cells[-2:]) for name, cells in said] == [
        ("/a/b/c.0/Conv", first), ("/a/b/c.2/Conv", second), (names[-1], ["1.0"])
    ]  # fmt: skip


def test_a_cell_below_two_words_of_a_header_ends_the_table():
    text = WITH_GAPS.replace("Conv  32   ", "Conv in 32 parts")
    found = find_tables(text, 0, len(text), NODES)
    assert all("32" not in str(row.cells["channel"]) for each in found for row in each.table.rows)


@pytest.mark.parametrize("first", ["\t", "  ", "   -  "])
def test_a_line_that_is_set_in_is_no_head_of_a_frame(first):
    lines = [f"{first}MACs for [  {name}  ] layers is  {macs}" for name, macs in (("Conv2d", 1497), ("Linear", 1024))]
    text = "\n".join(lines)
    (table,) = [each.table for each in find_tables(text, 0, len(text), BY_TYPE) if isinstance(each, TableFound)]
    assert [(row.name, row.cells["macs"].value) for row in table.rows] == [("Conv2d", 1497), ("Linear", 1024)]


def test_frames_in_pieces_take_linear_time():
    piece = f"a\n{' node  op  channel  ' + chr(92)}\n"
    assert takes_linear_time(lambda size: found(piece * (size // len(piece)), NODES), 400_000)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("trimmed", [True, False])
def test_a_row_without_values_ends_no_table(mark, trimmed):
    lines = (
        ["layer", "parameters", "macs"],
        ["fc1", "200", "400"],
        ["relu", "", ""],
        ["add", "", ""],
        ["fc2", "5", ""],
    )
    text = "\n".join(mark.join(line).rstrip(mark if trimmed else "\n") for line in lines)
    kind = TableType(row="layer", columns={"parameters": "count", "macs": "count"})
    empty = ["None", "None"]
    assert rows(text, kind) == [("fc1", "200", "400"), ("relu", *empty), ("add", *empty), ("fc2", "5", "None")]


@pytest.mark.parametrize(
    "behind", ["Done.\nSo, we see, 5", "```\nOne, two, three", "Total parameters\n5,000", "x\n\ny\n"]
)
def test_what_stands_behind_a_table_of_commas_is_none_of_it(behind):
    text = f"layer,parameters,macs\nfc1,200,400\n{behind}"
    kind = TableType(row="layer", columns={"parameters": "count", "macs": "count"})
    assert rows(text, kind) == [("fc1", "200", "400")]


@pytest.mark.parametrize("row", ["| AvgPool | 50 176 |", "AvgPool: 50 176", "AvgPool | 50 176"])
def test_a_number_of_two_groups_alone_at_its_lines_end_is_one(row):
    text = f"| type | operations |\n|:--|--:|\n| MaxPool | 2 875 712 |\n{row}\n"
    found = find_tables(text, 0, len(text), BY_TYPE)
    assert [row.cells["macs"].value for each in found for row in each.table.rows] == [2875712, 50176]
