"""Each slip gives the wrong value that it is known for, on the subject that it is known from."""

from itertools import combinations

import pytest
import torch
from helpers.soak import sampled
from torch import nn

from labgrade.core.subject import as_plain
from labgrade.diagnosis.networks import small_networks
from labgrade.subjects import models, networks, onnx_small
from reference import attention_slips, buffer_slips, layer_slips, slips
from reference._counting.engine import analyse
from reference._counting.wrong import AsIf, traced
from reference._slips import counts
from reference._slips.compose import SIZE, Composition, Part, Slip, WantedProducts
from reference.layers import layer_shapes, module_output_shapes, module_outputs
from reference.macs import macs
from reference.onnx_slip_products import (
    onnx_activation_bytes_slips,
    onnx_operator_total_slips,
    onnx_operator_types_slips,
)
from reference.state import parameters, weight_bytes
from tests.reference.subjects import Given, torchvision

pytestmark = pytest.mark.slow

GOOGLENET = torchvision("googlenet")
COUNTED = ["Conv2d", "Linear"]


def test_googlenets_published_wrong_values():
    assert slips.parameters_with_auxiliary_heads(GOOGLENET) == 13_004_888
    assert slips.macs_without_ceil_mode(GOOGLENET, layers=COUNTED) == 1_356_857_600
    assert slips.macs_without_ceil_mode(GOOGLENET, layers=["Conv2d"]) == 1_355_833_600
    assert slips.macs_without_ceil_mode(GOOGLENET, layers=["Linear"]) == 1_024_000
    assert slips.macs_without_ceil_mode(GOOGLENET, layers=COUNTED, bias=True) == 1_356_858_600


def test_parameter_slips():
    assert slips.parameters_and_buffers(GOOGLENET) == sum(
        t.numel() for t in GOOGLENET.on_meta()[0].state_dict().values()
    )
    assert slips.parameters_and_buffers(GOOGLENET) > parameters(GOOGLENET)
    assert slips.parameters_and_buffers(Given(lambda: nn.Linear(4, 4), (1, 4))) is None  # where there are no buffers
    half_frozen = Given(lambda: nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2).requires_grad_(False)), (1, 4))  # noqa: FBT003
    assert slips.parameters_trainable_only(half_frozen) == 20
    assert slips.parameters_with_auxiliary_heads(torchvision("resnet18")) is None


def norms():
    frozen = nn.Conv2d(3, 4, 3).requires_grad_(False)  # noqa: FBT003
    return nn.Sequential(frozen, nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 5, 1, bias=False))


NORMS = Given(norms, (2, 3, 9, 9))


def test_slips_of_buffers_and_of_frozen_parameters():
    state = sum(each.numel() for each in norms().state_dict().values())
    known = dict(buffer_slips.buffers_slips(NORMS)["values"])
    assert [known[name] for name in ("counters", "means", "parameters", "state")] == [8, 4, 112 + 8 + 20, state]
    known = dict(buffer_slips.buffer_bytes_slips(NORMS)["values"])
    assert [known[name] for name in ("elements", "four", "eight")] == [9, 36, 72]
    for which in ("trainable", "frozen"):
        assert dict(slips.parameters_slips(NORMS, which=which)["values"])["state"] == state


def half_of_a_layer_frozen():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 5, 1), nn.Linear(6, 2))
    net[0].bias.requires_grad_(False)  # noqa: FBT003
    net[1].weight.requires_grad_(False)  # noqa: FBT003
    return net


def test_a_layer_that_is_trainable_by_its_weight_as_torchsummary_has_it():
    half = Given(half_of_a_layer_frozen, (2, 3, 8, 8))
    net = half.with_weights()[0]
    by_weight = sum(sum(each.numel() for each in layer.parameters()) for layer in net if layer.weight.requires_grad)
    whole = sum(each.numel() for each in net.parameters())
    known = [dict(slips.parameters_slips(half, which=which)["values"])["by_first"] for which in ("trainable", "frozen")]
    assert known == [by_weight, whole - by_weight]
    assert by_weight != parameters(half, which="trainable")


