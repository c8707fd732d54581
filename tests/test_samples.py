"""The sample submissions get the verdicts that stand beside them."""

import os
from pathlib import Path

import pytest
import yaml

from labgrade import course, pipeline, spec, submission

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "submissions"
EVERY_DAY = ["empty", "exemplar", "outputs-only", "paper-only", "student42"]
# Each tiles AlexNet: minutes for all. `test_tiling_tasks.py` grades them on small networks every day.
ON_REQUEST = ["tiling-dense", "tiling-exemplar", "tiling-invalid", "tiling-many", "tiling-ragged", "tiling-swapped"]


@pytest.fixture(scope="module")
def reports():
    found = course.find(ROOT)
    tasks = [spec.read(path, found) for path in spec.files(found.specs)]
    with pipeline.Grader(found) as grader:
        return {who.name: grader.grade(tasks, who) for who in submission.find(SAMPLES, EVERY_DAY)}


def graded(report):
    return {
        task.id: {check.id: f"{check.verdict.outcome} {float(check.earned):g}" for check in task.checks}
        for task in report.tasks
    }


def beside(name):
    return yaml.safe_load((SAMPLES / f"{name}.expected.yaml").read_text(encoding="utf-8"))


@pytest.mark.skipif("LABGRADE_ALEXNET" not in os.environ, reason="takes minutes; LABGRADE_ALEXNET=1 asks for it")
@pytest.mark.parametrize("name", ON_REQUEST)
def test_a_tiled_alexnet_gets_the_verdicts_beside_it(name):
    found = course.find(ROOT)
    tasks = [spec.read(path, found) for path in spec.files(found.specs) if path.name.startswith("2-3-")]
    (who,) = submission.find(SAMPLES, [name])
    with pipeline.Grader(found) as grader:
        assert graded(grader.grade(tasks, who)) == beside(name)


def test_every_sample_has_its_expected_verdicts_beside_it():
    folders = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
    assert folders == sorted([*EVERY_DAY, *ON_REQUEST])
    assert sorted(path.name.removesuffix(".expected.yaml") for path in SAMPLES.glob("*.expected.yaml")) == folders


@pytest.mark.parametrize("name", EVERY_DAY)
def test_a_sample_gets_the_verdicts_beside_it(reports, name):
    assert graded(reports[name]) == beside(name)


def test_student42s_macs_verdict_names_the_ceil_mode_mistake(reports):
    (task,) = [task for task in reports["student42"].tasks if task.id == "2-1-4-macs"]
    verdict = task.checks[0].verdict
    assert "ceil_mode" in verdict.hint
    assert verdict.reason == "got 1,356,857,600, which is 9.4 % less than expected"
