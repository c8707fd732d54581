"""Every operator that ONNX defines has a rule for its products, takes none for a reason, or is refused by name."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, defs, helper

from reference._onnx.counted_nothing import NOTHING, REASONS, WITHOUT_RULE
from reference._onnx.microsoft import SHAPED
from reference._onnx.multiplications import RULES
from reference.onnx_macs import onnx_macs, onnx_macs_by_layer
from tests.reference.onnx_text import differences, saved

LISTED = {"rules": set(RULES), "nothing": set(NOTHING), "refused": set(WITHOUT_RULE)}


def test_each_operator_of_onnx_stands_in_one_list():
    """One that a new release brings fails here: look how it multiplies, then put it into one of the three."""
    known = set.union(*LISTED.values())
    defined = {(each.domain, each.name) for each in defs.get_all_schemas_with_history()}
    assert defined - known == set()
    assert {each for each in known if each[0] != "com.microsoft"} - defined == set()
    assert sum(map(len, LISTED.values())) == len(known)  # in one list only
    assert sum(len(names.split()) for names in REASONS.values()) == len(NOTHING)
    assert all(len(reason) > 20 for _, reason in REASONS) or [reason for _, reason in REASONS if len(reason) <= 20] == [
        "element by element"
    ]


def test_each_operator_of_onnxruntime_s_own_that_is_listed_is_there():
    state = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")
    there = {each.name for each in state.get_all_operator_schema() if each.domain == "com.microsoft"}
    listed = {name for names in LISTED.values() for domain, name in names if domain == "com.microsoft"}
    assert listed - there == set()
    assert listed >= SHAPED


@pytest.mark.parametrize(
    ("kind", "domain"), [*((name, domain) for domain, name in WITHOUT_RULE), ("Conv3", "com.microsoft"), ("X", "acme")]
)
def test_what_has_no_rule_is_refused_by_name(tmp_path, kind, domain):
    node = helper.make_node(kind, ["x"], ["y"], name="here", domain=domain)
    step = type("Step", (), {"node": node, "inputs": (), "outputs": ()})()
    from reference._onnx.multiplications import macs

    with pytest.raises(ValueError, match=rf"node 'here' \(.*{kind}\): there is no rule for how many multiplications"):
        macs(step)


@pytest.mark.parametrize(
    "text",
    [
        "(float[1,16,1] x) => (float y) { y = DFT<axis=1>(x) }",
        "(float[1,16,2] x) => (float y) { y = DFT<axis=1, inverse=1>(x) }",
        "(float[1,16,1] x) => (float y) { y = DFT<axis=1, onesided=1>(x) }",
        "(float[1,64,1] s, int64 step) => (float y) { y = STFT(s, step, , n) }",
        "(float[2,3,3] x) => (float y) { y = Det(x) }",
    ],
)
def test_transforms_are_refused_as_in_pytorch(tmp_path, text):
    path = saved(tmp_path, text, weights={"n": np.array(16)} if "STFT" in text else None)
    with pytest.raises(ValueError, match="there is no rule for how many multiplications this operator takes"):
        onnx_macs(path, inputs=["step=8"] if "STFT" in text else None)
    assert onnx_macs(path, operators=["Conv"], inputs=["step=8"] if "STFT" in text else None) == 0


@pytest.mark.parametrize("length", [1, 5, 10])
@pytest.mark.parametrize(("channels", "kernel"), [(6, 4), (1, 1), (3, 2), (8, 7)])
@pytest.mark.parametrize("state", [False, True])
def test_a_causal_convolution_with_a_state(tmp_path, length, channels, kernel, state):
    """Every channel by itself, as a Conv of as many groups on the state and the input behind each other."""
    names = ["x", "w", "", "state"] if state else ["x", "w"]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, channels, length])]
    if state:
        inputs.append(helper.make_tensor_value_info("state", TensorProto.FLOAT, [2, channels, kernel - 1]))
    graph = helper.make_graph(
        [helper.make_node("CausalConvWithState", names, ["y", "next"])],
        "g",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(np.zeros((channels, 1, kernel), np.float32), "w")],
    )
    path = tmp_path / "causal.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)]), path)
    assert onnx_macs(path) == 2 * channels * length * kernel
    assert [row["type"] for row in onnx_macs_by_layer(path)] == ["CausalConvWithState"]
    text = f"(float[2,{channels},{length + kernel - 1}] x) => (float y) {{ y = Conv<group={channels}>(x, w) }}"
    conv = saved(tmp_path, text, weights={"w": np.zeros((channels, 1, kernel), np.float32)})
    assert onnx_macs(path) == onnx_macs(conv)
    assert not differences(conv)


@pytest.mark.parametrize(
    ("query", "key", "value", "heads"),
    [
        ("2,3,5,8", "2,3,7,8", "2,3,7,10", None),
        ("1,1,1,4", "1,1,9,4", "1,1,9,4", None),
        ("2,6,5,8", "2,2,7,8", "2,2,7,8", None),  # groups of queries share keys
        ("2,5,24", "2,7,24", "2,7,30", (3, 3)),
        ("2,5,48", "2,7,16", "2,7,16", (6, 2)),
    ],
)
@pytest.mark.parametrize("causal", [0, 1])
def test_attention_takes_what_its_definition_takes(tmp_path, query, key, value, heads, causal):
    """The definition is onnx's own function, of MatMul and Softmax."""
    attributes = {"is_causal": causal, **({"q_num_heads": heads[0], "kv_num_heads": heads[1]} if heads else {})}
    infos = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, list(map(int, each.split(","))))
        for name, each in zip("qkv", (query, key, value), strict=True)
    ]
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], **attributes)
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    (one, other) = tmp_path / "one.onnx", tmp_path / "other.onnx"
    onnx.save(model, one)
    schema = defs.get_schema("Attention", 23)
    types = [each.type.SerializeToString() for each in infos]
    body = schema.get_context_dependent_function_with_opset_version(23, node.SerializeToString(), types)
    function = onnx.FunctionProto.FromString(body)
    function.domain = "own"
    node.domain = "own"
    model.functions.append(function)
    model.graph.node[0].CopyFrom(node)
    model.opset_import.append(helper.make_opsetid("own", 1))
    onnx.save(model, other)
    assert onnx_macs(one) == onnx_macs(other) > 0
