"""The operators of ai.onnx.ml: sizes as onnxruntime has them, linear models' products, the others nothing or named."""

import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from reference.onnx_macs import onnx_macs
from reference.onnx_memory import onnx_activation_bytes, onnx_tensors
from tests.reference.onnx_text import differences, saved

W = {"w": np.zeros((4, 3), np.float32), "v": np.zeros((7, 3), np.float32), "at": np.array([1, 3])}
W |= {"labels": np.array([1, 2, 3, 4, 5], np.float32), "u": np.zeros((2, 3), np.float32)}
LINEAR = "coefficients=[1.,2.,3.,4.,1.,2.,3.,4.,1.,2.,3.,4.], intercepts=[0.,0.,0.]"
CASES = [
    ("(float[2,4] x) => (float y) { h = ml.Scaler<offset=[0.], scale=[2.]>(x) y = MatMul(h, w) }", 24),
    ("(int64[2,4] x) => (float y) { h = ml.Scaler<offset=[0.,0.,0.,0.], scale=[1.,2.,3.,4.]>(x) y = MatMul(h, w) }", 24),
    ("(double[2,4] x) => (float y) { h = ml.Scaler<offset=[0.], scale=[2.]>(x) y = MatMul(h, w) }", 24),
    ('(float[2,4] x) => (float y) { h = ml.Normalizer<norm="L2">(x) y = MatMul(h, w) }', 24),
    ('(int64[2,4] x) => (float y) { h = ml.Normalizer<norm="MAX">(x) y = MatMul(h, w) }', 24),
    ("(float[2,4] x) => (float y) { h = ml.Imputer<imputed_value_floats=[0.], replaced_value_float=9.>(x) y = MatMul(h, w) }", 24),
    ("(float[2,4] x) => (float y) { h = ml.Binarizer<threshold=0.5>(x) y = MatMul(h, w) }", 24),
    ("(float[2,4] x) => (float y) { h = ml.ArrayFeatureExtractor(x, at) y = Transpose(h) }", 0),
    # What skl2onnx makes of labels: of one dimension, picked by the place of the largest score.
    ("(int64[2] i) => (float y) { h = ml.ArrayFeatureExtractor(labels, i) y = MatMul(h, u) }", 2 * 3),
    ("(int64[2,1] i) => (float y) { h = ml.ArrayFeatureExtractor(labels, i) y = MatMul(h, u) }", 2 * 3),
    ("(int64[1,2] i) => (float y) { h = ml.ArrayFeatureExtractor(labels, i) y = MatMul(h, u) }", 2 * 3),
    ("(float[3,5] x) => (float y) { i = ArgMax<axis=1, keepdims=0>(x) h = ml.ArrayFeatureExtractor(labels, i) y = Transpose(h) }", 0),
    ("(float[2,3,4] x) => (float y) { y = ml.ArrayFeatureExtractor(x, at) }", 0),
    ("(float[2,4] x, float[2,3] u) => (float y) { h = ml.FeatureVectorizer<inputdimensions=[4,3]>(x, u) y = MatMul(h, v) }", 42),
    ("(int64[5] x) => (float y) { y = ml.OneHotEncoder<cats_int64s=[1,2,3]>(x) }", 0),
    ("(int64[2,4] x) => (float y) { y = ml.LabelEncoder<keys_int64s=[1,2], values_floats=[0.5,1.5]>(x) }", 0),
    (f"(float[2,4] x) => (int64 l, float y) {{ l, y = ml.LinearClassifier<{LINEAR}, classlabels_ints=[0,1,2], multi_class=1>(x) }}", 24),
    (f"(float[4] x) => (int64 l, float y) {{ l, y = ml.LinearClassifier<{LINEAR}, classlabels_ints=[0,1,2]>(x) }}", 12),
    ("(float[2,4] x) => (int64 l, float y) { l, y = ml.LinearClassifier<coefficients=[1.,2.,3.,4.], intercepts=[0.], classlabels_ints=[0,1]>(x) }", 8),
    (f"(float[2,4] x) => (float y) {{ y = ml.LinearRegressor<{LINEAR}, targets=3>(x) }}", 24),
    ("(float[2,4] x) => (float y) { y = ml.LinearRegressor<coefficients=[1.,2.,3.,4.]>(x) }", 8),
]  # fmt: skip


