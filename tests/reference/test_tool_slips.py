"""What is said of numbers that tools print: it follows from the subject, and none of them is right."""

import math

import onnx
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from reference import leaf_calls, tool_slips
from reference._counting.engine import analyse
from reference._tools.net import Net
from reference._tools.parameters import exported
from reference.layers import activation_bytes
from reference.macs import flops, macs
from reference.state import parameters
from tests.reference.subjects import Forward, Given


def up():
    return nn.Sequential(
        nn.ConvTranspose2d(8, 4, 4, stride=2, padding=1),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.Conv2d(4, 8, 1),
    )


def words():
    embed, lstm, out = nn.Embedding(50, 12), nn.LSTM(12, 12, batch_first=True), nn.Linear(12, 50, bias=False)
    out.weight = embed.weight
    return Forward(lambda m, x: m.out(m.lstm(x @ m.embed.weight)[0]), embed=embed, lstm=lstm, out=out)


UP, WORDS = Given(up, (1, 8, 8, 8)), Given(words, (1, 7, 50))


def said(found, value):
    return next(each for each in found if each["value"] == value)


def test_a_transposed_convolution_is_told_to_be_counted_by_its_output():
    found = said(tool_slips.macs_tool_slips(UP), 208_896)
    assert "thop" in found["tools"]
    assert "transposed convolutions (131,072 for 32,768, 63 % of it) by their output" in found["amounts"]
    assert "upsampling (45,056, 22 % of it)" in found["amounts"]
    assert found["share"] == pytest.approx(65_536 / 208_896)


def rows(table):
    return {row["names"][0]: row["value"] for row in table["rows"]}


def test_a_table_by_layer_has_what_each_layer_alone_takes():
    found = {name: each for each in tool_slips.macs_by_layer_tool_slips(UP) for name in each["tools"]}
    assert rows(found["thop"]) == {"Sequential": 0, "0": 131_072, "1": 45_056, "2": 32_768}
    assert "transposed convolutions by their output" in found["thop"]["layers"]
    assert "upsampling" in found["thop"]["all"]
    assert "upsampling" not in found["thop"]["layers"]  # where only rows of layers are handed in


def test_a_weight_that_two_modules_share_is_not_said_to_run_twice():
    found = {name: each for each in tool_slips.parameters_tool_slips(WORDS) for name in each["tools"]}
    assert "again for each module that shares them" in found["torchinfo"]["says"]
    assert "Linear" not in found["flopco"]["says"]  # its weight is the embedding's, which is counted


def test_what_students_see_holds_no_amount():
    for subject in (UP, WORDS):
        for each in tool_slips.macs_tool_slips(subject) + tool_slips.flops_tool_slips(subject):
            assert not any(text.replace(",", "").isdigit() and len(text) > 2 for text in each["says"].split())


@pytest.mark.parametrize("subject", [UP, WORDS])
def test_no_number_of_a_tool_is_right(subject):
    for slips, right in (
        (tool_slips.macs_tool_slips, macs),
        (tool_slips.flops_tool_slips, flops),
        (tool_slips.parameters_tool_slips, parameters),
    ):
        assert right(subject) not in [each["value"] for each in slips(subject)]


def test_tools_that_give_one_number_are_told_with_what_they_have_in_common():
    found = said(tool_slips.macs_tool_slips(WORDS), 7 * 12 * 50)
    assert {"a hook on each convolution and linear layer", "thop"} & set(found["tools"])
    assert "leave out nn.LSTM" in found["says"]
    assert found["says"].count("give this number") == 1


def test_macs_of_a_tool_for_flops_are_told_so_and_worth_less():
    found = said(tool_slips.flops_tool_slips(UP), 208_896)
    assert "in MACs, of which each is two FLOPs" in found["says"]
    assert found["share"] == pytest.approx(0.8 * 65_536 / 208_896)
    assert said(tool_slips.flops_tool_slips(UP), 65_536)["says"].startswith("These are MACs")


def test_a_shared_weight_that_is_counted_twice_is_told_so():
    found = said(tool_slips.parameters_tool_slips(WORDS), 2 * 600 + 1248)
    assert "again for each module that shares them" in found["says"]


def between_norms():
    return nn.Sequential(nn.LayerNorm(6), nn.Linear(6, 6), nn.LayerNorm(6), nn.Linear(6, 6), nn.LayerNorm(6))


def one_linear_twice():
    net = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6))
    net[2].weight = net[0].weight
    return net


