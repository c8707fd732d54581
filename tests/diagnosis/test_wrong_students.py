"""Students made out of slips: what is said of them is what was put in, or nothing; never anything else."""

import itertools
import os
import secrets
import tempfile
from functools import partial
from pathlib import Path

import pytest
from helpers import direct
from helpers.soak import sampled, soak
from helpers.wrong_students import KINDS, drawn, singles

from labgrade.authoring.mutants import mutants
from labgrade.core.errors import FaultError
from labgrade.diagnosis.bases import bases_of, slipped
from labgrade.diagnosis.behaviour import ENOUGH_WRONG, explore, matters_on
from labgrade.diagnosis.fitting import typed
from labgrade.diagnosis.networks.called import called_on
from labgrade.diagnosis.networks.small_networks import more, networks
from labgrade.diagnosis.probe import Trials

pytestmark = pytest.mark.slow

_COUNT, _FRESH = 300, 6
EXEMPLARS = {
    ("2-1-1-parameters", "total", "hw2_1.py"): "total_parameters",
    ("2-1-2-weight-bytes", "total", "hw2_1.py"): "weight_bytes",
    ("2-1-3-layer-table", "layers", "hw2_1.py"): "layer_table",
    ("2-1-4-macs", "total", "hw2_1.py"): "total_macs",
    ("2-1-4-macs", "by-layer", "hw2_1.py"): "macs_by_layer",
    ("2-1-4-macs", "by-type", "hw2_1.py"): "macs_by_type",
    ("2-1-5-conv-activations", "shapes", "hw2_1.py"): "conv_output_shapes",
    ("2-2-1-attributes", "other-models", "hw2_2.py"): "node_attributes",
    ("2-2-2-bandwidth", "total", "hw2_2.py"): "traffic_bytes",
    ("2-2-3-activation-memory", "total", "hw2_2.py"): "activation_bytes",
}
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


def seen(folder, source, task, check="total", file="hw2_1.py"):
    """The slips that a program is said to follow, and whether it follows them on networks that nobody looked at."""
    folder.mkdir()
    found = direct.trials(folder, source, task, check, file)
    try:
        behaviour = explore(found, called_on(found))
        if behaviour.holds is None:
            return None, True
        return set(behaviour.holds.slips), all(follows(found, behaviour.holds, each) for each in fresh(found))
    finally:
        found._grader.stop()


def fresh(found):
    """Networks that are not those on which a function is called."""
    subject = found.task.subject
    return [each.subject for each in itertools.islice(more(as_files=subject.is_onnx, seed=1), _FRESH)]


def follows(found, hypothesis, subject):
    trials = found.ahead([subject])
    if not trials or hypothesis.slips == ("fixed_input",):  # it crashes there: it takes no such network
        return True
    try:
        return matters_on(found, hypothesis, trials[0], subject) is not None or by_chance(trials[0])
    except FaultError:  # no occasion
        return True


def by_chance(trial):
    """Whether a row besides those expected has the cells of one that is missing: it may be that row, renamed."""
    rows = [{row.name: row.cells for row in getattr(table, "rows", ())} for table in (trial.value, trial.expected)]
    strange = [[cell.value for cell in rows[0][name].values()] for name in rows[0].keys() - rows[1].keys()]
    return any([cell.value for cell in rows[1][name].values()] in strange for name in rows[1].keys() - rows[0].keys())


def verdict(folder, kind, names):
    """`named`, `silent`, or what is falsely said. Slips that come to the same are the same."""
    about = KINDS[kind]
    said, holds = seen(folder / "student", about.program(names), about.task, about.check, about.file)
    if said is None:
        return "silent"
    return "named" if holds else f"{kind} {names}: {said}"


@pytest.mark.parametrize("student", sampled(singles(), 8), ids=str)
def test_a_slip_alone_is_named(tmp_path, student):
    assert verdict(tmp_path, *student) == "named"


