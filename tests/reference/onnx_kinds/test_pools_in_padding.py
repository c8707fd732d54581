"""Sizes of pools that round up: those of runtimes at every opset, not those of onnx's inference below opset 22."""

import numpy as np
import pytest
import torch
from helpers.soak import soak
from torch import nn

from reference.onnx_macs import onnx_macs
from reference.onnx_memory import onnx_tensors
from tests.reference.onnx_text import differences, saved

# Size, kernel, stride, padding; the last window would start in the padding, or at the very end of the data.
WINDOWS = [
    (5, 2, 2, 1),
    (4, 1, 2, 0),
    (7, 2, 4, 1),
    (6, 1, 3, 0),
    (9, 2, 3, 1),
    (3, 2, 2, 1),
    (8, 3, 5, 1),
    (10, 1, 4, 0),
]
ALL = [
    (kind, opset, window)
    for at, window in enumerate(WINDOWS)
    for kind in ("MaxPool", "AveragePool", "LpPool")
    for opset in (11, 17, 19, 21, 22)
    if kind != "LpPool" or opset >= 18  # which has the attribute from there on
]

CASES = [pytest.param(*case, marks=[] if at % 4 == 0 else soak) for at, case in enumerate(ALL)]


def file(tmp_path, kind, opset, window, more=""):
    size, kernel, stride, pad = window
    attributes = (
        f"ceil_mode=1, kernel_shape=[{kernel},{kernel}], strides=[{stride},{stride}], pads=[{pad},{pad},{pad},{pad}]"
    )
    text = f"(float[1,2,{size},{size}] x) => (float y) {{ p = {kind}<{attributes}{more}>(x) y = Conv(p, w) }}"
    return saved(tmp_path, text, opset=opset, weights={"w": np.zeros((3, 2, 1, 1), np.float32)})


@pytest.mark.parametrize(("kind", "opset", "window"), CASES)
def test_a_pool_puts_out_what_onnxruntime_puts_out(tmp_path, kind, opset, window):
    assert not differences(file(tmp_path, kind, opset, window))


@pytest.mark.parametrize("window", WINDOWS)
def test_a_pool_puts_out_what_torch_puts_out(tmp_path, window):
    size, kernel, stride, pad = window
    out = nn.MaxPool2d(kernel, stride, pad, ceil_mode=True)(torch.zeros(1, 2, size, size)).shape
    path = file(tmp_path, "MaxPool", 17, window)
    assert next(row["shape"] for row in onnx_tensors(path) if row["tensor"] == "p") == list(out)
    assert onnx_macs(path) == out[2] * out[3] * 6


@pytest.mark.parametrize("rounding", [0, 1])
def test_dilations_are_sizes_of_windows(tmp_path, rounding):
    path = file(tmp_path, "MaxPool", 12, (11, 2, 3, 1), ", dilations=[2,3]")
    assert not differences(path)


def test_dilation_with_same_padding_is_named_for_runtimes_differ(tmp_path):
    text = """(float[1,2,9,9] x) => (float y)
    { y = MaxPool<auto_pad = "SAME_UPPER", kernel_shape = [2,2], dilations = [2,2]>(x) }"""
    path = saved(tmp_path, text)
    assert onnx_macs(path) == 0
    with pytest.raises(ValueError, match=r"\(MaxPool\) has dilations and SAME padding, of whose size runtimes differ"):
        onnx_tensors(path)
