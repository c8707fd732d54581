"""Layer tables and outputs against torchinfo, published totals, and hooks on a real run."""

import importlib.util
import re
from functools import cache

import pytest
import torch
from torch import nn

from reference.layers import activation_bytes, layer_shapes, module_output_shapes, module_outputs
from tests.reference.subjects import Forward, Given, Once, torchvision

pytestmark = pytest.mark.slow

NEEDS_TORCHINFO = pytest.mark.skipif(not importlib.util.find_spec("torchinfo"), reason="torchinfo is not installed")


def summary(subject, **options):
    import torchinfo

    module, x = subject.on_meta()
    return torchinfo.summary(module, input_data=x, verbose=0, device="meta", **options)


@cache  # two tests look at each
def both(name):
    """The table of labgrade, and that of torchinfo."""
    subject = Once(torchvision(name))
    return layer_shapes(subject), summary(subject).summary_list


# One of each family: containers that are never called, modules called twice, outputs that are tuples.
FAMILIES = [
    *("alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "googlenet", "inception_v3", "maxvit_t"),
    *("mnasnet0_5", "mobilenet_v3_small", "regnet_y_400mf", "resnet18", "resnext50_32x4d", "shufflenet_v2_x0_5"),
    *("squeezenet1_0", "swin_t", "swin_v2_t", "vgg11_bn", "vit_b_32"),
]


@NEEDS_TORCHINFO
@pytest.mark.parametrize("name", FAMILIES)
def test_every_row_of_torchinfo_is_there_under_its_name(name):
    rows, shown = both(name)
    by_name = {alias: row for row in rows for alias in row["also_named"]}
    for info in shown:
        for with_variable in (False, True):
            row = by_name[info.get_layer_name(with_variable, True)]  # noqa: FBT003
            assert row["type"] == info.class_name
            assert row["parameters"] == info.num_params
            assert row["output_shape"] == (info.output_size or None)
    assert [row["also_named"][0] for row in rows] == [info.get_layer_name(False, True) for info in shown]  # noqa: FBT003


@NEEDS_TORCHINFO
@pytest.mark.parametrize("name", FAMILIES)
def test_what_torchinfo_prints_as_a_containers_parameters_is_right_too(name):
    rows, shown = both(name)
    by_name = {alias: row for row in rows for alias in row["also_named"]}
    for info in shown:
        row = by_name[info.get_layer_name(False, True)]  # noqa: FBT003
        printed = info.num_params_to_str(reached_max_depth=False)
        if printed != "--":
            right = {row["parameters"], *row["also_right"].get("parameters", ())}
            assert int(printed.replace(",", "")) in right, row["layer"]


@NEEDS_TORCHINFO
@pytest.mark.parametrize("depth", [1, 2, 3, 20])
def test_torchinfo_numbers_its_rows_alike_at_every_depth(depth):
    subject = torchvision("googlenet")
    printed = re.findall(r"(\w+: \d+-\d+)", str(summary(subject, depth=depth)))
    expected = [row["also_named"][0] for row in layer_shapes(subject) if row["layer"].count(".") < depth][1:]
    assert printed == expected
    assert ("BasicConv2d: 3-70" in printed) == (depth >= 3)


def test_torchsummary_numbers_what_is_neither_root_nor_sequential_nor_list_as_it_ends():
    subject = Given(
        lambda: Forward(
            lambda self, x: self.last(self.pair(x)),
            pair=nn.Sequential(nn.Conv2d(1, 1, 1), Forward(lambda self, x: self.act(x), act=nn.ReLU())),
            last=nn.ModuleList([nn.Identity()]).append(nn.ReLU())[1],
        ),
        (1, 1, 4, 4),
    )
    rows = layer_shapes(subject)
    assert {row["layer"]: [name for name in row["also_named"] if re.fullmatch(r"\w+-\d+", name)] for row in rows} == {
        "Forward": [],
        "pair": [],
        "pair.0": ["Conv2d-1"],
        "pair.1": ["Forward-3"],
        "pair.1.act": ["ReLU-2"],
        "last": ["ReLU-4"],
    }


def test_a_containers_row_may_say_nothing_its_own_or_what_is_left():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))
            self.never_called = nn.Linear(2, 2)
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            return self.layer(x) * self.scale.sum() + self.never_called.bias.sum()

    scaled, layer = layer_shapes(Given(Scaled, (1, 4)))
    assert (scaled["parameters"], scaled["also_right"]) == (29, {"parameters": [0, 3, 9]})
    assert (layer["parameters"], layer["also_right"]) == (20, {})


