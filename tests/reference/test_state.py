"""Parameters and bytes against a state_dict's own arithmetic and the size of a saved file."""

import pytest
from torch import nn

from reference.state import buffer_bytes, buffers, parameters, weight_bytes
from tests.reference.subjects import Given, torchvision


def tied():
    net = nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False))
    net[1].weight = net[0].weight
    return net


def half_frozen():
    net = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    net[0].requires_grad_(requires_grad=False)
    return net


@pytest.mark.parametrize("name", ["googlenet", "densenet121", "vit_b_32", "mobilenet_v3_small"])
def test_a_state_dict_holds_the_same(name):
    subject = torchvision(name)
    module, _ = subject.on_meta()
    buffer_names = {name for name, _ in module.named_buffers()}
    state = module.state_dict()
    assert buffer_names <= state.keys()
    assert sum(t.numel() for name, t in state.items() if name not in buffer_names) == parameters(subject)
    assert sum(t.numel() for name, t in state.items() if name in buffer_names) == buffers(subject)
    assert sum(t.numel() * t.element_size() for t in state.values()) == weight_bytes(subject, buffers=True)


def test_published_figures():
    assert parameters(torchvision("googlenet")) == 6_624_904
    assert weight_bytes(torchvision("googlenet")) == 26_499_616
    assert parameters(torchvision("alexnet")) == 61_100_840
    assert weight_bytes(torchvision("alexnet")) == 244_403_360
    assert (buffers(torchvision("densenet121")), buffer_bytes(torchvision("densenet121"))) == (83_769, 335_560)
    assert weight_bytes(torchvision("vit_b_16")) == 346_270_624


def test_by_hand():
    subject = Given(lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), (1, 3, 8, 8))
    assert parameters(subject) == 4 * 27 + 4 + 8
    assert buffers(subject) == 4 + 4 + 1
    assert buffer_bytes(subject) == 4 * 8 + 8
    assert weight_bytes(subject) == 4 * 120
    assert weight_bytes(subject, buffers=True) == 480 + 40


def test_a_shared_weight_counts_once():
    assert parameters(Given(tied, (1, 8))) == 64
    assert weight_bytes(Given(tied, (1, 8))) == 256


def test_frozen_and_trainable_add_up():
    subject = Given(half_frozen, (1, 8))
    found = {which: parameters(subject, which=which) for which in ("all", "trainable", "frozen")}
    assert found == {"all": 36 + 8 + 10, "trainable": 18, "frozen": 36}


def test_a_half_takes_two_bytes():
    assert weight_bytes(Given(lambda: nn.Linear(8, 4, bias=False).half(), (1, 8))) == 64


def test_nothing_has_nothing():
    subject = Given(nn.ReLU, (1, 8))
    assert (parameters(subject), buffers(subject), buffer_bytes(subject), weight_bytes(subject)) == (0, 0, 0, 0)
