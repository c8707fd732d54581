"""onnxruntime's own operators have their sizes and products; one of another domain is named, and nothing behind it is blamed."""

import numpy as np
import pytest

from reference.onnx_macs import onnx_macs
from reference.onnx_memory import onnx_tensors
from reference.onnx_nodes import onnx_attributes
from tests.reference.onnx_text import differences, saved

f, u, i8 = np.float32, np.uint8, np.int8
ONE, ZERO, ZERO8 = np.array(0.5, f), np.array(0, u), np.array(0, i8)
Q = {"s": ONE, "z": ZERO, "z8": ZERO8, "t": np.array(0.25, f)}
M = "com.microsoft"
QUANTISED = [
    ("(float[2,3,4] x) => (float y) { y = M.DynamicQuantizeMatMul(x, w, s, z8) }", {"w": np.zeros((4, 5), i8)}, 2 * 3 * 4 * 5),
    ("(uint8[3,4] x) => (float y) { y = M.MatMulIntegerToFloat(x, w, s, t, z, z8) }", {"w": np.zeros((4, 5), i8)}, 60),
    ("(uint8[2,3,4] x) => (float y) { y = M.MatMulIntegerToFloat(x, w, s, t) }", {"w": np.zeros((4, 5), u)}, 120),
    ("(uint8[3,4] x) => (uint8 y) { y = M.QGemm(x, s, z, w, t, z8, , s, z) }", {"w": np.zeros((4, 5), i8)}, 60),
    ("(uint8[4,3] x) => (float y) { y = M.QGemm<transA=1, transB=1>(x, s, z, w, t, z8) }", {"w": np.zeros((5, 4), i8)}, 60),
    ("(uint8[1,3,8,8] x) => (uint8 y) { y = QLinearConv<pads=[1,1,1,1]>(x, s, z, w, t, z8, s, z) }", {"w": np.zeros((4, 3, 3, 3), i8)}, 6912),
    ("(uint8[1,8,8,3] x) => (uint8 y) { y = M.QLinearConv<channels_last=1, strides=[2,2]>(x, s, z, w, t, z8, s, z) }", {"w": np.zeros((4, 3, 3, 3), i8)}, 9 * 4 * 27),
    ("(uint8[1,4,8,8] x) => (uint8 y) { y = M.QLinearConv<group=2, dilations=[2,1]>(x, s, z, w, t, z8, s, z) }", {"w": np.zeros((4, 2, 3, 3), i8)}, 4 * 6 * 4 * 18),
    ("(uint8[2,3] x) => (uint8 y) { y = M.QLinearAdd(x, s, z, x, s, z, t, z) }", {}, 0),
    ("(uint8[2,3] x, uint8[4,1,3] v) => (uint8 y) { y = M.QLinearMul(x, s, z, v, s, z, t, z) }", {}, 0),
    ("(uint8[2,3] x) => (uint8 y) { y = M.QLinearSigmoid(x, s, z, t, z) }", {}, 0),
    ("(uint8[2,3] x) => (uint8 y) { y = M.QLinearLeakyRelu<alpha=0.1>(x, s, z, t, z) }", {}, 0),
    ("(uint8[2,3] x) => (uint8 y) { y = M.QLinearSoftmax<axis=1, opset=13>(x, s, z, t, z) }", {}, 0),
    ("(uint8[2,3] x, uint8[2,5] v) => (uint8 y) { y = M.QLinearConcat<axis=1>(s, z, x, s, z, v, t, z) }", {}, 0),
    ("(uint8[1,2,7,9] x) => (uint8 y) { y = M.QLinearAveragePool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x, s, z, t, z) }", {}, 0),
    ("(uint8[1,2,7,9] x) => (uint8 y) { y = M.QLinearAveragePool<kernel_shape=[2,2], strides=[3,3], ceil_mode=1>(x, s, z, t, z) }", {}, 0),
    ("(uint8[1,7,9,2] x) => (uint8 y) { y = M.QLinearAveragePool<kernel_shape=[3,2], channels_last=1>(x, s, z, t, z) }", {}, 0),
    ("(uint8[1,2,7,9] x) => (uint8 y) { y = M.QLinearGlobalAveragePool(x, s, z, t, z) }", {}, 0),
    ("(uint8[1,7,9,2] x) => (uint8 y) { y = M.QLinearGlobalAveragePool<channels_last=1>(x, s, z, t, z) }", {}, 0),
    ("(uint8[1,7,9,2] x) => (uint8 y) { y = M.NhwcMaxPool<kernel_shape=[3,3], strides=[2,2]>(x) }", {}, 0),
    ("(float[2,3] x) => (uint8 q, float y) { q = M.QuantizeLinear(x, s, z) y = M.DequantizeLinear(q, s, z) }", {}, 0),
    ("(float[5,1,6] x) => (float y) { y, h, c = M.DynamicQuantizeLSTM<hidden_size=4>(x, w, r, , , , , , s1, z1, s1, z1) }",
     {"w": np.zeros((1, 6, 16), i8), "r": np.zeros((1, 4, 16), i8), "s1": np.ones(1, f), "z1": np.zeros(1, i8)}, 5 * 16 * 10),
    ('(float[5,3,6] x) => (float h) { , h = M.DynamicQuantizeLSTM<hidden_size=4, direction="bidirectional">(x, w, r, , , , , , s2, z2, s2, z2) }',
     {"w": np.zeros((2, 6, 16), i8), "r": np.zeros((2, 4, 16), i8), "s2": np.ones(2, f), "z2": np.zeros(2, i8)}, 5 * 3 * 2 * 16 * 10),
    ("(uint8[2,5,8] x) => (float y) { y = M.QAttention<num_heads=2>(x, w, b, s1, s1, , z1, z1) }",
     {"w": np.zeros((8, 24), u), "b": np.zeros(24, f), "s1": np.array(1, f), "z1": np.array(0, u)}, 2 * 5 * (8 * 24 + 5 * 16)),
    ("(float[3,32] x) => (float y) { y = M.MatMulNBits<K=32, N=5, bits=4, block_size=32>(x, w, sc) }",
     {"w": np.zeros((5, 1, 16), u), "sc": np.ones((5, 1), f)}, 3 * 32 * 5),
]  # fmt: skip
FUSED = [
    ("(float[3,4] x) => (float y) { y = M.FusedMatMul<alpha=0.5>(x, w) }", {"w": np.zeros((4, 5), f)}, 60),
    ("(float[4,3] x) => (float y) { y = M.FusedMatMul<transA=1, transB=1>(x, w) }", {"w": np.zeros((5, 4), f)}, 60),
    ("(float[2,7,4,3] x) => (float y) { y = M.FusedMatMul<transA=1>(x, w) }", {"w": np.zeros((2, 7, 4, 5), f)}, 14 * 60),
    ("(float[3,2,7,4] x) => (float y) { y = M.FusedMatMul<transBatchA=1>(x, w) }", {"w": np.zeros((2, 7, 4, 5), f)}, 14 * 60),
    ('(float[3,4] x) => (float y) { y = M.FusedGemm<activation="Relu">(x, w, b) }', {"w": np.zeros((4, 5), f), "b": np.zeros(5, f)}, 60),
    ('(float[1,3,8,8] x) => (float y) { y = M.FusedConv<activation="Relu", pads=[1,1,1,1]>(x, w) }', {"w": np.zeros((4, 3, 3, 3), f)}, 6912),
    ("(float[2,3] x) => (float y) { a = M.Gelu(x) b = M.FastGelu(a) y = M.QuickGelu(b) }", {}, 0),
    ("(float[2,3] x) => (float y) { y = M.BiasGelu(x, b) }", {"b": np.zeros(3, f)}, 0),
    ("(float[1,2,8] x) => (float y, float all) { y, , , all = M.SkipLayerNormalization(x, x, g, g) }", {"g": np.ones(8, f)}, 0),
    ("(float[1,2,8] x) => (float y) { y = M.SkipSimplifiedLayerNormalization(x, x, g) }", {"g": np.ones(8, f)}, 0),
    ("(float[2,5,8] x) => (float y) { y = M.Attention<num_heads=2>(x, w, b) }", {"w": np.zeros((8, 24), f), "b": np.zeros(24, f)}, 2 * 5 * (8 * 24 + 5 * 16)),
    ("(float[2,5,8] x, float[2,7,8] k, float[2,7,6] v) => (float y) { y = M.MultiHeadAttention<num_heads=2>(x, k, v) }", {}, 2 * 5 * 7 * 14),
    ("(int32[2,5] x) => (float y) { y, m = M.EmbedLayerNormalization(x, , e, p, , g, g) }", {"e": np.zeros((9, 8), f), "p": np.zeros((9, 8), f), "g": np.ones(8, f)}, 0),
]  # fmt: skip


