"""Right tilings are proved, whichever way they are written."""

import numpy as np
import onnx
import pytest
from onnx import helper

from reference._tiling.execution import execute
from tests.reference.tiling.conftest import DECLARED, tries
from tests.reference.tiling.networks import classifier, mlp, save
from tests.reference.tiling.tilings import BIASES, INPUTS, PRODUCTS, SUMS, WEIGHTS, Way, random_way, tiled

WAYS = {
    "weights cut beforehand": Way(),
    "chains of Add": Way(total="chain"),
    "a tree of Add": Way(total="tree"),
    "Gemm with the bias in the first product": Way(product="gemm", bias="first"),
    "stacked and summed by ReduceSum": Way(total="stack"),
    "a model-local function": Way(product="function"),
    "an operator that the course declares": Way(product="custom"),
    "padded columns": Way(pad_columns=True),
    "padded rows": Way(pad_rows=True),
    "padded depth": Way(pad_depth=True),
    "tiles of 32": Way(limit=32),
    **{f"weights: {how}": Way(weights=how) for how in WEIGHTS},
    **{f"inputs: {how}": Way(inputs=how) for how in INPUTS},
    **{f"bias: {how}": Way(bias=how) for how in BIASES},
}


@pytest.mark.parametrize("batch", [1, 10, 70])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_every_way_of_tiling_is_proved(proof, way, batch):
    original = mlp([128, 200, 130], batch=batch, seed=3)
    found = proof(tiled(original, way), original)
    assert [finding.says for finding in found.findings] == []
    assert {product.op.partition("::")[0] for product in found.products} <= {"MatMul", "Gemm", "lab"}
    rows, blocks = (
        -(-batch // 64),
        128 // way.limit * -(-200 // way.limit) + -(-200 // way.limit) * -(-130 // way.limit),
    )
    assert len(found.products) == rows * blocks


def test_an_output_without_a_declared_shape_is_one_that_runtimes_take(proof):
    original = mlp([128, 130], batch=3)
    submitted = tiled(original, Way())
    submitted.graph.output[0].type.tensor_type.ClearField("shape")
    assert [finding.says for finding in proof(submitted, original).findings] == []


def test_the_options_are_all_tried():
    assert {len(WEIGHTS), len(INPUTS), len(PRODUCTS), len(SUMS), len(BIASES)} == {8, 5, 4}


CHUNK = 10


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, tries("tilings", 200), CHUNK))
def test_random_tilings_are_proved_and_run(tmp_path, proof, start):
    for seed in range(start, start + CHUNK):
        rng = np.random.default_rng(seed)
        original = random_network(rng, seed)
        way = random_way(rng)
        submitted = tiled(original, way)
        found = proof(submitted, original)
        assert [finding.says for finding in found.findings] == [], (seed, way)
        if seed % 4 == 0:
            done = execute(tmp_path / "s.onnx", tmp_path / "o.onnx", found, frozenset(DECLARED))
            assert done.outcome == "agrees", (seed, way, done.says)


def random_network(rng, seed):
    if seed % 3 == 0:
        return classifier(batch=int(rng.integers(1, 4)), seed=seed)
    sizes = [int(rng.integers(1, 200)) for _ in range(rng.integers(2, 4))]
    batch = int(rng.choice([1, 1, 10, 70, 130]))
    spelled = str(rng.choice(["gemm", "matmul"]))
    return mlp(sizes, batch=batch, seed=seed, bias=bool(rng.integers(4)), spelled=spelled)


def test_external_data_beside_the_model(tmp_path, proof):
    original = mlp([150, 90], seed=1)
    submitted = tiled(original, Way())
    onnx.save(submitted, tmp_path / "t.onnx", save_as_external_data=True, location="t.bin", size_threshold=0)
    from reference._tiling.prove import prove

    assert prove(tmp_path / "t.onnx", save(original, tmp_path / "o.onnx")).is_proved
    assert (tmp_path / "t.bin").stat().st_size > 50_000


def test_an_open_batch_is_bound_to_the_original_s(proof):
    original = mlp([150, 90], batch=4)
    submitted = tiled(original, Way())
    submitted.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    submitted.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    assert proof(submitted, original).is_proved
    original.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    original.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "N"
    assert proof(submitted, original, shape=(4, 150)).is_proved


