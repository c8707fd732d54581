"""Times: seconds, or with a unit; what is no time is refused, and a machine's own is never compared."""

from fractions import Fraction

import pytest
from helpers import own_course

from labgrade.answers.reading.numerals.numbers import explain_number
from labgrade.answers.reading.typed_values import WrongTypeError, as_value

SPEC = """
id: speed
title: How long it takes
points: 2
statement: Say how long an inference and how long an epoch take.
answers:
  inference: {type: time, from: [{entry: inference}, {after: Latency, file: out.txt}]}
  epoch:
    type: {table: {row: run, columns: {seconds: time}}}
    from: [{file: runs.csv}]
checks:
  - {id: fast, points: 1, answer: inference, checker: {at_most: {limit: 0.02}}}
  - {id: least, points: 1, answer: inference, checker: equal, expected: {answer: epoch, take: min}}
"""


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("12.5 ms", Fraction(125, 10_000)),
        ("12.5ms", Fraction(125, 10_000)),
        ("12.5 ms/step", Fraction(125, 10_000)),
        ("1,200 ms", Fraction(12, 10)),
        ("about 250 µs", Fraction(250, 10**6)),
        ("250 us", Fraction(250, 10**6)),
        ("800 ns", Fraction(800, 10**9)),
        ("90", 90),
        ("90 seconds", 90),
        ("1e-3 s", Fraction(1, 1000)),
        ("1.5 min", 90),
        ("2h", 7200),
        ("3.2 毫秒", Fraction(32, 10_000)),
        ("1 min 30 s", 90),
        ("1 minute and 30 seconds", 90),
        ("1m30.5s", Fraction(905, 10)),
        ("about 2 h 5 min", 7500),
        ("1h 2m 3s", 3723),
        ("1:02:03", 3723),
        ("0:00:12.25", Fraction(1225, 100)),
        ("1 分 30 秒", 90),
    ],
)
def test_a_time_in_seconds(written, seconds):
    assert explain_number(written, "time").number.value == seconds


@pytest.mark.parametrize("written", ["12 MB", "3 GMac", "85 %", "fast"])
def test_what_is_no_time(written):
    with pytest.raises(WrongTypeError, match="a time"):
        as_value(written, "time")


@pytest.mark.parametrize("written", ["12.5 m", "12.5m", "7 m per epoch", "2:05"])
def test_what_may_be_two_times_is_asked_for_again(written):
    with pytest.raises(WrongTypeError, match=f"'{written[:3]}.*' may be .*: write min, ms or s"):
        as_value(written, "time")


def test_a_unit_of_time_is_none_of_a_count():
    assert explain_number("5 (s)", "count").number.value == 5
    assert explain_number("5", "count", unit="min").number.value == 5


HANDED_IN = {
    "right": ({"answers.yaml": "inference: 12.5 ms\n", "runs.csv": "run,seconds (ms)\na,13.1\nb,12.5\n"}, "CC"),
    "text": ({"out.txt": "Latency (ms): 12.5\n", "runs.csv": "run,seconds\na,0.0131\nb,12.5 ms\n"}, "CC"),
    "slow": ({"answers.yaml": "inference: 25 ms\n", "runs.csv": "run,seconds\na,0.0131\nb,12.5 ms\n"}, "II"),
}


@pytest.mark.slow
def test_times_of_a_hand_in(tmp_path):
    files = {f"submissions/{who}/{name}": text for who, (own, _) in HANDED_IN.items() for name, text in own.items()}
    with own_course.grading(own_course.write(tmp_path, {"specs/lab/speed.yaml": SPEC, **files})) as grade:
        found = {who: "".join(str(each.outcome)[0] for each in grade(who).values()) for who in HANDED_IN}
    assert found == {who: wanted for who, (_, wanted) in HANDED_IN.items()}


def test_a_time_has_no_expected_value(tmp_path):
    text = SPEC.replace("{at_most: {limit: 0.02}}}", "{close: {rtol: 0.1}}, expected: 0.01}")
    own_course.write(tmp_path, {"specs/lab/speed.yaml": text})
    says = "times are not compared with a value, because machines differ; write 'checker: {at_most: {limit: 60}}'"
    assert says in own_course.findings(tmp_path)
