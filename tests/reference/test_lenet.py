"""LeNet is known by its layers, in each of its versions; other small networks are not taken for it."""

import pytest
from onnx import TensorProto, helper

from labgrade.subjects import onnx_small
from reference.onnx_nodes import onnx_lenet

POOL, RELU, FLAT = "MaxPool", "Tanh", "Flatten"


def written(path, *layers):
    """A file of these layers: (out, in, kernel) a convolution, (out, in) a dense one, or an operator's name."""
    nodes, weights, value = [], [], "x"
    for place, layer in enumerate(layers):
        made = f"v{place}"
        if isinstance(layer, str):
            nodes.append(
                helper.make_node(layer, [value], [made], **({"kernel_shape": [2, 2]} if "Pool" in layer else {}))
            )
        else:
            dims = [*layer[:2], *([layer[2]] * 2 if len(layer) > 2 else [])]
            weights.append(helper.make_tensor(f"w{place}", TensorProto.FLOAT, dims, b"\0" * 4 * _size(dims), raw=True))
            nodes.append(helper.make_node("Conv" if len(layer) > 2 else "Gemm", [value, f"w{place}"], [made]))
        value = made
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", value)]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString())
    return path


def _size(dims):
    whole = 1
    for each in dims:
        whole *= each
    return whole


FIVE = ((6, 1, 5), RELU, "AveragePool", (16, 6, 5), RELU, "AveragePool")


@pytest.mark.parametrize(
    ("layers", "name"),
    [
        ((*FIVE, FLAT, (120, 400), RELU, (84, 120), RELU, (10, 84)), "LeNet-5"),
        ((*FIVE, (120, 16, 5), RELU, FLAT, (84, 120), (10, 84), "Softmax"), "LeNet-5"),
        (((20, 1, 5), POOL, (50, 20, 5), POOL, FLAT, (500, 800), "Relu", (10, 500)), "Caffe's LeNet"),
        (((4, 1, 5), POOL, (6, 4, 5), POOL, (8, 6, 7), "Relu", (10, 8, 1)), "the LeNet of the tutorials"),
        (((32, 1, 5), POOL, (64, 32, 5), POOL, FLAT, (100, 1024), (10, 100)), "LeNet, in other sizes"),
    ],
)
def test_versions_of_lenet_are_for_a_person(tmp_path, layers, name):
    (found,) = onnx_lenet(written(tmp_path / "m.onnx", *layers))
    assert found["says"].endswith(f"these are the layers of {name}")
    assert not found["certain"]


@pytest.mark.parametrize(
    "layers",
    [
        ((8, 1, 3), POOL, (16, 8, 3), POOL, FLAT, (10, 400)),
        ((6, 1, 5), POOL, (16, 6, 5), POOL, FLAT, (10, 400)),
        ((6, 1, 5), "BatchNormalization", POOL, (16, 6, 5), POOL, FLAT, (84, 400), (10, 84)),
        ((6, 1, 5), POOL, (16, 6, 5), "GlobalAveragePool", FLAT, (84, 16), (10, 84)),
        ((6, 1, 5), POOL, (16, 6, 5), POOL, (32, 16, 3), POOL, FLAT, (10, 84)),
        ((128, 784), "Relu", (64, 128), "Relu", (10, 64)),
    ],
)
def test_other_networks_are_none(tmp_path, layers):
    assert onnx_lenet(written(tmp_path / "m.onnx", *layers)) == []


def test_labgrades_own_lenet_is_one(tmp_path):
    onnx_small.make("lenet", tmp_path / "m.onnx")
    assert len(onnx_lenet(tmp_path / "m.onnx")) == 1
    onnx_small.make("pools", tmp_path / "m.onnx")
    assert onnx_lenet(tmp_path / "m.onnx") == []
