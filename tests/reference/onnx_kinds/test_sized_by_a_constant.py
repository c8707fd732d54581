"""Sizes that a constant of the file decides, whatever the data are."""

import numpy as np
import pytest

from reference.onnx_macs import onnx_macs
from reference.onnx_memory import onnx_tensors
from tests.reference.onnx_text import differences, saved

W = {"w": np.zeros((2, 3), np.float32)}
YES = np.array([True, False, True, False])


@pytest.mark.parametrize(
    ("x", "attributes", "condition", "shape"),
    [
        ("2,4", "<axis=1>", YES, [2, 2]),
        ("4,2", "<axis=0>", YES, [2, 2]),
        ("4,2", "", YES, [2]),
        ("4,2", "<axis=-2>", YES, [2, 2]),
        ("2,4", "<axis=-1>", YES[:2], [2, 1]),  # a condition may be shorter
        ("2,4", "<axis=1>", np.zeros(4, bool), [2, 0]),
        ("2,4", "", np.ones(8, bool), [8]),
        ("2,3,4", "<axis=2>", YES, [2, 3, 2]),
        ("2,3,4", "<axis=1>", YES[:3], [2, 2, 4]),
        ("N,4", "<axis=1>", YES, [5, 2]),
        ("1,9000", "<axis=1>", np.arange(9000) % 3 == 0, [1, 3000]),
        ("200000", "", np.arange(200000) % 4 == 0, [50000]),
    ],
)
def test_compress(tmp_path, x, attributes, condition, shape):
    text = f"(float[{x}] x) => (float y) {{ y = Compress{attributes}(x, c) }}"
    path = saved(tmp_path, text, weights={"c": condition})
    said = ["5,4"] if "N" in x else []
    assert onnx_tensors(path, inputs=said or None)[-1]["shape"] == shape
    assert not differences(path, *said)


@pytest.mark.parametrize(
    ("text", "weights", "shape"),
    [
        ("(float[2,4] x) => (float y) { c = Constant<value = bool[4] {1,0,1,0}>() y = Compress<axis=1>(x, c) }", {}, [2, 2]),
        ("(float[2,4] x) => (float y) { n = NonZero(c) y = Gather<axis=1>(x, n) }", {"c": YES}, [2, 1, 2]),
        ("(float[2,4] x) => (float y) { u = Unique(c) y = Gather<axis=1>(x, u) }", {"c": np.array([3, 1, 1, 3])}, [2, 2]),
        ("(float[2,4] x) => (float y) { n = Not(c) y = Compress<axis=1>(x, n) }", {"c": YES[[0, 1, 1, 1]]}, [2, 3]),
        ("(float[2,4] x) => (float y) { y = OneHot(c, d, v) }",
         {"c": np.array([1, 2]), "d": np.array(6), "v": np.float32([0, 1])}, [2, 6]),
        ("(float[2,4] x) => (float y) { y = OneHot<axis=0>(c, d, v) }",
         {"c": np.array([[1, 2]]), "d": np.array([3.0], np.float32), "v": np.float32([0, 1])}, [3, 1, 2]),
        ("(float[2,4] x) => (float y) { y = Range(a, b, c) }",
         {"a": np.float32(0.25), "b": np.float32(3), "c": np.float32(0.5)}, [6]),
        ("(float[2,4] x) => (float y) { y = Range(a, b, c) }", {"a": np.array(7), "b": np.array(-3), "c": np.array(-3)}, [4]),
        ("(float[1,1,2,2] x, int64[1,1,2,2] i) => (float y) { y = MaxUnpool<kernel_shape=[2,2],strides=[2,2]>(x, i, s) }",
         {"s": np.array([1, 1, 5, 5])}, [1, 1, 5, 5]),
    ],
)  # fmt: skip
def test_others(tmp_path, text, weights, shape):
    path = saved(tmp_path, text, weights=weights)
    assert next(row["shape"] for row in onnx_tensors(path) if row["tensor"] == "y") == shape
    if "MaxUnpool" not in text:  # whose kernel asks for indices within the picture
        assert not differences(path)


def test_what_depends_on_data_is_still_named(tmp_path):
    path = saved(tmp_path, "(float[2,4] x, bool[4] c) => (float y) { h = Compress<axis=1>(x, c) y = Gemm<transA=1>(h, w) }", weights=W)  # fmt: skip
    with pytest.raises(ValueError, match=r"\(Compress\) puts out depends on data"):
        onnx_macs(path)
    path = saved(tmp_path, "(float[2,4] x) => (float y) { h = Compress<axis=1>(x, c) y = Gemm<transA=1>(h, w) }", weights={**W, "c": YES})  # fmt: skip
    assert onnx_macs(path) == 12


def test_a_constant_that_is_too_large_to_be_read_is_named(tmp_path):
    path = saved(tmp_path, "(float[2,4] x) => (int64 y) { y = Unique(c) }", weights={"c": np.arange(5000)})
    with pytest.raises(ValueError, match=r"\(Unique\) puts out depends on 'c', which is too large to be read"):
        onnx_tensors(path)
