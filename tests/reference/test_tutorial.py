"""Quantities of Lab 2's tutorial, each beside a count that shares nothing with it."""

import contextlib
import gc
import gzip
import json
import subprocess
import sys
from collections import Counter

import pytest
import torch
from reference.subjects import Given
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from models import tutorial as networks
from reference import profiles, slips, torchscript, torchscript_slips, tutorial
from reference.macs import macs

OPERATORS = ["aten::conv2d", "aten::linear", "aten::addmm", "aten::relu_", "aten::max_pool2d"]
LINEAR = Given(networks.perceptron, (1, 10))
DIGITS = Given(networks.digits, (1, 1, 28, 28))
STRIDED = Given(lambda: networks.digits(channels=[4, 6], stride=2, side=20), (3, 1, 20, 20))


def small():
    convolution = (nn.Conv2d(1, 3, 3, stride=2), nn.ReLU(inplace=True), nn.MaxPool2d(2, ceil_mode=True))
    rest = (nn.Flatten(), nn.Linear(27, 5), nn.ReLU(inplace=True), nn.Linear(5, 2))
    return nn.Sequential(*convolution, *rest)


SMALL = Given(small, (4, 1, 12, 12))


def rows(found, column):
    return {next(iter(row.values())): row[column] for row in found}


@pytest.mark.parametrize("subject", [LINEAR, DIGITS, STRIDED, SMALL])
def test_operations_by_layer_are_torchs_own_count(subject):
    module, x = subject.with_weights()
    with FlopCounterMode(display=False) as counter:
        module(x)
    found = tutorial.macs_and_flops_by_layer(subject)
    assert sum(row["flops"] for row in found) == counter.get_total_flops()
    assert sum(row["macs"] for row in found) * 2 == counter.get_total_flops()
    assert all(row["flops"] == row["macs"] for row in tutorial.macs_and_flops_alike(subject))
    assert all(row["macs"] == row["flops"] for row in tutorial.macs_and_flops_doubled(subject))


def test_operations_counted_by_hand():
    assert rows(tutorial.macs_and_flops_by_layer(LINEAR), "macs") == {"fc1": 200, "fc2": 300, "fc3": 15}
    digits = rows(tutorial.macs_and_flops_by_layer(DIGITS), "macs")
    assert digits == {"conv1": 112_896, "conv2": 3_612_672, "fc": 250_880}
    assert sum(rows(tutorial.macs_and_flops_by_layer(DIGITS, bias=True), "macs").values()) == 4_014_090
    on_inputs = rows(tutorial.macs_and_flops_of_inputs(STRIDED), "macs")
    strided = rows(tutorial.macs_and_flops_by_layer(STRIDED), "macs")
    assert on_inputs == {**strided, "conv2": 4 * strided["conv2"]}


def test_a_bias_is_one_more_mac_or_one_more_flop():
    plain, mac = (rows(tutorial.macs_and_flops_by_layer(DIGITS, bias=bias), "macs") for bias in (False, True))
    flop = tutorial.macs_and_flops_by_layer(DIGITS, bias_flops=True)
    assert rows(flop, "macs") == plain
    assert rows(flop, "flops") == {name: plain[name] + mac[name] for name in plain}


def test_layers_may_be_called_by_their_place():
    found = tutorial.macs_and_flops_by_layer(DIGITS)
    assert [row["also_named"][-1] for row in found] == ["conv1", "conv2", "fc3"]
    assert "fc1" in found[-1]["also_named"]


def test_a_bias_may_be_counted_where_there_is_none():
    found = slips.macs_and_flops_with_assumed_biases(LINEAR)
    assert rows(found, "macs") == {"fc1": 220, "fc2": 315, "fc3": 16}
    assert rows(found, "flops") == {"fc1": 440, "fc2": 630, "fc3": 32}
    assert slips.macs_and_flops_with_assumed_biases(DIGITS) is None


