"""Graphs of torch.fx, fixed-point weights, moments, printed tensors, networks handed in: each by a second witness."""

import math
import statistics
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import torch
from helpers.direct import COURSE
from reference.subjects import Given
from torch import fx, nn

from labgrade.subjects.models import Subject

# What each way makes of eight weights at 8 bits, 4 of them behind the point; by hand.
WEIGHTS = [-0.0923, 0.03125, 0.09375, -0.03125, 100.0, -100.0, 7.97, -0.2]
MADE = {
    "weights": [-0.0625, 0, 0.125, 0, 7.9375, -8, 7.9375, -0.1875],
    "floats": WEIGHTS,
    "floored": [-0.125, 0, 0.0625, -0.0625, 7.9375, -8, 7.9375, -0.25],
    "truncated": [-0.0625, 0, 0.0625, 0, 7.9375, -8, 7.9375, -0.1875],
    "half_away": [-0.0625, 0.0625, 0.125, -0.0625, 7.9375, -8, 7.9375, -0.1875],
    "half_up": [-0.0625, 0.0625, 0.125, 0, 7.9375, -8, 7.9375, -0.1875],
    "unclamped": [-0.0625, 0, 0.125, 0, 100, -100, 8, -0.1875],
    "symmetric": [-0.0625, 0, 0.125, 0, 7.9375, -7.9375, 7.9375, -0.1875],
    "one_bit_more": [-0.0625, 0, 0.125, 0, 15.9375, -16, 8, -0.1875],
    "unsigned": [0, 0, 0.125, 0, 15.9375, 0, 8, 0],
    "steps": [-1, 0, 2, 0, 127, -128, 127, -3],
    "all_fraction": [-0.09375, 0.03125, 0.09375, -0.03125, 0.49609375, -0.5, 0.49609375, -0.19921875],
}


def quantity(name):
    return COURSE.quantities.get(name).load()


def network(model, shape=(8, 16), seed=0):
    return Subject(model=model, shape=shape, code=COURSE.code_of(model), weight_seed=seed)


def given(weights):
    def make():
        layer = nn.Linear(len(weights), 1)
        layer.weight.data = torch.tensor([weights])
        return nn.Sequential(layer)

    return Given(make, (1, len(weights)))


@pytest.mark.parametrize("way", MADE)
def test_each_way_to_quantise_makes_its_own_values(way):
    made = quantity(f"fixed_point_{way}")(given(WEIGHTS))["0"].flatten()
    assert torch.equal(made, torch.tensor(MADE[way], dtype=made.dtype))


def test_the_grid_is_that_of_exact_arithmetic():
    module, _ = network("jsc/marked").with_weights()
    made = quantity("fixed_point_weights")(network("jsc/marked"), width=6, fraction=3)["2"]
    exact = [min(31, max(-32, round(Fraction(x) * 8))) / 8 for x in module[2].weight.detach().flatten().tolist()]
    assert made.flatten().tolist() == exact  # Python rounds ties to even, too
    assert {-4.0, 3.875} <= set(exact)


@pytest.mark.parametrize("model", ["jsc/tiny", "jsc/shared", "torchvision/resnet18"])
def test_the_kinds_of_nodes_are_those_that_an_interpreter_runs(model):
    subject = network(model, (1, 3, 32, 32) if model.startswith("torchvision") else (8, 16))
    module, x = subject.on_meta()
    ran = Counter()

    class Counting(fx.Interpreter):
        def run_node(self, n):
            ran[n.op] += 1
            return super().run_node(n)

    Counting(fx.symbolic_trace(module)).run(x)
    assert quantity("fx_opcodes")(subject) == {**dict.fromkeys(quantity("fx_opcodes")(subject), 0), **ran}


def test_a_shared_network_has_nodes_of_every_kind():
    assert min(quantity("fx_opcodes")(network("jsc/shared")).values()) > 0
    assert quantity("fx_opcodes_of_modules")(network("jsc/shared"))["call_module"] == 4  # calls: 6


