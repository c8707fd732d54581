"""What is said of a file's inputs fits, or an error says what does not: nothing is passed over in silence."""

import numpy as np
import pytest

from reference.onnx_macs import onnx_macs
from reference.onnx_memory import onnx_tensors
from tests.reference.onnx_text import differences, saved

W = {"w": np.zeros((4, 3, 3, 3), np.float32)}
CONV = "(%s) => (float y) { y = Conv<pads: ints = [1,1,1,1]>(x, w) }"
TWO = "(float[1,N,4] a, float[1,M,6] b, float[4,6] w) => (float y, float z) { y = MatMul(a, w) z = Transpose(b) }"


@pytest.fixture
def fixed(tmp_path):
    return saved(tmp_path, CONV % "float[1,3,8,8] x", weights=W)


def test_a_size_that_the_file_fixes_may_be_said(fixed):
    assert onnx_macs(fixed) == onnx_macs(fixed, inputs=["1,3,8,8"]) == onnx_macs(fixed, inputs=["x=1x3x8x8"]) == 6_912
    assert not differences(fixed, "1,3,8,8")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (["1,3,16,16"], r"the input 1,3,16,16 contradicts the file, which fixes 'x' \[1, 3, 8, 8\]"),
        (["2,3,8,8"], "contradicts the file"),
        (["x=1,3,16,16"], r"x=1,3,16,16 contradicts the file, which fixes 'x' \[1, 3, 8, 8\]"),
        (["7"], r"the input 7 fits none of the file's: it has 'x' \[1, 3, 8, 8\]"),
        (["1,3,8"], "fits none of the file's"),
        (["1,3,8,8,1"], "fits none of the file's"),
        (["1,3,8,8", "1,3,8,8"], "2 shapes don't fit the file's inputs in their order"),
        (["y=1,3,8,8"], r"the file has no input 'y': it has 'x' \[1, 3, 8, 8\]"),
        (["w=4,3,3,3"], "the file has no input 'w'"),  # a weight is none
        (["x=1,3,8,8", "x=1,3,8,8"], "'x' is said twice"),
        (["x=one,two"], "whole numbers such as 1,3,224,224, not 'one,two'"),
        (["one"], "an input shape is whole numbers such as 1,3,224,224, not 'one'"),
        (["-1,3,8,8"], "an input shape is whole numbers"),
        (["x=[1, 2]"], r"x=\[1, 2\] contradicts the file"),
        (["x="], "no value|whole numbers|contradicts"),
    ],
)
def test_what_fits_nothing_or_contradicts_the_file_is_an_error(fixed, said, why):
    with pytest.raises(ValueError, match=why):
        onnx_macs(fixed, inputs=said)


def test_a_task_s_shape_fills_what_is_open_and_contradicts_nothing(fixed, tmp_path):
    assert onnx_macs(fixed, input_shape=[1, 3, 16, 16]) == onnx_macs(fixed, input_shape=[7]) == 6_912
    path = saved(tmp_path, CONV % "float[N,3,H,8] x", weights=W, name="open.onnx")
    assert onnx_macs(path, input_shape=[1, 9, 8, 9]) == 6_912  # the file's 3 and 8 stand


def test_a_size_of_0_is_a_size_as_runtimes_have_it(tmp_path):
    path = saved(tmp_path, "(float[0,3] x) => (float y) { y = Relu(x) }")
    assert not differences(path)
    with pytest.raises(ValueError, match=r"contradicts the file, which fixes 'x' \[0, 3\]"):
        onnx_tensors(path, inputs=["2,3"])
    open_one = saved(tmp_path, "(float[N,3] x, float[3,4] w) => (float y) { y = MatMul(x, w) }", name="none.onnx")
    assert onnx_macs(open_one, inputs=["0,3"]) == 0
    assert not differences(open_one, "0,3")


