"""What a wrong number is: known slips are told, unknown ones are not guessed at."""

import random
import time
from dataclasses import replace
from fractions import Fraction

import pytest
from helpers.direct import COURSE, DirectOracle, task

from labgrade.diagnosis.explain import LayerShare, Truth, companions, explain, with_explanation
from labgrade.judging.items import Item
from labgrade.subjects import models
from labgrade.values import Number
from labgrade.verdict import Outcome, correct, incorrect

pytestmark = pytest.mark.slow

SMALL = Truth(
    total=111_031,
    layers=(
        LayerShare(name="first", type="Conv2d", value=100_003),
        LayerShare(name="second", type="Conv2d", value=10_007),
        LayerShare(name="last", type="Linear", value=1_021),
    ),
)
THREE_TYPES = Truth(
    total=122_142,
    layers=(
        *SMALL.layers,
        LayerShare(name="norm1", type="Norm", value=11_000),
        LayerShare(name="norm2", type="Norm", value=111),
    ),
)


def number(value, half_unit=0, digits=None):
    return Number(value=Fraction(value), half_unit=Fraction(half_unit), digits=digits)


def told(*given, **more):
    """What is told of a number: the only explanation."""
    found = explain(*given, **more)
    return found[0] if len(found) == 1 else ""


@pytest.fixture(scope="module")
def googlenet():
    rows = COURSE.quantities.get("macs_by_layer").load()(
        models.Subject(model="torchvision/googlenet", shape=(1, 3, 224, 224)), layers=["Conv2d", "Linear"]
    )
    layers = tuple(LayerShare(name=row["layer"], type=row["type"], value=row["macs"]) for row in rows)
    return Truth(total=sum(layer.value for layer in layers), layers=layers)


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (SMALL.total - 10_007, "the expected value without layer second"),
        (SMALL.total + 1_021, "the expected value with layer last counted twice"),
        (2 * SMALL.total, "twice the expected value"),
        (Fraction(SMALL.total, 2), "half of the expected value"),
        (8 * SMALL.total, "eight times the expected value"),
        (Fraction(SMALL.total, 1024), "the expected value, in units of 2^10"),
        (Fraction(SMALL.total - 10_007, 1000), "the expected value without layer second, in thousands"),
        (2 * (SMALL.total - 10_007), "twice the expected value without layer second"),
        (3 * SMALL.total, "3 times the expected value, with the batch counted twice"),
        (Fraction(SMALL.total, 3), "the expected value, for one of the 3 samples"),
    ],
)
def test_a_known_slip_is_told(got, said):
    assert told(number(got), [SMALL], batch=3) == f"equal to {said}"


@pytest.mark.parametrize("got", [SMALL.total, SMALL.total + 1, SMALL.total - 1, 7, 0, -SMALL.total, 5 * SMALL.total])
def test_nothing_is_said_of_what_is_no_slip(got):
    assert told(number(got), [SMALL], batch=3) == ""


def test_a_type_alone_is_told_where_there_are_three():
    assert told(number(110_010), [THREE_TYPES]) == "equal to the expected value of its Conv2d layers alone"


def test_a_convention_is_told_with_its_slip():
    layers = (*SMALL.layers[:2], LayerShare(name="last", type="Linear", value=1_531))
    other = Truth(total=sum(layer.value for layer in layers), layers=layers, says="(with bias)")
    said = told(number(other.total - 10_007), [SMALL, other])
    assert said == "equal to the expected value (with bias) without layer second"
    assert told(number(other.total), [SMALL, other]) == ""


def test_layers_of_one_size_or_that_add_up_are_not_guessed_between():
    twins = Truth(
        total=478_300,
        layers=(
            LayerShare(name="a", type="Conv2d", value=100_300),
            LayerShare(name="b", type="Linear", value=100_300),
            LayerShare(name="c", type="Conv2d", value=200_000),
            LayerShare(name="d", type="Linear", value=77_700),
        ),
    )
    assert told(number(twins.total - 100_300), [twins]) == ""
    assert told(number(twins.total - 200_000), [twins]) == "equal to the expected value without layer c"
    sizes = (10_000, 20_000, 30_000)
    added = Truth(total=60_000, layers=tuple(LayerShare(name=str(n), type="Conv2d", value=n) for n in sizes))
    assert told(number(30_000), [added]) == "", "half of it, or without layer 30000"
    assert told(number(50_000), [added]) == "equal to the expected value without layer 10000"


def test_a_small_whole_number_is_many_things_by_chance():
    assert told(number(48), [Truth(total=144)], batch=3) == ""
    assert told(number(SMALL.total - 110_010), [SMALL]) == "", "its last layer, 1,021"


