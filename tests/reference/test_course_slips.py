"""Slips of the labs on efficient networks and rooflines, each beside code as a student writes it who makes it."""

from pathlib import Path

import numpy as np
import pytest
from torch import nn

from labgrade.spec import course
from labgrade.subjects.models import Subject

OWN = course.find(Path(__file__).parents[2])
DATA = OWN.root / "specs/efficient"
LEAN = Subject(model="sparse/lean", shape=(1, 3, 16, 16), options={"pattern": "fine"}, code=OWN.code_of("sparse/lean"))


def value(name, of=LEAN, **parameters):
    return OWN.quantities.get(name).load()(of, **parameters)


def weights():
    layers = LEAN.with_weights()[0].named_modules()
    return {
        name: each.weight.detach().double().numpy() for name, each in layers if isinstance(each, nn.Conv2d | nn.Linear)
    }


# ---- patterns -------------------------------------------------------------------------------------------------------


def groups(rows):
    whole = rows.shape[1] // 4 * 4
    return (rows[:, :whole].reshape(-1, 4) != 0).sum(1)


def flat(w):
    return w.reshape(len(w), -1)


AGAINST = {
    "with_groups_along_outputs": lambda w: (groups(flat(w).T) > 2).sum(),
    "with_groups_by_input": lambda w: (groups(flat(np.swapaxes(w, 0, 1))) > 2).sum(),
    "with_groups_along_channels": lambda w: (groups(flat(np.moveaxis(w, 1, -1))) > 2).sum(),
    "with_groups_over_channels": lambda w: (groups(w.reshape(1, -1)) > 2).sum(),
    "with_what_is_left": lambda w: sum(
        sum(bool(each) for each in row[at : at + 4]) > 2 for row in flat(w) for at in range(0, len(row), 4)
    ),
    "two_or_more": lambda w: (groups(flat(w)) >= 2).sum(),
    "three_alone": lambda w: (groups(flat(w)) == 3).sum(),
    "of_zeros": lambda w: ((4 - groups(flat(w))) > 2).sum(),
    "of_moved_groups": lambda w: sum(
        sum(bool(each) for each in row[at : at + 4]) > 2 for row in flat(w) for at in range(len(row) - 3)
    ),
}


@pytest.mark.parametrize("name", AGAINST)
def test_groups_of_four_that_are_made_otherwise(name):
    rows = {row["layer"]: row["against"] for row in value(f"sparsity_patterns_{name}")}
    assert rows == {layer: int(AGAINST[name](w)) for layer, w in weights().items()}


def test_channels_that_are_counted_otherwise():
    for name, count in (
        ("of_channels_left", lambda w: int(flat(w).any(1).sum())),
        ("of_channels_with_a_zero", lambda w: int((flat(w) == 0).any(1).sum())),
        (
            "of_kernels",
            lambda w: (
                int((w.reshape(*w.shape[:2], -1) == 0).all(2).sum()) if w.ndim > 2 else int((w == 0).all(1).sum())
            ),
        ),
    ):
        rows = {row["layer"]: row["channels"] for row in value(f"sparsity_patterns_{name}")}
        assert rows == {layer: count(w) for layer, w in weights().items()}


# ---- whole numbers --------------------------------------------------------------------------------------------------


def affine(w, axes=None, zero=np.rint, lowest=0):
    low, high = w.min(axis=axes, keepdims=True), w.max(axis=axes, keepdims=True)
    if lowest is not None:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    scale = (high - low) / 15
    scale = np.where(scale == 0, 1, scale)
    return scale, zero(-low / scale)


def asymmetric(w, rule=np.rint, **about):
    scale, zero = affine(w, **about)
    return np.clip(rule(w / scale) + zero, 0, 15)


def others(w, kept):
    return tuple(each for each in range(w.ndim) if each != kept)


