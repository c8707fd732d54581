"""The sample submissions get the verdicts that stand beside them."""

import os
import shutil

import pytest
import yaml
from helpers import samples
from helpers.opened import here
from helpers.soak import sampled, soak

from labgrade.files.cache import missing
from labgrade.reports.summary import facts, hint
from labgrade.run.grader import Grader
from labgrade.spec import course, load
from labgrade.submissions import find

ROOT, SAMPLES = samples.ROOT, samples.FOLDER
# Each tiles AlexNet: minutes for all. `test_tiling_tasks.py` grades them on small networks every day.
ON_REQUEST = ["tiling-dense", "tiling-exemplar", "tiling-invalid", "tiling-many", "tiling-ragged", "tiling-swapped"]

# Built first, which takes half a minute for each the first time.
BUILT = ["cpp-broken", "cpp-exemplar", "cpp-wrong", "roofline-cpp"]
# Of other labs, task by task: those of AlexNet's weights, of VGG's, and of files that are made first take long.
OTHER_LABS = [
    "edge-exemplar",
    "edge-wrong",
    "efficient-exemplar",
    "llm-exemplar",
    "llm-wrong",
    "mase-exemplar",
    "mase-paper",
    "mase-slips",
    "roofline-exemplar",
    "tutorial-exemplar",
    "tutorial-wrong",
]
LONG = (
    "3-1-layers",
    "3-3-programs",
    "3-4-comparison",
    "3-5-in-place",
    "lab-2-1-1-onnx",
    "lab-2-1-3-summaries",
    "lab-2-3-2-hooks",
    "lab-2-4-1-torchscript",
    "lab-2-4-3-cpp",
)
TOOLS = ("cmake", "g++", "make")


def beside(name):
    return yaml.safe_load((SAMPLES / f"{name}.expected.yaml").read_text(encoding="utf-8"))


EXPECTED = {name: beside(name) for name in samples.EVERY_DAY}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    return {each.name: each for each in samples.report(tmp_path_factory).submissions}


@pytest.fixture(scope="module")
def grader():
    """One for all samples of other labs."""
    with Grader(course.find(ROOT)) as found:
        yield found


def graded(report, tasks):
    """Of these tasks alone: a course's own tasks lie beside them."""
    return {
        task.id: {check.id: f"{check.verdict.outcome} {float(check.earned):g}" for check in task.checks}
        for task in report.tasks
        if task.id in tasks
    }


@pytest.mark.slow
@pytest.mark.skipif("LABGRADE_ALEXNET" not in os.environ, reason="takes minutes; LABGRADE_ALEXNET=1 asks for it")
@pytest.mark.parametrize("name", ON_REQUEST)
def test_a_tiled_alexnet_gets_the_verdicts_beside_it(name, tmp_path):
    found = course.find(ROOT)
    tasks = [load.read(path, found) for path in load.files(found.specs) if path.stem in beside(name)]
    (who,) = find.find(SAMPLES, [name], tmp_path, opening=here).submissions
    with Grader(found) as grader:
        assert graded(grader.grade(tasks, who), beside(name)) == beside(name)


@pytest.mark.slow
@pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason="needs cmake, g++ and make: apt install cmake g++ make")
@pytest.mark.parametrize("name", sampled(BUILT[::-1], 4))
def test_a_sample_in_cpp_gets_the_verdicts_beside_it(name, tmp_path):
    found = course.find(ROOT)
    tasks = [load.read(path, found) for path in load.files(found.specs) if path.stem in beside(name)]
    (who,) = find.find(SAMPLES, [name], tmp_path, opening=here).submissions
    with Grader(found) as grader:
        report = grader.grade(tasks, who)
    assert graded(report, beside(name)) == beside(name)
    if name == "cpp-exemplar":
        shown = facts(report.tasks[-1].checks[0].verdict)
        assert shown["2-4-3, MACs of AlexNet"].startswith("got 714,188,480 (from analyze")
        assert shown["2-1-4, MACs of GoogLeNet"].endswith("expected 1,498,376,192")


@pytest.mark.slow
@pytest.mark.parametrize("long", [False, pytest.param(True, marks=soak)])
@pytest.mark.parametrize("name", OTHER_LABS)
def test_a_sample_of_another_lab_gets_the_verdicts_beside_it(name, long, tmp_path, grader):
    found = course.find(ROOT)
    wanted = {task: checks for task, checks in beside(name).items() if (task in LONG) == long}
    tasks = [load.read(path, found) for path in load.files(found.specs) if path.stem in wanted]
    tasks = [each for each in tasks if not missing(each.packages)]  # ExecuTorch is there in `make soak` alone
    wanted = {each.id: wanted[each.id] for each in tasks}
    (who,) = find.find(SAMPLES, [name], tmp_path, opening=here).submissions
    assert graded(grader.grade(tasks, who), wanted) == wanted


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("exemplar", 1), ("outputs-only", 2), ("paper-only", 2)])
def test_whatever_is_handed_in_is_read_in_one_job(name, most, tmp_path, grader, monkeypatch):
    jobs, read = [], grader.runner.read
    monkeypatch.setattr(grader.runner, "read", lambda request: jobs.append(request) or read(request))
    found = course.find(ROOT)
    tasks = [load.read(path, found) for path in sorted((found.specs / "acal-lab2").glob("2-1-*.yaml"))]
    (who,) = find.find(SAMPLES, [name], tmp_path, opening=here).submissions
    grader.grade(tasks, who)
    assert len(jobs) <= most  # one more where a table is missing, which is looked for in all lines


def test_every_sample_has_its_expected_verdicts_beside_it():
    names = sorted([*samples.EVERY_DAY, *ON_REQUEST, *BUILT, *OTHER_LABS])
    assert sorted(path.name.removesuffix(".expected.yaml") for path in SAMPLES.glob("*.expected.yaml")) == names
    assert all((SAMPLES / name).is_dir() for name in names)


def test_every_sample_names_the_same_tasks():
    assert len({tuple(expected) for expected in EXPECTED.values()}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", samples.EVERY_DAY)
def test_a_sample_gets_the_verdicts_beside_it(reports, name):
    report = reports[name]
    assert graded(report, EXPECTED[name]) == EXPECTED[name]
    checks = {task.id: task.checks for task in report.tasks}
    if name == "student42":  # the mistake is named
        verdict = checks["2-1-4-macs"][0].verdict
        assert "ceil_mode" in hint(verdict)
        assert verdict.reason == "got 1,356,857,600, which is off by less than a factor of 2"
    if name == "scripts":  # they are run once, and nothing of it is left
        assert checks["2-1-1-parameters"][0].answer_from == "python hw.py: hw2-1-1-output.txt:2"
        (note,) = checks["2-1-4-macs"][0].verdict.notes
        assert note.startswith("the trained weights of 'googlenet' can't be downloaded here")
        assert sorted(path.name for path in (SAMPLES / "scripts").rglob("*") if path.is_file()) == ["hw.py", "util.py"]
