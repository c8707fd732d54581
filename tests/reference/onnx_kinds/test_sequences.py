"""Tensors that are put into sequences and taken out again are followed."""

import numpy as np
import pytest

from reference.onnx_macs import onnx_macs
from reference.onnx_memory import onnx_activation_bytes, onnx_tensors
from tests.reference.onnx_text import differences, saved

W = {
    "w": np.zeros((1, 3), np.float32),
    "one": np.array(1),
    "two": np.array(2),
    "minus": np.array(-1),
    "zero": np.array(0),
    "parts": np.array([1, 2, 1]),
}


@pytest.mark.parametrize(
    ("body", "macs"),
    [
        ("s = SplitToSequence<axis=1>(x) p = SequenceAt(s, one) y = MatMul(p, w)", 2 * 3),
        ("s = SplitToSequence<axis=1>(x, one) p = SequenceAt(s, minus) y = MatMul(p, w)", 2 * 3),
        ("s = SplitToSequence<axis=1>(x, parts) p = SequenceAt(s, zero) y = MatMul(p, w)", 2 * 3),
        ("s = SplitToSequence<axis=1>(x, two) p = SequenceAt(s, one) q = Transpose(p) y = MatMul(p, q)", 2 * 2 * 2),
        ("s = SplitToSequence<axis=1, keepdims=0>(x) p = SequenceAt(s, one) y = MatMul(p, p)", 2),
        ("s = SplitToSequence<axis=0>(x) p = SequenceAt(s, one) q = Transpose(p) y = MatMul(q, p)", 4 * 4),
        ("t = Transpose(x) s = SequenceConstruct(x, t) p = SequenceAt(s, one) y = MatMul(p, x)", 4 * 4 * 2),
        ("t = Transpose(x) s = SequenceConstruct(x, t) u = SequenceInsert(s, t, zero) p = SequenceAt(u, zero) y = MatMul(p, x)", 32),
        ("t = Transpose(x) s = SequenceConstruct(x, t) u = SequenceErase(s, zero) p = SequenceAt(u, zero) y = MatMul(p, x)", 32),
        ("s = SequenceConstruct(x, x, x) j = ConcatFromSequence<axis=0>(s) t = Transpose(j) y = MatMul(j, t)", 6 * 6 * 4),
        ("s = SequenceConstruct(x, x, x) j = ConcatFromSequence<axis=0, new_axis=1>(s) t = Transpose<perm=[0,2,1]>(j) y = MatMul(j, t)", 3 * 2 * 2 * 4),
        ("e = SequenceEmpty() s = SequenceInsert(e, x) u = SequenceInsert(s, x) p = SequenceAt(u, minus) t = Transpose(p) y = MatMul(p, t)", 16),
        ("s = SplitToSequence<axis=1>(x) n = SequenceLength(s) k = Sub(n, two) p = SequenceAt(s, k) y = MatMul(p, w)", 6),
        ("s = SplitToSequence<axis=1>(x) i = Identity(s) p = SequenceAt(i, one) y = MatMul(p, w)", 6),
    ],
)  # fmt: skip
def test_in_and_out_again(tmp_path, body, macs):
    path = saved(tmp_path, f"(float[2,4] x) => (float y) {{ {body} }}", weights=W)
    assert onnx_macs(path) == macs
    assert not differences(path)


def test_a_place_that_depends_on_data_matters_only_where_tensors_differ(tmp_path):
    alike = "(float[2,4] x, int64 at) => (float y) { s = SplitToSequence<axis=1>(x) p = SequenceAt(s, at) y = MatMul(p, w) }"
    assert onnx_macs(saved(tmp_path, alike, weights=W)) == 6
    apart = alike.replace("(x)", "(x, parts)")
    with pytest.raises(ValueError, match=r"which place .* \(SequenceAt\) means depends on data, on 'at'"):
        onnx_macs(saved(tmp_path, apart, weights=W))
    assert onnx_macs(saved(tmp_path, apart, weights=W), inputs=["at=0"]) == 6


