"""Wrong tilings, one mistake each: what students get wrong, and what they try.

A mutant takes a right tiling (MatMul of tiles that lie in the file, Sum, Concat, the bias last) and changes it in
place. It returns the (m, k, n) of the tile that is wrong, counted in blocks, where one tile is.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.reference.tiling.networks import classifier
from tests.reference.tiling.tilings import Builder, Way

SIZE = 64
MUTANTS = {}


def mutant(function):
    MUTANTS[function.__name__] = function
    return function


class Tiling:
    """A right tiling of a classifier of 150, 90 and 11 features, and handles on its tiles."""

    def __init__(self, seed, batch=3):
        self.rng = np.random.default_rng(seed)
        self.original = classifier(batch=batch, seed=seed)
        builder = Builder(self.original, Way(rows=SIZE))
        self.model = builder.model()
        self.graph = self.model.graph
        self.batch = batch
        self.tiles = [(name, m, k, n, node) for name, m, k, n, node in builder.tiles]

    def node(self, name):
        return next(node for node in self.graph.node if node.name == name)

    def maker(self, tensor):
        return next(node for node in self.graph.node if tensor in node.output)

    def users(self, tensor):
        return [node for node in self.graph.node if tensor in node.input]

    def of_type(self, op):
        return [node for node in self.graph.node if node.op_type == op]

    def any_tile(self, where=lambda tile: True):
        options = [tile for tile in self.tiles if where(tile)]
        return options[self.rng.integers(len(options))]

    def place(self, tile):
        _, m, k, n, _ = tile
        return (m // SIZE, k // SIZE, n // SIZE)

    def product(self, tile):
        return self.node(tile[4])

    def weight(self, name):
        return next(w for w in self.graph.initializer if w.name == name)

    def array(self, name):
        return numpy_helper.to_array(self.weight(name)).copy()

    def set(self, name, array):
        self.weight(name).CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), name))

    def add_weight(self, array):
        name = f"extra_{len(self.graph.initializer)}"
        self.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def insert_before(self, node, op, inputs, outputs, domain="", **attributes):
        made = helper.make_node(op, inputs, outputs, name=f"extra_{len(self.graph.node)}", domain=domain, **attributes)
        position = next(i for i, other in enumerate(self.graph.node) if other is node or other == node)
        self.graph.node.insert(position, made)
        return made

    def insert_after(self, node, op, outputs_renamed, inputs, **attributes):
        """A node that takes the place of another's output."""
        (out,) = node.output
        hidden = f"{out}_before"
        node.output[0] = hidden
        made = helper.make_node(
            op, [hidden if i is None else i for i in inputs], [out], name=f"extra_{len(self.graph.node)}", **attributes
        )
        position = next(i for i, other in enumerate(self.graph.node) if other == node)
        self.graph.node.insert(position + 1, made)
        return made

    def remove(self, node):
        self.graph.node.remove(node)

    def change_tile(self, change, where=lambda tile: True):
        tile = self.any_tile(where)
        name = self.product(tile).input[1]
        self.set(name, change(self.array(name)))
        return self.place(tile)

    def first_layer(self, tile):
        return tile[0] == self.tiles[0][0]

    def bias(self):
        node = next(node for node in self.of_type("Add"))
        return node, node.input[1]


def _swap_inputs(tiling, one, two, slot):
    a, b = tiling.product(one), tiling.product(two)
    a.input[slot], b.input[slot] = b.input[slot], a.input[slot]
    return min(tiling.place(one), tiling.place(two), key=lambda p: (p[0], p[2], p[1]))


def _pair(tiling, same):
    full = [t for t in tiling.tiles if tiling.array(tiling.product(t).input[1]).shape == (SIZE, SIZE)]
    pairs = [(a, b) for a in full for b in full if a[0] == b[0] and a is not b and same(a, b)]
    if not pairs:
        alike = [
            (a, b) for a in tiling.tiles for b in tiling.tiles
            if a is not b and same(a, b) and a[0] == b[0]
            and tiling.array(tiling.product(a).input[1]).shape == tiling.array(tiling.product(b).input[1]).shape
        ]  # fmt: skip
        pairs = alike
    return pairs[tiling.rng.integers(len(pairs))]


