"""Indices that a graph computes: what is folded of them is what onnxruntime makes, in every width."""

import numpy as np
import onnx
import pytest
from onnx import helper

from reference._tiling.budget import Budget
from reference._tiling.constant_ops import folded
from reference._tiling.runtimes import RefusedError, by_onnxruntime
from reference._tiling.values import OutsideError
from tests.helpers.soak import sampled

OPSET = 18
WIDTHS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
CASES = sampled(range(400), every=40)


def whole(rng, width):
    """Small numbers, and such as overflow."""
    limits = np.iinfo(width)
    low, high = (limits.min, limits.max) if rng.random() < 0.5 else (0, 7)
    return rng.integers(low, high, (3,), dtype=width)


def halves(rng):
    values = np.round(rng.standard_normal(3) * 10.0 ** rng.integers(-1, 12) * 2) / 2
    return values.astype(rng.choice([np.float32, np.float64]))


def nodes(rng):
    width = WIDTHS[rng.integers(len(WIDTHS))]
    one, other = whole(rng, width), rng.integers(1, 6, 3).astype(width)
    at = {"axis": 0, "keepdims": int(rng.integers(2)), "select_last_index": int(rng.integers(2))}
    to = helper.np_dtype_to_tensor_dtype(np.dtype(width))
    return [
        ("Pow", [one, other], {}),
        ("Mod", [one, other], {"fmod": int(rng.integers(2))}),
        ("BitShift", [one, other], {"direction": rng.choice([b"LEFT", b"RIGHT"])}),
        *((f"Bitwise{word}", [one, other], {}) for word in ("And", "Or", "Xor")),
        ("BitwiseNot", [one], {}),
        ("ArgMax", [one], at),
        ("ArgMin", [halves(rng)], at),
        ("Round", [halves(rng)], {}),
        ("Cast", [halves(rng)], {"to": to}),
        ("Cast", [halves(rng)], {"to": onnx.TensorProto.BOOL}),
    ]


def of_onnxruntime(op, operands, attributes):
    feeds = {f"c{place}": operand for place, operand in enumerate(operands)}
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), [3]) for n, v in feeds.items()]
    node = helper.make_node(op, list(feeds), ["y"], **attributes)
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    return by_onnxruntime(model.SerializeToString(), feeds)["y"]


@pytest.mark.parametrize("seed", CASES)
def test_what_is_folded_is_what_onnxruntime_computes(seed):
    compared = 0
    for op, operands, attributes in nodes(np.random.default_rng(seed)):
        try:
            (made,) = folded(op, operands, attributes, OPSET, Budget(10), 1)
            wanted = of_onnxruntime(op, operands, attributes)
        except (OutsideError, RefusedError):
            continue
        compared += 1
        assert made.dtype == wanted.dtype, (op, operands, attributes)
        np.testing.assert_array_equal(made, wanted, str((op, operands, attributes)))
    assert compared