def test_the_changed_nodes_are_those_of_another_class():
    """The witness replaces the layers, and compares the classes of the nodes' modules."""
    subject = network("torchvision/mobilenet_v2", (1, 3, 32, 32))
    before = fx.symbolic_trace(subject.on_meta()[0])
    modules = dict(before.named_modules())
    other = {name: nn.Identity() if isinstance(each, nn.Linear) else each for name, each in modules.items()}
    calls = [node.target for node in before.graph.nodes if node.op == "call_module"]
    changed = Counter(type(modules[name]).__name__ for name in calls if type(modules[name]) is not type(other[name]))
    rows = {row["type"]: row for row in quantity("changed_nodes")(subject, types=["Linear"])}
    assert {name: row["changed"] for name, row in rows.items() if row["changed"]} == changed == {"Linear": 1}
    assert sum(row["total"] for row in rows.values()) == len(before.graph.nodes)
    assert all(row["total"] == row["changed"] + row["unchanged"] for row in rows.values())
    assert rows["add"]["op"] == "call_function"
    assert rows["ReLU6"]["total"] == 35


def test_a_parameter_that_the_graph_reads_is_no_row_that_is_asked_for():
    rows = quantity("changed_nodes")(network("jsc/shared"), types=["Linear"])
    assert {row["type"] for row in rows if row.get("optional")} == {"x", "scale", "output"}


def test_moments_are_those_of_the_statistics_module():
    subject = network("jsc/wide")
    module, _ = subject.with_weights()
    for row in quantity("weight_moments")(subject, layers=["Linear"]):
        values = module.get_submodule(row["layer"]).weight.detach().flatten().tolist()
        assert math.isclose(row["mean"], statistics.fmean(values), rel_tol=1e-9)
        assert math.isclose(row["variance"], statistics.variance(values), rel_tol=1e-9)
    for row in quantity("weight_moments_biased")(subject, layers=["Linear"]):
        values = module.get_submodule(row["layer"]).weight.detach().flatten().tolist()
        assert math.isclose(row["variance"], statistics.pvariance(values), rel_tol=1e-9)


def test_quantiles_lie_between_their_neighbours():
    subject = network("jsc/wide", (64, 16))
    module, x = subject.with_weights()
    (row, _) = quantity("activation_quantiles")(subject, layers=["ReLU"])
    values = sorted(module[:3](x).detach().double().flatten().tolist())
    place = 0.97 * (len(values) - 1)
    low, high = values[int(place)], values[int(place) + 1]
    assert math.isclose(row["quantile"], low + (place - int(place)) * (high - low), rel_tol=1e-9)
    assert quantity("activation_quantiles_largest")(subject, layers=["ReLU"])[0]["quantile"] == values[-1]


def test_moments_and_quantiles_of_parts_that_are_averaged():
    subject = network("jsc/tiny")
    module, x = subject.with_weights()
    (first, *_) = quantity("weight_moments_of_rows")(subject, layers=["Linear"])
    layer = next(each for each in module if isinstance(each, nn.Linear))
    rows = [torch.var(row.double()).item() for row in layer.weight.detach()]
    assert first["variance"] == pytest.approx(sum(rows) / len(rows), rel=1e-12)
    (first, *_) = quantity("activation_quantiles_of_features")(subject, layers=["ReLU"])
    at = next(at for at, each in enumerate(module) if isinstance(each, nn.ReLU))
    columns = module[: at + 1](x).detach().double().T
    wanted = sum(torch.quantile(each, 0.97).item() for each in columns) / len(columns)
    assert first["quantile"] == pytest.approx(wanted, rel=1e-9)


def test_operations_are_counted_by_hand():
    rows = {row["layer"]: row["operations"] for row in quantity("operations_by_layer")(network("jsc/tiny"))}
    assert rows == {"0": 8 * 16 * 4, "1": 8 * 16, "2": 8 * 16 * 5}
    rows = quantity("operations_by_layer")(network("torchvision/mobilenet_v2", (1, 3, 32, 32)))
    assert {row["type"] for row in rows if row.get("optional")} == {"ReLU6"}


def test_the_weights_of_the_task_lie_between_values_of_the_grid_and_beyond_it():
    """A function that rounds ties elsewhere, or does not clamp, is not right by chance."""
    (task,) = (COURSE.root / "specs/mase-lab2").glob("2-5-*.yaml")
    assert "subject: {model: jsc/marked" in task.read_text(encoding="utf-8")
    slips = ["fixed_point_half_away", "fixed_point_unclamped", "fixed_point_symmetric", "fixed_point_one_bit_more"]
    right = quantity("fixed_point_weights")(network("jsc/marked"))["2"]
    assert all(not torch.equal(quantity(slip)(network("jsc/marked"))["2"], right) for slip in slips)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize(("hidden", "times"), [([32, 24], 13.03), ([16, 16], 5.65)])
