"""Outputs that old opsets have and nobody reads: they have the shapes that the opset says, and hold up no MACs."""

import numpy as np
import pytest

from reference.onnx_macs import onnx_macs
from reference.onnx_memory import onnx_activation_bytes, onnx_tensors
from tests.reference.onnx_text import differences, saved

W = {"w": np.zeros((3, 4), np.float32)}


@pytest.mark.parametrize(
    ("opset", "attributes", "masked"),
    [(1, "<is_test=1>", 24), (6, "<is_test=1>", 24), (7, "", 24), (8, "<ratio=0.3>", 24), (9, "", 24), (10, "", 6), (11, "", 6), (12, "", 6), (13, "", 6), (22, "", 6)],
)  # fmt: skip
def test_the_mask_of_dropout(tmp_path, opset, attributes, masked):
    """Up to opset 9 it has the type of the data, then that of truths."""
    path = saved(tmp_path, f"(float[2,3] x) => (float y) {{ h, mask = Dropout{attributes}(x) y = MatMul(h, w) }}", opset=opset, weights=W)  # fmt: skip
    assert onnx_macs(path) == 24
    assert onnx_activation_bytes(path) == 24 + masked + 32
    if opset > 6:  # what onnxruntime has kernels for
        assert not differences(path)


@pytest.mark.parametrize(
    ("opset", "named"), [(1, 2), (1, 3), (1, 4), (1, 5), (6, 1), (6, 5), (7, 1), (7, 5), (8, 1), (8, 5)]
)
def test_the_statistics_of_batch_norm(tmp_path, opset, named):
    names = ", ".join(["h", "m", "v", "sm", "sv"][:named])
    attributes = "<is_test=0>" if opset < 7 else ""
    text = f"(float[2,3,4,4] x) => (float y) {{ {names} = BatchNormalization{attributes}(x, s, b, mean, var) y = Relu(h) }}"
    weights = {name: np.ones(3, np.float32) for name in ("s", "b", "mean", "var")}
    path = saved(tmp_path, text, opset=opset, weights=weights)
    assert onnx_activation_bytes(path) == 2 * 384 + (named - 1) * 12
    assert [row["shape"] for row in onnx_tensors(path, weights=False)][2 : 1 + named] == [[3]] * (named - 1)


@pytest.mark.parametrize(
    "text",
    [
        "(float[1,2,6,6] x) => (float y) { y, at = MaxPool<kernel_shape=[2,2]>(x) }",
        "(float[5,4] x) => (float y) { y, at = TopK<k=2>(x) }",
        "(float[3,4] x) => (float y) { y, a, b, c = Unique(f) f = Relu(x) }",
    ],
)
def test_further_outputs_of_others(tmp_path, text):
    opset = 9 if "TopK" in text else 11
    if "Unique" in text:
        text = "(float[3,4] x) => (float y) { u, a, b, c = Unique(f) y = MatMul(x, v) }"
        path = saved(
            tmp_path, text, opset=opset, weights={"f": np.float32([1, 2, 1]), "v": np.zeros((4, 2), np.float32)}
        )
        assert onnx_macs(path) == 24
    else:
        path = saved(tmp_path, text, opset=opset)
    assert not differences(path)


def test_a_shape_that_nothing_needs_holds_up_no_macs(tmp_path):
    path = saved(tmp_path, "(float[2,3] x) => (float y, int64 z) { z = NonZero(x) y = MatMul(x, w) }", weights=W)
    assert onnx_macs(path) == 24
    with pytest.raises(ValueError, match=r"\(NonZero\) puts out depends on data"):
        onnx_activation_bytes(path)