@pytest.mark.parametrize("student", drawn(1, 6), ids=str)
def test_of_several_nothing_false_is_said(tmp_path, student):
    assert verdict(tmp_path, *student) in ("named", "silent")


@pytest.mark.parametrize("kind", KINDS)
def test_advice_that_is_followed_makes_the_answer_right(tmp_path, kind):
    """The program without a slip is the right one: it is what is left when the last advice was followed."""
    about = KINDS[kind]
    assert seen(tmp_path / "right", about.program(()), about.task, about.check, about.file)[0] is None


def mutated():
    """The mutants of the exemplar's functions, with the check that each is about."""
    for (task, check, file), function in EXEMPLARS.items():
        source = (direct.ROOT / "submissions" / "exemplar" / file).read_text(encoding="utf-8")
        for mutant in mutants(source, {function}):
            yield task, check, file, mutant.source


@pytest.mark.parametrize("mutant", sampled(list(mutated()), 90), ids=lambda each: f"{each[0]}-{each[1]}")
def test_of_a_mutant_nothing_is_said_that_it_does_not_do_elsewhere(tmp_path, mutant):
    task, check, file, source = mutant
    said, holds = seen(tmp_path / "student", source, task, check, file)
    assert holds, said


def slips_of(task, check):
    """The slips of the library that is about a check's quantity."""
    about = direct.task(task)
    (meant,) = [each for each in about.checks if each.id == check]
    for base in bases_of(meant, direct.COURSE.quantities)[:1]:
        subject = networks(as_files=about.subject.is_onnx)[-1].subject
        values = slipped(base, subject, {"most": 1}, Remembering(_FILES).value)["values"]
        yield from (name for name, _ in values if name)


@pytest.mark.parametrize("every", [80, pytest.param(1, marks=soak)])
@pytest.mark.parametrize("about", EXEMPLARS, ids=lambda each: f"{each[0]}-{each[1]}")
def test_each_slip_is_named_and_without_it_the_answer_is_right(tmp_path, about, every, monkeypatch):
    """A function that gives what a slip makes of each network is told that slip, or one that comes to the same.

    What the advice leaves behind is the function that makes no slip: it is right on all of them. Which slips there are
    takes seconds to compute: not before the test runs.
    """
    names = list(slips_of(*about[:2]))
    for name in names[len(names) // 2 % every :: every]:
        given_what_a_slip_makes(tmp_path / name, about, name, monkeypatch)


def given_what_a_slip_makes(folder, about, slip, monkeypatch):
    for follows_advice in (False, True):
        place = folder / str(follows_advice)
        place.mkdir(parents=True)
        found = direct.trials(place, "", *about)
        base = bases_of(found.check, found.quantities)[0]
        ahead = partial(made_each, base, "" if follows_advice else slip)
        monkeypatch.setattr(Trials, "ahead", lambda own, subjects, ahead=ahead: ahead(own, subjects))
        try:
            behaviour = explore(found, called_on(found))
        finally:
            found._grader.stop()
        wrong = [each for each in behaviour.called if not each.right]
        if follows_advice:
            assert not wrong, slip
        elif len(wrong) >= ENOUGH_WRONG:
            said = behaviour.holds
            assert said is not None or len(behaviour.rivals) > 1, [slip, *(each.slips for each in behaviour.rivals)]
            assert said is None or all(
                matters_on(found, said, each.trial, each.network.subject) is not None for each in wrong
            ), slip


def made_each(base, name, found, subjects):
    return [made(found, base, name, each) for each in subjects]


def made(found, base, name, subject):
    """What a function gives that makes a slip."""
    try:
        values = slipped(base, subject, {"among": [name]}, found.value_of)["values"] if name else ()
    except FaultError:
        values = ()
    plain = values[0][1] if values else found.value_of(base.call, subject)
    judging, expect = found._grader.judging_of(found.task, found.check, subject, None)
    return found._judged(typed(plain, found.kind), "", judging, expect)


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
