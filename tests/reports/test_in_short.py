"""What a terminal shows in fewer lines."""

import pytest

from labgrade.reports import in_short

ROWS = "2 of 58 rows are right; the first wrong one is 'a': macs: got 12, which is too small; 7 also wrong: "
PROGRAM = ["from torch import nn", "", "model = nn.Sequential(", "    nn.Linear(1, 1),", ").eval()", "print(f(model))"]


@pytest.mark.parametrize(
    ("text", "place", "helps", "short"),
    [
        (f"{ROWS}'b', 'c' and 5 more", "", "", f"{ROWS.rpartition(';')[0]}; 7 more are wrong"),
        (f"{ROWS}'b', 'c'", "", "", f"{ROWS}'b', 'c'"),
        (
            "got 12, which is too small; expected: 14",
            "",
            "same hint as total",
            "got 12; expected: 14 (same hint as total)",
        ),
        ("got 12, which is too small", "", "", "got 12, which is too small"),
        ("the table at r.md:9 names no row", "r.md:9", "", "the table names no row"),
    ],
)
def test_a_reason_keeps_what_stands_nowhere_else(text, place, helps, short):
    assert in_short.reason(text, place, helps) == short


def test_a_program_is_as_short_as_it_can_be():
    whole = "model = nn.Sequential(nn.Linear(1, 1)).eval()"
    assert in_short.lines(PROGRAM) == ["from torch import nn", whole, "print(f(model))"]
    assert in_short.lines([*PROGRAM, "# layer  right", "# 0  1"])[-1] == "print(f(model))"
    several = [*PROGRAM, "# layer  right", "# 0  1", "# 1  2"]
    assert in_short.lines(several)[-3:] == several[-3:]
    compile("\n".join(in_short.lines(PROGRAM)), "program", "exec")


def test_a_long_model_stays_on_its_lines():
    long = [*PROGRAM[:3], *["    nn.Conv2d(3, 4, 5, padding='same', bias=False),"] * 3, *PROGRAM[4:]]
    assert in_short.lines(long) == [each for each in long if each]
