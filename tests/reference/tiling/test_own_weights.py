"""A layer with weights of the file's own has one W and one bias for all rows, finite ones, however it is written."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.reference.tiling import right_wholes
from tests.reference.tiling.networks import mlp
from tests.reference.tiling.right_ways import WAYS
from tests.reference.tiling.tally import verdict
from tests.reference.tiling.written import Writer, blocks, usual

pytestmark = pytest.mark.slow

assert right_wholes  # it adds its ways
SIZES = mlp([128, 128], batch=128, seed=1)
OTHER = mlp([128, 128], batch=128, seed=2)  # weights of one's own
NAMES = ["product matmul", "product einsum", "product conv 1x1", "joins added in place", "joins scatter of columns",
         "bias_by_a_column_of_ones", "sums loop", "biases subtracted", "tiles gather nd", "x_in_blocks_of_four_dimensions"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_any_weights_of_one_layer_are_right(name):
    assert verdict(WAYS[name](OTHER), SIZES, weights="own") == ("CORRECT", "")


def rows(w, layer, change):
    """The usual tiling, with another product or bias in the second block of rows."""
    lines = []
    for m0, m1 in blocks(layer.rows):
        x = w.cut(layer.taken, m0, m1, 0)
        parts = []
        for n0, n1 in blocks(layer.columns):
            made = []
            for k0, k1 in blocks(layer.depth):
                tile = layer.weight[k0:k1, n0:n1]
                here = change(m0, k0, n0, tile)
                made += [] if here is None else [w("MatMul", w.cut(x, k0, k1), w.f(here))]
            bias = change(m0, -1, n0, layer.bias[n0:n1])
            total = w.sum(made)
            parts.append(total if bias is None else w("Add", total, w.f(bias)))
        lines.append(w.join(parts))
    return w.join(lines, 0)


CHANGES = {
    "another weight in the second rows": lambda m, k, n, tile: tile + 1 if m and k == 64 else tile,
    "one weight in the second rows": lambda m, k, n, tile: tile + np.eye(*tile.shape) * 1e-6 if m and k == 64 else tile,
    "another bias in the second rows": lambda m, k, n, tile: tile * 2 if m and k < 0 else tile,
    "no bias in the second rows": lambda m, k, n, tile: None if m and k < 0 else tile,
    "no bias in some columns of the second rows": lambda m, k, n, tile: None if m and n and k < 0 else tile,
    "NaN": lambda m, k, n, tile: np.where(np.indices(tile.shape).sum(0) == 0, np.nan, tile) if k == 0 else tile,
    "no product": lambda m, k, n, tile: tile if k <= 0 else None,
    "no product for some columns": lambda m, k, n, tile: tile if k <= 0 or not n else None,
    "infinity": lambda m, k, n, tile: np.where(np.indices(tile.shape).sum(0) == 0, np.inf, tile) if k == 0 else tile,
    "a bias of NaN": lambda m, k, n, tile: tile * np.nan if k < 0 else tile,
    "a bias of infinity": lambda m, k, n, tile: tile + np.inf if k < 0 and n else tile,
    "a bias with one infinity": lambda m, k, n, tile: np.where(np.arange(64) == 7, np.inf, tile) if k < 0 else tile,
}


@pytest.mark.parametrize("name", CHANGES)
def test_rows_of_other_weights_are_not_one_layer(name):
    submitted = Writer(OTHER).model(lambda w, layer: rows(w, layer, CHANGES[name]))
    outcome, said = verdict(submitted, SIZES, weights="own")
    assert outcome == "INCORRECT", said


def test_inputs_that_no_tile_takes_are_left_out():
    """The second tile of each block takes columns 32:96, so that the last 32 of X do nothing, for any W."""
    submitted = Writer(OTHER).model(
        lambda w, layer: usual(w, layer, xs=lambda w, x, k0, k1: w.cut(x, k0 // 2, k0 // 2 + 64))
    )
    assert verdict(submitted, SIZES, weights="own")[0] in ("INCORRECT", "MANUAL")


@pytest.mark.parametrize("how", ["alpha", "X"])
def test_a_multiple_of_a_matrix_of_the_file_is_one_s_own(how):
    def product(w, x, t, a):
        return w("Gemm", x, t, alpha=0.5) if how == "alpha" else w("MatMul", w("Add", x, x), t)

    original, sizes = mlp([64, 64], batch=70, seed=3), mlp([64, 64], batch=70, seed=4)
    submitted = Writer(original).model(lambda w, layer: usual(w, layer, product=product))
    assert verdict(submitted, sizes, weights="own") == ("CORRECT", "")


@pytest.mark.parametrize("op", ["Slice", "Gather"])
def test_tiles_of_a_matrix_must_come_from_their_places(op):
    def tile(w, whole, k0, k1, n0, n1):
        held = kept.setdefault(id(w), None) or kept.__setitem__(id(w), w.f(whole)) or kept[id(w)]
        if op == "Slice":
            return w("Slice", held, w.i(k0, 0), w.i(k1, 64), w.i(0, 1))  # always the first columns
        rows_ = w("Gather", held, w.i(*range(k0, k1)), axis=0)
        return w("Gather", rows_, w.i(*range(64)), axis=1)

    kept = {}
    outcome, said = verdict(Writer(OTHER).model(lambda w, layer: usual(w, layer, tile=tile)), SIZES, weights="own")
    assert outcome == "INCORRECT", said


def as_input(*, turned=False, spoilt=False):
    """W as a second input, cut by Slice."""

    def tile(w, _, k0, k1, n0, n1):
        k0, k1 = (k0 ^ 64, (k0 ^ 64) + 64) if spoilt and n0 else (k0, k1)
        if turned:
            return w("Transpose", w("Slice", "W", w.i(n0, k0), w.i(n1, k1), w.i(0, 1)))
        return w("Slice", "W", w.i(k0, n0), w.i(k1, n1), w.i(0, 1))

    model = Writer(OTHER).model(lambda w, layer: usual(w, layer, tile=tile))
    model.graph.input.append(helper.make_tensor_value_info("W", TensorProto.FLOAT, [128, 128]))
    return model


@pytest.mark.parametrize("turned", [False, True])
def test_a_weight_that_is_an_input(turned):
    assert verdict(as_input(turned=turned), SIZES, weights="own") == ("CORRECT", "")


def test_a_weight_that_is_an_input_cut_at_the_wrong_places():
    assert verdict(as_input(spoilt=True), SIZES, weights="own")[0] == "INCORRECT"


@pytest.mark.parametrize("op", ["Relu", "Abs", "Ceil", "Sqrt"])
def test_what_looks_at_the_numbers_of_such_a_weight_is_not_right(op):
    """W stands for any matrix: the numbers that stand for it, here positive ones, must not matter."""
    model = as_input()
    model.graph.node.insert(0, helper.make_node(op, ["W"], ["V"], name="look"))
    for node in list(model.graph.node)[1:]:
        node.input[:] = ["V" if name == "W" else name for name in node.input]
    assert verdict(model, SIZES, weights="own")[0] == "MANUAL"


def test_a_weight_that_is_an_input_must_be_the_weight():
    model = WAYS["product matmul"](OTHER)
    model.graph.input.append(helper.make_tensor_value_info("W", TensorProto.FLOAT, [128, 128]))
    assert verdict(model, SIZES, weights="own")[0] == "INCORRECT"


def test_a_matrix_of_the_layer_s_size_that_is_no_weight_says_nothing():
    """An accumulator of zeros, and one of other numbers that is taken away again."""
    model = Writer(OTHER).model(
        lambda w, layer: w("Sub", w("Add", usual(w, layer), w.f(np.zeros((128, 128)))), w.f(np.zeros((128, 128))))
    )
    assert verdict(model, SIZES, weights="own") == ("CORRECT", "")
    assert numpy_helper.to_array(model.graph.initializer[0]).size
