"""The checker `close`: tolerances to the last bit, shapes, NaN, names."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from checkers.close import close
from labgrade.answers.reading.numerals.numbers import read_number
from labgrade.answers.reading.typed_values import as_value
from labgrade.values import Number
from labgrade.verdict import Outcome

RAMP = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


def with_element(index: tuple[int, ...], value: float, dtype: type = np.float64) -> np.ndarray:
    changed = RAMP.astype(dtype)
    changed[index] = value
    return changed


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.complex64])
def test_equal_tensors_of_any_number_type(dtype):
    assert close(RAMP.astype(dtype), RAMP).outcome is Outcome.CORRECT


def test_the_tolerance_to_the_last_bit():
    expected = np.array([0.0, 1.0])
    limit = 1e-5
    assert close(np.array([limit, 1.0]), expected, rtol=0, atol=limit).credit == 1
    assert close(np.array([np.nextafter(limit, 1), 1.0]), expected, rtol=0, atol=limit).credit == 0
    assert close(np.array([0, 1 + 2**-20]), expected, rtol=2**-20, atol=0).credit == 1
    assert close(np.array([0, np.nextafter(1 + 2**-20, 2)]), expected, rtol=2**-20, atol=0).credit == 0


def test_the_tolerance_is_relative_to_the_expected_value():
    assert close(np.array([1.0]), np.array([2.0]), rtol=0.5, atol=0).credit == 1
    assert close(np.array([2.0]), np.array([1.0]), rtol=0.5, atol=0).credit == 0


def test_a_wrong_element_is_named_with_the_tolerance_that_would_pass():
    verdict = close(with_element((1, 2), 7.07), RAMP)
    assert verdict.reason == ("1 of 12 elements differs; the first at [1, 2] is 7.07")
    assert verdict.facts["would pass with"] == "rtol=0.01 in place of 1e-05 or atol=0.07 in place of 1e-08"
    assert verdict.facts["expected"] == "7.0"


@pytest.mark.parametrize("seed", range(20))
def test_the_tolerance_that_is_told_does_pass(seed):
    random = np.random.default_rng(seed)
    expected = random.normal(size=50)
    got = expected + random.normal(size=50) * 10.0 ** -random.integers(0, 5)
    reason = close(got, expected).facts["would pass with"]
    rtol, atol = (float(re.search(rf"{name}=(\S+) in place", reason)[1]) for name in ("rtol", "atol"))
    assert close(got, expected, rtol=rtol).credit == 1
    assert close(got, expected, atol=atol).credit == 1
    assert close(got, expected, rtol=rtol * 0.8).credit == 0
    assert close(got, expected, atol=atol * 0.8).credit == 0


def test_no_relative_tolerance_is_told_where_zero_is_expected():
    facts = close(np.array([0.5, 1.0]), np.array([0.0, 1.0])).facts
    assert facts["would pass with"] == "atol=0.5 in place of 1e-08"


def test_nan_is_never_equal():
    nan = np.array([1.0, np.nan])
    verdict = close(nan, nan)
    assert verdict.reason == "1 of 2 elements differs; the first at [1] is nan"
    assert close(nan, np.array([1.0, 2.0]), atol=1e9).credit == 0
    assert close(np.array([1.0, 2.0]), nan, atol=1e9).credit == 0


def test_infinities():
    infinite = np.array([np.inf, -np.inf])
    assert close(infinite, infinite).credit == 1
    assert close(-infinite, infinite).credit == 0
    assert close(np.array([1e308, -np.inf]), infinite, rtol=1).credit == 0
    reason = close(np.array([np.inf, 1.0]), np.array([1.0, 1.0])).reason
    assert reason == "1 of 2 elements differs; the first at [0] is inf"


def test_overflow_is_no_warning():
    assert close(np.array([1e308]), np.array([-1e308])).credit == 0


def test_integers_that_floats_cannot_tell_apart():
    big = np.array([2**53], dtype=np.int64)
    assert close(big + 1, big, rtol=0, atol=0).credit == 0
    assert close(big, big, rtol=0, atol=0).credit == 1
    assert close(big + 1, big).credit == 1


@pytest.mark.parametrize(("got", "shown"), [((1, 2), "1x2"), ((2, 1), "2x1"), ((1,), "1")])
def test_shapes_are_not_broadcast(got, shown):
    verdict = close(np.ones(got), np.ones(2))
    assert (verdict.credit, verdict.reason) == (0, f"got shape {shown}, expected 2")


def test_a_shape_that_alone_is_wrong():
    assert close(np.ones((1, 2)), np.ones(2)).hint == "the values agree, only the shape is wrong"
    assert close(np.ones((1, 3)), np.ones(2)).hint == ""
    verdict = close(np.array(1.0), np.ones(1))
    assert verdict.reason == "got shape of a single number, expected 1"


def test_a_transposed_tensor_is_recognised():
    hint = "the values agree once the dimensions are reversed: the tensor is transposed"
    assert close(RAMP.T, RAMP).hint == hint
    assert close(RAMP[:, :3].T, RAMP[:, :3]).hint == hint
    assert close(RAMP[:, :3].T + 1, RAMP[:, :3]).hint == ""


def test_empty_and_zero_dimensional_tensors():
    assert close(np.ones((0, 3)), np.ones((0, 3))).credit == 1
    assert close(np.ones((0, 3)), np.ones((3, 0))).credit == 0
    assert close(np.array(1.0), np.array(1.0)).credit == 1
    assert close(np.array(2.0), np.array(1.0)).reason == "1 of 1 elements differs; the first is 2"


def test_texts_are_no_tensor():
    assert close(np.array(["1.0"]), np.ones(1)).reason == "got a tensor of <U3, which holds no numbers"
    assert close("1.0", np.ones(1)).reason == "got '1.0', which cannot be compared with what is expected"


def test_numbers():
    def number(text: str) -> Number:
        return Number(value=Fraction(text))

    assert close(number("1.00001"), number("1"), atol=0).credit == 1
    assert close(number("1.0000100001"), number("1"), atol=0).credit == 0
    assert close(number("1.1"), number("1")).reason == "got 1.1, which is not right"
    passing = {
        ("1.1", "1"): "rtol=0.1 in place of 1e-05 or atol=0.1 in place of 1e-08",
        ("2.2", "2"): "rtol=0.1 in place of 1e-05 or atol=0.2 in place of 1e-08",
        ("0.1", "0"): "atol=0.1 in place of 1e-08",
    }
    for (got, expected), told in passing.items():
        assert close(number(got), number(expected)).facts["would pass with"] == told
    assert close(Number(value=Fraction(10**400)), number("1")).credit == 0


@pytest.mark.parametrize(
    ("answer", "credit"),
    [
        (read_number("5.76", "number"), 1),
        (read_number("5.8", "number"), Fraction(1, 2)),
        (read_number("5.77", "number"), 0),
        (as_value(5.76, "number"), 1),  # round(x, 2)
        (as_value(5.8, "number"), 0),
        (as_value(5.770000001, "number"), 0),
        (as_value(5.76421 * 1.0005, "number"), 0),  # in full, and wrong
    ],
)
def test_a_number_is_compared_as_precisely_as_it_was_rounded(answer, credit):
    assert close(answer, Number(value=Fraction("5.76421004936"))).credit == credit


def test_zeros_at_the_end_of_a_large_number_say_nothing():
    expected = Number(value=Fraction(144105251234))
    assert close(as_value(144_000_000_000, "number"), expected).credit == 1
    assert close(as_value(145_000_000_000, "number"), expected).credit == 0
    assert close(as_value(144_000, "number"), Number(value=Fraction(144_105))).credit == 0


LAYERS = {f"conv{number}": RAMP + number for number in range(1, 5)}


def test_named_tensors():
    assert close(dict(reversed(LAYERS.items())), LAYERS).reason == "all 4 names are right"
    assert close({}, {}).credit == 1
    assert close({}, LAYERS).credit == 0


def test_named_tensors_get_the_share_of_names_that_are_right():
    got = {"conv1": LAYERS["conv1"], "conv2": LAYERS["conv3"], "conv3": LAYERS["conv3"], "relu": RAMP}
    verdict = close(got, LAYERS)
    assert (verdict.outcome, verdict.credit) == (Outcome.PARTIAL, Fraction(2, 5))
    assert not verdict.agrees
    assert verdict.reason == (
        "2 of 4 names are right; the first wrong one is 'conv2': 12 of 12 elements differ; the first at [0, 0] is "
        "4; missing: 'conv4'; not expected: 'relu'"
    )
    assert verdict.facts["off (conv2)"] == "1"


def test_a_first_part_that_all_named_tensors_share_is_left_out():
    prefixed = {f"model.{name}": tensor for name, tensor in LAYERS.items()}
    assert close(prefixed, LAYERS).credit == 1
    assert close(prefixed, prefixed).credit == 1
    assert close(prefixed | {"conv1": RAMP}, LAYERS).credit == 0


def test_named_tensors_swapped():
    swapped = LAYERS | {"conv1": LAYERS["conv2"], "conv2": LAYERS["conv1"]}
    verdict = close(swapped, LAYERS)
    assert verdict.credit == Fraction(1, 2)
    assert "; also wrong: 'conv2'" in verdict.reason