# ---- tiles at the wrong place --------------------------------------------------------------------------------------


@mutant
def swap_two_of_one_column(t):
    return _swap_inputs(t, *_pair(t, lambda a, b: a[3] == b[3]), 1)


@mutant
def swap_two_inputs(t):
    return _swap_inputs(t, *_pair(t, lambda a, b: a[3] == b[3]), 0)


@mutant
def use_one_tile_for_another(t):
    one, two = _pair(t, lambda a, b: a[3] == b[3])
    t.product(one).input[1] = t.product(two).input[1]
    return t.place(one)


@mutant
def use_a_tile_of_the_other_layer(t):
    first = t.any_tile(lambda tile: t.first_layer(tile) and tile[2] == 0 and tile[3] == 0)
    other = next(tile for tile in t.tiles if not t.first_layer(tile) and tile[2] == 0)
    wanted = t.array(t.product(other).input[1])
    t.set(t.product(other).input[1], t.array(t.product(first).input[1])[: wanted.shape[0], : wanted.shape[1]])
    return t.place(other)


@mutant
def columns_in_another_order(t):
    concat = next(node for node in t.of_type("Concat") if len(node.input) == 2)
    width = min(t.array(t.product(tile).input[1]).shape[1] for tile in t.tiles if t.first_layer(tile))
    del width
    concat.input[0], concat.input[1] = concat.input[1], concat.input[0]


@mutant
def input_split_off_by_one(t):
    split = t.of_type("Split")[0]
    cuts = t.array(split.input[1])
    cuts[0], cuts[1] = cuts[0] - 1, cuts[1] + 1
    t.set(split.input[1], cuts)


@mutant
def read_one_row_late(t):
    def shifted(tile, whole, k, n):
        rows, columns = tile.shape
        return whole[k + 1 : k + 1 + rows, n : n + columns]

    return _reread(t, shifted, lambda tile: tile[2] == 0)


@mutant
def last_columns_read_too_early(t):
    def early(tile, whole, k, n):
        rows, columns = tile.shape
        return whole[k : k + rows, n - 24 : n - 24 + columns]

    return _reread(t, early, lambda tile: tile[3] > 0)


def _reread(t, read, where):
    tile = t.any_tile(lambda tile: t.first_layer(tile) and where(tile))
    whole = numpy_helper.to_array(next(w for w in t.original.graph.initializer if w.name == "w0")).T
    name = t.product(tile).input[1]
    t.set(name, read(t.array(name), whole, tile[2], tile[3]))
    return t.place(tile)


# ---- sums ----------------------------------------------------------------------------------------------------------


def _sum_of(t, tile):
    return t.users(t.product(tile).output[0])[0]


@mutant
def drop_a_tile(t):
    tile = t.any_tile(t.first_layer)
    out = t.product(tile).output[0]
    total = _sum_of(t, tile)
    kept = [name for name in total.input if name != out]
    del total.input[:]
    total.input.extend(kept)
    t.remove(t.product(tile))
    return t.place(tile)


@mutant
def sum_a_tile_twice(t):
    tile = t.any_tile(t.first_layer)
    _sum_of(t, tile).input.append(t.product(tile).output[0])
    return t.place(tile)


@mutant
def one_twice_another_never(t):
    one, two = _pair(t, lambda a, b: a[3] == b[3])
    total = _sum_of(t, two)
    place = list(total.input).index(t.product(two).output[0])
    total.input[place] = t.product(one).output[0]
    t.remove(t.product(two))
    return min(t.place(one), t.place(two), key=lambda p: (p[0], p[2], p[1]))


@mutant
def sum_becomes_max(t):
    t.of_type("Sum")[0].op_type = "Max"


@mutant
def sum_becomes_mean(t):
    t.of_type("Sum")[0].op_type = "Mean"


@mutant
def a_tile_is_subtracted(t):
    tile = t.any_tile(t.first_layer)
    t.insert_after(t.product(tile), "Neg", None, [None])
    return t.place(tile)


@mutant
def a_constant_is_added(t):
    total = t.of_type("Sum")[0]
    total.input.append(t.add_weight(np.full((t.batch, 1), 1e-6, np.float32)))


