"""Layers by their calls: torch.fx and its propagation of shapes are the second witness."""

import pytest
import torch
from helpers.direct import COURSE
from reference.subjects import Given
from torch import fx, nn
from torch.fx.passes.shape_prop import ShapeProp

from labgrade.subjects.models import Subject
from reference import leaf_calls as calls
from reference._leaves import leaves

RESNET = Subject(model="torchvision/resnet50", shape=(1, 3, 64, 64))


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True))
        self.act = nn.ReLU(inplace=True)
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        x = self.act(self.act(self.body(x)) + 1)
        return self.last(x.mean((2, 3)))


TWICE = Given(Twice, (2, 3, 8, 8))


def witness(subject):
    """Name, input, output and parameters of each node of a module's."""
    module, x = subject.with_weights()
    traced = fx.symbolic_trace(module.eval())
    ShapeProp(traced).propagate(x)
    nodes = [node for node in traced.graph.nodes if node.op == "call_module"]
    for number, node in enumerate(nodes, 1):
        layer = traced.get_submodule(node.target)
        shapes = [list(each.meta["tensor_meta"].shape) for each in (node.args[0], node)]
        yield f"{type(layer).__name__}_{number}", *shapes, sum(each.numel() for each in layer.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("subject", [TWICE, Subject(model="torchvision/squeezenet1_1", shape=(2, 3, 64, 48))])
def test_the_calls_are_those_that_fx_propagates_shapes_through(subject):
    rows = calls.leaf_calls(subject)
    assert [(row["layer"], row["input"], row["output"], row["parameters"]) for row in rows] == list(witness(subject))


def test_the_numbers_of_resnet():
    """Published figures: 158 calls, 174 with containers, 126 modules; 17 of them in place, in 49 calls."""
    rows = calls.leaf_calls(RESNET)
    assert len(rows) == 158
    assert [rows[at]["layer"] for at in (0, 155, 156, 157)] == [
        "Conv2d_1", "ReLU_156", "AdaptiveAvgPool2d_157", "Linear_158",
    ]  # fmt: skip
    assert calls.leaf_calls_with_containers(RESNET)[172]["layer"] == "AdaptiveAvgPool2d_173"
    assert len(calls.leaf_calls_once(RESNET)) == 126
    assert calls.leaf_calls_batch_unknown(RESNET)[-1]["output"] == [-1, 1000]
    assert (calls.in_place_modules(RESNET), calls.in_place_calls(RESNET)) == (17, 49)
    assert calls.in_place_modules_at_the_top(RESNET) == 1
    assert list(leaves("resnet50", (1, 3, 64, 64))) == [row["layer"] for row in rows]


def test_what_works_in_place_is_counted_by_modules_and_by_calls():
    assert (calls.in_place_modules(TWICE), calls.in_place_calls(TWICE)) == (2, 3)
    assert calls.in_place_calls_once(TWICE) == 2


def test_what_hands_its_input_on_is_not_in_place():
    def build():
        writes, shaped = nn.ReLU(inplace=True), nn.Unflatten(1, (2, 2))
        return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Identity(), writes, shaped, nn.Flatten()).eval()

    subject = Given(build, (3, 4))
    assert (calls.in_place_calls(subject), calls.in_place_calls_by_memory(subject)) == (1, 5)
    network, found = build(), []
    for layer in network:
        layer.register_forward_hook(lambda _, given, made: found.append(given[0].data_ptr() == made.data_ptr()))
    with torch.no_grad():
        network(torch.ones(3, 4))
    assert sum(found) == 5


class Beside(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.less = nn.Conv2d(3, 4, 3, 2), nn.Conv2d(3, 4, 1, 2)

    def forward(self, x):
        return self.own(x)[:, :, :1, :1] + self.less(x)


def test_a_layer_beside_a_block_gets_what_the_row_before_put_out():
    subject = Given(Beside, (2, 3, 8, 8))
    own, slip = ([row["input"] for row in of(subject)] for of in (calls.leaf_calls, calls.leaf_calls_chained))
    assert (own, slip) == ([[2, 3, 8, 8]] * 2, [[2, 3, 8, 8], [2, 4, 3, 3]])


@pytest.mark.parametrize("call", [1, 152, 157])
def test_a_layer_by_itself_is_that_of_the_network(call):
    """The course's network of one layer against the witness, which goes by the calls of a pass."""
    shape, of = ((1, 3, 64, 64), RESNET) if call == 1 else ((1, {152: 512, 157: 2048}[call], 2, 2), RESNET)
    options = {"call": call}
    alone = Subject(model="layers/leaf", shape=shape, options=options, code=COURSE.code_of("layers/leaf"))
    module, x = alone.with_weights()
    row = calls.leaf_calls(of)[call - 1]
    assert (type(module).__name__, list(x.shape)) == (row["type"], row["input"])
    with torch.no_grad():
        assert list(module.eval()(x).shape) == row["output"]