@pytest.mark.parametrize("others", [(12_000, 18_001), (7_000, 11_000, 12_001), (30_001,)])
def test_a_type_is_not_guessed_at_where_other_layers_add_up_to_it(others):
    """Two wrong layers of some other type are no type that was forgotten."""
    kinds = [LayerShare(name=f"a{size}", type="Pool", value=size) for size in (10_000, 20_001)]
    some = [LayerShare(name=f"b{size}", type="Conv2d", value=size) for size in (*others, 500_009, 3)]
    rest = [LayerShare(name="c", type="Linear", value=1_234_567)]
    layers = (*kinds, *some, *rest)
    total = sum(layer.value for layer in layers)
    assert told(number(total - 30_001), [Truth(total=total, layers=layers)]) == ""
    alone = (*kinds, *some[len(others) :], *rest)
    total = sum(layer.value for layer in alone)
    said = "equal to the expected value without its Pool layers"
    assert told(number(total - 30_001), [Truth(total=total, layers=alone)]) == said


def test_a_type_alone_is_not_guessed_at_either():
    """What is left without two layers may be left without two others."""
    sizes = {"Pool": (10_000, 20_001), "Conv2d": (5_000_011, 3_000_017, 12_000, 18_001), "Linear": (9_000_001,)}
    layers = tuple(
        LayerShare(name=f"{kind}{size}", type=kind, value=size) for kind, all_ in sizes.items() for size in all_
    )
    total = sum(layer.value for layer in layers)
    assert told(number(total - 30_001 - 9_000_001), [Truth(total=total, layers=layers)]) == ""


def test_a_batch_of_two_is_no_factor_of_two():
    assert told(number(2 * SMALL.total), [SMALL], batch=2) == ""


def test_rows_that_do_not_add_up_are_not_used():
    wrong = Truth(total=SMALL.total + 1, layers=SMALL.layers)
    assert told(number(wrong.total - 10_007), [wrong]) == ""
    assert told(number(2 * wrong.total), [wrong]) == "equal to twice the expected value"


def test_rounded_numbers_are_told_only_with_enough_digits(googlenet):
    gone = googlenet.total - next(each.value for each in googlenet.layers if each.name == "inception4a.branch3.1.conv")
    exact = "equal to the expected value without layer inception4a.branch3.1.conv"
    assert told(number(gone), [googlenet]) == exact
    assert told(number(gone, Fraction(1, 2), 10), [googlenet]) == exact
    assert told(number(round(gone, -3), 500, 7), [googlenet]) == ""
    assert told(number(round(gone, -6), 500_000, 4), [googlenet]) == ""


def test_it_takes_no_time(googlenet):
    begun = time.process_time()
    for _ in range(20):
        told(number(googlenet.total - 7), [googlenet], batch=3)
    assert (time.process_time() - begun) / 20 < 0.5


def test_at_most_one_of_a_thousand_unknown_slips_is_explained(googlenet):
    chosen = random.Random(8)  # noqa: S311 - the same numbers every time
    values = [layer.value for layer in googlenet.layers]

    def several_left_out():
        return googlenet.total - sum(chosen.sample(values, chosen.choice([2, 3, 4, chosen.randint(5, 50)])))

    def some_of_another_size():
        changed = chosen.sample(values, chosen.randint(1, 6))
        return googlenet.total + sum(round(value * chosen.uniform(0.1, 3)) - value for value in changed)

    wrong = [chosen.choice([several_left_out, some_of_another_size])() for _ in range(1000)]
    assert sum(bool(told(number(value), [googlenet])) for value in wrong) <= 1
    known = [googlenet.total - layer.value for layer in googlenet.layers]
    layers = {told(number(value), [googlenet]) for value in known} - {""}
    assert len(layers) == 8, "of 58 layers those whose size nothing else explains"


def asked(check, **changes):
    item = Item(replace(check, **changes), check.id, check.points, task("2-1-4-macs").subject)
    gone = 1_498_376_192 - 1_354_752
    wrong = incorrect("got less")
    return with_explanation(wrong, number(gone), item, DirectOracle(None), COURSE.quantities)


def test_the_hint_of_a_hidden_check_is_the_same_and_staff_alone_see_the_check():
    (check,) = [each for each in task("2-1-4-macs").checks if each.id == "total"]
    said = "equal to the expected value without layer inception4a.branch3.1.conv"
    public, hidden = asked(check), asked(check, hidden=True)
    assert (public.hint, public.credit, public.outcome) == (f"1,497,021,440 is {said}", 0, Outcome.INCORRECT)
    assert hidden == public
    quantities = [call.quantity for call, _ in companions(Item(check, "", check.points, task("2-1-4-macs").subject),
                                                          COURSE.quantities)]  # fmt: skip
    assert quantities == ["macs_by_layer"] * 4  # with biases or not, with transposed convolutions or not


def test_what_has_a_hint_or_is_right_is_left_as_it_is():
    (check,) = [each for each in task("2-1-4-macs").checks if each.id == "total"]
    item = Item(check, check.id, check.points, task("2-1-4-macs").subject)
    for verdict in (
        correct(),
        incorrect("wrong", hint="known"),
        replace(incorrect("x"), fits=("y", "z")),
    ):
        assert (
            with_explanation(verdict, number(2 * 1_498_376_192), item, DirectOracle(None), COURSE.quantities) is verdict
        )