def test_how_many_times_as_many_parameters(tmp_path, hidden, times):
    module, _ = network("jsc/tiny").with_weights()
    torch.jit.script(module).save(tmp_path / "tiny.pt")
    own = nn.Sequential(nn.Linear(16, hidden[0]), nn.BatchNorm1d(hidden[0]), nn.Linear(hidden[0], hidden[1]))
    own = nn.Sequential(*own, nn.ReLU(), nn.Linear(hidden[1], 5), nn.Dropout())
    torch.jit.script(own).save(tmp_path / "own.pt")
    state = {name: each for name, each in own.state_dict().items() if "running" not in name and "num_" not in name}
    wanted = sum(math.prod(each.shape) for each in state.values()) / 117
    found = quantity("times_as_many_parameters")(tmp_path / "own.pt", original="tiny.pt")
    assert found == wanted
    assert round(found, 2) == times
    assert quantity("network_output_shape")(tmp_path / "own.pt", input_shape=[4, 16]) == [4, 5]
    with pytest.raises(ValueError, match="does not take an input of shape"):
        quantity("network_output_shape")(tmp_path / "own.pt", input_shape=[4, 15])


# ---- tensors that a student shows ---------------------------------------------------------------------------


def weights(seed=0, rows=4):
    return (torch.rand(rows, 6, generator=torch.Generator().manual_seed(seed)) - 0.5) * 0.8


def report(tmp_path, *printed):
    (tmp_path / "report.md").write_text("".join(f"# Lab\n\n```\n{each}\n```\n" for each in printed))
    return quantity("printed_quantisation")(tmp_path / "report.md")


def rounded(x):
    return torch.round(x * 16) / 16


@pytest.mark.parametrize("show", [str, lambda x: str(x.numpy()), lambda x: str(x.tolist()), lambda x: f"{x.half()}"])
def test_tensors_are_read_as_torch_numpy_and_python_print_them(tmp_path, show):
    w = weights()
    assert report(tmp_path, show(w), show(rounded(w))) == []
    (finding,) = report(tmp_path, show(w), show(torch.floor(w * 16) / 16))
    assert "rounded down" in finding["says"]
    assert finding["certain"]


def test_a_parameter_and_what_stands_around_it(tmp_path):
    w = weights()
    before = f"Parameter containing:\n{nn.Parameter(w)}\nshape [4, 6] of layers[2:5], accuracy [0.5]"
    assert report(tmp_path, before, f"{rounded(w)} <!-- {torch.floor(w * 16) / 16} -->") == []


def test_each_layer_is_compared_with_itself(tmp_path):
    one, two = weights(1), weights(2)
    assert report(tmp_path, one, two, rounded(one), rounded(two)) == []
    assert "rounded down" in report(tmp_path, one, rounded(one), two, torch.floor(two * 16) / 16)[0]["says"]


def test_a_single_wrong_value_is_found(tmp_path):
    w = weights()
    wrong = rounded(w)
    wrong[1, 2] += 0.0625
    (finding,) = report(tmp_path, w, wrong)
    assert finding["certain"]
    assert f"became {wrong[1, 2]:.4f}, not {rounded(w)[1, 2]:.4f}" in finding["says"]


def test_the_floats_again_are_no_quantised_ones(tmp_path):
    w = weights()
    (finding,) = report(tmp_path, w, w)
    assert "float weights, unchanged" in finding["says"]


def test_what_can_not_be_told_waits_for_a_person(tmp_path):
    assert [each["certain"] for each in report(tmp_path, weights(1), weights(2))] == [False]
    assert [each["certain"] for each in report(tmp_path, rounded(weights(1)), rounded(weights(2)))] == [False]
    (finding,) = report(tmp_path, weights(1), weights(2, rows=3), "[16, 32] and [16, 32]")
    assert not finding["certain"]
    assert "no two tensors of one shape" in finding["says"]


@pytest.mark.parametrize(("text", "absent"), [
    ("TODO", True),
    ("accuracy 0.9375 with 1,177 parameters, 0.95 and 0.9372", True),
    ("tensor([0.5, 0.25])", False),
    ("| before | after |\n|---|---|\n| 0.1858 | 0.1875 |\n| -0.0653 | -0.0625 |", False),
])  # fmt: skip
def test_a_report_without_any_tensor_hands_in_none(tmp_path, text, absent):
    (finding,) = report(tmp_path, text)
    assert finding.get("absent", False) is absent
    assert finding.get("certain", True) is absent