def test_several_branches():
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = small(), small()

        def forward(self, x):
            return torch.cat([self.one(x), self.two(x)])

    both = Given(Branches, SMALL.shape)
    module, x = both.with_weights()
    assert tutorial.output_shape(both) == list(module(x).shape) == [8, 2]
    assert tutorial.branch_parameters(both) == sum(each.numel() for each in small().parameters())
    assert tutorial.branch_macs(both) == macs(SMALL)


def test_the_first_input_may_stand_for_all():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 5, 1)

        def forward(self, x, y):
            return self.one(x).sum() + self.two(y).sum()

    class Sized(Given):
        def on_meta(self):
            module, x = super().on_meta()
            return module, (x, x.new_empty(2, 3, 6, 4))

    subject = Sized(Two, (2, 3, 8, 8))
    assert macs(subject) == 2 * 3 * (4 * 64 + 5 * 24)
    assert tutorial.macs_with_the_first_input_for_all(subject) == 2 * 3 * (4 + 5) * 64
    assert tutorial.macs_with_the_first_input_for_all(SMALL) is None


@pytest.mark.slow
def test_a_network_of_a_course_may_be_the_first_to_ask_for_torchvision():
    """In a process where nothing imported it yet: labgrade's own zoo comes with stand-ins for what it lacks."""
    program = """
from labgrade.spec import course
from labgrade.subjects.models import Subject
code = course.find().code_of("tutorial/branches")
module, _ = Subject(model="tutorial/branches", shape=(1, 3, 64, 64), code=code).on_meta()
print(sum(each.numel() for each in module.parameters()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "183302520\n"


def test_what_a_hook_without_a_copy_holds_is_what_the_activation_in_place_makes_of_it():
    right, kept = tutorial_outputs(SMALL), tutorial.module_outputs_overwritten(SMALL, layers=["Linear"])
    assert list(right) == list(kept) == ["4", "6"]
    assert torch.equal(kept["4"], right["4"].relu())
    assert not torch.equal(kept["4"], right["4"])
    assert torch.equal(kept["6"], right["6"])


def tutorial_outputs(subject):
    module, x = subject.with_weights()
    found = {}
    for name, layer in module.named_children():
        x = layer(x)
        if isinstance(layer, nn.Linear):
            found[name] = x.clone()
    return found


def test_first_outputs_are_the_models_own():
    module, x = SMALL.with_weights()
    with torch.no_grad():
        ones, zeros, own = module(torch.ones_like(x)), module(torch.zeros_like(x)), module(x)
    assert torch.equal(tutorial.first_outputs(SMALL, count=2), ones[0])
    assert torch.equal(tutorial.first_outputs(SMALL, count=1, flat=False), ones[:1, :1])
    assert torch.equal(tutorial.first_outputs(SMALL, fill="zeros"), zeros[0])
    assert torch.equal(tutorial.first_outputs(SMALL, fill="input"), own[0])


class _Calls(TorchFunctionMode):
    """Counts the functions of torch that are called, by name."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.counts[function.__name__] += 1
        return function(*args, **(kwargs or {}))


def test_calls_of_operators_are_those_of_torchs_functions():
    module, x = SMALL.with_weights()
    with _Calls() as seen:
        module(x)
    found = rows(profiles.operator_calls(SMALL, operators=OPERATORS), "calls")
    assert (found["aten::conv2d"], found["aten::linear"]) == (seen.counts["conv2d"], seen.counts["linear"]) == (1, 2)
    in_place = sum(isinstance(each, nn.ReLU) for each in module.modules())
    assert (found["aten::relu_"], found["aten::addmm"], found["aten::max_pool2d"]) == (in_place, 2, 1)
    assert profiles.operator_calls(LINEAR, operators=["aten::conv2d"]) == []


