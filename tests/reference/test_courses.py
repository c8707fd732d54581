"""Quantities of the labs on efficient networks and rooflines, each beside a witness that shares no code with it."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.ao.quantization.observer import MinMaxObserver
from torch.nn.utils import prune
from torch.utils.flop_counter import FlopCounterMode

from labgrade.spec import course
from labgrade.spec.registry import Entry
from labgrade.subjects.models import Subject
from reference import (
    accelerators,
    budgets,
    codebook_slips,
    codebooks,
    integer_products,
    integer_slips,
    integers,
    intensities,
    layer_tables,
    measurements,
    pruning,
    pruning_slips,
    roofs,
    sensitivity,
    small_network_slips,
)

OWN = course.find(Path(__file__).parents[2])
DATA = OWN.root / "specs/efficient"
MODULES = (
    accelerators,
    codebook_slips,
    codebooks,
    integer_products,
    integer_slips,
    integers,
    intensities,
    layer_tables,
    pruning,
    pruning_slips,
    roofs,
    sensitivity,
    small_network_slips,
)
LEAN = [{"steps": 1000003}, {"steps": 1000003, "width": 5}]


def lean(**options):
    return Subject(model="sparse/lean", shape=(1, 3, 16, 16), options=options, code=OWN.code_of("sparse/lean"))


def weights(subject):
    layers = subject.with_weights()[0].named_modules()
    return {name: each.weight.detach() for name, each in layers if isinstance(each, nn.Conv2d | nn.Linear)}


# ---- pruning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparsity", [0.35, 0.6, 0.8])
@pytest.mark.parametrize("steps", [8, 64])
def test_masks_are_those_of_torchs_own_pruning_where_no_weights_are_equal(sparsity, steps):
    subject = lean(steps=steps)
    ours = pruning.magnitude_masks(subject, sparsity=sparsity)
    for name, weight in weights(subject).items():
        layer = nn.Module()
        layer.register_parameter("weight", nn.Parameter(weight.clone()))
        prune.l1_unstructured(layer, "weight", amount=round(sparsity * weight.numel()))
        sure = (ours[name] == 0) | (ours[name] == 1)
        assert torch.equal(layer.weight_mask[sure].double(), ours[name][sure])
        assert int(layer.weight_mask.sum()) == round(float(ours[name].sum()))


def test_all_layers_have_one_threshold():
    subject = lean(steps=64)
    ours = pruning.magnitude_masks(subject, sparsity=0.6, scope="all")
    every = sorted(abs(float(w)) for weight in weights(subject).values() for w in weight.flatten())
    threshold = every[round(0.6 * len(every)) - 1]
    for name, weight in weights(subject).items():
        assert bool((ours[name][weight.abs() > threshold] == 1).all())
        assert bool((ours[name][weight.abs() < threshold] == 0).all())
    assert round(sum(float(each.sum()) for each in ours.values())) == len(every) - round(0.6 * len(every))


@pytest.mark.parametrize(
    "options", [{"pattern": "fine"}, {"pattern": "channel", "width": 5}, {"pattern": "two_of_four"}]
)
def test_patterns_are_those_of_loops(options):
    subject = lean(**options)
    rows = {row["layer"]: row for row in pruning.sparsity_patterns(subject)}
    zeros = total = 0
    for name, weight in weights(subject).items():
        against = channels = own = 0
        for channel in weight.tolist():
            flat = torch.tensor(channel).flatten().tolist()
            own += flat.count(0.0)
            channels += not any(flat)
            against += sum(sum(map(bool, flat[at : at + 4])) > 2 for at in range(0, len(flat) - 3, 4))
        assert rows[name] == {"layer": name, "zeros": own, "channels": channels, "against": against}
        zeros, total = zeros + own, total + weight.numel()
    assert pruning.weight_sparsity(subject) == zeros / total


# ---- whole numbers --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("options", LEAN)
def test_eight_bits_are_those_of_torchs_own_quantisation(options):
    subject = lean(**options)
    symmetric, asymmetric = (
        integers.quantised_integers(subject),
        integers.quantised_integers(subject, scheme="asymmetric"),
    )
    rows = {row["layer"]: row for row in integers.quantisation_parameters(subject, scheme="asymmetric")}
    for name, weight in weights(subject).items():
        observer = MinMaxObserver(dtype=torch.quint8)
        observer(weight)
        scale, zero = observer.calculate_qparams()
        assert rows[name]["scale"] == pytest.approx(float(scale), rel=1e-6)
        assert rows[name]["zero_point"] == int(zero)
        got = torch.quantize_per_tensor(weight, float(scale), int(zero), torch.quint8).int_repr()
        assert (got.double() - asymmetric[name]).abs().max() <= 1  # torch rounds x * (1 / scale) in float32
        assert (got.double() != asymmetric[name]).double().mean() < 0.01
        got = torch.quantize_per_tensor(weight, float(weight.abs().max()) / 127, 0, torch.qint8).int_repr()
        assert (got.double() != symmetric[name]).double().mean() < 0.01


@pytest.mark.parametrize("options", LEAN)
@pytest.mark.parametrize("bits", [4, 6, 8])
@pytest.mark.parametrize("scheme", ["symmetric", "asymmetric"])
def test_no_weight_of_the_tasks_is_half_way_so_that_float32_gives_the_same(options, bits, scheme):
    subject = lean(**options)
    rows = {row["layer"]: row for row in integers.quantisation_parameters(subject, bits=bits, scheme=scheme)}
    for name, weight in weights(subject).items():
        scale = rows[name]["scale"]
        steps = (weight.double() / scale).round()
        assert torch.equal((weight / torch.tensor(scale)).round().double(), steps)
        assert torch.equal((weight * torch.tensor(1 / scale)).round().double(), steps)


@pytest.mark.parametrize("name", ["product.npz", "product-other.npz"])
def test_the_integer_product_is_that_of_loops(name):
    own = np.load(DATA / name)
    found = integer_products.integer_product({}, data=str(DATA / name))
    for row, x in enumerate(own["x"].tolist()):
        for column, w in enumerate(own["w"].tolist()):
            total = int(own["bias"][column])
            for a, b in zip(x, w, strict=True):
                total += (a - int(own["x_zero"])) * (b - int(own["w_zero"]))
            assert found["sums"][row, column] == total
            wanted = round(float(own["multiplier"]) * total) + int(own["y_zero"])
            assert found["outputs"][row, column] == max(-128, min(127, wanted))


# ---- codebooks, bytes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "bits"), [("weights.npy", 2), ("weights.npy", 3), ("weights-other.npy", 4)])
def test_a_codebook_is_that_of_plain_loops(name, bits):
    numbers = np.load(DATA / name).astype(float).tolist()
    low, high = min(numbers), max(numbers)
    values = [low + (high - low) * at / (2**bits - 1) for at in range(2**bits)]
    before = None
    while True:
        own = [min(range(len(values)), key=lambda at: abs(number - values[at])) for number in numbers]
        if own == before:
            break
        for at in range(len(values)):
            group = [number for number, place in zip(numbers, own, strict=True) if place == at]
            values[at] = math.fsum(group) / len(group) if group else values[at]
        before = own
    assert np.allclose(codebooks.codebook({}, data=str(DATA / name), bits=bits)["values"], sorted(values), rtol=1e-9)


@pytest.mark.parametrize("bits", [3, 4, 8])
def test_compressed_bytes_are_what_numpy_packs(bits):
    subject = lean(width=5)
    packed = {name: len(np.packbits(np.zeros(w.numel() * bits, bool))) for name, w in weights(subject).items()}
    scales = sum(np.zeros(len(w), np.float32).nbytes for w in weights(subject).values())
    books = sum(np.zeros(2**bits, np.float32).nbytes for _ in packed)
    assert codebooks.compressed_weight_bytes(subject, bits=bits) == sum(packed.values()) + scales
    assert codebooks.compressed_weight_bytes(subject, bits=bits, kept="codebook") == sum(packed.values()) + books


# ---- accuracy -------------------------------------------------------------------------------------------------------


def network(own, changed):
    layers = []
    for name in ("fc1", "fc2", "fc3"):
        layer = nn.Linear(*own[f"{name}_weight"].shape[::-1])
        layer.weight.data = torch.tensor(changed(name, own[f"{name}_weight"]))
        layer.bias.data = torch.tensor(own[f"{name}_bias"])
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


@pytest.mark.parametrize("name", ["strokes.npz", "strokes-other.npz"])
def test_scans_are_those_of_a_network_of_torch_in_float32(name):
    own = np.load(DATA / name)
    rows = {row["layer"]: row for row in sensitivity.pruning_scan({}, data=str(DATA / name))}
    for layer in rows:
        for share in (0.3, 0.5, 0.7, 0.9):

            def pruned(which, weight, layer=layer, share=share):
                if which != layer:
                    return weight
                holder = nn.Module()
                holder.register_parameter("weight", nn.Parameter(torch.tensor(weight)))
                prune.l1_unstructured(holder, "weight", amount=round(share * weight.size))
                return holder.weight.detach().numpy()

            out = network(own, pruned)(torch.tensor(own["x"]))
            right = int((out.argmax(1).numpy() == own["y"]).sum())
            assert rows[layer][f"at_{round(100 * share)}"] == right


@pytest.mark.parametrize(("name", "bits"), [("strokes.npz", 2), ("strokes.npz", 3), ("strokes-other.npz", 2)])
def test_few_bits_cost_what_torchs_fake_quantisation_costs(name, bits):
    own = np.load(DATA / name)
    top = 2 ** (bits - 1) - 1

    def rounded(_, weight):
        w = torch.tensor(weight)
        return torch.fake_quantize_per_tensor_affine(w, float(w.abs().max()) / top, 0, -top, top).numpy()

    right = int((network(own, rounded)(torch.tensor(own["x"])).argmax(1).numpy() == own["y"]).sum())
    assert sensitivity.correct_after_quantisation({}, data=str(DATA / name), bits=bits) == right


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_budget_is_what_the_layers_say(tmp_path):
    made = nn.Sequential(nn.Linear(16, 14), nn.ReLU(), nn.Linear(14, 5)).eval()
    torch.jit.trace(made, torch.zeros(1, 16)).save(str(tmp_path / "n.pt"))
    found = budgets.budget_figures(tmp_path / "n.pt", input_shape=[1, 16])
    assert found == {
        "macs": 16 * 14 + 14 * 5,
        "weight_bytes": 4 * (16 * 14 + 14 + 14 * 5 + 5),
        "peak_bytes": 4 * (16 + 14),
    }
    said = budgets.budget_findings(tmp_path / "n.pt", macs=293, weight_bytes=2000, peak_bytes=160, input_shape=[1, 16])
    assert [each["says"] for each in said] == ["it takes 294 multiply-accumulates, and 293 are allowed"]
    with pytest.raises(ValueError, match="does not take an input"):
        budgets.budget_figures(tmp_path / "n.pt", input_shape=[1, 3])


# ---- rooflines ------------------------------------------------------------------------------------------------------


def test_flops_by_layer_are_those_of_torchs_counter():
    subject = Subject(model="torchvision/alexnet", shape=(4, 3, 224, 224))
    rows = intensities.intensity_by_layer(subject)
    counter = FlopCounterMode(display=False)
    module, given = subject.on_meta()
    with counter:
        module(given)
    assert sum(row["flops"] for row in rows) == counter.get_total_flops()
    first = rows[0]
    assert first["bytes"] == 4 * (4 * 3 * 224 * 224 + 64 * 3 * 11 * 11 + 64 + 4 * 64 * 55 * 55)
    assert first["intensity"] == first["flops"] / first["bytes"]
    kept = intensities.intensity_by_layer(subject, kept="weights")
    parameters = sum(each.numel() for each in module.parameters())
    assert sum(row["bytes"] for row in rows) - sum(row["bytes"] for row in kept) == 4 * parameters


def test_the_time_of_a_kernel_is_the_longest_of_its_times():
    config = {"flops": 4e9, "bytes": {"l2": 6e9, "dram": 1e9}, "peak": 1e12, "bandwidth": {"l2": 1.2e12, "dram": 4e11}}
    times = {"compute": 4e9 / 1e12, "l2": 6e9 / 1.2e12, "dram": 1e9 / 4e11}
    assert roofs.attainable(config) == pytest.approx(4e9 / max(times.values()))
    assert roofs.roof(config) == max(times, key=times.get)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a,2e9,1e8,0.01", []),
        ("a,2e9,1e8,0.001", ["'a' is 4 times as fast"]),
        ("a,2e9,1e8,0.00001", ["off by a thousand"]),
        ("a,2e9,1e8,-1", ["seconds is -1"]),
        ("a,2e9,1e8,0", ["seconds is 0"]),
        ("a,2e9,1e8,100", ["below a ten-thousandth"]),
    ],
)
def test_what_no_measurement_can_be_is_said(tmp_path, row, said):
    (tmp_path / "m.csv").write_text(f"kernel,flops,bytes,seconds\n{row}\n")
    found = measurements.roofline_findings(tmp_path / "m.csv", peak=5e11, bandwidth=2e11)
    assert len(found) == len(said)
    assert all(part in each["says"] for part, each in zip(said, found, strict=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [("kernel,flops,bytes\na,1,1\n", "no column 'seconds'"),
     ("kernel,flops,bytes,seconds\na,1,1,fast\n", "is no number"),
     ("kernel,flops,bytes,seconds\n", "0 rows"), ("", "no column 'kernel'")],
)  # fmt: skip
def test_what_is_no_table_of_measurements_is_said(tmp_path, text, said):
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(ValueError, match=said):
        measurements.roofline_findings(tmp_path / "m.csv", peak=5e11, bandwidth=2e11)


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        ("200", []),
        ("196", []),
        ("", []),
        ("0.2", ["off by a thousand"]),
        ("2e11", ["gflops is 2e+11"]),
        ("90", ["is 90"]),
    ],
)
def test_a_rate_follows_from_what_stands_beside_it(tmp_path, rate, said):
    (tmp_path / "m.csv").write_text(f"kernel,flops,bytes,seconds,gflops\na,2e9,1e8,0.01,{rate}\n")
    found = measurements.roofline_findings(tmp_path / "m.csv", peak=5e11, bandwidth=2e11)
    assert [part for part, each in zip(said, found, strict=True) if part not in each["says"]] == []


# ---- accelerators ---------------------------------------------------------------------------------------------------

VGG16 = {
    "input": [3, 224, 224],
    "layers": [64, 64, "M", 128, 128, "M", *[256] * 3, "M", *[512] * 3, "M", *[512] * 3, "M"],
    "linear": [4096, 4096, 1000],
}


def test_the_table_of_vgg_is_that_of_torchvisions_network():
    rows = layer_tables.convolution_table(VGG16)
    assert sum(row["parameters"] for row in rows) == 138_357_544  # as torchvision publishes it
    module, given = Subject(model="torchvision/vgg16", shape=(1, 3, 224, 224)).on_meta()
    sizes = []
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear | nn.MaxPool2d):
            layer.register_forward_hook(lambda *about: sizes.append(about[-1].numel()))
    counter = FlopCounterMode(display=False)
    with counter:
        module(given)
    assert [row["memory"] for row in rows] == sizes
    assert 2 * sum(row["macs"] for row in rows) == counter.get_total_flops()


def test_energy_is_that_of_loops_that_count():
    costs = {"mac": 1.0, "register": 1.1, "buffer": 6.3, "dram": 205}
    config = {"channels": 3, "filters": 4, "kernel": 3, "size": 5, "batch": 2, "costs": costs}
    total = 0.0
    for _ in np.ndindex(2, 4, 5, 5, 3, 3, 3):
        total += costs["mac"] + 4 * costs["register"]
    for shape in ((2, 3, 5, 5), (4, 3, 3, 3), (2, 4, 5, 5)):
        for _ in np.ndindex(*shape):
            total += costs["dram"] + 2 * costs["buffer"]
    assert accelerators.layer_energy(config) == pytest.approx(total)


def simulated(m, k, n, rows, columns, dataflow):
    """Cycles of an array that is stepped cycle by cycle; it computes the product, so that it can't be too fast."""
    random = np.random.default_rng(0)
    a, b = random.integers(-9, 9, (m, k)), random.integers(-9, 9, (k, n))
    out, cycles = np.zeros((m, n), int), 0
    along, across = (m, n) if dataflow == "os" else (k, n)
    for top in range(0, along, rows):
        for left in range(0, across, columns):
            if dataflow == "os":
                cycles += output_stationary(a, b, out, top, left, rows, columns)
            else:
                cycles += weight_stationary(a, b, out, top, left, rows, columns)
    assert (out == a @ b).all()
    return cycles