@pytest.mark.parametrize(
    ("build", "shape"), [(between_norms, (2, 6)), (between_norms, (2, 3, 6)), (one_linear_twice, (2, 6))]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch writes files both ways still
def test_tools_that_look_at_a_file_count_what_the_exporter_leaves_in_it(build, shape, tmp_path):
    path = tmp_path / "net.onnx"
    torch.onnx.export(build().eval(), (torch.ones(shape),), str(path), dynamo=False)
    in_file = sum(math.prod(each.dims) for each in onnx.load(path).graph.initializer)
    given = Given(build, shape)
    counted = exported(Net(analyse(given), given.with_weights))
    assert sum(parameter.numel() for parameter, _ in counted) == in_file


def test_a_dict_by_name_keeps_the_last_call_of_a_layer_where_its_first_stands():
    def make():
        return Forward(lambda m, x: m.relu(m.wide(m.relu(x))), relu=nn.ReLU(), wide=nn.Linear(4, 6))

    subject = Given(make, (2, 4))
    first, last = leaf_calls.leaf_calls_once(subject), leaf_calls.leaf_calls_once(subject, call="last")
    assert [row["layer"] for row in first] == [row["layer"] for row in last] == ["ReLU_1", "Linear_2"]
    assert [row["output"] for row in first] == [[2, 4], [2, 6]]
    assert [row["output"] for row in last] == [[2, 6], [2, 6]]


def test_the_trace_leaves_torch_as_it_was():
    before = torch.Tensor.matmul, torch.Tensor.add, torch.Tensor.mul
    macs(Given(words, (1, 7, 50)))
    assert (torch.Tensor.matmul, torch.Tensor.add, torch.Tensor.mul) == before


class OfItsOwn(torch.Tensor):
    """A tensor of a class of its own, whose operators call methods."""


def test_an_operator_is_no_method_whatever_the_class_of_its_tensor():
    own = Given(lambda: Forward(lambda _, x: (x.as_subclass(OfItsOwn) @ x.mT).matmul(x)), (2, 3, 4))
    found = [each for each in analyse(own).functions if each.macs]
    assert [(each.name, each.method) for each in found] == [("matmul", False), ("matmul", True)]


@pytest.mark.parametrize("heads", [2, 3])
@pytest.mark.parametrize("gradients", [False, True])
def test_what_flop_counter_sees_of_an_encoder_layer(heads, gradients):
    """With an even number of heads and no gradient it is one kernel, of which the counter knows nothing."""

    def build():
        layer = nn.TransformerEncoderLayer(12, heads, 24, batch_first=True)
        return nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(12, 5)).eval()

    subject = Given(build, (2, 7, 12))
    with torch.set_grad_enabled(gradients), FlopCounterMode(display=False) as counter:
        build()(torch.zeros(2, 7, 12))
    known = [
        each["value"] for each in tool_slips.flops_tool_slips(subject) if "torch.utils.flop_counter" in each["tools"]
    ]
    assert counter.get_total_flops() in known


def products():
    def run(m, x):
        vector = m.w[0]
        rows = x @ vector, torch.mv(x, vector), vector @ m.w.T, torch.addmv(x[:, 0], x, vector), x @ m.w.T
        return torch.cat([each.flatten() for each in rows]) + torch.dot(vector, vector)

    return Forward(run, w=nn.Parameter(torch.ones(5, 6)))


def test_flop_counter_has_no_formula_for_a_vector_on_the_right():
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        products()(torch.ones(4, 6))
    found = said(tool_slips.flops_tool_slips(Given(products, (4, 6))), counter.get_total_flops())
    assert "torch.utils.flop_counter" in found["tools"]


def names(found):
    return {name for each in found for name in each["tools"]}


class Own(nn.Conv2d):
    """A class that thop has no rule for."""


def test_what_is_left_out_in_part_is_said_so():
    two = Given(lambda: nn.Sequential(nn.Conv2d(3, 4, 3), Own(4, 5, 1)), (2, 3, 8, 8))
    found = said(tool_slips.macs_tool_slips(two), 2 * 4 * 36 * 27)
    assert "thop" in found["tools"]
    assert "out some of the convolutions" in found["says"]
    assert "Count what is left out, too." in found["says"]


def test_a_product_of_elements_is_no_sum():
    gated = Given(lambda: Forward(lambda m, x: m.c(x) * 2 + m.c(x), c=nn.Conv2d(3, 4, 1)), (2, 3, 8, 8))
    found = next(each for each in tool_slips.macs_tool_slips(gated) if "torchprofile" in each["tools"])
    assert "adds products of elements" in found["says"]
    assert "sums" not in found["says"]