# ---- several inputs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        ["1,5,4", "1,9,6"],
        ["a=1,5,4", "b=1,9,6"],
        ["b=1,9,6", "1,5,4"],
        ["1,5,4", "b=1,9,6"],
        ["1,5,4", "1,9,6", "4,6"],
        ["1,5,4", "1,9,6", "w=4,6"],
        ["b=1,9,6", "w=4,6", "a=1x5x4"],
    ],
)
def test_several_open_inputs_are_said_by_place_or_by_name(tmp_path, said):
    path = saved(tmp_path, TWO)
    assert onnx_macs(path, inputs=said) == 5 * 4 * 6
    assert not differences(path, *said)


def test_one_of_two_leaves_the_other_open(tmp_path):
    path = saved(tmp_path, TWO)
    assert onnx_macs(path, inputs=["1,5,4"]) == 120  # of b no product needs a size
    with pytest.raises(ValueError, match="the graph's input 'b' leaves dimensions open"):
        onnx_tensors(path, inputs=["1,5,4"])
    with pytest.raises(ValueError, match="2 shapes don't fit the file's inputs in their order"):
        onnx_macs(path, inputs=["1,9,6", "1,5,4"])


def test_a_task_s_shapes_go_to_open_inputs_in_order(tmp_path):
    path = saved(tmp_path, TWO)
    shapes = {row["tensor"]: row["shape"] for row in onnx_tensors(path, input_shape=[[1, 5, 4], [1, 9, 6]])}
    assert (shapes["a"], shapes["b"], shapes["w"]) == ([1, 5, 4], [1, 9, 6], [4, 6])


UNNAMED = "(float[?,4] a, float[?,6] b, float[4,6] w) => (float y) { z = MatMul(a, w) y = Add(z, b) }"


@pytest.mark.parametrize("said", [["5,4", "5,6"], ["a=5,4", "b=5,6"], ["b=5,6", "5,4"], ["b=5,6", "a=5,4", "4,6"]])
def test_dimensions_without_a_name_are_told_apart_by_place(tmp_path, said):
    path = saved(tmp_path, UNNAMED)
    assert onnx_macs(path, inputs=said) == 120
    assert not differences(path, *said)


# ---- two sizes for one name ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dims", "shape"),
    [
        ("1,3,N,N", (1, 3, 8, 20)),
        ("1,3,N,N", (1, 3, 20, 8)),
        ("N,3,N,N", (2, 3, 8, 20)),
        ("N,N,N,N", (1, 3, 8, 20)),
        ("N,3,H,H", (2, 3, 5, 9)),
        ("N,3,N,7", (2, 3, 5, 7)),
        ("1,N,N,N", (1, 3, 4, 5)),
        ("N,3,8,N", (1, 3, 8, 20)),
        ("?,3,?,?", (2, 3, 8, 20)),
        ("?,?,?,?", (2, 3, 8, 20)),
        ("N,3,N,N", (3, 3, 3, 3)),
    ],
)
def test_two_sizes_for_one_name_stand_each_at_its_place(tmp_path, dims, shape):
    path = saved(tmp_path, CONV % f"float[{dims}] x", weights=W)
    wanted = shape[0] * shape[2] * shape[3] * 4 * 27
    said = ",".join(map(str, shape))
    assert onnx_macs(path, inputs=[said]) == onnx_macs(path, inputs=[f"x={said}"]) == wanted
    assert onnx_macs(path, input_shape=list(shape)) == wanted
    assert not differences(path, said)


def test_a_name_with_two_sizes_says_nothing_of_other_inputs(tmp_path):
    path = saved(tmp_path, "(float[N,N] a, float[N,4] b) => (float y) { y = Relu(a) z = Relu(b) }")
    with pytest.raises(ValueError, match=r"'b' leaves dimensions open, .*; of 'N' 2 are said: \[3, 5\]"):
        onnx_tensors(path, inputs=["a=3,5"])
    assert [row["shape"] for row in onnx_tensors(path, inputs=["3,3"])][:2] == [[3, 3], [3, 4]]  # one size says it
    assert [row["shape"] for row in onnx_tensors(path, inputs=["3,3", "7,4"])][:2] == [[3, 3], [7, 4]]
