"""Operators that ONNX defines by what they are made of, some without an inference of their own."""

import numpy as np
import pytest
from onnx import defs

from reference.onnx_macs import onnx_macs
from reference.onnx_memory import onnx_tensors
from tests.reference.onnx_text import differences, saved

W = {"w": np.zeros((2, 4, 3, 3), np.float32), "s": np.ones(2, np.float32), "c": np.ones(4, np.float32)}
CONV = " y = Conv<pads=[1,1,1,1]>(h, w) }"


@pytest.mark.parametrize("opset", [9, 11, 13, 17, 18, 21, 22, 26])
@pytest.mark.parametrize("axes", ["", "<axes=[0,2,3]>", "<axes=[0,1,2,3]>", "<axes=[2,3]>"])
def test_mean_variance_normalisation(tmp_path, opset, axes):
    path = saved(tmp_path, f"(float[1,4,3,3] x) => (float y) {{ h = MeanVarianceNormalization{axes}(x) {CONV}", opset=opset, weights=W)  # fmt: skip
    assert onnx_macs(path) == 648
    assert not differences(path)


@pytest.mark.parametrize(("opset", "parameter"), [(18, "s"), (21, "c"), (22, "c"), (26, "c")])
def test_group_normalisation(tmp_path, opset, parameter):
    text = (
        f"(float[2,4,5,7] x) => (float y) {{ h = GroupNormalization<num_groups=2>(x, {parameter}, {parameter}) {CONV}"
    )
    path = saved(tmp_path, text, opset=opset, weights=W)
    assert onnx_macs(path) == 2 * 2 * 35 * 36
    assert next(row for row in onnx_tensors(path) if row["tensor"] == "h")["shape"] == [2, 4, 5, 7]
    assert not differences(path)


def test_one_before_another_and_inside_of_a_branch(tmp_path):
    path = saved(
        tmp_path,
        """(float[N,4,H,3] x) => (float y) { a = MeanVarianceNormalization(x) b = MeanVarianceNormalization(a)
        n = Size(b) q = Greater(n, few)
        h = If(q) <then_branch = t () => (float u) { u = MeanVarianceNormalization(b) },
                   else_branch = e () => (float v) { v = Relu(b) }>"""
        + CONV,
        weights={**W, "few": np.array(10)},
    )
    assert onnx_macs(path, inputs=["1,4,3,3"]) == 648
    assert not differences(path, "2,4,5,3")


def test_no_other_operator_lacks_an_inference():
    """A new release that brings one fails here: its shape is to be settled then."""
    without = {
        (each.domain, each.name) for each in defs.get_all_schemas() if not each.has_type_and_shape_inference_function
    }
    classical = "FeatureVectorizer Imputer LinearRegressor Normalizer SVMRegressor Scaler TreeEnsembleClassifier TreeEnsembleRegressor"
    assert without == {
        ("", "GroupNormalization"),  # by their functions
        ("", "MeanVarianceNormalization"),
        *(("ai.onnx.ml", name) for name in classical.split()),
        ("ai.onnx.preview.training", "Gradient"),  # refused by name
    }