def test_names_of_inputs_and_outputs_are_free(proof):
    original = mlp([150, 90])
    submitted = tiled(original, Way())
    submitted.graph.input[0].name = "picture"
    submitted.graph.output[0].name = "logits"
    for node in submitted.graph.node:
        for names in (node.input, node.output):
            for place, name in enumerate(names):
                names[place] = {"x": "picture", "y": "logits"}.get(name, name)
    assert proof(submitted, original).is_proved


def test_a_newer_opset_means_the_same(proof):
    original = classifier()
    submitted = tiled(original, Way())
    submitted.opset_import[0].version = 22
    assert proof(submitted, original).is_proved


def test_the_shape_of_a_reshape_may_be_computed(proof):
    original = classifier(batch=2)
    submitted = tiled(original, Way())
    place = next(i for i, node in enumerate(submitted.graph.node) if node.op_type == "Flatten")
    flatten = submitted.graph.node[place]
    for name, values in [("zero", np.asarray([0])), ("rest", np.asarray([-1]))]:
        submitted.graph.initializer.append(onnx.numpy_helper.from_array(values.astype(np.int64), name))
    chain = [
        helper.make_node("Shape", [flatten.input[0]], ["shape"], name="s"),
        helper.make_node("Gather", ["shape", "zero"], ["first"], name="g"),
        helper.make_node("Concat", ["first", "rest"], ["wanted"], name="c", axis=0),
        helper.make_node("Reshape", [flatten.input[0], "wanted"], list(flatten.output), name="r"),
    ]
    rest = list(submitted.graph.node)[place + 1 :]
    del submitted.graph.node[place:]
    submitted.graph.node.extend([*chain, *rest])
    assert proof(submitted, original).is_proved


def test_weights_may_be_given_as_an_exact_sum(proof):
    """W = A + B with nothing rounded: two products where one would do, and still the same function."""
    original = mlp([64, 64], bias=False)
    whole = onnx.numpy_helper.to_array(original.graph.initializer[0]).T
    one = np.where(np.arange(64)[:, None] % 2, whole, 0).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "one"], ["p"], name="p"),
        helper.make_node("MatMul", ["x", "two"], ["q"], name="q"),
        helper.make_node("Add", ["p", "q"], ["y"], name="s"),
    ]
    from tests.reference.tiling.networks import model

    weights = [onnx.numpy_helper.from_array(one, "one"), onnx.numpy_helper.from_array(whole - one, "two")]
    found = proof(model(nodes, weights, [1, 64], [1, 64]), original)
    assert found.is_proved
    assert len(found.products) == 2


def test_a_tile_of_zeros_too_many_changes_nothing_but_the_count(proof):
    original = mlp([64, 64], bias=False)
    submitted = tiled(original, Way())
    product = next(node for node in submitted.graph.node if node.op_type == "MatMul")
    out = product.output[0]
    submitted.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((64, 64), np.float32), "zeros"))
    place = list(submitted.graph.node).index(product)
    product.output[0] = "one"
    submitted.graph.node.insert(place + 1, helper.make_node("MatMul", ["x", "zeros"], ["two"], name="extra"))
    submitted.graph.node.insert(place + 2, helper.make_node("Sum", ["one", "two"], [out], name="both"))
    found = proof(submitted, original)
    assert found.is_proved
    assert len(found.products) == 2


@pytest.mark.parametrize(("turned", "right"), [(True, True), (False, False)])
def test_a_gemm_may_turn_its_first_operand(proof, turned, right):
    original = mlp([48, 40], batch=48, bias=False)
    weight = onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(original.graph.initializer[0]).T.copy(), "w")
    nodes = [helper.make_node("Transpose", ["x"], ["t"], name="t")] if turned else []
    nodes.append(helper.make_node("Gemm", ["t" if turned else "x", "w"], ["y"], name="p", transA=1))
    from tests.reference.tiling.networks import model

    assert proof(model(nodes, [weight], [48, 48], [48, 40]), original).is_proved == right