class Pair(nn.Module):
    """A recurrent module whose output is a tensor."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 5, 2, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.rnn(x)[0]


def test_slips_of_a_recurrent_layer():
    held = {name: each.numel() for name, each in Pair().named_parameters()}
    weights = {name: each for name, each in held.items() if "weight" in name}
    known = dict(slips.macs_slips(Given(Pair, (3, 7, 6)))["values"])
    rows, right = 3 * 7, 3 * 7 * sum(weights.values())
    assert known[""] == right
    assert known["one_direction"] == rows * sum(each for name, each in weights.items() if "reverse" not in name)
    assert known["first_recurrent"] == rows * sum(each for name, each in weights.items() if "_l0" in name)
    assert known["hidden_weights"] == rows * sum(each for name, each in weights.items() if "_ih_" in name)
    assert known["recurrent_biases"] == rows * sum(held.values())
    assert known["one_step"] == right // 7
    assert known["other_gates"] == right * 4 // 3
    assert known["products"] == 0


def test_slips_of_attention_and_of_transposed_convolutions():
    attention = Given(lambda: small("Attention", width=8, heads=4), (3, 5, 8))
    projections, products = 4 * 15 * 64, 2 * 3 * 25 * 8
    known = dict(slips.macs_slips(attention)["values"])
    assert known[""] == projections + products
    assert known["half_of_attention"] == projections + products // 2
    assert known["heads_multiplied"] == projections + 4 * products
    assert known["one_sample_of_products"] == projections + products // 3
    assert known["kernel"] == known[""]  # products of tensors have none
    up = Given(lambda: nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1), (2, 4, 5, 6))
    known = dict(slips.macs_slips(up)["values"])
    assert known["transposed_by_output"] == 4 * known[""]
    assert known["transposed"] == 0


def small(kind, **options):
    return networks._own(kind)(**options)


def test_pairs_are_of_likely_slips_that_one_can_make_together():
    answer = slips.macs_slips(NORMS)
    assert {"groups+bias", "batch+products"} <= set(answer["pairs"])
    assert not {"bias+bias_always", "norm_once+norm_twice", "dilation+out_for_in"} & set(answer["pairs"])
    values = dict(slips.macs_slips(NORMS, among=answer["pairs"])["values"])
    single = dict(answer["values"])
    assert values["batch+bias"] == single["bias"] // 2


def test_an_end_of_the_size_of_another_part_is_told_by_no_number():
    alike = Given(lambda: nn.Sequential(*(nn.Linear(4, 4) for _ in range(3))), (1, 4))
    assert slips.macs_slips(alike)["by_chance"] == ["first_layer", "last_layer"]
    assert set(slips.parameters_slips(alike)["by_chance"]) == {
        *("last_layer", "first_layer", "last_tensor", "first_tensor")
    }
    assert slips.macs_slips(NORMS)["by_chance"] == []


def test_byte_slips():
    assert slips.weight_count_as_bytes(GOOGLENET) == 6_624_904
    assert slips.weight_bits(GOOGLENET) == 26_499_616 * 8
    assert slips.weight_bytes_at_eight(GOOGLENET) == 6_624_904 * 8
    assert slips.weight_mib_as_mb(GOOGLENET) == pytest.approx(25.272003173828125e6)
    assert slips.weight_mb_as_mib(GOOGLENET) == pytest.approx(26.499616 * 2**20)
    assert (
        len(
            {
                slip(GOOGLENET)
                for slip in (
                    weight_bytes,
                    slips.weight_count_as_bytes,
                    slips.weight_bits,
                    slips.weight_bytes_at_eight,
                    slips.weight_mib_as_mb,
                    slips.weight_mb_as_mib,
                )
            }
        )
        == 6
    )


def test_layer_table_slips():
    rows = layer_shapes(GOOGLENET)
    unknown = layer_slips.layer_shapes_batch_unknown(GOOGLENET)
    assert [row["output_shape"][1:] for row in unknown] == [row["output_shape"][1:] for row in rows]
    assert {row["output_shape"][0] for row in unknown} == {-1}
    without = layer_slips.layer_shapes_without_batch(GOOGLENET)
    assert [row["output_shape"] for row in without] == [row["output_shape"][1:] for row in rows]
    assert [row | {"output_shape": 0} for row in without] == [row | {"output_shape": 0} for row in rows]
    pools = [
        row["output_shape"][2]
        for row in layer_slips.layer_shapes_without_ceil_mode(GOOGLENET)
        if "maxpool" in row["layer"]
    ]
    assert pools == [55, 27, 13, 6]


@pytest.mark.parametrize(("depth", "rows", "counting"), [(1, 20, 19), (2, 62, 49), (3, 134, 85), (9, 224, 130)])
def test_a_table_that_ends_at_a_depth(depth, rows, counting):
    table = layer_slips.layer_shapes_to_depth(GOOGLENET, depth=depth)
    assert len(table) == rows
    assert sum(not row["optional"] for row in table) == counting
    assert sum(row["parameters"] for row in table if not row["optional"]) == 6_624_904


def test_layers_once():
    subject = torchvision("resnet18")
    once = layer_slips.layer_shapes_once(subject)
    assert len(layer_shapes(subject)) - len(once) == 8
    assert not any("#" in row["layer"] for row in once)
    assert layer_slips.layer_shapes_once(GOOGLENET) == layer_shapes(GOOGLENET)


def test_groups_ignored():
    subject = Given(lambda: nn.Sequential(nn.Conv2d(8, 8, 3, groups=8), nn.Conv2d(8, 4, 1)), (1, 8, 6, 6))
    assert macs(subject) == 16 * (8 * 9 + 32)
    assert slips.macs_ignoring_groups(subject) == 16 * (64 * 9 + 32)
    assert slips.macs_ignoring_groups(subject, layers=["Linear"]) == 0
    assert slips.macs_ignoring_groups(subject, bias=True) == 16 * (64 * 9 + 32) + 16 * 12
    assert slips.macs_ignoring_groups(torchvision("mobilenet_v2")) == 5_549_139_968
    assert slips.macs_ignoring_groups(GOOGLENET) == macs(GOOGLENET)


def test_square_kernels():
    subject = Given(lambda: nn.Sequential(nn.Conv2d(3, 4, (1, 7), padding=(0, 3)), nn.MaxPool2d((2, 1))), (1, 3, 6, 9))
    assert slips.macs_square_kernels(subject) == 6 * 9 * 4 * 3
    assert macs(subject) == 7 * slips.macs_square_kernels(subject)
    assert slips.macs_square_kernels(torchvision("inception_v3")) > macs(torchvision("inception_v3"))


def test_dilation_forgotten():
    subject = Given(lambda: nn.Conv2d(1, 1, 3, dilation=2), (1, 1, 9, 9))
    assert (macs(subject), slips.macs_ignoring_dilation(subject)) == (25 * 9, 49 * 9)
    pool = Given(lambda: nn.Sequential(nn.MaxPool2d(2, 1, dilation=2), nn.Conv2d(1, 1, 1)), (1, 1, 5, 5))
    assert (macs(pool), slips.macs_ignoring_dilation(pool)) == (9, 16)


def test_same_padding_read_as_none():
    subject = Given(lambda: nn.Conv2d(1, 1, 3, padding="same"), (1, 1, 9, 9))
    assert (macs(subject), slips.macs_same_padding_as_zero(subject)) == (81 * 9, 49 * 9)


def test_sizes_computed_by_hand_do_not_stop_at_a_linear_layer():
    subject = Given(
        lambda: nn.Sequential(nn.MaxPool2d(2, ceil_mode=True), nn.Conv2d(1, 2, 1), nn.Flatten(), nn.Linear(18, 4)),
        (1, 1, 5, 5),
    )
    assert (macs(subject), slips.macs_without_ceil_mode(subject)) == (9 * 2 + 72, 4 * 2 + 72)
    rows = slips.macs_by_layer_without_ceil_mode(subject)
    assert [(row["layer"], row["macs"]) for row in rows] == [("1", 8), ("3", 72)]


def test_a_slip_does_not_change_the_subject():
    before = macs(GOOGLENET)
    slips.macs_without_ceil_mode(GOOGLENET)
    slips.macs_square_kernels(GOOGLENET)
    assert macs(GOOGLENET) == before


def test_a_slip_that_cannot_run_says_so():
    residual = Given(_Residual, (1, 1, 8, 8))
    with pytest.raises(ValueError, match="cannot take an input"):
        slips.macs_same_padding_as_zero(residual)


class _Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3, padding="same")

    def forward(self, x):
        return x + self.conv(x)


def test_modules_only():
    assert attention_slips.macs_modules_only(torchvision("vit_b_16")) == 11_271_124_992
    assert attention_slips.macs_modules_only(GOOGLENET) == macs(GOOGLENET)


def test_batch_slips():
    subject = torchvision("googlenet", batch=4)
    assert slips.macs_divided_by_batch(subject, layers=COUNTED) == 1_498_376_192
    assert slips.macs_times_batch(subject, layers=COUNTED) == 16 * 1_498_376_192


def test_outputs_without_the_batch():
    subject = torchvision("resnet18", batch=2)
    right = module_outputs(subject, layers=["Conv2d"])
    without = layer_slips.module_outputs_without_batch(subject, layers=["Conv2d"])
    assert list(without) == list(right)
    assert all(torch.equal(without[name], output[0]) for name, output in right.items())
    shapes = module_output_shapes(subject, layers=["Conv2d"])
    short = layer_slips.module_output_shapes_without_batch(subject, layers=["Conv2d"])
    unknown = layer_slips.module_output_shapes_batch_unknown(subject, layers=["Conv2d"])
    assert [row["output_shape"] for row in short] == [row["output_shape"][1:] for row in shapes]
    assert [row["output_shape"] for row in unknown] == [[-1, *row["output_shape"][1:]] for row in shapes]


def test_outputs_of_what_follows():
    subject = torchvision("googlenet", size=64)
    right = module_outputs(subject, layers=["Conv2d"])
    module, _ = subject.with_weights()
    norm = layer_slips.module_outputs_after_norm(subject, layers=["Conv2d"])
    activated = layer_slips.module_outputs_after_activation(subject, layers=["Conv2d"])
    assert list(norm) == list(activated) == list(right)
    for name, output in right.items():
        block = module.get_submodule(name.removesuffix(".conv"))
        with torch.no_grad():
            expected = block.bn(output)
        assert torch.equal(norm[name], expected)
        assert torch.equal(activated[name], expected.relu())
        assert not torch.equal(norm[name], output)


def test_outputs_of_what_follows_as_a_module_that_copies():
    subject = Given(
        lambda: nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.ReLU(), nn.Conv2d(2, 1, 1)), (1, 1, 4, 4)
    )
    norm = layer_slips.module_outputs_after_norm(subject, layers=["Conv2d"])
    activated = layer_slips.module_outputs_after_activation(subject, layers=["Conv2d"])
    assert list(norm) == list(activated) == ["0"]
    assert (norm["0"] < 0).any()
    assert torch.equal(activated["0"], norm["0"].relu())


def test_nothing_follows():
    alone = Given(lambda: nn.Conv2d(1, 1, 1), (1, 1, 4, 4))
    assert layer_slips.module_outputs_after_norm(alone, layers=["Conv2d"]) is None


def test_products_of_slips_that_do_the_same_are_added_up_once():
    parts = [Part(row=name, count=count, source=None) for name, count in (("a", 3), ("b", 5))]
    slips = {
        f"{of}{name}": Slip(of=of, says="", change=lambda _, said=said: said)
        for of in ("kernel", "channels")
        for name, said in (("1", [2, 1]), ("2", [2, 1]), ("3", [1, 1]))
    }
    found = Composition(library=slips, make=lambda _: parts)
    tables = dict(found.tables(WantedProducts(most=2)))
    assert len(tables) == 1 + 6 + 9
    assert tables["kernel1", "channels2"] == {"a": 12, "b": 5}
    assert tables["kernel1", "channels3"] == tables["channels2",] == {"a": 6, "b": 5}
    assert len(found.found(())._sums) == 3  # nothing, one of them, two of them


@pytest.mark.parametrize("place", sampled(range(12), 3))
def test_changes_that_change_nothing_are_left_out_and_nothing_else_comes_of_it(place):
    """Each pair of slips of sizes, as it is remembered and as it is traced with every change made."""
    each = list(small_networks.networks(attention=True))[place]
    subject = models.Subject(**as_plain(each.subject))
    sizes = {name: slip.change for name, slip in counts.LIBRARY.items() if slip.of == SIZE}
    for names in combinations(sizes, 2):
        changes = [sizes[name] for name in names]
        changed = subject
        for change in changes:
            changed = AsIf(changed, change)
        assert outcome(lambda made=changes: traced(subject, made)) == outcome(lambda of=changed: analyse(of)), names


def outcome(trace):
    try:
        found = trace()
    except (ValueError, NotImplementedError) as error:
        return str(error)
    return [(each.macs, each.input_shape, each.pooling_outputs, each.bias) for each in found.operations]


@pytest.mark.parametrize(
    ("name", "slip", "right", "wrong"),
    [
        ("chosen_second", "nested", 7, 3),
        ("chosen_second", "else_branches", 7, 6),
        ("called_often", "function_bodies", 4, 6),
        ("split_in_three", "outputs", 5, 7),
        ("if_in_loop", "one_level", 7, 4),
        ("two_branches", "last_run", 8, 6),
    ],
)
def test_slips_of_nodes_in_files_of_one_peculiarity(tmp_path, name, slip, right, wrong):
    onnx_small.make(name, tmp_path / "m.onnx")
    values = dict(onnx_operator_total_slips(tmp_path / "m.onnx")["values"])
    assert (values[""], values[slip]) == (right, wrong)


def test_what_is_taken_for_the_type_of_a_node(tmp_path):
    onnx_small.make("two_branches", tmp_path / "m.onnx")
    values = dict(onnx_operator_types_slips(tmp_path / "m.onnx")["values"])
    kinds = ("", "runs_as_types", "kernels_as_types", "attributes_as_types")
    assert [values[each] for each in kinds] == [6, 7, 7, 8]


def test_what_nodes_read_is_each_tensor_once_in_place_of_what_they_write(tmp_path):
    onnx_small.make("batch_skip", tmp_path / "m.onnx")
    values = dict(onnx_activation_bytes_slips(tmp_path / "m.onnx", input_shape=[3, 4, 8, 6])["values"])
    image, output = 4 * 3 * 4 * 8 * 6, 4 * 3 * 5
    assert values["input_alone"] == image
    assert values["inputs_of_nodes_once"] == values[""] + image - output