def test_a_value_from_an_unknown_place_is_unknown(tmp_path):
    text = """(float[2,6] x, int64 at) => (float y) { s = SequenceConstruct(a, b) p = SequenceAt(s, at)
    y = Reshape(x, p) }"""
    path = saved(tmp_path, text, weights={"a": np.array([3, 4]), "b": np.array([4, 3])})
    with pytest.raises(ValueError, match="depends on data"):
        onnx_activation_bytes(path)
    shapes = [onnx_tensors(path, inputs=[f"at={at}"])[-1]["shape"] for at in (0, 1)]
    assert shapes == [[3, 4], [4, 3]]


def test_a_loop_that_fills_a_sequence(tmp_path):
    text = """(float[2,4] x) => (float y) { e = SequenceEmpty()
    s = Loop(two, , e) <body = b (int64 i, bool c, seq(float) h) => (bool d, seq(float) o)
        { d = Identity(c) m = MatMul(v, x) o = SequenceInsert(h, m) }>
    y = ConcatFromSequence<axis=0>(s) }"""
    path = saved(tmp_path, text, weights={**W, "v": np.zeros((5, 2), np.float32)})
    assert onnx_macs(path) == 2 * 5 * 2 * 4
    rows = onnx_tensors(path)
    assert rows[-1]["shape"] == [10, 4]
    assert [row["shape"] for row in rows if row["tensor"] == "o"] == [[[5, 4]], [[5, 4], [5, 4]]]


def test_a_map_runs_once_a_tensor(tmp_path):
    text = """(seq(float) x, float[4,3] v) => (seq(float) y)
    { y = SequenceMap(x, v) <body = b (float[M,4] a, float[4,3] c) => (float[M,3] o) { o = MatMul(a, c) }> }"""
    path = saved(tmp_path, text)
    assert onnx_macs(path, inputs=["x=2,4+5,4"]) == (2 + 5) * 12
    assert onnx_macs(path, inputs=["x="]) == 0
    with pytest.raises(ValueError, match="the graph's input 'x' is no tensor, and nothing says what it holds"):
        onnx_macs(path)


def test_an_optional_is_there_or_not(tmp_path):
    text = """(optional(float[2,4]) x, float[4,3] v) => (float y) { q = OptionalHasElement(x)
    y = If(q) <then_branch = t () => (float a) { e = OptionalGetElement(x) a = MatMul(e, v) },
               else_branch = f () => (float b) { b = Relu(v) }> }"""
    path = saved(tmp_path, text, opset=18)
    assert onnx_macs(path, inputs=["x=2,4"]) == 24
    assert onnx_macs(path, inputs=["x=none"]) == 0
    with pytest.raises(ValueError, match="depends on data"):
        onnx_macs(path)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("p = SequenceAt(x, one)", "'x' is no sequence"),
        ("s = SequenceConstruct(x, x) p = SequenceAt(s, two)", "is not valid"),
        ("s = SplitToSequence<axis=1>(x, two2) p = SequenceAt(s, one)", r"it splits 4 into \[3, 3\]"),
        ("t = Transpose(x) s = SequenceConstruct(x, t) p = ConcatFromSequence<axis=0>(s)", "differ in another axis"),
        ("s = SequenceConstruct(x, x) p = SequenceInsert(s, x, nine)", "9 is no place in a sequence of 2"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, body, why):
    weights = {**W, "two2": np.array([3, 3]), "nine": np.array(9)}
    path = saved(tmp_path, f"(float[2,4] x) => (float p) {{ {body} }}", weights=weights)
    with pytest.raises(ValueError, match=why):
        onnx_activation_bytes(path)


def test_a_split_into_more_than_it_names_is_said(tmp_path):
    path = saved(tmp_path, "(float[2,8] x) => (float a) { a, b = Split<axis=1, num_outputs=4>(x) }", opset=18)
    with pytest.raises(ValueError, match=r"\(Split\) has 2 outputs, and its attribute 'num_outputs' is 4"):
        onnx_tensors(path)


@pytest.mark.parametrize("body", ["s, t = SequenceConstruct(x, x)", "s = SplitToSequence<axis=0>(one)"])
def test_a_sequence_that_can_t_be_is_said(tmp_path, body):
    with pytest.raises(ValueError, match="is not valid"):
        onnx_activation_bytes(saved(tmp_path, f"(float[2,4] x) => (float s) {{ {body} }}", weights=W))
