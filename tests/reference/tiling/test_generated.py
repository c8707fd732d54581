"""A sample of the generated graphs that `make proof` runs whole: right ones are proved and run, wrong ones are not."""

import zlib

import numpy as np
import pytest
from onnx import helper, numpy_helper

from tests.helpers.soak import sampled
from tests.reference.tiling import right_torch, right_wholes
from tests.reference.tiling.right_ways import WAYS
from tests.reference.tiling.tally import verdict
from tests.reference.tiling.written import NETWORKS, Writer, usual
from tests.reference.tiling.wrong_kinds import KINDS, is_wrong

pytestmark = pytest.mark.slow

assert right_wholes  # it adds its ways
_ORIGINALS = {}
ONE_OF = 4  # `make proof` runs all, on every network


def original_of(network):
    if network not in _ORIGINALS:
        _ORIGINALS[network] = NETWORKS[network]()
    return _ORIGINALS[network]


def network_of(name):
    """One of the networks for each way, another one for each."""
    names = sorted(NETWORKS)
    return names[zlib.crc32(name.encode()) % len(names)]


@pytest.mark.parametrize("name", sorted(WAYS)[::ONE_OF])
def test_a_right_way_is_proved_and_runs(name):
    original = original_of(network_of(name))
    assert verdict(WAYS[name](original), original) == ("CORRECT", "")


def test_there_are_enough_ways():
    assert len(WAYS) >= 150


@pytest.mark.parametrize("case", sampled(["script in_place", "script padded", "dynamo in_place", "dynamo padded"], 3))
def test_what_pytorch_exports_is_proved(case):
    exporter, style = case.split()
    pytest.importorskip("onnxscript")
    for _, submitted, original in right_torch.cases((style,), exporters=(exporter,), sizes=(100, 70), batch=2):
        assert verdict(submitted, original) == ("CORRECT", "")


@pytest.mark.parametrize("name", sorted(KINDS)[::ONE_OF])
def test_a_wrong_kind_is_never_called_right(name):
    original = original_of(network_of(name) if not name.startswith("rest conv") else "classifier")
    submitted = KINDS[name](original)
    if submitted is not None and is_wrong(name, submitted, original):
        assert verdict(submitted, original)[0] in ("INCORRECT", "MANUAL")


def test_there_are_enough_kinds():
    assert len(KINDS) >= 150


def test_what_is_wrong_in_a_branch_that_may_not_be_taken_is_no_mistake():
    """Which branch is taken depends on the input; one of them can't run on it."""
    original = original_of("mlp")
    submitted = Writer(original).model(usual)
    relu = next(node for node in submitted.graph.node if node.op_type == "Relu")
    x, y = relu.input[0], relu.output[0]
    submitted.graph.initializer.append(numpy_helper.from_array(np.asarray([7], np.int64), "seven"))
    branches = [
        helper.make_graph([helper.make_node(*node)], "b", [], [helper.make_tensor_value_info(node[2][0], 1, None)])
        for node in (("Relu", [x], ["then"]), ("Reshape", [x, "seven"], ["else"]))
    ]
    look = helper.make_node("ReduceMax", [x], ["most"], keepdims=0, name="most")
    more = helper.make_node("Greater", ["most", "zero"], ["is_more"], name="more")
    submitted.graph.initializer.append(numpy_helper.from_array(np.asarray(-1e9, np.float32), "zero"))
    choice = helper.make_node("If", ["is_more"], [y], then_branch=branches[0], else_branch=branches[1], name="choice")
    place = list(submitted.graph.node).index(relu)
    submitted.graph.node.remove(relu)
    for offset, node in enumerate((look, more, choice)):
        submitted.graph.node.insert(place + offset, node)
    assert verdict(submitted, original)[0] == "MANUAL"