def test_a_tool_that_fails_on_a_network_is_not_named():
    up = Given(lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.Upsample(scale_factor=2), nn.ReLU()), (2, 3, 8, 8))
    assert "calflops" in names(tool_slips.flops_tool_slips(up))
    assert not [name for name in names(tool_slips.flops_tool_slips(up)) if name.startswith("flops-profiler")]

    def attends(*, needed):
        attention = nn.MultiheadAttention(12, 2, batch_first=True)
        return Given(
            lambda: Forward(lambda m, x: m.a(x, x, x, need_weights=needed)[0], a=attention, b=nn.LSTM(12, 3)),
            (2, 7, 12),
        )

    assert "torchsummary" in names(tool_slips.parameters_tool_slips(attends(needed=True)))
    assert "torchsummary" not in names(tool_slips.parameters_tool_slips(attends(needed=False)))
    assert "torchsummary" not in names(tool_slips.parameters_tool_slips(WORDS))  # an LSTM puts out a tuple of tuples


def test_of_bytes_it_is_said_what_a_tool_counts():
    found = next(each for each in tool_slips.weight_bytes_tool_slips(WORDS) if "torchinfo" in each["tools"])
    assert found["says"].startswith("This is 4 bytes for each parameter that ")
    assert "give this number" not in found["says"]


def test_an_attention_in_one_kernel_is_missing_in_what_fvcore_prints_without_gradients():
    """fvcore 0.1.5 printed 34,680 under torch.no_grad(), 50,808 with gradients."""

    def build():
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(12, 2, 24, batch_first=True), 2)
        return Forward(lambda m, x: m.out(m.decoder(x, x[:, :4])), decoder=decoder, out=nn.Linear(12, 5))

    found = tool_slips.macs_tool_slips(Given(build, (2, 7, 12)))
    assert "fvcore" in said(found, 50_808)["tools"]
    assert "fvcore" in said(found, 34_680)["tools"]
    assert "out some of the projections of nn.MultiheadAttention" in said(found, 34_680)["says"]


def test_the_size_of_a_file_of_safetensors():
    write = pytest.importorskip("safetensors.torch").save
    normed = Given(
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 5)), (2, 3, 8, 8)
    )
    held = normed.with_weights()[0].state_dict()
    found = tool_slips.weight_bytes_tool_slips(normed)
    for metadata in (None, {"format": "pt"}):
        assert said(found, len(write(held, metadata)))["tools"] == ["safetensors"]
        assert "Buffers" in said(found, len(write(held, metadata)))["says"]
    plain = Given(lambda: nn.Linear(14, 5), (2, 14))
    for file in ("safetensors", "torch.save"):
        (told, *_) = (each for each in tool_slips.weight_bytes_tool_slips(plain) if file in each["tools"])
        assert "Buffers" not in told["says"]


def packed():
    gru, out = nn.GRU(8, 6, batch_first=True), nn.Linear(6, 2)

    def run(m, x):
        lengths = torch.tensor([5, 3, 2])
        rows = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return m.out(m.gru(rows)[1][-1])

    return Forward(run, gru=gru, out=out)


def test_of_packed_sequences_the_data_alone_is_an_activation():
    rows, states, classes = 10 * 6, 3 * 6, 3 * 2
    assert activation_bytes(Given(packed, (3, 5, 8))) == 4 * (rows + states + classes)


def test_tools_that_fail_on_packed_sequences_are_not_named():
    found = said(tool_slips.macs_tool_slips(Given(packed, (3, 5, 8))), 3 * 12)
    assert "fvcore" in found["tools"]
    assert not {"calflops", "flops-profiler", "torchscan"} & set(found["tools"])


def test_a_tool_that_prints_nothing_by_layer_is_not_named_for_a_table():
    named = {tool for each in tool_slips.macs_by_layer_tool_slips(UP) for tool in each["tools"]}
    assert "torch.utils.flop_counter" in named
    assert "torch.profiler with with_flops=True" not in named


def test_sums_and_products_of_elements_are_told_apart():
    def run(m, x):
        return m.one(x) + x

    net = Given(lambda: Forward(run, one=nn.Conv2d(4, 4, 1, bias=False)), (1, 4, 8, 8))
    found = said(tool_slips.flops_tool_slips(net), 2 * 1_024 + 256)
    assert "They add sums of elements." in found["says"]
    assert "products" not in found["says"]


def test_torchinfo_counts_linear_layers_once_a_sample():
    net = Given(lambda: nn.Sequential(nn.Linear(8, 4, bias=False)), (2, 5, 8))
    found = said(tool_slips.macs_tool_slips(net), 2 * 32)
    assert "linear layers on several rows once for each sample, however many rows it has" in found["says"]