@pytest.mark.parametrize(("text", "weights", "macs"), [*QUANTISED, *FUSED])
def test_onnxruntime_s_own_have_their_sizes_and_products(tmp_path, text, weights, macs):
    path = saved(tmp_path, text.replace("M.", f"{M}."), weights={**Q, **weights})
    assert onnx_macs(path) == macs
    found = differences(path)
    known = {"macs", "macs by layer"} if "Attention" in text or "NBits" in text or "trans" in text else set()
    assert found.keys() <= known, found


BEHIND = [
    "y = Reshape(h, s)",
    "y = Transpose(h)",
    "y = Relu(h)",
    "c = Concat<axis=0>(h, x) y = Relu(c)",
    "n = Shape(h) y = Reshape(x, n)",
    "y = Gather(h, at)",
    "y = MatMul(h, w)",
    "q = SplitToSequence(h) y = SequenceAt(q, at)",
    "y = Expand(h, s)",
    "y = ReduceMean(h)",
    "y = Slice(h, a1, a2)",
    "y = Where(q, h, x) q = Greater(x, x)",
]


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("kind", ["acme.Magic", f"{M}.Sampling"])
def test_another_s_is_named_and_what_is_behind_it_is_not_called_wrong(tmp_path, behind, kind):
    if behind.startswith("y = Where"):
        behind = "q = Greater(x, x) y = Where(q, h, x)"
    weights = {
        "s": np.array([5, 4]),
        "at": np.array(0),
        "w": np.zeros((4, 2), f),
        "a1": np.array([0]),
        "a2": np.array([1]),
    }
    text = f"(float[5,4] x) => (float y) {{ h = {kind}<size=3>(x) {behind} }}"
    path = saved(tmp_path, text, weights=weights, domains={"acme": 1})
    named = rf"\({kind.replace('.', '::', 1) if kind.startswith('acme') else 'com.microsoft::Sampling'}\)"
    with pytest.raises(ValueError, match=f"{named}: there is no rule for how many multiplications"):
        onnx_macs(path)
    with pytest.raises(ValueError, match=rf"{named}"):
        onnx_tensors(path)
    assert next(row["size"] for row in onnx_attributes(path) if row["operator"] in kind) == 3


def test_a_function_of_the_file_s_own_is_no_foreign_operator(tmp_path):
    from onnx import parser

    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "acme": 1]> g (float[5,4] x) => (float y) { y = acme.Magic(x) } '
        '<opset_import: ["": 17], domain: "acme"> Magic (a) => (b) { t = Transpose(a) b = MatMul(a, t) }'
    )
    path = tmp_path / "own.onnx"
    path.write_bytes(model.SerializeToString())
    assert onnx_macs(path) == 100
