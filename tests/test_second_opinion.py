"""A second opinion is evidence; against a verdict of CORRECT it is a fault of ours."""

import dataclasses
from pathlib import Path

import pytest
from handed_in import read

from labgrade import course, pipeline, second_opinion, spec
from labgrade.handed_in import UnfitError
from labgrade.model import InputSpec, QuantityCall, SubjectSpec
from labgrade.verdict import Outcome, correct, incorrect, without_value

ROOT = Path(__file__).parents[1]
SMALL = SubjectSpec(model="linear/classifier.onnx", input=InputSpec(shape=(1, 3, 24, 24)))
DIFFERS = {"agrees": False, "says": "the graphs differ"}


def test_a_quantity_has_one_by_its_name_with_the_parameters_that_it_takes():
    call = QuantityCall(quantity="tiling_findings", parameters={"limit": 64, "products": ["2DMM"], "opinion": True})
    other = second_opinion.of(call, course.find(ROOT).quantities)
    assert other.quantity == "tiling_findings_second_opinion"
    assert other.parameters == {"products": ["2DMM"]}
    assert second_opinion.of(dataclasses.replace(call, quantity="tile_count"), course.find(ROOT).quantities) is None


def test_one_that_contradicts_right_is_our_fault():
    verdict = second_opinion.heard(correct("proved"), lambda: DIFFERS)
    assert verdict.outcome is Outcome.FAULT
    assert verdict.facts["fault"] == "the verdict was CORRECT (proved); the second opinion: the graphs differ"


@pytest.mark.parametrize("agrees", [True, None])
def test_one_that_does_not_contradict_leaves_right_as_it_is(agrees):
    verdict = second_opinion.heard(correct("proved"), lambda: {"agrees": agrees, "says": "so"})
    assert (verdict.outcome, verdict.credit, verdict.facts) == (Outcome.CORRECT, 1, {"second opinion": "so"})


@pytest.mark.parametrize("agrees", [True, False, None])
@pytest.mark.parametrize("verdict", [incorrect("dead"), without_value(Outcome.MANUAL, "look")])
def test_anything_but_right_stays_what_it_is(verdict, agrees):
    told = second_opinion.heard(verdict, lambda: {"agrees": agrees, "says": "so"})
    assert (told.outcome, told.credit, told.reason) == (verdict.outcome, verdict.credit, verdict.reason)
    assert told.facts["second opinion"] == "so"


def test_one_that_can_not_be_had_costs_nothing():
    def ask():
        raise UnfitError(without_value(Outcome.TIMEOUT, "it took too long"))

    verdict = second_opinion.heard(correct("proved"), ask)
    assert verdict.outcome is Outcome.CORRECT
    assert verdict.facts["second opinion"] == "there is none: it took too long"


RUN = "run on random integers, without rounding, "


@pytest.mark.parametrize(
    ("name", "outcome", "says"),
    [
        ("tiling-exemplar", Outcome.CORRECT, "both graphs have the same outputs"),
        ("tiling-swapped", Outcome.INCORRECT, "the graphs differ"),
        ("tiling-dense", Outcome.INCORRECT, "both graphs have the same outputs"),
    ],
)
def test_tiled_graphs_are_run_too_where_it_is_asked_for(name, outcome, says):
    found = course.find(ROOT)
    task = spec.read(ROOT / "specs/acal-lab2/2-3-3-alexnet-tiled.yaml", found)
    task = dataclasses.replace(task, subject=SMALL, checks=task.checks[:1])
    with pipeline.Grader(found, second_opinions=True) as grader:
        report = pipeline.TaskGrading(grader, task, read(ROOT / "submissions" / name, name)).report()
    (verdict,) = [check.verdict for check in report.checks]
    assert verdict.outcome is outcome
    assert verdict.facts["second opinion"].startswith(RUN + says)