def test_abridged_tensors_are_compared_as_far_as_they_are_shown(tmp_path):
    w = (torch.rand(300, 20, generator=torch.Generator().manual_seed(3)) - 0.5) * 0.8
    assert "..." in str(w)
    assert report(tmp_path, w, rounded(w)) == []


@pytest.mark.parametrize(("change", "says"), [
    (lambda x: x, "float weights"),
    (lambda x: torch.trunc(x * 16) / 16, "towards zero"),
    (lambda x: rounded(x)[:2], "has the shape"),
])  # fmt: skip
def test_files_before_and_after_are_compared_by_name(tmp_path, change, says):
    w = weights()
    torch.save({"0.weight": w, "0.bias": w[0], "1.running_mean": w[0]}, tmp_path / "before.pth")
    torch.save({"0.weight": rounded(w), "0.bias": w[0]}, tmp_path / "after.pth")
    both = {name: [tmp_path / f"{name}.pth"] for name in ("before", "after")}
    assert quantity("quantised_file_findings")(both) == []
    torch.save({"0.weight": change(w)}, tmp_path / "after.pth")
    assert says in quantity("quantised_file_findings")(both)[0]["says"]
    torch.save({"other.weight": w}, tmp_path / "after.pth")
    with pytest.raises(ValueError, match="no weight in common"):
        quantity("quantised_file_findings")(both)


@pytest.mark.parametrize("made", [
    lambda: torch.empty(3, 4, device="meta"),
    lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
])  # fmt: skip
def test_a_tensor_whose_values_are_not_there_is_the_students(tmp_path, made):
    torch.save({"0.weight": made()}, tmp_path / "a.pth")
    with pytest.raises(ValueError, match=r"'0\.weight' is a tensor"):
        quantity("quantised_file_findings")({name: [tmp_path / "a.pth"] for name in ("before", "after")})


@pytest.mark.parametrize(
    ("before", "after"), [("{}", "model.{}"), ("module.net.{}", "{}"), ("_orig_mod.{}", "model.{}")]
)
def test_a_prefix_that_all_names_share_is_none_of_theirs(tmp_path, before, after):
    w = weights()
    for file, name, weight in (("before", before, w), ("after", after, rounded(w))):
        torch.save({name.format("0.weight"): weight, name.format("1.bias"): w[0]}, tmp_path / f"{file}.pth")
    both = {name: [tmp_path / f"{name}.pth"] for name in ("before", "after")}
    assert quantity("quantised_file_findings")(both) == []
    torch.save({after.format("0.weight"): w, after.format("1.bias"): w[0]}, tmp_path / "after.pth")
    assert "float weights" in quantity("quantised_file_findings")(both)[0]["says"]


def test_half_precision_and_numbers_in_other_notations(tmp_path):
    w = np.array([[1.25e-5, -0.5, 0.2], [0.0923, -3.1, 12.5]])
    assert report(tmp_path, torch.tensor(w), torch.round(torch.tensor(w) * 16).clamp(-128, 127) / 16) == []


def test_the_labels_kept_back_are_those_of_the_nearest_strokes():
    """The witness has no part in how the data were divided: the nearest row of the other part has the same label."""
    folder = COURSE.specs / "mase-lab1"
    train, test = np.load(folder / "train.npz"), np.load(folder / "test.npz")
    labels = quantity("pen_labels")({})
    assert set(test.files) == {"x"}
    assert len(labels) == len(test["x"])
    assert len(train["x"]) + len(labels) == 5629
    far = torch.cdist(torch.tensor(test["x"]).float(), torch.tensor(train["x"]).float())
    assert (train["y"][far.argmin(1).numpy()] == labels).mean() > 0.98


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_sparsity_of_a_network_that_is_handed_in(tmp_path):
    own = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 5))
    with torch.no_grad():
        own[0].weight[:2] = 0
        own[3].weight[:, :4] = 0
        own[3].bias.zero_()
    torch.jit.script(own).save(tmp_path / "own.pt")
    zeros, total = 2 * 27 + 5 * 4, 4 * 27 + 5 * 16
    assert quantity("network_file_sparsity")(tmp_path / "own.pt") == zeros / total
    rows = quantity("network_file_sparsity_of_layers")(tmp_path / "own.pt")
    assert rows == [{"layer": "0", "sparsity": 0.5}, {"layer": "3", "sparsity": 0.25}]
    torch.jit.script(nn.ReLU()).save(tmp_path / "none.pt")
    with pytest.raises(ValueError, match="no weights"):
        quantity("network_file_sparsity")(tmp_path / "none.pt")