def test_rows_of_googlenet():
    rows = layer_shapes(torchvision("googlenet"))
    leaves = [row for row in rows if not row["optional"]]
    assert len(rows) == 224
    assert sum(row["parameters"] for row in leaves) == rows[0]["parameters"] == 6_624_904
    assert rows[0] | {"also_named": []} == {
        "layer": "GoogLeNet",
        "type": "GoogLeNet",
        "parameters": 6_624_904,
        "output_shape": [1, 1000],
        "also_named": [],
        "also_right": {"parameters": [0]},
        "optional": True,
    }
    assert rows[0]["also_named"] == ["GoogLeNet", "GoogLeNet (GoogLeNet)", ""]
    assert [row["output_shape"][2] for row in leaves if row["layer"].startswith("maxpool")] == [56, 28, 14, 7]
    assert rows[2]["also_named"] == ["Conv2d: 2-1", "Conv2d (conv): 2-1", "Conv2d-1"]


def test_a_layer_called_again_has_a_numbered_row():
    rows = layer_shapes(torchvision("resnet18"))
    names = [row["layer"] for row in rows]
    assert len(set(names)) == len(names)
    assert "layer1.0.relu" in names
    assert "layer1.0.relu#2" in names
    assert "layer1.0.relu#3" not in names


def test_a_shared_layer_is_also_known_by_its_other_name():
    def make():
        layer = nn.Linear(4, 4)
        return nn.Sequential(layer, layer)

    rows = layer_shapes(Given(make, (1, 4)))
    assert [row["layer"] for row in rows] == ["Sequential", "0", "0#2"]
    assert all("1" in row["also_named"] for row in rows[1:])
    assert rows[0]["parameters"] == 20


def test_a_container_that_is_never_called_has_an_open_shape():
    subject = Given(
        lambda: Forward(lambda self, x: self.steps[1](self.steps[0](x)), steps=nn.ModuleList([nn.ReLU(), nn.Tanh()])),
        (1, 4),
    )
    rows = layer_shapes(subject)
    assert [(row["layer"], row["output_shape"], row["optional"]) for row in rows] == [
        ("Forward", [1, 4], True),
        ("steps", None, True),
        ("steps.0", [1, 4], False),
        ("steps.1", [1, 4], False),
    ]


@NEEDS_TORCHINFO
def test_a_silent_container_that_the_run_comes_back_to_has_one_row_and_all_its_names():
    def make():
        deep = nn.ModuleList([nn.ReLU(), nn.Tanh()])
        outer = nn.ModuleList([deep])
        return Forward(lambda self, x: self.outer[0][1](self.act(self.outer[0][0](x))), outer=outer, act=nn.ReLU())

    subject = Given(make, (1, 4))
    rows = layer_shapes(subject)
    assert [row["layer"] for row in rows] == ["Forward", "outer", "outer.0", "outer.0.0", "act", "outer.0.1"]
    shown = [info.get_layer_name(False, True) for info in summary(subject, depth=9).summary_list]  # noqa: FBT003
    assert shown.count("ModuleList: 2-2") == 2
    ours = {name for row in rows for name in row["also_named"] if ": " in name and "(" not in name}
    assert ours == set(shown) - {"Forward"}


def test_a_single_layer_is_a_row_that_counts():
    assert [(row["layer"], row["optional"]) for row in layer_shapes(Given(lambda: nn.Linear(4, 2), (1, 4)))] == [
        ("Linear", False)
    ]


@pytest.mark.parametrize("name", ["squeezenet1_0", "resnet18", "mobilenet_v3_small", "vit_b_32", "shufflenet_v2_x0_5"])
def test_shapes_and_bytes_of_a_real_run(name):
    """The witness runs the model on the CPU, with hooks of its own and values."""
    subject = torchvision(name)
    module, x = subject.with_weights()
    seen = []

    def hook(module, _, output):
        tensor = output[0] if isinstance(output, tuple) else output
        seen.append((type(module).__name__, list(tensor.shape), tensor.nbytes, next(module.children(), None) is None))

    hooks = [child.register_forward_hook(hook) for child in module.modules()]
    with torch.no_grad():
        module(x)
    for handle in hooks:
        handle.remove()
    rows = [row for row in layer_shapes(subject) if row["output_shape"]]
    assert sorted((row["type"], row["output_shape"]) for row in rows) == sorted(
        (kind, shape) for kind, shape, *_ in seen
    )
    assert activation_bytes(subject) == sum(n for *_, n, leaf in seen if leaf)
    assert activation_bytes(subject, modules="all") == sum(n for *_, n, _ in seen)


