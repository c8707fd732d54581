"""What is said of a function's number beside what the function does."""

from dataclasses import replace
from types import SimpleNamespace

from labgrade.core.task import Alternative, LiteralValue
from labgrade.diagnosis.explain import CONSTANT, with_number
from labgrade.verdict import Diagnosis, incorrect

TOOL = Alternative(source=LiteralValue(value=1), says="This is what T prints.", credit=0.8, by_share=True)
CHECK = SimpleNamespace(misconceptions=(TOOL,))
WRONG = incorrect("got 5")
TOLD = replace(WRONG, hint="T gives this number. It adds biases.", facts={"explained": "biases"})


def seen(**diagnosis):
    return replace(WRONG, lines=("print(f())",), diagnosis=Diagnosis(tried=9, **diagnosis))


def test_a_number_that_somebody_wrote_down_is_explained_as_a_number_is():
    constant = seen(causes=(CONSTANT,), says=("The function gives the same value.",))
    found = with_number(constant, CHECK, lambda: TOLD, lambda verdict: verdict)
    assert (found.hint, found.diagnosis, found.lines) == (TOLD.hint, constant.diagnosis, constant.lines)
    assert with_number(constant, CHECK, lambda: WRONG, lambda verdict: verdict) is constant


def test_a_tool_is_told_with_what_it_does_on_this_subject():
    found = with_number(seen(causes=("t",), says=(TOOL.says,)), CHECK, lambda: TOLD, lambda verdict: verdict)
    assert found.diagnosis.says == (TOLD.hint,)
    other = seen(causes=("groups",), says=("Groups are ignored.",))
    assert with_number(other, CHECK, lambda: TOLD, lambda verdict: verdict) is other


def test_a_tool_is_told_where_nothing_is_known_of_what_the_function_does():
    nothing = seen(wrong=3, wrong_on=("attention",))
    found = with_number(nothing, CHECK, lambda: TOLD, lambda verdict: verdict)
    assert (found.hint, found.diagnosis, found.lines) == (TOLD.hint, nothing.diagnosis, nothing.lines)
    refuted = replace(WRONG, hint="A slip that the function does not make.")
    assert with_number(nothing, CHECK, lambda: refuted, lambda verdict: verdict) is nothing
