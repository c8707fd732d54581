"""Students made out of slips: what is said of them is what was put in, or nothing; never anything else."""

import os
import secrets
import tempfile
from pathlib import Path

import pytest
from helpers import direct
from helpers.soak import sampled, soak
from helpers.wrong_students import KINDS, SAME, drawn, singles

from labgrade.diagnosis.behaviour import explore

pytestmark = pytest.mark.slow

_COUNT = 300
_KNOWN: dict = {}
_FILES = Path(tempfile.mkdtemp(prefix="labgrade-test-"))


class Remembering(direct.DirectOracle):
    """What does not depend on the student is computed once for all tests."""

    def value(self, call, subject):
        key = repr((call, subject))
        if "between" in call.parameters or "among" in call.parameters:
            return super().value(call, subject)
        if key not in _KNOWN:
            _KNOWN[key] = super().value(call, subject)
        return _KNOWN[key]

    def file(self, subject):
        self.folder = _FILES
        return super().file(subject)


@pytest.fixture(autouse=True)
def _remembered(monkeypatch):
    monkeypatch.setattr(direct, "DirectOracle", Remembering)


def seen(folder, kind, names):
    """What is said of a student, and the values that their function gave."""
    about = KINDS[kind]
    folder.mkdir()
    found = direct.trials(folder, about.program(names), about.task, about.check, about.file)
    try:
        behaviour = explore(found)
    finally:
        found._grader.stop()
    said = set(behaviour.holds.slips) if behaviour.holds else None
    values = [each.trial.value for each in behaviour.called]
    return (SAME.get(next(iter(said)), said) if said and len(said) == 1 else said), values


def verdict(folder, kind, names):
    """`named`, `silent`, or what is falsely said. Slips that come to the same are the same."""
    said, values = seen(folder / "student", kind, names)
    if said is None:
        return "silent"
    if said == set(names):
        return "named"
    known = said <= set(KINDS[kind].slips) and KINDS[kind].program(sorted(said)) is not None
    same = known and seen(folder / "same", kind, sorted(said))[1] == values
    return "named" if same else f"{kind} {names}: {said}"


@pytest.mark.parametrize("student", sampled(singles(), 8), ids=str)
def test_a_slip_alone_is_named(tmp_path, student):
    assert verdict(tmp_path, *student) == "named"


@pytest.mark.parametrize("student", drawn(1, 6), ids=str)
def test_of_several_nothing_false_is_said(tmp_path, student):
    assert verdict(tmp_path, *student) in ("named", "silent")


@pytest.mark.parametrize("kind", KINDS)
def test_advice_that_is_followed_makes_the_answer_right(tmp_path, kind):
    """The program without a slip is the right one: it is what is left when the last advice was followed."""
    assert seen(tmp_path / "right", kind, ())[0] is None


@soak
def test_most_of_many_are_named(tmp_path):
    seed = int(os.environ.get("LABGRADE_SEED", secrets.randbits(32)))
    found = [verdict(tmp_path / str(at), *each) for at, each in enumerate(_made(tmp_path, drawn(seed, _COUNT)))]
    false = [each for each in found if each not in ("named", "silent")]
    assert not false, f"seed {seed}"
    assert found.count("named") >= 0.8 * len(found), f"seed {seed}: {found.count('named')}"


def _made(folder, students):
    for at, each in enumerate(students):
        (folder / str(at)).mkdir()
        yield each
