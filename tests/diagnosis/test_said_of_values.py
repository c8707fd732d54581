"""What the labs' specs say of a wrong value: of each value its own cause, and nothing that may be another's."""

from fractions import Fraction

import pytest
from helpers.direct import COURSE, task

from labgrade.judging.judge import judge, with_parameters
from labgrade.values import Number


def says(lab, name, check, value):
    (meant,) = [each for each in task(name, lab).checks if each.id == check]
    checker = COURSE.checkers.get(meant.checker.name)
    judging = with_parameters(checker.load(), checker.parameters, meant.checker.parameters, "count")
    found = judge(meant, Number(value=Fraction(value)), judging, lambda source: Number(value=Fraction(source.value)))
    return found.hint or found.reason


@pytest.mark.parametrize(
    ("calls", "said"), [(49, "no nn.ReLU was replaced"), (48, "goes one level down"), (46, "deep")]
)
def test_calls_that_still_work_in_place(calls, said):
    assert said in says("executorch-lab3", "3-5-in-place", "replaced", calls)