@mutant
def noise_is_added(t):
    add = t.bias()[0]
    noise = f"noise_{len(t.graph.node)}"
    t.insert_before(add, "RandomNormalLike", [add.input[0]], [noise], scale=1e-9)
    t.insert_before(add, "Add", [add.input[0], noise], [noise + "_sum"])
    add.input[0] = noise + "_sum"


# ---- what a tile holds ---------------------------------------------------------------------------------------------


@mutant
def a_tile_transposed(t):
    return t.change_tile(np.transpose, lambda tile: t.first_layer(tile) and tile[2] < 128 and tile[3] == 0)


@mutant
def a_tile_negated(t):
    return t.change_tile(np.negative)


@mutant
def a_tile_a_little_larger(t):
    return t.change_tile(lambda w: w * np.float32(1 + 1e-4))


@mutant
def a_tile_zero(t):
    return t.change_tile(np.zeros_like)


@mutant
def a_weight_a_little_larger(t):
    def change(w):
        w.flat[t.rng.integers(w.size)] += np.float32(1e-3)
        return w

    return t.change_tile(change)


@mutant
def a_weight_one_ulp_larger(t):
    def change(w):
        place = t.rng.integers(w.size)
        w.flat[place] = np.nextafter(w.flat[place], np.float32(np.inf))
        return w

    return t.change_tile(change)


@mutant
def a_weight_is_nan(t):
    def change(w):
        w.flat[t.rng.integers(w.size)] = np.nan
        return w

    return t.change_tile(change)


@mutant
def a_weight_is_infinite(t):
    def change(w):
        w.flat[t.rng.integers(w.size)] = np.inf
        return w

    return t.change_tile(change)


@mutant
def a_tile_through_float16(t):
    return t.change_tile(lambda w: w.astype(np.float16).astype(np.float32))


@mutant
def a_layer_of_twelve_bits(t):
    for tile in t.tiles:
        if t.first_layer(tile):
            name = t.product(tile).input[1]
            t.set(name, np.round(t.array(name) * 2**12) / np.float32(2**12))


@mutant
def rows_of_a_tile_reversed(t):
    return t.change_tile(lambda w: w[::-1])


@mutant
def alpha_a_little_smaller(t):
    return _as_gemm(t, alpha=0.999)


@mutant
def alpha_hardly_larger(t):
    return _as_gemm(t, alpha=float(np.float32(1 + 1e-6)))


@mutant
def transposed_by_the_gemm(t):
    tile = t.any_tile(lambda tile: t.first_layer(tile) and tile[2] < 128 and tile[3] == 0)
    node = t.product(tile)
    node.op_type = "Gemm"
    node.attribute.append(helper.make_attribute("transB", 1))
    return t.place(tile)


def _as_gemm(t, **attributes):
    tile = t.any_tile()
    node = t.product(tile)
    node.op_type = "Gemm"
    node.attribute.extend(helper.make_attribute(*item) for item in attributes.items())
    return t.place(tile)


# ---- biases --------------------------------------------------------------------------------------------------------


@mutant
def bias_omitted(t):
    add, _ = t.bias()
    add.op_type = "Identity"
    del add.input[1]


@mutant
def bias_twice(t):
    add, name = t.bias()
    t.insert_after(add, "Add", None, [None, name])


@mutant
def bias_rolled(t):
    _, name = t.bias()
    t.set(name, np.roll(t.array(name), SIZE))


@mutant
def one_bias_changed(t):
    _, name = t.bias()
    bias = t.array(name)
    bias[t.rng.integers(bias.size)] += np.float32(1e-5)
    t.set(name, bias)


@mutant
def bias_with_every_tile(t):
    _, name = t.bias()
    bias = t.array(name)
    for tile in [tile for tile in t.tiles if t.first_layer(tile) and tile[2] > 0]:
        columns = t.array(t.product(tile).input[1]).shape[1]
        part = t.add_weight(bias[tile[3] : tile[3] + columns])
        t.insert_after(t.product(tile), "Add", None, [None, part])


