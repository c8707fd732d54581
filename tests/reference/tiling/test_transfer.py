"""Each transfer function is the operator's exact meaning: worked out for one X, it says what numpy says."""

import numpy as np
import pytest

from reference._tiling.budget import Budget
from reference._tiling.move_ops import MOVES, concat, split
from reference._tiling.products import Products
from reference._tiling.sums import add, reduce_sum, scaled, subtract
from reference._tiling.values import COLUMNS, ROWS, Affine, Opaque, OutsideError, Stack, whole

pytestmark = pytest.mark.slow

STEPS = 6


def concrete(value, x):
    """The tensor that an abstract value stands for, in float64, for one X."""
    if isinstance(value, Stack):
        return np.stack([concrete(part, x) for part in value.parts], axis=value.axis)
    matrix = np.zeros((value.rows, value.columns))
    for piece in value.pieces:
        rows, columns = piece.r1 - piece.r0, piece.c1 - piece.c0
        here = np.zeros((rows, columns))
        if piece.window is not None:
            row, column = piece.window
            here += x[row : row + rows, column : column + columns]
        for term in piece.terms:
            depth = term.weight.shape[0]
            here += term.scale * (x[term.row : term.row + rows, term.k : term.k + depth] @ term.weight.astype(float))
        for bias in piece.biases:
            here += bias.scale * bias.values.astype(float)
        matrix[piece.r0 : piece.r1, piece.c0 : piece.c1] = here
    kept = [dim for dim in value.dims if dim in (ROWS, COLUMNS)]
    turned = matrix.T if kept == [COLUMNS, ROWS] else matrix
    return turned.reshape(value.shape)


def start(rng, x):
    """X itself, or products of parts of it side by side, with a constant."""
    budget = Budget(1000)
    value = whole(Opaque(0, x.shape))
    if rng.integers(3):
        products = Products(budget, 64)
        halves = []
        for start_, stop in ((0, 5), (5, x.shape[1])):
            part = MOVES["Slice"](value, [None, ints(start_), ints(stop), ints(1)], {}, budget)
            weight = rng.standard_normal((stop - start_, 7)).astype(np.float32)
            halves.append(products.matmul(part, weight, "p", "MatMul"))
        value = add([*halves, rng.standard_normal(7).astype(np.float32)], budget)
    return value, concrete(value, x)


def ints(*values):
    return np.asarray(values, np.int64)