@pytest.mark.parametrize(
    ("name", "leaf", "every", "top_level", "with_parameters"),
    [
        ("alexnet", 4_392_864, 4_437_728, 77_728, 1_976_736),
        ("googlenet", 31_491_360, 52_892_288, 13_321_376, 25_813_280),
        ("mobilenet_v2", 77_857_184, 107_117_792, 254_880, 53_428_896),
        ("resnet18", 29_910_944, 35_133_248, 11_947_936, 19_873_696),
        ("densenet121", 154_245_024, 165_287_744, 204_704, 90_270_624),
        ("vit_b_16", 125_274_016, 148_279_008, 1_211_296, 52_046_752),
        ("maxvit_t", 338_786_464, 456_206_304, 3_215_264, 194_937_376),
    ],
)
def test_published_activation_bytes(name, leaf, every, top_level, with_parameters):
    subject = torchvision(name)
    assert activation_bytes(subject) == leaf
    assert activation_bytes(subject, modules="all") == every
    assert activation_bytes(subject, modules="top_level") == top_level
    assert activation_bytes(subject, modules="leaf_with_parameters") == with_parameters


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1,
        lambda x: 2 * x,
        lambda x: x / x.new_ones(4, 1),
        lambda x: x - x.double(),
        lambda x: x.long() + 1,
        lambda x: x.long() / 2,
        lambda x: torch.add(x, x, alpha=2),
        lambda x: x * torch.tensor(2.0, device=x.device),
        lambda x: x.half() + x,
        lambda x: nn.functional.max_pool1d(x, 2, ceil_mode=True),
        lambda x: nn.functional.max_pool1d(x, 2, return_indices=True)[1],
        lambda x: nn.functional.avg_pool2d(x[None], 2, padding=1, stride=3, ceil_mode=True),
        lambda x: nn.functional.adaptive_avg_pool2d(x[None], (None, 2)),
        lambda x: nn.functional.softmax(x, -1),
        lambda x: nn.functional.gelu(x.double()),
        lambda x: x.flatten() @ x.flatten(),
    ],
)
def test_every_rules_output_is_as_large_as_the_real_one(function):
    subject = Given(lambda: Forward(lambda _, x: function(x)), (1, 4, 5))
    module, x = subject.with_weights()
    real = module(x)
    assert layer_shapes(subject)[0]["output_shape"] == list(real.shape)
    assert activation_bytes(subject) == real.nbytes


@pytest.mark.parametrize("shape", [(6, 16), (6, 2, 16)])
@pytest.mark.parametrize("averaged", [True, False])
def test_an_attentions_outputs_are_as_large_as_the_real_ones(shape, averaged):
    def attend(self, x):
        return self.of(x, x, x, average_attn_weights=averaged)

    subject = Given(lambda: Forward(attend, of=nn.MultiheadAttention(16, 4)), shape)
    module, x = subject.with_weights()
    assert activation_bytes(subject) == 0  # it holds a module, so it is no leaf
    assert activation_bytes(subject, modules="top_level") == sum(tensor.nbytes for tensor in module(x))


def test_in_place_modules_can_be_left_out():
    relu = 1_972_736  # all of AlexNet's are in place
    assert activation_bytes(torchvision("alexnet"), in_place=False) == 4_392_864 - relu
    assert activation_bytes(torchvision("alexnet", batch=2), in_place=False) == 2 * (4_392_864 - relu)
    assert activation_bytes(torchvision("vit_b_32"), in_place=False) == activation_bytes(torchvision("vit_b_32"))


BLOCK = Given(lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True)), (1, 3, 8, 8))


def test_outputs_are_those_of_the_layer_itself():
    module, x = BLOCK.with_weights()
    with torch.no_grad():
        convolved = torch.nn.functional.conv2d(x, module[0].weight, module[0].bias)
        normalised = module[1](convolved)
    outputs = module_outputs(BLOCK, layers=["Conv2d", "BatchNorm2d", "ReLU"])
    assert list(outputs) == ["0", "1", "2"]
    assert torch.equal(outputs["0"], convolved)
    assert torch.equal(outputs["1"], normalised)  # and not what the ReLU wrote over it
    assert torch.equal(outputs["2"], normalised.relu())


def test_outputs_of_googlenets_convolutions():
    subject = torchvision("googlenet", size=64)
    outputs = module_outputs(subject, layers=["Conv2d"])
    shapes = module_output_shapes(subject, layers=["Conv2d"])
    assert len(outputs) == len(shapes) == 57
    assert {name: list(tensor.shape) for name, tensor in outputs.items()} == {
        row["layer"]: row["output_shape"] for row in shapes
    }
    module, x = subject.with_weights()
    with torch.no_grad():
        first = module.conv1.conv(x)
    assert torch.equal(outputs["conv1.conv"], first)
    assert (outputs["conv1.conv"] < 0).any()
    assert not any(child._forward_hooks for child in module.modules())


def test_outputs_of_a_layer_called_twice():
    def make():
        layer = nn.Linear(4, 4)
        return nn.Sequential(layer, nn.ReLU(), layer)

    assert list(module_outputs(Given(make, (1, 4)), layers=["Linear"])) == ["0", "0#2"]


def test_unknown_layer_types_are_refused():
    for quantity in (module_outputs, module_output_shapes):
        with pytest.raises(ValueError, match=r"there is no layer type 'Conv'; did you mean 'Conv\dd'\?"):
            quantity(BLOCK, layers=["Conv"])