INTEGERS = {
    ("half_up", "asymmetric", "tensor"): lambda w: asymmetric(w, lambda x: np.floor(x + 0.5)),
    ("per_input", "asymmetric", "channel"): lambda w: asymmetric(w, axes=others(w, 1)),
    ("of_a_range_without_zero", "asymmetric", "channel"): lambda w: asymmetric(w, axes=others(w, 0), lowest=None),
    ("with_a_floored_zero_point", "asymmetric", "tensor"): lambda w: asymmetric(w, zero=np.floor),
    ("signed", "asymmetric", "tensor"): lambda w: asymmetric(w) - 8,
    ("with_an_exact_zero_point", "asymmetric", "tensor"): lambda w: np.rint((w - min(w.min(), 0)) / affine(w)[0]),
    ("of_full_range_unclamped", "symmetric", "tensor"): lambda w: np.rint(w / (abs(w).max() / 8)),
    ("of_the_largest_value", "symmetric", "tensor"): lambda w: np.clip(np.rint(w / (w.max() / 7)), -7, 7),
    ("half_away", "symmetric", "tensor"): lambda w: np.sign(w) * np.floor(abs(w / (abs(w).max() / 7)) + 0.5),
}


@pytest.mark.parametrize(("name", "scheme", "per"), INTEGERS)
def test_whole_numbers_that_are_made_otherwise(name, scheme, per):
    found = value(f"quantised_integers_{name}", bits=4, scheme=scheme, per=per)
    for layer, w in weights().items():
        assert np.array_equal(found[layer].numpy(), INTEGERS[name, scheme, per](w)), layer


# ---- a small network, a codebook, a product -------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "top"), [("", 127), ("_unclamped", 10**9)])
def test_scales_over_the_whole_width(name, top):
    found = value(f"quantised_integers_of_the_whole_width{name}", bits=8)
    for layer, weight in weights().items():
        whole = np.round(np.float32(weight) / np.float32(2 * abs(weight).max() / 255))
        assert np.array_equal(found[layer], np.minimum(whole, top)), layer


def right_rows(scaled, bits=2):
    with np.load(DATA / "strokes.npz") as d:
        h = d["x"].astype(float)
        for at in (1, 2, 3):
            w, b = scaled(d[f"fc{at}_weight"].astype(float), d[f"fc{at}_bias"].astype(float), 2 ** (bits - 1) - 1)
            h = h @ w.T + b
            h = np.maximum(h, 0) if at < 3 else h
        return int((h.argmax(1) == d["y"]).sum())


def on_grid(w, top, rule=np.round, axis=None):
    scale = abs(w).max(axis=axis, keepdims=True) / top
    return scale * rule(w / scale)


@pytest.mark.parametrize(
    ("name", "scaled"),
    [
        ("truncated", lambda w, b, top: (on_grid(w, top, np.trunc), b)),
        ("with_biases", lambda w, b, top: (on_grid(w, top), on_grid(b, top))),
        ("by_channel", lambda w, b, top: (on_grid(w, top, axis=1), b)),
        ("of_full_range", lambda w, b, top: (on_grid(w, top + 1), b)),
        ("of_all_values", lambda w, b, top: (on_grid(w, 2 * top + 1), b)),
    ],
)
@pytest.mark.parametrize("bits", [2, 3])
def test_rows_that_are_right_after_another_rounding(name, scaled, bits):
    found = value(f"correct_after_quantisation_{name}", {}, data=str(DATA / "strokes.npz"), bits=bits)
    assert found == right_rows(scaled, bits)


def kmeans(w, values, empty=None):
    last = None
    while True:
        nearest = abs(w[:, None] - values[None]).argmin(1)
        if last is not None and (nearest == last).all():
            return np.sort(values)
        last = nearest
        for at in range(len(values)):
            own = w[nearest == at]
            values[at] = own.mean() if len(own) else values[at] if empty is None else empty


@pytest.mark.parametrize(
    ("name", "start", "empty"),
    [
        ("from_middles", lambda w: np.linspace(w.min(), w.max(), 33)[1::2], None),
        ("with_zero_for_nothing", lambda w: np.linspace(w.min(), w.max(), 16), 0.0),
        ("from_the_lower_ends", lambda w: np.linspace(w.min(), w.max(), 16, endpoint=False), None),
        ("around_zero", lambda w: np.linspace(-abs(w).max(), abs(w).max(), 16), None),
    ],
)
def test_codebooks_that_begin_otherwise(name, start, empty):
    w = np.load(DATA / "weights-other.npy").astype(float)
    found = value(f"codebook_{name}", {}, data=str(DATA / "weights-other.npy"), bits=4)["values"]
    assert np.allclose(found, kmeans(w, start(w), empty))


