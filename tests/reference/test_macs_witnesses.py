"""MACs against two witnesses that share no code with them: torch's own counter, and what torchvision publishes."""

import pytest
import torch
from helpers.soak import sampled
from torch.utils.flop_counter import FlopCounterMode

from labgrade.subjects.models import Subject, import_torchvision
from reference.macs import flops, macs, macs_by_layer, macs_by_type
from reference.state import parameters
from tests.reference.subjects import NAMES, Once, torchvision

pytestmark = pytest.mark.slow

# The Swag weights were made for larger images than the model's default; Inception's count includes its auxiliary head.
AUXILIARY = {"inception_v3": {"aux_logits": True}}
models = import_torchvision().models
ENTRIES = [(name, entry) for name in NAMES for entry in models.get_model_weights(name)]


def size_of(meta):
    """The side of the images that an entry's figures were taken at: its crop, never the smallest that would do."""
    return meta.transforms.keywords["crop_size"]


@pytest.mark.parametrize("name", sampled(NAMES, 8))
def test_agrees_with_torchs_own_counter(name):
    subject = Once(torchvision(name))
    module, x = subject.on_meta()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(x)
    assert flops(subject) == counter.get_total_flops()


def test_every_published_entry_is_looked_at():
    assert len(NAMES) == 80
    assert len(ENTRIES) == 115


@pytest.mark.parametrize("entry", sampled([entry for _, entry in ENTRIES], 4), ids=str)
def test_agrees_with_torchvisions_published_figures(entry):
    name = next(name for name, each in ENTRIES if each is entry)
    size = size_of(entry.value)
    options = {"image_size": size} if name.startswith("vit_") else {}
    subject = torchvision(name, size=size, **options)
    assert round(macs(subject) / 1e9, 3) == entry.meta["_ops"]
    assert parameters(torchvision(name, size=size, **options, **AUXILIARY.get(name, {}))) == entry.meta["num_params"]


def test_inceptions_published_parameters_include_its_auxiliary_head():
    published = models.Inception_V3_Weights.IMAGENET1K_V1.meta["num_params"]
    assert parameters(torchvision("inception_v3")) == published - 3_326_696


def test_a_swag_transformer_needs_its_image_size():
    with pytest.raises(ValueError, match="VisionTransformer cannot take an input of shape"):
        macs(torchvision("vit_b_16", size=384))


@pytest.mark.parametrize("name", ["googlenet", "resnet50", "vit_b_16", "swin_t", "maxvit_t", "mobilenet_v3_small"])
def test_the_parts_add_up(name):
    subject = torchvision(name)
    total = macs(subject)
    assert sum(row["macs"] for row in macs_by_layer(subject)) == total
    assert sum(macs_by_type(subject).values()) == total
    costs = {"bias": True, "norm": "two_per_input", "pooling": "one_per_input", "activation": "one_per_output"}
    assert sum(row["macs"] for row in macs_by_layer(subject, **costs)) == macs(subject, **costs) > total


@pytest.mark.parametrize("name", ["googlenet", "resnext50_32x4d", "vit_b_32"])
def test_a_batch_costs_its_samples(name):
    assert macs(torchvision(name, batch=3)) == 3 * macs(torchvision(name))
    assert macs(torchvision(name, batch=3), per="sample") == macs(torchvision(name))


def test_what_does_not_depend_on_the_sample_is_done_once_a_batch():
    position_bias = 18_662_400
    one, two = macs(torchvision("swin_v2_t")), macs(torchvision("swin_v2_t", batch=2))
    assert two == 2 * one - position_bias
    assert macs(torchvision("swin_v2_t", batch=2), per="sample") == one


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        # (height, width) after each of the two convolutions, from 32 x 40
        ("dilated", (28, 36), (26, 34)),
        ("same_padding", (32, 40), (30, 38)),
        ("uneven_kernel", (16, 40), (14, 38)),
    ],
)
def test_micro_networks_by_hand(name, first, second):
    subject = Subject(model=f"micro/{name}", shape=(1, 3, 32, 40))
    kernel = {"dilated": 9, "same_padding": 15, "uneven_kernel": 7}[name]
    by_hand = first[0] * first[1] * 8 * 3 * kernel + second[0] * second[1] * 12 * 2 * 9 + 192 * 10
    assert macs(subject) == by_hand


def test_published_googlenet():
    subject = torchvision("googlenet")
    assert macs(subject) == macs(subject, layers=["Conv2d", "Linear"]) == 1_498_376_192
    assert flops(subject) == 2 * 1_498_376_192
    assert macs(subject, layers=["Conv2d", "Linear"], bias=True) == 1_498_377_192
    assert macs_by_type(subject, bias=True, norm="two_per_input", pooling="one_per_input") == {
        "Conv2d": 1_497_352_192,
        "BatchNorm2d": 6_452_320,
        "MaxPool2d": 2_875_712,
        "AdaptiveAvgPool2d": 50_176,
        "Linear": 1_025_000,
    }


def test_published_alexnet():
    assert macs_by_type(torchvision("alexnet")) == {"Conv2d": 655_566_528, "Linear": 58_621_952}