@pytest.mark.parametrize(("text", "macs"), CASES)
def test_sizes_and_products(tmp_path, text, macs):
    path = saved(tmp_path, text.replace("ml.", "ai.onnx.ml."), weights=W)
    assert onnx_macs(path) == macs
    assert not differences(path)


def forest(tmp_path, nodes, classes=0, domain=3):
    """One complete tree; leaves add to a target, or vote for a class."""
    inner = [2 * at + 2 < nodes for at in range(nodes)]
    leaves = [at for at in range(nodes) if not inner[at]]
    word = "class" if classes else "target"
    attributes = {
        "nodes_treeids": [0] * nodes,
        "nodes_nodeids": list(range(nodes)),
        "nodes_featureids": [at % 4 for at in range(nodes)],
        "nodes_modes": ["BRANCH_LEQ" if each else "LEAF" for each in inner],
        "nodes_values": [0.5] * nodes,
        "nodes_truenodeids": [2 * at + 1 if each else 0 for at, each in enumerate(inner)],
        "nodes_falsenodeids": [2 * at + 2 if each else 0 for at, each in enumerate(inner)],
        f"{word}_treeids": [0] * len(leaves),
        f"{word}_nodeids": leaves,
        f"{word}_ids": [at % max(classes, 1) for at in range(len(leaves))],
        f"{word}_weights": [0.1] * len(leaves),
        **({"classlabels_int64s": list(range(classes))} if classes else {"n_targets": 1}),
    }
    kind = "TreeEnsembleClassifier" if classes else "TreeEnsembleRegressor"
    outputs = ["l", "y"] if classes else ["y"]
    node = helper.make_node(kind, ["x"], outputs, domain="ai.onnx.ml", **attributes)
    infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([node], "g", infos, results)
    path = tmp_path / "forest.onnx"
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", domain)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


@pytest.mark.parametrize(("nodes", "classes"), [(7, 0), (15, 2), (31, 3), (1023, 5)])
def test_a_forest_compares_and_multiplies_nothing(tmp_path, nodes, classes):
    path = forest(tmp_path, nodes, classes)
    assert onnx_macs(path, inputs=["3,4"]) == 0
    assert not differences(path, "3,4")


def test_a_large_forest_is_read_in_a_moment(tmp_path):
    path = forest(tmp_path, 300_001)
    start = time.process_time()
    assert onnx_activation_bytes(path, inputs=["3,4"]) == 12
    assert time.process_time() - start < 2


def test_a_support_vector_machine_is_named(tmp_path):
    text = """(float[2,4] x) => (float y) { y = ai.onnx.ml.SVMRegressor<coefficients=[1.], kernel_params=[0.,0.,0.],
    kernel_type="LINEAR", rho=[0.], support_vectors=[1.,2.,3.,4.], n_supports=1>(x) }"""
    with pytest.raises(
        ValueError, match=r"\(ai.onnx.ml::SVMRegressor\): there is no rule for how many multiplications"
    ):
        onnx_macs(saved(tmp_path, text))


def test_maps_are_named_where_their_bytes_are_asked_for_and_hold_up_no_macs(tmp_path):
    text = f"""(float[2,4] x) => (int64 l, seq(map(int64, float)) y)
    {{ l, p = ai.onnx.ml.LinearClassifier<{LINEAR}, classlabels_ints=[0,1,2]>(x) y = ai.onnx.ml.ZipMap<classlabels_int64s=[0,1,2]>(p) }}"""
    path = saved(tmp_path, text)
    assert onnx_macs(path) == 24
    with pytest.raises(ValueError, match=r"\(ai.onnx.ml::ZipMap\) puts out a sequence of maps, whose bytes are not"):
        onnx_tensors(path)