def product(d, *, early=False, eight=False, order="add clamp"):
    x, w = (
        d[name].astype(np.int8 if eight else np.int32) - d[f"{name}_zero"].astype(np.int8 if eight else np.int32)
        for name in "xw"
    )
    sums = x.astype(np.int32) @ w.astype(np.int32).T + d["bias"]
    made = np.round(d["multiplier"] * (sums + (d["y_zero"] if early else 0)))
    if early:
        return sums, np.clip(made, -128, 127)
    return sums, np.clip(made, -128, 127) + d["y_zero"] if order == "clamp add" else np.clip(
        made + d["y_zero"], -128, 127
    )


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("clamped_before_y_zero", {"order": "clamp add"}),
        ("subtracted_in_eight_bits", {"eight": True}),
        ("moved_before_rounding", {"early": True}),
    ],
)
def test_products_in_another_order(name, about):
    with np.load(DATA / "product-other.npz") as d:
        sums, outputs = product(d, **about)
    found = value(f"integer_product_{name}", {}, data=str(DATA / "product-other.npz"))
    assert np.array_equal(found["sums"], sums)
    assert np.array_equal(found["outputs"], outputs)


# ---- roofs and tables -----------------------------------------------------------------------------------------------

CONFIG = {"flops": 4e9, "bytes": {"l2": 6e9, "dram": 1e9}, "peak": 1e12, "bandwidth": {"l2": 1.2e12, "dram": 4e11}}


def test_rows_that_are_right_in_percent():
    rows = value("pruning_scan", {}, data=str(DATA / "strokes.npz"))
    with np.load(DATA / "strokes.npz") as d:
        count = len(d["y"])
    shares = value("pruning_scan_in_percent", {}, data=str(DATA / "strokes.npz"))
    assert [each["at_30"] for each in shares] == [100 * each["at_30"] / count for each in rows]
    assert all(0 < each["at_30"] <= 100 < count for each in shares)


def test_a_roof_of_the_least_bandwidth_is_not_that_of_the_last_memory():
    turned = {**CONFIG, "bandwidth": {"dram": 4e11, "l2": 1.2e12}, "peak": 1e13}
    assert value("roof_of_the_least_bandwidth", turned) == "dram"
    assert value("roof_of_the_least_bandwidth", CONFIG) == "compute"


def test_roofs_that_are_chosen_otherwise():
    assert value("attainable_of_the_highest_memory", CONFIG) == 1e12  # dram's is 1.6e12
    assert value("attainable_of_memories_one_after_another", CONFIG) == pytest.approx(4e9 / (6e9 / 1.2e12 + 1e9 / 4e11))
    assert value("attainable_of_dram", CONFIG) == 1e12
    assert value("attainable_of_dram", {**CONFIG, "bandwidth": {"l2": 1.2e12}}) is None
    assert value("roof_as_memory", CONFIG) == "memory"
    assert value("roof_as_memory", {**CONFIG, "peak": 1e9}) == "compute"
    assert value("roof_of_the_highest_memory", {**CONFIG, "peak": 1e13}) == "dram"


def test_layers_of_which_biases_alone_are_moved():
    subject = Subject(model="torchvision/alexnet", shape=(4, 3, 224, 224))
    rows = {
        row["layer"]: row["bytes"] for row in value("intensity_by_layer_with_biases_moved", subject, kept="weights")
    }
    kept = {row["layer"]: row["bytes"] for row in value("intensity_by_layer", subject, kept="weights")}
    layers = dict(subject.on_meta()[0].named_modules())
    assert rows == {name: moved + 4 * layers[name].bias.numel() for name, moved in kept.items()}
    assert value("intensity_by_layer_with_biases_moved", subject) is None


def test_a_table_with_biases_among_its_macs_and_one_that_flattens_channels_alone():
    config = {"input": [3, 8, 8], "layers": [5, "M"], "linear": [7]}
    with_biases = {row["layer"]: row["macs"] for row in value("convolution_table_of_macs_with_biases", config)}
    assert with_biases == {"conv1": 5 * 8 * 8 * (27 + 1), "pool1": 0, "fc1": 7 * (5 * 4 * 4 + 1)}
    flattened = {row["layer"]: row["parameters"] for row in value("convolution_table_flattened_without_places", config)}
    assert flattened == {"conv1": 5 * 28, "pool1": 0, "fc1": 7 * (5 + 1)}
