"""What is wrong with a file is told; what can't be told costs nothing until a person has looked."""

from checkers.none_left import none_left
from labgrade.diagnosis.fitting import natural
from labgrade.values import Finding, Findings, Number
from labgrade.verdict import Outcome, TileGrid


def findings(*found):
    return Findings(found=found)


WRONG = Finding(says="tile (0, 1, 2) is missing", picture=("grid", ".#"))
UNSURE = Finding(says="node 'a' (Max) is outside what can be proved", certain=False, opinion="the graphs differ")


def test_nothing_found_is_right():
    assert none_left(natural([]), None).outcome is Outcome.CORRECT
    assert none_left(findings(), None).credit == 1


def test_what_is_certain_is_the_reason_and_what_is_not_is_left_out():
    verdict = none_left(findings(WRONG, Finding(says="and 3 more like this"), UNSURE), None)
    assert verdict.outcome is Outcome.INCORRECT
    assert verdict.reason == "tile (0, 1, 2) is missing"
    assert (verdict.lines, verdict.picture) == (("and 3 more like this",), ("grid", ".#"))


def test_grids_are_for_whoever_draws_them():
    plain = [
        {
            "says": "tile (m=0, k=1, n=0) is missing",
            "picture": ["fc: 2x2 tiles", "..", "#."],
            "grid": {"layer": "fc", "block": 0, "tiles": [1, 2, 2], "scale": [1, 1], "lines": ["..", "#."]},
        },
        {"says": "and 1 more like this", "certain": False},
    ]
    (grid,) = none_left(natural(plain), None).grids
    assert grid == TileGrid(
        layer="fc", block=0, tiles=(1, 2, 2), scale=(1, 1), lines=("..", "#."), picture=("fc: 2x2 tiles", "..", "#.")
    )
    assert none_left(natural([{**plain[0], "certain": False}]), None).grids == (grid,)


def test_what_is_not_certain_waits_for_a_person_with_the_evidence():
    verdict = none_left(findings(UNSURE), None)
    assert (verdict.outcome, verdict.credit) == (Outcome.MANUAL, 0)
    assert verdict.reason == "a person has to look:"
    assert verdict.lines == ("node 'a' (Max) is outside what can be proved",)
    assert verdict.facts["execution"] == "the graphs differ"


def test_a_run_that_contradicts_the_proof_is_labgrade_s_fault():
    plain = [{"says": "proved, and yet the output is off by 0.3", "kind": "fault", "certain": False}]
    verdict = none_left(natural(plain), None)
    assert (verdict.outcome, verdict.credit) == (Outcome.FAULT, 0)
    assert verdict.facts["fault"] == "proved, and yet the output is off by 0.3"
    assert "not yours" in verdict.reason


def test_texts_are_findings_too():
    verdict = none_left(natural(["a", "b"]), None)
    assert (verdict.outcome, verdict.reason, verdict.lines) == (Outcome.INCORRECT, "a", ("b",))


def test_anything_else_is_refused():
    assert none_left(Number(value=1), None).outcome is Outcome.INCORRECT


def test_measured_findings_are_read_and_made_visible():
    plain = [{"says": "node '\x1b[31m'", "certain": False, "picture": [".."], "kind": "tile"}]
    (found,) = natural(plain).found
    assert "\x1b" not in found.says
    assert not found.certain
    assert found.picture == ("..",)
    assert natural([{"says": "x"}]).found[0].certain


def test_what_is_absent_is_missing():
    verdict = none_left(Findings(found=(Finding(says="no tensor is printed", absent=True),)), None)
    assert (verdict.outcome, verdict.reason) == (Outcome.MISSING, "no tensor is printed")
