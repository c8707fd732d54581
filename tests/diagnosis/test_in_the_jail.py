"""With real processes: from the task to what a student reads, and what functions do that keep things or never end."""

import re
from dataclasses import replace

import pytest
from helpers.direct import COURSE, NO_GROUPS, RIGHT, ROOT, task
from helpers.handed_in import read

from labgrade import cli
from labgrade.core.task import Limits
from labgrade.diagnosis.counterexample import judged, plan_of
from labgrade.diagnosis.networks.called import called_on, networks_for
from labgrade.diagnosis.probe import Trials
from labgrade.diagnosis.search import SearchPlan, search
from labgrade.reports.summary import full_reason
from labgrade.run.grader import Grader
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

EXEMPLAR = ROOT / "submissions" / "exemplar"


@pytest.fixture(scope="module")
def grader():
    with Grader(COURSE) as found:
        yield found


def verdict(grader, folder, source, seconds=60.0, **changes):
    (folder / "hw2_1.py").write_text(source, encoding="utf-8")
    about = replace(task("2-1-4-macs"), limits=Limits(seconds=seconds))
    (check,) = [each for each in about.checks if each.counterexample]
    trials = Trials(grader, about, check, read(folder, "someone"))
    return judged(trials, SearchPlan(among="cnn", **{"tries": 30, **changes}))[0]


def test_a_function_that_keeps_things_between_calls_is_right_as_it_is_when_graded(grader, tmp_path):
    found = verdict(grader, tmp_path, RIGHT.replace("    total = []\n", "    total = KEPT\n") + "\nKEPT = []\n")
    assert found.outcome is Outcome.CORRECT, found.reason


@pytest.mark.parametrize(("name", "file"), [("2-1-4-macs", "hw2_1.py"), ("2-2-2-bandwidth", "hw2_2.py")])
def test_what_is_right_is_seen_in_a_few_processes_and_is_the_same_as_one_by_one(grader, name, file, monkeypatch):
    jobs = []
    runner = type(grader.runner)
    run = runner._run
    monkeypatch.setattr(runner, "_run", lambda self, job: jobs.append(1) or run(self, job))
    about = task(name)
    (check,) = [each for each in about.checks if each.counterexample]
    trials = Trials(grader, about, check, read(EXEMPLAR, "someone"))
    plan = replace(plan_of(about, check.counterexample), tries=40, seconds=600)
    found = search(
        plan, trials, lambda trial: "" if trial.verdict.outcome is Outcome.CORRECT else "wrong", (), trials.ahead
    )
    assert len(found.tried) > 20
    assert found.smallest is None, found.smallest[1].verdict
    assert len(jobs) <= 5  # one of them reads the file, once
    asked = []
    search(plan, asked.append, lambda _: "")
    assert [subject for subject, _, _ in found.tried] == asked
    assert len({str(trial.value) for _, trial, _ in found.tried}) > 10


def test_a_function_that_never_ends_is_told_with_a_network(grader, tmp_path):
    never = RIGHT.replace("    total = []\n", "    total = []\n    while input_size[0] > 1: pass\n")
    found = verdict(grader, tmp_path, never, seconds=0.4, tries=20)
    assert found.outcome is Outcome.TIMEOUT
    assert "nn.Sequential(" in full_reason(found)
    assert re.search(r"total_macs\(model, \(2, ", full_reason(found)), "the batch that it hangs on, and no larger one"


def test_the_command_prints_lines_to_paste(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    work = tmp_path / "work"
    work.mkdir()
    (work / "mine.py").write_text(NO_GROUPS, encoding="utf-8")  # the name that the task gives it does not matter
    call = ["counterexample", str(work / "mine.py:total_macs"), "--task", "2-1-4-macs", "--tries", "30"]
    assert cli.main(call) == 1
    first = capsys.readouterr().out
    assert "nn.Conv2d(2, 2, 1, groups=2, bias=False)" in first
    assert "print(total_macs(model, (1, 2, 1, 1)))  # gives 4; right: 2" in first
    assert "hint: │ Groups are ignored." in first
    assert len(list((tmp_path / "cache").glob("counterexamples/*/*.json"))) == 2, "by content, and by place"
    assert cli.main(call) == 1
    assert capsys.readouterr().out == first
    lines = "\n".join(line for line in first.splitlines()[1:] if "│" not in line and not line.startswith("#"))
    (work / "pasted.py").write_text(lines, encoding="utf-8")
    monkeypatch.syspath_prepend(str(work))
    exec(compile(lines, "pasted", "exec"), {})  # noqa: S102 - as a student would
    assert capsys.readouterr().out.strip() == "4"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.py:f"], "names no function of a file here"),
        (["FILE:nothing"], "no task asks for 'nothing'"),
        (["FILE:total_macs", "--task", "2-1-4-mac"], "did you mean '2-1-4-macs'?"),
        (["FILE:total_mac"], "did you mean 'total_macs'?"),
        (["FILE:total_macs", "--course", "nowhere"], "there is no folder 'specs' in it"),
        (["FILE:total_macs", "--seed", "x"], "a seed is a number or `fresh`"),
        (["FILE:total_macs", "--among", "sizes"], "is not about networks of the family 'sizes'"),
    ],
)
def test_what_the_command_can_not_do(arguments, said, tmp_path, capsys):
    (tmp_path / "hw2_1.py").write_text(RIGHT, encoding="utf-8")
    file = str(tmp_path / "hw2_1.py")
    assert cli.main(["counterexample", arguments[0].replace("FILE", file), *arguments[1:]]) == 2
    assert said in capsys.readouterr().err


def test_code_of_a_kit_runs_only_where_it_is_trusted(tmp_path, capsys, monkeypatch):
    for folder in ("specs/lab", "reference"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "labgrade-kit.yaml").write_text("kit: lab\n")
    (tmp_path / "reference" / "own.py").write_text("raise SystemExit('it ran')\n")
    (tmp_path / "hw2_1.py").write_text(RIGHT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["counterexample", "hw2_1.py:total_macs"]) == 2
    assert "this kit brings code of its own (reference); if you trust it, add: --course ." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "most"),
    [
        ("raise ValueError('no')", 2),
        ("if GROUPS in str(model): raise ValueError('no')", 2),
        ("if GROUPS in str(model): return [1, 2]", 2),
    ],
)
def test_a_function_that_fails_on_some_networks_is_tried_on_the_others(grader, tmp_path, monkeypatch, body, most):
    jobs = []
    runner = type(grader.runner)
    run = runner._run
    monkeypatch.setattr(runner, "_run", lambda self, job: jobs.append(job.kind) or run(self, job))
    own = f"def total_macs(model, input_size):\n    {body}\n    return right(model, input_size)\n"
    source = f"{RIGHT}\nright, GROUPS = total_macs, 'groups=2'\n\n{own}"
    (tmp_path / "hw2_1.py").write_text(source, encoding="utf-8")
    about = task("2-1-4-macs")
    (check,) = [each for each in about.checks if each.counterexample]
    trials = Trials(grader, about, check, read(tmp_path, "someone"))
    plain = [each for each in networks_for(trials) if "'groups': 2" not in str(each.subject.options)]
    called = called_on(trials)
    assert len(jobs) <= most, jobs  # one of them reads the file
    assert [each.network for each in called] == (plain if "if" in body else [])
    assert all(each.right for each in called)