def test_memory_of_operators_is_the_profilers():
    module, x = SMALL.with_weights()
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        module(x)
    measured = {each.key: each.self_cpu_memory_usage for each in profiler.key_averages()}
    found = rows(profiles.operator_memory(SMALL), "self_cpu_mem")
    pooled, linear = "aten::max_pool2d_with_indices", "aten::addmm"
    assert (found[pooled], found[linear]) == (measured[pooled], measured[linear])
    assert found["aten::empty"] == 4 * 3 * 5 * 5 * 4
    slip = rows(profiles.operator_memory_without_indices(SMALL), "self_cpu_mem")
    assert slip == {**found, pooled: found[pooled] // 3}
    one = rows(profiles.operator_memory_of_one_image(SMALL), "self_cpu_mem")
    assert {name: 4 * size for name, size in one.items()} == found
    printed = rows(profiles.operator_memory(SMALL, mib_as_mb=True), "self_cpu_mem")
    assert printed["aten::empty"] == pytest.approx(1170)  # 1.17 KB, which are KiB


def test_a_trace_is_read_as_the_profiler_wrote_it(tmp_path):
    module, x = SMALL.with_weights()
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        module(x)
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    counts = Counter(event.name for event in profiler.events())
    assert profiles.trace_calls(tmp_path / "trace.json", operators=OPERATORS) == {
        name: counts[name] for name in OPERATORS
    }
    assert profiles.trace_input_shape(tmp_path / "trace.json", operator="aten::conv2d") == list(SMALL.shape)
    (tmp_path / "trace.json.gz").write_bytes(gzip.compress((tmp_path / "trace.json").read_bytes()))
    assert profiles.trace_calls(tmp_path / "trace.json.gz", operators=["aten::linear"]) == {"aten::linear": 2}


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"traceEvents": 7}', b'{"traceEvents": [7]}', b"\x1f\x8b", b"\xff"]
)
def test_what_is_no_trace_is_said(tmp_path, content):
    (tmp_path / "trace.json").write_bytes(content)
    with pytest.raises(ValueError, match="no trace that PyTorch's profiler wrote"):
        profiles.trace_calls(tmp_path / "trace.json", operators=OPERATORS)


@pytest.mark.parametrize("content", ['{"traceEvents": []}', "broken"])
def test_nobody_looks_for_garbage_while_a_trace_is_read_and_then_again(tmp_path, monkeypatch, content):
    read, looked = json.loads, []
    monkeypatch.setattr(profiles.json, "loads", lambda data: looked.append(gc.isenabled()) or read(data))
    (tmp_path / "trace.json").write_text(content)
    with contextlib.suppress(ValueError):
        profiles.trace_calls(tmp_path / "trace.json", operators=OPERATORS)
    assert looked == [False]
    assert gc.isenabled()


def test_a_trace_without_shapes_or_calls_is_said(tmp_path):
    (tmp_path / "trace.json").write_text(
        json.dumps({"traceEvents": [{"ph": "X", "name": "aten::conv2d", "args": None}]})
    )
    with pytest.raises(ValueError, match="profile with record_shapes"):
        profiles.trace_input_shape(tmp_path / "trace.json", operator="aten::conv2d")
    with pytest.raises(ValueError, match="no call of aten::linear"):
        profiles.trace_input_shape(tmp_path / "trace.json", operator="aten::linear")


def test_kinds_of_operators_are_those_of_the_modules_called():
    found = rows(torchscript.torchscript_operator_kinds(SMALL), "count")
    modules = {"aten::_convolution": nn.Conv2d, "aten::linear": nn.Linear, "aten::relu_": nn.ReLU}
    kinds = Counter(type(module) for module in small().modules())
    assert found == {
        **{kind: kinds[layer] for kind, layer in modules.items()},
        "aten::max_pool2d": 1,
        "aten::flatten": 1,
    }
    alone = rows(torchscript_slips.torchscript_operator_kinds_of_calls(SMALL), "count")
    assert alone["prim::CallMethod"] == 7
    assert not any(kind.startswith("aten::") for kind in alone)
