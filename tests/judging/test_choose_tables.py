"""Which of the tables that a report prints is the answer."""

from __future__ import annotations

import pytest

from labgrade.verdict import Outcome

OPERATORS, MACS, ATTRIBUTES = "2-2-1-operators", "2-1-4-macs", "2-2-1-attributes"
COUNTS = {"Conv": 52, "Clip": 35, "Add": 10, "GlobalAveragePool": 1, "Flatten": 1, "Gemm": 1}
PIPES = "".join(f"| {name} | {count} |\n" for name, count in COUNTS.items())
OTHERS = PIPES.replace("| Clip | 35 |", "| Clip | 36 |")


@pytest.mark.parametrize(
    "text",
    [
        f"## 2-2-1\n| Operator | How often |\n|---|---|\n{PIPES}",
        f"## 2-2-1\n```\n{COUNTS}\n```\n",
        f"## 2-2-1\n{list(COUNTS)}\n{list(COUNTS.values())}\n",
        f"# Lab 2, HW 2-2\n```\n{COUNTS}\n```\n## 2-2-2\n119,445,696 bytes\n",
        f"## 2-2-1\n| op | attribute |\n|---|---|\n| Conv | group |\n| Gemm | alpha |\n\n{PIPES}",
        "## 2-2-1\nTotal operators: 100\nDifferent types: 6\n"
        + "".join(f"{name}: {count}\n" for name, count in COUNTS.items()),
        "## 2-2-1\nConv x52, Clip x35, Add x10, GlobalAveragePool x1, Flatten x1, Gemm x1\n",
        "## 2-2-1\n100 (52 Conv, 35 Clip, 10 Add, and one each of GlobalAveragePool, Flatten, Gemm), so 6 types.\n",
    ],
)
def test_a_table_is_found_by_its_rows(judged, text):
    assert judged(OPERATORS, text, "counts").outcome is Outcome.CORRECT


@pytest.mark.parametrize(
    "text",
    [
        f"## 2-2-1\n| Operator | How often |\n|---|---|\n{OTHERS}",
        f"## 2-2-1\n```\n{COUNTS | {'Clip': 36}}\n```\n",
        f"## 2-2-1\n{list(COUNTS)}\n[52, 36, 10, 1, 1, 1]\n",
    ],
)
def test_a_wrong_row_is_told(judged, text):
    found = judged(OPERATORS, text, "counts")
    assert found.outcome is Outcome.PARTIAL
    assert "Clip" in found.reason


def test_of_two_tables_that_say_different_things_neither_counts(judged):
    head = "| Operator | Count |\n|---|---|\n"
    found = judged(OPERATORS, f"## 2-2-1\n{head}{OTHERS}\nOnce more:\n\n{head}{PIPES}", "counts")
    assert found.outcome is Outcome.MANUAL


def test_what_is_quoted_does_not_count(judged):
    quoted = "".join(f"> {line}\n" for line in repr(COUNTS).split("\n"))
    assert judged(OPERATORS, f"## 2-2-1\n{quoted}", "counts").outcome is not Outcome.CORRECT


def test_a_table_in_an_appendix_waits_and_is_suggested(judged):
    head = "| Operator | Count |\n|---|---|\n"
    found = judged(OPERATORS, f"## 2-2-1\nSee the appendix.\n## 2-4-1\n244,403,360 bytes\n{head}{PIPES}", "counts")
    assert found.outcome is Outcome.MANUAL
    assert found.suggestion.outcome is Outcome.CORRECT


def test_tables_of_other_rows_are_parts_of_one(judged):
    text = "## 2-1-4\nConvolutions:\n\n| type | MACs |\n|---|---|\n| Conv2d | 1497352192 |\n\nThe rest:\n\n"
    text += "| type | MACs |\n|---|---|\n| Linear | 1024000 |\n"
    assert judged(MACS, text, "by-type").outcome is Outcome.CORRECT


@pytest.mark.parametrize(
    "said", ["Conv2d 1,497,352,192 and Linear 1,024,000", "Linear 1,024,000, Conv2d 1,497,352,192"]
)
def test_a_total_before_the_rows_of_a_sentence_is_none_of_theirs(judged, said):
    assert judged(MACS, f"## 2-1-4\n1.498376 GMACs. It is {said}.\n", "by-type").outcome is Outcome.CORRECT


def test_the_sizes_of_a_node_are_those_of_the_first_tensor_below_input(judged):
    node = "{}\n  input\n    {} : (1, {}, {}, {})\n    w : ({}, {}, 3, 3)\n  output\n    {} : (1, 32, 112, 112)\n"
    node += "  attribute\n    dilations : [1, 1]\n    group : {}\n    kernel_shape : [3, 3]\n    pads : [1, 1, 1, 1]\n"
    first, second = ("/features/features.0/features.0.0", "/features/features.1/conv/conv.0/conv.0.0")
    text = "## 2-2-1\n```\n"
    text += node.format("Conv", "input", 3, 224, 224, 32, 3, f"{first}/Conv_output_0", 1) + "    strides : [2, 2]\n"
    text += node.format("Conv", "/x", 32, 112, 112, 32, 1, f"{second}/Conv_output_0", 32) + "    strides : [1, 1]\n"
    assert judged(ATTRIBUTES, f"{text}...\n```\n", "convolutions").outcome is Outcome.CORRECT


def test_attributes_may_stand_behind_their_operator(judged):
    text = "## 2-2-1\n- Gemm: alpha = 1.0, beta = 1.0, transB = {}\n"
    assert judged(ATTRIBUTES, text.format(1), "matrix-operators").outcome is Outcome.CORRECT
    assert judged(ATTRIBUTES, text.format("0 or 1"), "matrix-operators").outcome is not Outcome.CORRECT


TORCHINFO = """{}
==========================================================
Layer (type:depth-idx)    Output Shape         Param #
==========================================================
GoogLeNet                 [1, 1000]            --
├─BasicConv2d: 1-1        [1, 64, 112, 112]    --
│    └─Conv2d: 2-1        [1, 64, 112, 112]    9,408
│    └─BatchNorm2d: 2-2   [1, 64, 112, 112]    128
├─MaxPool2d: 1-2          [1, 64, 56, 56]      --
├─BasicConv2d: 1-3        [1, 64, 56, 56]      --
│    └─Conv2d: 2-3        [1, 64, 56, 56]      4,096
│    └─BatchNorm2d: 2-4   [1, 64, 56, 56]      128
...
==========================================================
Total params: 6,624,904
==========================================================
"""


@pytest.mark.parametrize("above", [":::spoiler", "output", "", "```"])
def test_what_stands_above_the_frame_of_a_table_is_no_heading(judged, above):
    found = judged("2-1-3-layer-table", f"## 2-1-3\n{TORCHINFO.format(above)}", "layers")
    assert found.outcome is Outcome.CORRECT


def test_a_few_values_are_no_table_of_many_rows(judged):
    text = "## 2-1-4\nTotal MACs: 1498376192\n\n| type | MACs |\n|---|---|\n| Conv2d | 1497352192 |\n"
    text += "| Linear | 1024000 |\n"
    assert judged(MACS, text, "by-layer").outcome is Outcome.MISSING


def test_two_rows_of_a_sum_are_not_missing(judged):
    text = "## 2-1-4\nconv layers 1.497 GMACs + fc 1.024 MMACs = 1.498 GMACs\n"
    assert judged(MACS, text, "by-type").outcome is not Outcome.MISSING
