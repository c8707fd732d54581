"""Slips of single quantities, beside a student's code that makes them."""

import io
from pathlib import Path

import pytest
import torch
from torch import nn

from labgrade.spec import course
from labgrade.spec.registry import read
from labgrade.subjects.models import Subject

QUANTITIES = read("quantity", (Path(__file__).parents[2] / "reference",)).entries
OWN = course.find(Path(__file__).parents[2])
LEAN = Subject(model="micro/dilated", shape=(2, 3, 32, 40))


def value(name, **parameters):
    return QUANTITIES[name].load()(LEAN, **parameters)


def weights():
    module, _ = LEAN.with_weights()
    return [each for each in module.modules() if isinstance(each, nn.Conv2d | nn.Linear)]


def test_two_slips_of_packed_weights_at_once():
    one_short_scale = sum(-(-each.weight.numel() * 3 // 8) + 2 for each in weights())
    bounds = [str(one_short_scale)] * 2
    answer = value("compressed_weight_bytes_slips", bits=3, most=2, between=bounds)
    assert {frozenset(name.split("+")) for name, _ in answer["values"]} == {frozenset({"beside_once", "two_bytes"})}
    assert dict(value("compressed_weight_bytes_slips", bits=3)["values"])[""] == value(
        "compressed_weight_bytes", bits=3
    )


def test_a_symmetric_scale_of_the_full_range():
    wrong = value("quantised_integers_of_full_range", bits=4)
    for name, layer in LEAN.with_weights()[0].named_modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            weight = layer.weight.detach().double()
            made = torch.round(weight / (weight.abs().max() / 8)).clamp(-8, 7)
            assert torch.equal(wrong[name].double(), made)
    assert value("quantised_integers_of_full_range", scheme="asymmetric") is None


def test_the_file_of_a_state_dict():
    file = io.BytesIO()
    torch.save(LEAN.with_weights()[0].state_dict(), file)
    assert value("saved_file_bytes") == len(file.getvalue())


def test_tables_of_calls_with_weights_alone_and_with_buffers():
    right, alone, more = (value(f"leaf_calls{end}") for end in ("", "_of_weights", "_with_buffers"))
    module = LEAN.with_weights()[0]
    weights_alone = sum(p.numel() for name, p in module.named_parameters() if name.endswith("weight"))
    assert sum(row["parameters"] for row in alone) == weights_alone
    held = sum(each.numel() for each in module.buffers())
    assert sum(row["parameters"] for row in more) == sum(row["parameters"] for row in right) + held


def test_an_output_that_lacks_the_plus_one():
    total = 0

    def count(layer, given, made):
        nonlocal total
        rows = [
            (n + 2 * p - d * (k - 1) - 1) // s
            for n, k, p, s, d in zip(
                given[0].shape[2:], layer.kernel_size, layer.padding, layer.stride, layer.dilation, strict=True
            )
        ]
        total += made.shape[0] * made.shape[1] * rows[0] * rows[1] * layer.weight[0].numel()

    module, x = LEAN.with_weights()
    for each in module.modules():
        if isinstance(each, nn.Conv2d) and not isinstance(each.padding, str):
            each.register_forward_hook(count)
        elif isinstance(each, nn.Linear):
            each.register_forward_hook(lambda layer, _, y: add(y.numel() * layer.in_features))

    def add(more):
        nonlocal total
        total += more

    module(x)
    bounds = [str(total)] * 2
    answer = value("macs_slips", layers=["Conv2d", "Linear"], between=bounds)
    assert "no_plus_one" in [name for name, _ in answer["values"]]


@pytest.mark.filterwarnings("ignore:Using padding")
def test_shapes_of_convolutions_of_all_kinds():
    subject = Subject(model="micro/unordered", shape=(2, 3, 32, 40), code=OWN.code_of("micro/unordered"))
    module, x = subject.with_weights()
    shapes = {}
    for name, each in module.named_modules():
        if isinstance(each, nn.modules.conv._ConvNd):
            each.register_forward_hook(lambda _, __, y, name=name: shapes.update({name: list(y.shape)}))
    module(x)
    answer = QUANTITIES["module_output_shapes_slips"].load()(subject, layers=["Conv2d"])
    rows = dict(answer["values"])["other_convolutions"]
    assert {row["layer"]: row["output_shape"] for row in rows} == shapes
    plain = QUANTITIES["module_output_shapes_slips"].load()(LEAN, layers=["Conv2d"])
    assert "other_convolutions" not in dict(plain["values"])


def test_a_file_of_weights_is_known_by_its_size_whatever_its_name(tmp_path):
    known = {each["value"] for each in value("weight_bytes_tool_slips") if each["tools"] == ["torch.save"]}
    for name in ("model.pth", "lab2-weights.pt", "w.pth"):
        torch.save(LEAN.with_weights()[0].state_dict(), tmp_path / name)
        assert (tmp_path / name).stat().st_size in known


def test_a_tool_that_is_shown_one_sample_of_a_batch():
    alone = Subject(model="micro/dilated", shape=(1, 3, 32, 40))
    slips = QUANTITIES["macs_tool_slips"].load()
    of_sample = {each["value"] for each in slips(alone) if "ptflops" in each["tools"]}
    found = {each["value"]: each["says"] for each in slips(LEAN) if "ptflops" in each["tools"]}
    assert of_sample <= found.keys()
    assert any("of one sample" in found[each] and "otherwise" not in found[each] for each in of_sample)


def test_all_of_a_state_dict_has_a_value_where_it_holds_no_more_than_buffers():
    """So that a function that counts no buffers is not told of it."""
    module = LEAN.with_weights()[0]
    held = sum(each.numel() for each in [*module.parameters(), *module.buffers()])
    assert value("parameters_slips", among=["state"])["values"] == [["state", held]]
    assert "state" not in dict(value("parameters_slips")["values"])  # which `buffers` says
    tied = Subject(model="micro/tied", shape=(1, 3, 32, 32))
    assert "state" in dict(QUANTITIES["parameters_slips"].load()(tied)["values"])