def output_stationary(a, b, out, top, left, rows, columns):
    right, down = np.full((rows, columns), np.nan), np.full((rows, columns), np.nan)
    sums, done, clock = np.zeros((rows, columns)), np.zeros((rows, columns), int), 0
    depth = a.shape[1]
    while (done < depth).any():
        right[:, 1:], down[1:] = right[:, :-1].copy(), down[:-1].copy()
        for row in range(rows):
            at = clock - row
            inside = 0 <= at < depth
            right[row, 0] = (a[top + row, at] if top + row < len(a) else 0) if inside else np.nan
        for column in range(columns):
            at = clock - column
            inside = 0 <= at < depth
            down[0, column] = (b[at, left + column] if left + column < b.shape[1] else 0) if inside else np.nan
        ready = ~np.isnan(right) & ~np.isnan(down)
        sums[ready] += (right * down)[ready]
        done += ready
        clock += 1
    part = out[top : top + rows, left : left + columns]
    part[...] = sums[: part.shape[0], : part.shape[1]]
    return clock + rows  # the sums leave the array, a row a cycle


def weight_stationary(a, b, out, top, left, rows, columns):
    held = np.zeros((rows, columns))
    block = b[top : top + rows, left : left + columns]
    held[: block.shape[0], : block.shape[1]] = block
    right, sums = np.full((rows, columns), np.nan), np.zeros((rows, columns))
    left_over, clock, arrived = len(a) * columns, 0, np.zeros(columns, int)
    while left_over:
        right[:, 1:] = right[:, :-1].copy()
        above = np.vstack([np.zeros(columns), sums[:-1]])
        for row in range(rows):
            at = clock - row
            right[row, 0] = (a[at, top + row] if top + row < a.shape[1] else 0) if 0 <= at < len(a) else np.nan
        sums = np.where(np.isnan(right), 0, above + np.nan_to_num(right) * held)
        for column in range(columns):
            if not np.isnan(right[-1, column]):
                if left + column < out.shape[1]:
                    out[arrived[column], left + column] += int(sums[-1, column])
                arrived[column] += 1
                left_over -= 1
        clock += 1
    return clock + rows  # the weights came in, a row a cycle


@pytest.mark.parametrize("dataflow", ["os", "ws"])
@pytest.mark.parametrize(("m", "k", "n", "rows", "columns"), [(17, 33, 65, 8, 8), (3, 5, 2, 4, 7), (9, 4, 12, 3, 5)])
def test_cycles_are_those_of_an_array_that_is_stepped(m, k, n, rows, columns, dataflow):
    config = {"m": m, "k": k, "n": n, "rows": rows, "columns": columns, "dataflow": dataflow}
    cycles = simulated(m, k, n, rows, columns, dataflow)
    assert accelerators.systolic_cycles(config) == cycles
    assert accelerators.systolic_utilisation(config) == pytest.approx(m * k * n / (cycles * rows * columns))


# ---- slips ----------------------------------------------------------------------------------------------------------


def test_many_slips_of_these_labs_are_known():
    files = {module.__file__ for module in MODULES}
    known = [each for each in OWN.quantities.entries.values() if isinstance(each, Entry) and each.slip]
    assert sum(str(each.file) in files for each in known) >= 60