@mutant
def bias_halved_by_beta(t):
    tile = t.any_tile(lambda tile: t.first_layer(tile) and tile[2] == 0)
    node = t.product(tile)
    node.op_type = "Gemm"
    columns = t.array(node.input[1]).shape[1]
    node.input.append(t.add_weight(np.ones(columns, np.float32)))
    node.attribute.append(helper.make_attribute("beta", 0.5))


# ---- the rest of the network ---------------------------------------------------------------------------------------


@mutant
def relu_removed(t):
    relu = t.of_type("Relu")[t.rng.integers(3)]
    relu.op_type = "Identity"


@mutant
def relu_becomes_leaky(t):
    t.of_type("Relu")[t.rng.integers(3)].op_type = "LeakyRelu"


@mutant
def a_conv_weight_changed(t):
    weight = t.array("c0")
    weight.flat[t.rng.integers(weight.size)] += np.float32(1e-3)
    t.set("c0", weight)


@mutant
def a_conv_bias_changed(t):
    bias = t.array("d1")
    bias[t.rng.integers(bias.size)] += np.float32(1e-3)
    t.set("d1", bias)


@mutant
def pooling_averages(t):
    t.of_type("MaxPool")[0].op_type = "AveragePool"


@mutant
def conv_shifted(t):
    conv = t.of_type("Conv")[0]
    next(a for a in conv.attribute if a.name == "pads").ints[:] = [0, 0, 2, 2]


@mutant
def output_is_constant(t):
    out = t.graph.output[0].name
    t.maker(out).output[0] = "never_used"
    value = t.add_weight(np.zeros((t.batch, 11), np.float32))
    t.graph.node.append(helper.make_node("Identity", [value], [out], name="constant_out"))


@mutant
def remembers_one_input(t):
    out = t.graph.output[0].name
    t.maker(out).output[0] = "honest"
    remembered = t.add_weight(np.zeros((t.batch, 3, 10, 10), np.float32))
    answer = t.add_weight(np.zeros((t.batch, 11), np.float32))
    for op, inputs, name in [
        ("Equal", ["x", remembered], "same"),
        ("Cast", ["same"], "same_number"),
        ("ReduceMin", ["same_number"], "all_same"),
        ("Cast", ["all_same"], "is_it"),
        ("Squeeze", ["is_it"], "is_it_really"),
        ("Where", ["is_it_really", answer, "honest"], out),
    ]:
        made = helper.make_node(op, inputs, [name], name=f"spy_{name}")
        if op == "Cast":
            kind = TensorProto.INT32 if name == "same_number" else TensorProto.BOOL
            made.attribute.append(helper.make_attribute("to", kind))
        t.graph.node.append(made)


# ---- the right function, against the rules -------------------------------------------------------------------------


def _without_tiles(t, out, weight="w1"):
    """The tiles' result goes nowhere; what computes `out` instead is up to the caller. The layer's W as a tensor."""
    t.maker(out).output[0] = "never_used"
    array = numpy_helper.to_array(next(w for w in t.original.graph.initializer if w.name == weight))
    return array.T


def _hidden(t, op, inputs, **attributes):
    t.graph.node.append(helper.make_node(op, inputs, ["hidden"], name="hidden_product", **attributes))
    bias = t.add_weight(numpy_helper.to_array(next(w for w in t.original.graph.initializer if w.name == "b1")))
    t.graph.node.append(helper.make_node("Add", ["hidden", bias], ["y"], name="hidden_bias"))


@mutant
def dead_tiles_hidden_matmul(t):
    weight = _without_tiles(t, "y")
    _hidden(t, "MatMul", ["h", t.add_weight(weight)])


@mutant
def dead_tiles_hidden_einsum(t):
    weight = _without_tiles(t, "y")
    _hidden(t, "Einsum", ["h", t.add_weight(weight)], equation="mk,kn->mn")


@mutant
def dead_tiles_hidden_conv(t):
    weight = _without_tiles(t, "y")
    axes = t.add_weight(np.asarray([2, 3], np.int64))
    t.graph.node.append(helper.make_node("Unsqueeze", ["h", axes], ["cube"], name="lift"))
    kernel = t.add_weight(weight.T[:, :, None, None])
    t.graph.node.append(helper.make_node("Conv", ["cube", kernel], ["cube_out"], name="hidden_conv"))
    _hidden(t, "Squeeze", ["cube_out", axes])