def step(rng, value, array):  # noqa: C901, PLR0912 - a case an operator
    """One random operator, on the abstract value and on the array."""
    budget = Budget(1000)
    rank = array.ndim
    axis = int(rng.integers(rank))
    size = array.shape[axis]
    match rng.choice(["slice", "split", "gather", "pick", "transpose", "unsqueeze", "squeeze", "pad", "concat", "add",
                      "negate", "reshape", "flatten", "stack", "subtract", "flat rows"]):  # fmt: skip
        case "slice":
            low, high = sorted(int(at) for at in rng.integers(0, size + 1, 2))
            return MOVES["Slice"](value, [None, ints(low), ints(high), ints(axis)], {}, budget), take(
                array, axis, low, high
            )
        case "split" if size > 1:
            cut = int(rng.integers(1, size))
            _, second = split(value, [None, ints(cut, size - cut)], {"axis": axis}, 2, 17)
            return second, take(array, axis, cut, size)
        case "gather" if size:
            places = rng.integers(0, size, rng.integers(1, 5))
            return MOVES["Gather"](value, [None, places], {"axis": axis}, budget), np.take(array, places, axis)
        case "pick" if size:
            place = np.asarray(rng.integers(size))
            return MOVES["Gather"](value, [None, place], {"axis": axis}, budget), np.take(array, place, axis)
        case "transpose":
            order = [int(at) for at in rng.permutation(rank)]
            return MOVES["Transpose"](value, [None], {"perm": order}, budget), array.transpose(order)
        case "unsqueeze":
            at = int(rng.integers(rank + 1))
            return MOVES["Unsqueeze"](value, [None, ints(at)], {}, budget), np.expand_dims(array, at)
        case "squeeze":
            return MOVES["Squeeze"](value, [None], {}, budget), np.squeeze(array)
        case "pad":
            amounts = rng.integers(0, 3, 2 * rank)
            pairs = list(zip(amounts[:rank].tolist(), amounts[rank:].tolist(), strict=True))
            return MOVES["Pad"](value, [None, amounts], {}, budget), np.pad(array, pairs)
        case "concat":
            other = rng.standard_normal(array.shape).astype(np.float32)
            parts = [(value, array), (other, other), (value, array)]
            return concat([a for a, _ in parts], axis, budget), np.concatenate([b for _, b in parts], axis)
        case "add":
            constant = rng.standard_normal(array.shape[axis:]).astype(np.float32)
            return add([constant, value], budget), array + constant
        case "negate":
            return scaled(value, -1.0), -array
        case "subtract":
            constant = rng.standard_normal(array.shape).astype(np.float32)
            return subtract([value, constant], budget), array - constant
        case "reshape" if rank == 2 and size and size % 2 == 0 and axis == 1:
            shape = (array.shape[0], 2, size // 2)
            return MOVES["Reshape"](value, [None, ints(*shape)], {}, budget), array.reshape(shape)
        case "flat rows" if rank == 2:
            return MOVES["Reshape"](value, [None, ints(-1, array.shape[0])], {}, budget), array.reshape(
                -1, array.shape[0]
            )
        case "flatten":
            return MOVES["Flatten"](value, [None], {"axis": axis}, budget), array.reshape(
                int(np.prod(array.shape[:axis])), -1
            )
        case "stack":
            lifted = [MOVES["Unsqueeze"](value, [None, ints(0)], {}, budget) for _ in range(2)]
            total = reduce_sum(concat(lifted, 0, budget), [0], False, budget)  # noqa: FBT003
            return total, 2 * array
    return value, array


def take(array, axis, low, high):
    return array[(slice(None),) * axis + (slice(low, high),)]


@pytest.mark.parametrize("chunk", range(20))
def test_what_an_operator_makes_of_a_value_is_what_numpy_makes_of_the_array(chunk):
    done = 0
    for seed in range(100 * chunk, 100 * chunk + 100):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((int(rng.integers(1, 5)), 9))
        value, array = start(rng, x)
        for _ in range(STEPS):
            if not array.ndim:
                break
            try:
                value, array = step(rng, value, array)
            except OutsideError:
                break
            assert value.shape == array.shape, seed
            np.testing.assert_allclose(concrete(value, x), array, rtol=1e-6, atol=1e-6, err_msg=str(seed))
            done += 1
    assert done > 100


def test_only_values_that_are_followed_are_affine():
    assert isinstance(whole(Opaque(3, (2, 3))), Affine)
    assert whole(Opaque(3, (2, 3, 4))) is None
    assert whole(Opaque(3, None)) is None


def test_a_product_follows_the_rows_of_each_part_of_its_operand():
    """Half of the columns stand as they do in X, the rows of the other half are exchanged."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((8, 6))
    budget = Budget(1000)
    value = whole(Opaque(0, x.shape))
    left, right = split(value, [None, ints(3, 3)], {"axis": 1}, 2, 17)
    upper, lower = split(right, [None, ints(4, 4)], {"axis": 0}, 2, 17)
    mixed = concat([left, concat([lower, upper], 0, budget)], 1, budget)
    weight = rng.standard_normal((6, 5)).astype(np.float32)
    made = Products(budget, 64).matmul(mixed, weight, "p", "MatMul")
    wanted = np.concatenate([x[:, :3], np.concatenate([x[4:, 3:], x[:4, 3:]])], axis=1) @ weight
    np.testing.assert_allclose(concrete(made, x), wanted, rtol=1e-6)
