"""What runs, or a size, depends on the value of an input: it can be said."""

import numpy as np
import pytest

from reference.onnx_macs import onnx_macs
from reference.onnx_memory import onnx_tensors
from tests.reference.onnx_text import differences, saved

W = {"w": np.zeros((4, 2), np.float32), "v": np.zeros((4, 7), np.float32), "sixteen": np.array(16000)}
RATE = """(float[N,4] x, int64 sr) => (float y) {
    q = Equal(sr, sixteen)
    y = If(q) <then_branch = t () => (float a) { a = MatMul(x, w) }, else_branch = e () => (float b) { b = MatMul(x, v) }>
}"""


@pytest.mark.parametrize(
    ("said", "macs"),
    [
        (["3,4", "sr=16000"], 24),
        (["sr=16000", "3,4"], 24),
        (["x=3,4", "sr=16000"], 24),
        (["3,4", "sr=8000"], 84),
        (["3,4", "sr=0"], 84),
        (["3,4", "sr=-1"], 84),
        (["5,4", "sr=16000"], 40),
    ],
)
def test_a_branch_is_chosen_by_what_is_said(tmp_path, said, macs):
    path = saved(tmp_path, RATE, weights=W)
    assert onnx_macs(path, inputs=said) == macs
    assert not differences(path, *said)


def test_what_is_not_said_is_asked_for(tmp_path):
    path = saved(tmp_path, RATE, weights=W)
    with pytest.raises(ValueError, match="depends on data"):
        onnx_macs(path, inputs=["3,4"])


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("sr=fast", "'fast' is no value for the input 'sr'"),
        ("sr=16000.5", "whose elements are of another type"),
        ("sr=true", "whose elements are of another type"),
        ("sr=[16000]", r"contradicts the file, which fixes 'sr' \[\]"),
        ("sr=16000,8000", "is no value|contradicts"),
        ("sr=99999999999999999999", "whose elements are of another type"),
        ("sr=", "whole numbers|no value"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error(tmp_path, said, why):
    with pytest.raises(ValueError, match=why):
        onnx_macs(saved(tmp_path, RATE, weights=W), inputs=["3,4", said])


@pytest.mark.parametrize(
    ("text", "said", "shape"),
    [
        ("(float[2,3,4] x, int64[2] s) => (float y) { y = Reshape(x, s) }", ["s=[4,6]"], [4, 6]),
        ("(float[2,3,4] x, int64[N] s) => (float y) { y = Reshape(x, s) }", ["s=[4,3,2]"], [4, 3, 2]),
        ("(float[2,3,4] x, int64[1] s) => (float y) { y = Reshape(x, s) }", ["s=24"], [24]),
        ("(float[2,3,4] x, int64[1] s) => (float y) { y = Reshape(x, s) }", ["s=[-1]"], [24]),
        ("(float[2,1] x, int64[2] s) => (float y) { y = Expand(x, s) }", ["s=[2,5]"], [2, 5]),
        ("(float[2,3] x, int64[2] s) => (float y) { y = Tile(x, s) }", ["s=[2,2]"], [4, 6]),
        ("(int64 a, int64 b, int64 c) => (int64 y) { y = Range(a, b, c) }", ["a=0", "b=10", "c=3"], [4]),
        ("(float a, float b, float c) => (float y) { y = Range(a, b, c) }", ["a=0.5", "b=2", "c=0.25"], [6]),
        ("(int64[2] s) => (float y) { y = ConstantOfShape(s) }", ["s=[3,0]"], [3, 0]),
        ("(float[6,6] x, int64[1] k) => (float y, int64 i) { y, i = TopK(x, k) }", ["k=2"], [6, 2]),
        ("(float[6] x, bool[6] c) => (float y) { y = Compress(x, c) }", ["c=[true,false,true,true,false,true]"], [4]),
        ("(float[2,3] x, int64[4] p) => (float y) { y = Pad(x, p) }", ["p=[0,1,0,1]"], [2, 5]),
        ("(int64[3] x, int64 d, float[2] v) => (float y) { y = OneHot(x, d, v) }", ["d=7"], [3, 7]),
        ('(float[1,1,4,4] x, float[4] s) => (float y) { y = Resize<mode = "nearest">(x, , s) }', ["s=[1,1,2,1.5]"],
         [1, 1, 8, 6]),
        ("(int64[4] x) => (int64 y) { y = NonZero(x) }", ["x=[0,3,0,1]"], [1, 2]),
    ],
)  # fmt: skip
def test_a_size_that_an_input_says(tmp_path, text, said, shape):
    path = saved(tmp_path, text)
    assert next(row["shape"] for row in onnx_tensors(path, inputs=said) if row["tensor"] == "y") == shape
    assert not differences(path, *said)


def test_a_loop_runs_as_often_as_is_said(tmp_path):
    path = saved(
        tmp_path,
        """(float[3,4] x, int64 n) => (float y) { y = Loop(n, , x)
        <body = b (int64 i, bool c, float[3,4] h) => (bool d, float[3,4] o) { d = Identity(c) m = MatMul(h, w) o = Tanh(m) }> }""",
        weights={"w": np.zeros((4, 4), np.float32)},
    )
    assert onnx_macs(path, inputs=["n=5"]) == 5 * 48
    assert onnx_macs(path, inputs=["n=0"]) == 0
    assert not differences(path, "n=5")


def test_a_value_may_not_be_large(tmp_path):
    path = saved(tmp_path, "(int64[N] s) => (float y) { y = ConstantOfShape(s) }")
    with pytest.raises(ValueError, match="has 2,000 elements: 1,024 at most"):
        onnx_tensors(path, inputs=[f"s={[1] * 2000}"])


def test_a_truth_decides(tmp_path):
    text = RATE.replace("int64 sr", "bool q").replace("    q = Equal(sr, sixteen)\n", "")
    path = saved(tmp_path, text, weights=W)
    assert [onnx_macs(path, inputs=["3,4", said]) for said in ("q=true", "q=false", "q=True")] == [24, 84, 24]