@mutant
def dead_tiles_batched_product(t):
    """Two products at once, each too deep; the second is of zeros."""
    weight = np.stack([_without_tiles(t, "y"), np.zeros((90, 11), np.float32)])
    shape = t.add_weight(np.asarray([t.batch, 2, 90], np.int64))
    t.graph.node.append(helper.make_node("Concat", ["h", "h"], ["both"], name="both", axis=1))
    t.graph.node.append(helper.make_node("Reshape", ["both", shape], ["blocks"], name="blocks"))
    t.graph.node.append(helper.make_node("Transpose", ["blocks"], ["turned"], name="turn", perm=[1, 0, 2]))
    t.graph.node.append(helper.make_node("MatMul", ["turned", t.add_weight(weight)], ["many"], name="many"))
    axes = t.add_weight(np.asarray([0], np.int64))
    _hidden(t, "ReduceSum", ["many", axes], keepdims=0)


@mutant
def tiles_times_zero(t):
    weight = _without_tiles(t, "y")
    zero = t.add_weight(np.zeros(1, np.float32))
    t.graph.node.append(helper.make_node("Mul", ["never_used", zero], ["nothing"], name="nothing"))
    t.graph.node.append(helper.make_node("MatMul", ["h", t.add_weight(weight)], ["all"], name="all"))
    _hidden(t, "Add", ["all", "nothing"])


@mutant
def tiles_minus_tiles(t):
    weight = _without_tiles(t, "y")
    t.graph.node.append(helper.make_node("Sub", ["never_used", "never_used"], ["nothing"], name="nothing"))
    t.graph.node.append(helper.make_node("MatMul", ["h", t.add_weight(weight)], ["all"], name="all"))
    _hidden(t, "Add", ["all", "nothing"])


@mutant
def one_deep_tile(t):
    one = next(tile for tile in t.tiles if t.first_layer(tile) and tile[2] == 0)
    two = next(tile for tile in t.tiles if t.first_layer(tile) and tile[2] == SIZE and tile[3] == one[3])
    a, b = t.product(one), t.product(two)
    t.insert_before(a, "Concat", [a.input[0], b.input[0]], ["deep_x"], axis=1)
    deep = np.concatenate([t.array(a.input[1]), t.array(b.input[1])])
    a.input[0], a.input[1] = "deep_x", t.add_weight(deep)
    total = _sum_of(t, two)
    total.input.remove(b.output[0])
    t.remove(b)


@mutant
def one_dead_matmul(t):
    tile = t.any_tile()
    node = t.product(tile)
    t.insert_before(node, "MatMul", list(node.input), ["dead"])


@mutant
def an_operator_that_only_looks_like_matmul(t):
    t.model.functions.append(
        helper.make_function(
            "lab", "2DMM_64x64x64", ["A", "B"], ["C"],
            [helper.make_node("MatMul", ["A", "B"], ["D"]), helper.make_node("Sub", ["D", "D"], ["C"])],
            [helper.make_opsetid("", 17)],
        )
    )  # fmt: skip
    tile = t.any_tile()
    node = t.product(tile)
    node.domain, node.op_type = "lab", "2DMM_64x64x64"


@mutant
def matmul_redefined(t):
    t.model.functions.append(
        helper.make_function("", "MatMul", ["A", "B"], ["C"], [helper.make_node("Mul", ["A", "B"], ["C"])], [])
    )


@mutant
def output_of_another_layer(t):
    last = t.maker("y")
    last.output[0] = "real"
    t.graph.node.append(helper.make_node("Slice", ["h", *_span(t, 0, 11)], ["y"], name="wrong_out"))


def _span(t, start, stop):
    return [t.add_weight(np.asarray([value], np.int64)) for value in (start, stop, 1)]


def make(kind, seed):
    """(original, mutant, the wrong tile or None)."""
    tiling = Tiling(seed)
    tile = MUTANTS[kind](tiling)
    return tiling.original, tiling.model, tile


def check(proto):
    onnx.checker.check_model(proto)
