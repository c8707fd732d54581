"""The sample submissions get the verdicts that stand beside them."""

from pathlib import Path

import pytest
import yaml

from labgrade import course, pipeline, spec, submission

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "submissions"
NAMES = ["empty", "exemplar", "outputs-only", "paper-only", "scripts", "student42"]
EXPECTED = {name: yaml.safe_load((SAMPLES / f"{name}.expected.yaml").read_text(encoding="utf-8")) for name in NAMES}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Only the tasks that the samples are about: a course's own tasks and students lie beside them."""
    found = course.find(ROOT)
    named = {task for tasks in EXPECTED.values() for task in tasks}
    tasks = [spec.read(path, found) for path in spec.files(found.specs) if path.stem in named]
    assert len(tasks) == len(named)
    taken = submission.find(SAMPLES, NAMES, tmp_path_factory.mktemp("store"))
    with pipeline.Grader(found) as grader:
        return {who.name: grader.grade(tasks, who) for who in taken.submissions}


def test_every_sample_names_the_same_tasks():
    assert len({tuple(expected) for expected in EXPECTED.values()}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_gets_the_verdicts_beside_it(reports, name):
    found = {
        task.id: {check.id: f"{check.verdict.outcome} {float(check.earned):g}" for check in task.checks}
        for task in reports[name].tasks
    }
    assert found == EXPECTED[name]


def test_student42s_macs_verdict_names_the_ceil_mode_mistake(reports):
    (task,) = [task for task in reports["student42"].tasks if task.id == "2-1-4-macs"]
    verdict = task.checks[0].verdict
    assert "ceil_mode" in verdict.hint
    assert verdict.reason == "got 1,356,857,600, which is 9.4 % less than expected"


def test_scripts_are_run_once_and_nothing_of_it_is_left(reports):
    tasks = {task.id: task.checks for task in reports["scripts"].tasks}
    assert tasks["2-1-1-parameters"][0].answer_from == "python hw.py: hw2-1-1-output.txt:2"
    (note,) = tasks["2-1-4-macs"][0].verdict.notes
    assert note.startswith("the trained weights of 'googlenet' can't be downloaded here")
    assert sorted(path.name for path in (SAMPLES / "scripts").rglob("*") if path.is_file()) == ["hw.py", "util.py"]
