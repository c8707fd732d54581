"""Every layer padded to whole blocks, with the bias and the ReLU in each block: what is cut away is numbers alone.

The rows and columns of the padding hold a bias without products, so that a block is made of a layer and of constants.
"""

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.reference.tiling.networks import mlp
from tests.reference.tiling.tally import verdict
from tests.reference.tiling.written import NETWORKS, T, Writer, blocks, ceil_to, layers_of, usual


def pad(w, x, rows, columns, more_rows, more_columns):
    return w("Pad", x, w.i(0, 0, more_rows, more_columns))


def gather(w, x, rows, columns, more_rows, more_columns):
    """One row and one column of zeros, which are taken again and again."""
    x = w("Pad", x, w.i(0, 0, 1, 1))
    x = w("Gather", x, w.i(*range(columns), *[columns] * more_columns), axis=1)
    return w("Gather", x, w.i(*range(rows), *[rows] * more_rows), axis=0)


def concat(w, x, rows, columns, more_rows, more_columns):
    if more_columns:
        x = w("Concat", x, w.f(np.zeros((rows, more_columns))), axis=1)
    return w("Concat", x, w.f(np.zeros((more_rows, columns + more_columns))), axis=0) if more_rows else x


def kept(w, x, rows, columns, more_rows, more_columns):
    return x


def padded(original, fill, *, start=0, filled=0.0, relu="Relu", last=None):
    """The graph; the first layer's rows cut from `start`, its weight's padding `filled`, its activation `relu`.

    With `last` the padding is cut away behind the last layer alone, from that row.
    """
    w = Writer(original)
    found, gone = layers_of(original)
    nodes = list(original.graph.node)
    used, renamed = set(), {}
    for index, node in enumerate(nodes):
        if index in gone or node.output[0] in renamed:
            continue
        if index not in found:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.input[:] = [renamed.get(name, name) for name in node.input]
            w.nodes.append(copy)
            used.update(copy.input)
            continue
        layer, behind = found[index], nodes[index + 1] if index + 1 < len(nodes) else None
        active = relu if behind is not None and behind.op_type == "Relu" else ""
        made = block_by_block(w, layer, renamed.get(layer.taken, layer.taken), fill, active, start, filled)
        if last is None or behind is None:
            made = w("Slice", made, w.i(start + (last or 0), 0), w.i(start + (last or 0) + layer.rows, layer.columns))
        start, filled, relu, fill = 0, 0.0, "Relu", fill if last is None else kept
        renamed[behind.output[0] if active else layer.made] = made
    for out in original.graph.output:
        if out.name in renamed:
            w.nodes.append(helper.make_node("Identity", [renamed[out.name]], [out.name], name="last"))
    return w.finish(used)


def block_by_block(w, layer, x, fill, active, start, filled):
    rows, depth, columns = ceil_to(layer.rows + start), ceil_to(layer.depth), ceil_to(layer.columns)
    x = fill(w, x, layer.rows, layer.depth, rows - layer.rows, depth - layer.depth)
    weight = np.full((depth, columns), filled, np.float32)
    weight[: layer.depth, : layer.columns] = layer.weight
    bias = np.zeros(columns) if layer.bias is None else np.pad(layer.bias, (0, columns - layer.columns))
    lines = []
    for m0, m1 in blocks(rows):
        parts = []
        for n0, n1 in blocks(columns):
            tiles = [(w.cut(w.cut(x, m0, m1, 0), k, k + T), w.f(weight[k : k + T, n0:n1])) for k in range(0, depth, T)]
            total = w("Add", w.sum([w("MatMul", *pair) for pair in tiles]), w.f(bias[n0:n1]))
            parts.append(w(active, total) if active else total)
        lines.append(w.join(parts))
    return w.join(lines, 0)


@pytest.mark.parametrize("fill", [pad, gather, concat])
@pytest.mark.parametrize("network", ["mlp", "classifier", "rows", "even"])
def test_padded_blocks_are_proved_and_run(network, fill):
    original = NETWORKS[network]()
    assert verdict(padded(original, fill), original) == ("CORRECT", "")


@pytest.mark.parametrize(
    "wrong",
    [{"start": 1}, {"start": 3}, {"relu": "Abs"}, {"relu": "Softplus"}],
    ids=["a row of padding", "padding alone", "abs", "softplus"],
)
def test_what_comes_of_the_padding_is_no_part_of_a_layer(wrong):
    original = NETWORKS["mlp"]()
    outcome, says = verdict(padded(original, pad, **wrong), original)
    assert outcome in ("INCORRECT", "MANUAL")
    assert says
    if "start" in wrong:
        assert outcome == "INCORRECT", says


@pytest.mark.parametrize("last", [0, 1])
def test_padding_that_stays_between_the_layers_is_cut_away_once(last):
    """What the first layer's bias becomes behind the second one is no float32, and is known to be a number alone."""
    original = mlp([70, 66, 130, 9], batch=3)
    outcome, says = verdict(padded(original, pad, last=last), original)
    assert outcome == ("INCORRECT" if last else "CORRECT"), says


@pytest.mark.parametrize(("equation", "right"), [("kmn->mn", True), ("k m n -> m n", True), ("kmn->nm", False)])
def test_an_einsum_of_one_tensor_sums_it(equation, right):
    def total(w, products):
        return w("Einsum", w("Concat", *[w("Unsqueeze", each, w.i(0)) for each in products], axis=0), equation=equation)

    original = NETWORKS["even"]()
    outcome, says = verdict(Writer(original).model(lambda w, layer: usual(w, layer, total=total)), original)
    assert outcome == ("CORRECT" if right else "INCORRECT"), says
