"""A task that needs what is not installed here: it waits, costs nobody anything, and says what to do."""

import pytest
from helpers import own_course

from labgrade import cli
from labgrade.commands.doctor import _packages
from labgrade.judging.items import items
from labgrade.ledger.depends import VerdictParts
from labgrade.spec import course, load

TASK = """
id: task
title: A task
points: 2
statement: How many?
packages: [numpy, no-such-package-anywhere]
answers: {total: {type: count, from: [{call: 'hw.py:total', given: [save_to]}, {entry: total}]}}
checks:
  - {id: total, points: 1, answer: total, checker: equal, expected: 3}
  - {id: more, points: 1, answer: total, checker: equal, expected: 3, needs: [total]}
"""
OTHER = TASK.replace("id: task", "id: other").replace("[numpy, no-such-package-anywhere]", "[numpy]")


@pytest.fixture
def about(tmp_path):
    call = "{call: 'hw.py:total', given: [save_to]}, "
    specs = {"task": TASK.replace(call, ""), "other": OTHER.replace(call, "")}
    files = {f"specs/lab/{name}.yaml": text for name, text in specs.items()}
    return own_course.write(tmp_path, {**files, "submissions/ada/answers.yaml": "total: 3\n"})


@pytest.mark.slow
def test_a_task_without_its_packages_waits(about):
    with own_course.grading(about) as grade:
        found = grade("ada")
    assert found["other.total"].outcome.name == "CORRECT"
    verdict = found["task.total"]
    assert verdict.outcome.name == "MANUAL"
    assert verdict.reason == "not graded on this machine, which lacks 'no-such-package-anywhere'"
    assert verdict.hint == "install it, and grade again: pip install no-such-package-anywhere"
    assert found["task.more"].outcome.name == "MANUAL"


def test_a_verdict_depends_on_what_is_installed(about, monkeypatch):
    found = course.find(about)
    task = load.read(about / "specs/lab/task.yaml", found)
    (item, _) = items(task)
    before = VerdictParts(found).of(task, item)["packages"]
    monkeypatch.setattr("labgrade.ledger.depends.version_of", lambda name: f"{name} 1")
    assert VerdictParts(found).of(task, item)["packages"] != before


def test_a_lab_names_them_for_all_its_tasks(about):
    (about / "specs/lab/lab.yaml").write_text("title: A lab\npackages: [numpy, scipy-like]\n")
    task = load.read(about / "specs/lab/task.yaml", course.find(about))
    assert task.packages == ("numpy", "scipy-like", "no-such-package-anywhere")


def test_the_doctor_lists_what_a_course_needs(about):
    listed = {each.what: each for each in _packages(about)}
    assert listed["numpy"].good is True
    lacking = listed["no-such-package-anywhere"]
    assert (lacking.good, lacking.found) == (None, "not installed, needed by 1 task")
    assert lacking.remedy == "pip install no-such-package-anywhere; without it task wait for a person"


def test_a_package_that_is_no_name_is_told(about):
    text = (about / "specs/lab/task.yaml").read_text()
    (about / "specs/lab/task.yaml").write_text(text.replace("[numpy, no-such", "['numpy; rm -rf /', no-such"))
    assert "a package (executorch)" in " ".join(own_course.findings(about))


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [["test", "task"], ["grade", "submissions", "--task", "task"], ["check", "--task", "task", "submissions/ada"]],
)
def test_a_command_that_loads_the_course_says_it_and_keeps_its_schemas(about, command, capfd, monkeypatch):
    monkeypatch.chdir(about)
    (about / "specs/task.schema.json").write_text("{}")
    cli.main(command)
    out = capfd.readouterr().out
    if command[0] == "test":
        assert out == ("task: not tried on this machine; install what it needs: pip install no-such-package-anywhere\n")
    assert '"a task"' in (about / "specs/task.schema.json").read_text()
