"""Graphs that ask for more than anybody's machine has: each ends soon, and costs the student nothing."""

import time

import numpy as np
import pytest
from onnx import helper

from tests.reference.tiling.tally import verdict
from tests.reference.tiling.written import NETWORKS, Writer, usual

pytestmark = pytest.mark.slow

SECONDS = 20


def of_x(how):
    return lambda w, layer: usual(w, layer, xs=lambda w, x, k0, k1: how(w, x, k0, k1))


def of_sums(how):
    return lambda w, layer: usual(w, layer, total=how)


def doubled(w, products, times=60):
    total = w.sum(products)
    for _ in range(times):
        total = w("Add", total, total)
    return w("Mul", total, w.f(2.0**-times))


def tripled_less_one(w, products):
    total = w.sum(products)
    for _ in range(60):
        total = w("Sub", w("Mul", total, w.f(3.0)), total)
    return w("Mul", total, w.f(2.0**-60))


def joined(w, products):
    total = w.sum(products)
    for _ in range(30):
        total = w("Concat", total, total, axis=1)
    return w("Slice", total, w.i(0), w("Slice", w("Shape", products[0]), w.i(1), w.i(2)), w.i(1))


def stacked(w, products):
    total = w("Unsqueeze", w.sum(products), w.i(0))
    for _ in range(12):
        total = w("Concat", total, total, total, total, axis=0)
    return w("ReduceSum", total, w.i(0), keepdims=0)


def biases(w, products):
    total = w.sum(products)
    for _ in range(3000):
        total = w("Add", total, w.f(1.0))
    return total


def looped(w, products):
    info = helper.make_tensor_value_info
    turn, on, held, total, still = (w.fresh("l") for _ in range(5))
    body = helper.make_graph(
        [helper.make_node("Add", [held, held], [total]), helper.make_node("Identity", [on], [still])],
        "body",
        [info(turn, 7, []), info(on, 9, []), info(held, 1, None)],
        [info(still, 9, []), info(total, 1, None)],
    )
    return w("Loop", w.scalar(1 << 60), w.const(np.asarray(1, bool)), w.sum(products), body=body)


LARGE = 1 << 40
GRAPHS = {
    "a Pad to 2^40 columns": of_x(lambda w, x, k0, k1: w.cut(w("Pad", x, w.i(0, 0, 0, LARGE)), k0, k1)),
    "a Pad to 2^27 columns": of_x(lambda w, x, k0, k1: w.cut(w("Pad", x, w.i(0, 0, 0, 1 << 27)), k0, k1)),
    "a Tile": of_x(lambda w, x, k0, k1: w.cut(w("Tile", x, w.i(1, LARGE)), k0, k1)),
    "an Expand": of_x(
        lambda w, x, k0, k1: w("Squeeze", w.cut(w("Expand", w.cut(x, k0, k1), w.i(LARGE, 1, 1)), 0, 1, 0), w.i(0))
    ),
    "a Range": of_x(
        lambda w, x, k0, k1: w(
            "Gather", x, w.cut(w("Range", w.scalar(0), w.scalar(LARGE), w.scalar(1)), k0, k1, 0), axis=1
        )
    ),
    "a constant": of_x(
        lambda w, x, k0, k1: w(
            "Add", w.cut(x, k0, k1), w("ReduceMax", w("ConstantOfShape", w.i(1 << 20, 1 << 20)), keepdims=0)
        )
    ),
    "sixty doublings": of_sums(doubled),
    "sixty triples less one": of_sums(tripled_less_one),
    "thirty Concats": of_sums(joined),
    "a stack of 4^12": of_sums(stacked),
    "sixty doublings of a layer and its bias": lambda w, layer: doubled(w, [usual(w, layer)]),
    "three thousand biases": of_sums(biases),
    "a Loop of 2^60 turns": of_sums(looped),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_it_ends_and_a_person_looks(name):
    original = NETWORKS["mlp"]()
    submitted = Writer(original).model(GRAPHS[name])
    start = time.process_time()
    outcome, said = verdict(submitted, original)
    assert time.process_time() - start < SECONDS
    assert outcome == ("INCORRECT" if "biases" in name else "MANUAL"), said
