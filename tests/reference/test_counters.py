"""The figures of other counters, regenerated: published ones, theirs on all models, and torchinfo itself."""

import csv
import functools
import importlib.util
from pathlib import Path

import pytest
from torch import nn

from reference import counters
from reference.macs import macs
from tests.reference.subjects import NAMES, Given, Once, torchvision

MEASURED = Path(__file__).parents[2] / "../shared/facts/macs.csv"
COLUMNS = {
    "ptflops_cpu_macs": counters.macs_ptflops_default,
    "ptflops_meta_nofunctional_macs": counters.macs_ptflops_modules_only,
    "torchinfo_meta_macs": counters.macs_torchinfo,
    "thop_cpu_macs": counters.macs_thop,
    "fvcore_cpu_total_macs": counters.macs_fvcore,
}
# ptflops, ptflops of modules only, torchinfo, thop, fvcore: as the tools themselves printed them.
FIGURES = {
    "alexnet": (716_441_128, 715_561_896, 714_682_664, 714_206_912, 714_197_696),
    "googlenet": (1_513_907_448, 1_507_755_400, 1_498_391_752, 1_511_332_032, 1_504_878_688),
    "vit_b_32": (4_418_839_336, 4_416_996_136, 173_119_720, 2_951_368_704, 4_367_906_304),
}


@functools.cache
def measured():
    with MEASURED.open() as file:
        return {row["model"]: row for row in csv.DictReader(file)}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_published_figures(name):
    subject = torchvision(name)
    assert tuple(column(subject) for column in COLUMNS.values()) == FIGURES[name]


@pytest.mark.skipif(not MEASURED.exists(), reason="the tools' measured figures are not at hand")
@pytest.mark.parametrize("name", NAMES)
def test_what_the_tools_printed_on_every_model(name, monkeypatch):
    monkeypatch.setattr(counters, "analyse", functools.cache(counters.analyse))  # one trace serves all five
    subject = Once(torchvision(name))
    printed = {column: float(measured()[name][column]) for column in COLUMNS}
    assert {column: counter(subject) for column, counter in COLUMNS.items()} == printed


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("torchinfo"), reason="torchinfo is not installed")
@pytest.mark.parametrize("name", ["googlenet", "vit_b_32", "swin_t", "mobilenet_v2"])
def test_torchinfo_by_layer(name):
    import torchinfo

    subject = torchvision(name, batch=2)
    module, x = subject.on_meta()
    shown = torchinfo.summary(module, input_data=x, verbose=0, depth=20, device="meta")
    expected = {info.get_layer_name(False, True): info.macs for info in shown.summary_list if info.is_leaf_layer}  # noqa: FBT003
    rows = counters.macs_by_layer_torchinfo(subject)
    assert {row["also_named"][0]: row["macs"] for row in rows} == {name: n for name, n in expected.items() if n}
    assert counters.macs_torchinfo(subject) == shown.total_mult_adds == sum(row["macs"] for row in rows)


@pytest.mark.parametrize(
    ("make", "shape", "expected"),
    [
        (lambda: nn.ConvTranspose2d(3, 4, 2, stride=2), (1, 3, 8, 8), {"torchinfo": 13_312, "thop": 12_288}),
        (lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), (1, 4, 5, 5), {"torchinfo": 13_794, "thop": 13_068}),
        (lambda: nn.Linear(8, 5), (1, 10, 8), {"torchinfo": 45, "thop": 400, "fvcore": 400}),
        (lambda: nn.LSTM(8, 16), (5, 1, 8), {"torchinfo": 8320}),
        (lambda: nn.Conv2d(3, 4, 4, padding="same"), (1, 3, 8, 8), {"thop": 12_288}),
        (lambda: nn.LayerNorm(8), (2, 8), {"ptflops_modules_only": 8, "thop": 64, "fvcore": 80}),
        (lambda: nn.BatchNorm1d(8, affine=False), (2, 8), {"ptflops_modules_only": 8, "thop": 32, "fvcore": 16}),
        (nn.ReLU, (1, 8), {"ptflops_modules_only": 8, "ptflops_default": 16, "thop": 0, "fvcore": 0}),
        (lambda: nn.AvgPool2d(2), (1, 1, 4, 4), {"ptflops_modules_only": 16, "thop": 4, "fvcore": 0}),
    ],
)
def test_micro_layers(make, shape, expected):
    subject = Given(make, shape)
    assert {tool: getattr(counters, f"macs_{tool}")(subject) for tool in expected} == expected


def test_ptflops_divides_only_its_modules_by_the_batch():
    one, two = torchvision("googlenet"), torchvision("googlenet", batch=2)
    assert counters.macs_ptflops_modules_only(two) == counters.macs_ptflops_modules_only(one)
    extra = counters.macs_ptflops_default(one) - counters.macs_ptflops_modules_only(one)
    assert counters.macs_ptflops_default(two) == counters.macs_ptflops_modules_only(one) + 2 * extra


@pytest.mark.parametrize("name", ["googlenet", "resnet50", "vgg16"])
def test_the_conventions_give_fvcores_and_ptflops_totals_too(name):
    """Where a tool's convention is one that `macs` offers, setting it gives the tool's total."""
    subject = torchvision(name)
    pooled = macs(subject, layers=["AdaptiveAvgPool2d"], pooling="one_per_input")
    assert counters.macs_fvcore(subject) == macs(subject, norm="two_per_input") + pooled
    modules = ["Conv2d", "Linear", "BatchNorm2d", "MaxPool2d", "AdaptiveAvgPool2d", "ReLU"]
    costs = {"bias": True, "norm": "two_per_input", "pooling": "one_per_input", "activation": "one_per_output"}
    assert counters.macs_ptflops_modules_only(subject) == macs(subject, layers=modules, **costs)
