"""Wrong tilings are not proved, and the finding names the tile."""

import collections

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.reference.tiling.mutants import MUTANTS, make
from tests.reference.tiling.networks import mlp, model
from tests.reference.tiling.tilings import Way, tiled

pytestmark = pytest.mark.slow

SEEDS = range(5)
# What the proof has no words for: it may be right, and a person has to look.
OUTSIDE = {
    "sum_becomes_max", "sum_becomes_mean", "noise_is_added", "relu_becomes_leaky", "pooling_averages",
    "remembers_one_input",
}  # fmt: skip
_NAMED = collections.Counter()


@pytest.mark.parametrize("kind", MUTANTS)
def test_a_mutant_is_not_proved(proof, kind):
    for seed in SEEDS:
        original, mutant, tile = make(kind, seed)
        found = proof(mutant, original)
        assert not found.is_proved, seed
        assert any(finding.certain for finding in found.findings) == (kind not in OUTSIDE), seed
        if tile is not None:
            assert found.findings[0].tile == tile, (seed, found.findings[0].says)


def test_there_are_enough_kinds_and_most_have_a_tile():
    assert len(MUTANTS) >= 40
    with_tile = [kind for kind in MUTANTS if make(kind, 0)[2] is not None]
    assert len(with_tile) >= 20


SENTENCES = {
    "swap_two_of_one_column": "the tile holds W[64:128,0:64], instead of W[0:64,0:64]",
    "drop_a_tile": "is missing: no product covers k 128:150 for outputs 64:90",
    "sum_a_tile_twice": "is summed twice",
    "a_tile_transposed": "the tile is transposed",
    "a_tile_zero": "the tile is all zeros",
    "a_tile_negated": "the tile is negated",
    "a_tile_a_little_larger": "the tile is multiplied by 1.0001",
    "a_tile_through_float16": "were they stored in a narrower type?",
    "a_tile_is_subtracted": "its product is subtracted instead of added",
    "a_weight_one_ulp_larger": "1 of 704 weights differs, first W[40,8]: -0.032140825 instead of -0.03214083",
    "read_one_row_late": "the tile holds W[1:65,64:90], instead of W[0:64,64:90]",
    "use_a_tile_of_the_other_layer": "of classifier.0, instead of W[0:64,0:11]",
    "alpha_a_little_smaller": "its product is multiplied by 0.999",
    "bias_omitted": "classifier.0: outputs 0:64: the bias is missing",
    "bias_twice": "the bias is added 2 times",
    "bias_with_every_tile": "the bias is added 3 times",
    "one_bias_changed": "1 of 26 bias values differs, first output 76",
    "relu_removed": "its tiles are fed by 'classifier.0' where the original feeds the layer with 'classifier.1'",
    "a_conv_weight_changed": "holds other weights than the original's '/features/features.0/Conv'",
    "conv_shifted": "has pads = [0, 0, 2, 2], the original has [1, 1, 1, 1]",
    "output_is_constant": "the output 'y' is a constant, not the original's 'classifier.2'",
    "dead_tiles_hidden_matmul": "node 'hidden_product' (MatMul) is a product of 3x90x11: the limit is 64x64x64",
    "dead_tiles_batched_product": "node 'many' (MatMul) is a product of 3x90x11: the limit is 64x64x64",
    "one_dead_matmul": "1 product is dead: no output depends on them (1 MatMul)",
    "matmul_redefined": "the function 'MatMul' redefines an operator of ONNX",
    "sum_becomes_max": "(Max of 3x64, 3x64, 3x64) is outside what can be proved",
    "input_split_off_by_one": "it multiplies 3x63 by 64x64",
}


@pytest.mark.parametrize(("kind", "words"), SENTENCES.items(), ids=SENTENCES)
def test_the_sentence(proof, kind, words):
    original, mutant, _ = make(kind, 0)
    said = proof(mutant, original).findings[0].says
    assert words in said


def test_the_node_is_named_where_a_function_hides_it(proof):
    original, mutant, tile = make("an_operator_that_only_looks_like_matmul", 0)
    first = proof(mutant, original).findings[0]
    assert first.tile == tile or tile is None
    assert first.node in {node.name for node in mutant.graph.node}


@pytest.mark.parametrize(
    ("turned", "says"),
    [
        (1, "it multiplies 3x70 by 50x70: transB=1 turns the second one round, which fits as it is"),
        (0, "it multiplies 3x70 by 50x70: with transB=1 the second one fits"),
    ],
)
def test_a_weight_that_fits_the_other_way_round(proof, turned, says):
    original = mlp([70, 50], batch=3, bias=False, seed=2)
    weight = np.zeros((70, 50) if turned else (50, 70), np.float32)
    node = helper.make_node("Gemm", ["x", "w"], ["y"], name="y", transB=turned)
    submitted = model([node], [onnx.numpy_helper.from_array(weight, "w")], [3, 70], [3, 50])
    assert says in proof(submitted, original).findings[0].says


def test_findings_come_in_the_order_of_m_n_k(proof):
    original, mutant, _ = make("a_layer_of_twelve_bits", 1)
    tiles = [finding.tile for finding in proof(mutant, original).findings if finding.tile]
    assert tiles == sorted(tiles, key=lambda tile: (tile[0], tile[2], tile[1]))
    assert len(tiles) == 6


def test_rows_at_the_wrong_place_are_named(proof):
    """Two blocks of 64 rows exchanged where they are joined: every tile is right, and stands in the wrong rows."""
    original = mlp([70, 50], batch=128, seed=2)
    submitted = tiled(original, Way(rows=64))
    rows = next(node for node in submitted.graph.node if node.op_type == "Concat")
    rows.input[0], rows.input[1] = rows.input[1], rows.input[0]
    first = proof(submitted, original).findings[0]
    assert first.tile == (0, 0, 0)
    assert "multiplies rows 64:128 of the input, instead of 0:64" in first.says


def test_a_difference_below_float64_is_not_called_right(proof):
    """W and 1e-30 beside it: the sum rounds to W in float64, and is not W."""
    original = mlp([64, 64], bias=False)
    whole = onnx.numpy_helper.to_array(original.graph.initializer[0]).T.copy()
    nodes = [
        helper.make_node("MatMul", ["x", "one"], ["p"], name="p"),
        helper.make_node("MatMul", ["x", "two"], ["q"], name="q"),
        helper.make_node("Add", ["p", "q"], ["y"], name="s"),
    ]
    tiny = np.full((64, 64), 1e-30, np.float32)
    weights = [onnx.numpy_helper.from_array(whole, "one"), onnx.numpy_helper.from_array(tiny, "two")]
    found = proof(model(nodes, weights, [1, 64], [1, 64]), original)
    assert [(finding.kind, finding.certain) for finding in found.findings] == [("outside", False)]
    assert "their sum can't be determined exactly" in found.findings[0].says
