"""The `labgrade` command on a small course."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from helpers import small_course
from helpers.direct import COURSE

from checkers.trend import trend
from labgrade.cli import main
from labgrade.commands.specs import _checker_lines
from labgrade.files import yaml as spec_yaml
from labgrade.files.json_schema import problems
from labgrade.values import Table

pytestmark = pytest.mark.slow

TWO = """
import torch

class Two(torch.nn.Module):
    def forward(self, x, tokens):
        return x.sum() + torch.nn.functional.one_hot(tokens, 9).sum()

def two():
    return Two()
"""
GIVEN = """
def given(subject) -> int:
    '''What the network makes of its inputs without their values.'''
    model, given = subject.with_weights()
    given = given if isinstance(given, tuple) else (given,)
    return int(model(given[0] * 0, *given[1:]))
"""
SIZE = ["compute", "size", "--model", "torchvision/alexnet"]


@pytest.fixture
def course(tmp_path, monkeypatch):
    small_course.write(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models/nets.py").write_text(TWO)
    (tmp_path / "reference/given.py").write_text(GIVEN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_a_right_submission_ends_with_0(course, capsys):
    assert main(["check", "submissions/right"]) == 0
    out = capsys.readouterr().out
    assert "CORRECT" in out
    assert "secret" not in out


def test_a_wrong_submission_ends_with_1_and_says_why(course, capsys):
    assert main(["check", "submissions/twice"]) == 1
    out = capsys.readouterr().out
    assert "counted twice" in out
    assert "secret" not in out


@pytest.mark.parametrize("asked", [["check", "submissions/right"], ["grade", "submissions", "--submission", "right"]])
def test_it_says_which_lab_was_graded_where_there_are_others(course, capsys, asked):
    main(asked)
    assert "--lab" not in capsys.readouterr().out
    (course / "specs/more").mkdir()
    (course / "specs/more/lab.yaml").write_text("title: More\non_request: true\n")
    (course / "specs/more/again.yaml").write_text(small_course.TASK.replace("id: task", "id: again"))
    main(asked)
    assert "\ngraded: lab; for another lab, say --lab NAME: more\n" in capsys.readouterr().out
    main([*asked, "--lab", "lab"])
    assert "--lab" not in capsys.readouterr().out


def test_a_submission_brings_no_specs_and_no_code_of_ours(course, capsys, monkeypatch):
    (course / "reference/own.py").write_text("raise SystemExit('loaded')")
    (course / "specs/lab/task.yaml").write_text("id: [")
    assert main(["check", ".", "--task", "2-1-1-parameters"]) == 1
    monkeypatch.chdir(course / "submissions")
    assert main(["check", "..", "--task", "2-1-1-parameters"]) == 1
    assert "2-1-1-parameters" in capsys.readouterr().out


def test_a_fault_of_ours_ends_with_3(course, capsys):
    (course / "specs/lab/faulty.yaml").write_text(small_course.FAULTY)
    assert main(["check", "submissions/right"]) == 3
    assert "labgrade failed here, not you" in " ".join(capsys.readouterr().out.split())


def test_a_broken_spec_ends_with_2_and_the_others_are_graded(course, capsys):
    (course / "specs/lab/broken.yaml").write_text("id: broken\n")
    assert main(["check", "submissions/right"]) == 2
    done = capsys.readouterr()
    assert "CORRECT" in done.out
    assert "specs/lab/broken.yaml:1:1: a task needs 'title'" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "nowhere"], "labgrade: there is no folder 'nowhere'"),
        (["check", "conftest.py"], "labgrade: 'conftest.py' is no folder, and no archive that can be unpacked"),
        (["check", "submissions", "--lab", "lap"], "labgrade: there is no lab 'lap'; did you mean 'lab'?"),
        (["check", "submissions", "--task", "nope"], "labgrade: there is no task 'nope'; there is task"),
        (["check", "submissions", "--task", "task-7"], "labgrade: there is no task 'task-7'; did you mean 'task'?"),
        (["check", "submissions", "--task", "tsak"], "labgrade: there is no task 'tsak'; did you mean 'task'?"),
        (["compute", "sice", "--model", "torchvision/alexnet"], "there is no quantity 'sice'; did you mean 'size'?"),
        (["compute", "size", "--model", "torchvision/alexnt"], "did you mean 'torchvision/alexnet'?"),
        ([*SIZE, "--set", "time=2"], "takes no 'time'; did you mean 'times'?"),
        ([*SIZE, "--set", "times"], "--set takes KEY=VALUE, not 'times'"),
        ([*SIZE, "--set", "times=x"], "'times' must be a whole number"),
        ([*SIZE, "--input", "1,x"], "not '1,x'"),
        ([*SIZE, "--input", "1,2:twos"], "'twos' fills no input"),
        ([*SIZE, "--input", "1,2:tokens=0"], "'tokens=0' fills no input"),
        (["compute", "given", "--model", "nets/two", "--input", "2,8"], "say --input once for each input"),
        (["validate", "nowhere.yaml"], "labgrade: there is no 'nowhere.yaml'"),
    ],
)
def test_what_cannot_be_done_ends_with_2_and_an_offer(course, capsys, arguments, message):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_mistyped_option_gets_an_offer(capsys):
    with pytest.raises(SystemExit):
        main(["check", "--taks", "2-1"])
    assert "unrecognized arguments: --taks; did you mean '--task'?" in capsys.readouterr().err.replace("\n", " ")


def test_a_model_needs_no_option(course, capsys):
    assert main([*SIZE[:2], *SIZE[3:]]) == main(SIZE) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_the_json_report_goes_to_stdout_alone(course, capsys):
    assert main(["check", "submissions/right", "--json", "-"]) == 0
    report = json.loads(capsys.readouterr().out)
    (task,) = report["submissions"][0]["tasks"]
    assert [check["id"] for check in task["checks"]] == ["total", "essay"]
    assert task["points"] == 9
    assert "secret" not in json.dumps(report)


def test_the_json_report_goes_to_a_file_too(course, capsys):
    main(["check", "submissions/twice", "--json", "out.json"])
    assert json.loads((course / "out.json").read_text())["schema"] == "labgrade/report/2"
    assert "PARTIAL" in capsys.readouterr().out


def test_the_page_goes_to_a_file(course, capsys):
    assert main(["check", "submissions/twice", "--html", "out.html"]) == 1
    text = Path("out.html").read_text(encoding="utf-8")
    assert "counted twice" in text
    assert "secret" not in text


def test_pages_that_cannot_be_drawn_are_refused_before_grading(course, capsys, monkeypatch):
    monkeypatch.setattr("labgrade.reports.html.find_spec", lambda _: None)
    assert main(["check", "submissions/right", "--html", "out.html"]) == 2
    assert capsys.readouterr().err == (
        "labgrade: pages need Jinja2 and matplotlib: python -m pip install 'labgrade[html]'\n"
    )


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nowhere/out.json", "labgrade: --json nowhere/out.json: there is no folder 'nowhere'"),
        ("submissions", "labgrade: --json submissions: this is a folder; name a file in it"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_grading(course, capsys, target, message):
    assert main(["check", "submissions/right", "--json", target]) == 2
    done = capsys.readouterr()
    assert message in done.err
    assert done.out == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_a_sentence(course, capsys):
    assert main(["check", "submissions/right", "--json", "/dev/full"]) == 2
    done = capsys.readouterr()
    assert "CORRECT" in done.out
    assert done.err == "labgrade: the report could not be written to '/dev/full': no space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", [["list", "models"], ["check", "submissions/right", "--json", "-"], ["schema"]])
def test_output_that_cannot_be_written_is_a_sentence(course, arguments):
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        command = [sys.executable, "-m", "labgrade.cli", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "labgrade: the output could not be written: no space left on device\n"


def test_list_shows_the_values_that_are_allowed_on_one_line_in_a_pipe(course, capsys):
    main(["list", "quantities", "macs"])
    lines = capsys.readouterr().out.splitlines()
    values = "'none', 'one_per_input', 'two_per_input', 'four_per_input', 'five_per_input'"
    assert f"    norm: Literal[{values}] (default 'none')" in lines
    assert "Norm (" not in "".join(lines)
    assert max(map(len, lines)) > 80


def test_compute_prints_one_value_or_json(course, capsys):
    assert main(["compute", "size", "--model", "torchvision/alexnet", "--input", "1500,2"]) == 0
    assert capsys.readouterr().out == "1,500\n"
    main(["compute", "size", "--model", "torchvision/alexnet", "--input", "15x2", "--set", "times=3", "--json"])
    assert capsys.readouterr().out == "45\n"


def test_compute_takes_an_input_for_each_of_the_network(course, capsys):
    assert main(["compute", "given", "--model", "nets/two", "--input", "2,8", "--input", "2x5:tokens=9"]) == 0
    assert capsys.readouterr().out == "10\n"


def test_compute_prints_a_table_by_layer(course, capsys):
    main(["compute", "macs_by_layer", "--model", "torchvision/alexnet", "--set", "layers=[Linear]"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["layer", "type", "macs"]
    assert lines[1].split() == ["classifier.1", "Linear", "37,748,736"]


def test_a_quantity_that_fails_ends_with_3(course, capsys):
    assert main(["compute", "broken", "--model", "torchvision/alexnet"]) == 3
    assert "a fault of labgrade's: the quantity 'broken' failed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["macs", "--model", "nets/two", "--input", "1,3"], "say --input once for each input of the network"),
        (["macs", "--model", "nets/narrow", "--input", "1,3"], "does not run on an input of [1, 3]: "),
        (["macs", "--model", "nets/narrow", "--option", "width=-1"], "with negative dimension -1"),
        (["macs", "--model", "nets/narrow", "--option", "width=1e99"], "cannot be built with {'width': 1e+99}"),
        (["macs", "--model", "nets/narrow", "--option", "widht=1"], "did you mean 'width'?"),
        (["onnx_operator_total", "--model", "torchvision/alexnet.onnx", "--input", "1,3"], "on an input of [1, 3]"),
        (["decoder_parameters", "--config", "layers=2"], "needs 'width', and the config does not say it"),
    ],
)
def test_a_subject_that_cannot_be_is_the_users_to_mend(course, capsys, asked, said):
    narrow = "\n\ndef narrow(*, width: float = 4):\n    return torch.nn.Sequential(torch.nn.Conv2d(3, width, 1))\n"
    (course / "models/nets.py").write_text(TWO + narrow)
    assert main(["compute", *asked]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "fault of labgrade's" not in err


def test_list_shows_what_there_is(course, capsys):
    main(["list", "quantities", "size"])
    assert "times: int (default 1)" in capsys.readouterr().out
    main(["list", "checkers"])
    assert "same_rows" in capsys.readouterr().out
    main(["list", "tasks"])
    assert capsys.readouterr().out == "lab/task  A task (10 points)\n"
    main(["list", "models", "regnet"])
    names = capsys.readouterr().out.split()
    assert len(names) == 30
    assert sum(name.endswith(".onnx") for name in names) == 15


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["quantities", "sizes off"], "no quantity holds 'sizes off'"),
        (["checkers", "equall"], "no checker holds 'equall'; did you mean 'equal'?"),
        (["subjects", "gpt"], "no subject holds 'gpt'; without a word, all "),
        (
            ["models", "torchvision/resnet-18"],
            "no model holds 'torchvision/resnet-18'; did you mean 'torchvision/resnet",
        ),
        (["tasks", "tsak"], "no task holds 'tsak'; did you mean 'task'?"),
    ],
)
def test_list_says_so_where_nothing_holds_the_word(course, capsys, asked, said):
    assert main(["list", *asked]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith(said)
    assert shown.out == ""


def test_slips_of_flops_are_those_of_macs_doubled_and_macs_themselves(capsys, monkeypatch):
    monkeypatch.chdir(COURSE.root)
    main(["list", "slips", "flops"])
    shown = capsys.readouterr().out
    assert "These are multiply-accumulates (MACs)." in shown
    assert "of flops: doubled, credit 0.4" in shown.partition("macs_ignoring_groups")[2]
    assert "decoder_macs" not in shown  # which only holds the word


def test_slips_of_a_quantity_without_slips_are_not_those_of_another(capsys, monkeypatch):
    monkeypatch.chdir(COURSE.root)
    main(["list", "slips", "tile_count"])
    assert capsys.readouterr().out == "'tile_count' has no slips that a spec can name\n"
    main(["list", "slips", "activation_bytes"])
    said = "'activation_bytes' has no slips that a spec can name; hints use those of activation_bytes_slips\n"
    assert capsys.readouterr().out == said


def test_list_finds_a_word_in_any_case_and_words_of_a_name(course, capsys):
    main(["list", "quantities", "Weight BYTES"])
    assert "weight_bytes" in capsys.readouterr().out
    main(["list", "tasks", "A TASK"])
    assert capsys.readouterr().out == "lab/task  A task (10 points)\n"


def test_an_example_of_a_convention_fits_its_type(course, capsys):
    (course / "reference/deep.py").write_text(
        "def deep(subject, *, layers: int) -> int:\n    'Deep.'\n    return layers\n"
    )
    main(["list", "quantities", "deep"])
    assert "example: labgrade compute deep --model torchvision/resnet18 --set layers=1\n" in capsys.readouterr().out


def test_validate_away_from_a_course_does_not_praise_specs_of_ours(course, capsys, monkeypatch):
    (course / "empty").mkdir()
    monkeypatch.chdir(course / "empty")
    assert main(["validate"]) == 2
    assert "there is no folder 'specs' here: go to the folder of a course" in capsys.readouterr().err


def test_validate_says_all_that_is_wrong(course, capsys):
    assert main(["validate"]) == 0
    assert capsys.readouterr().out == "1 spec, nothing wrong\n"
    (course / "specs/lab/task.yaml").write_text(small_course.TASK.replace("equal", "equl").replace("title", "titel"))
    assert main(["validate", "specs"]) == 2
    err = capsys.readouterr().err
    assert "a task needs 'title'" in err
    assert "no checker is called 'equl'; did you mean 'equal'?" in err


def test_validate_reads_the_roster(course, capsys):
    (course / "roster.yaml").write_text("students: [{id: ann, extension: {lba: 2 days}}]\n")
    assert main(["validate"]) == 2
    assert "roster.yaml:1:" in (said := capsys.readouterr().err)
    assert "there is no lab 'lba'; did you mean 'lab'?" in said


def test_validate_names_a_quantity_file_that_is_not_python(course, capsys):
    (course / "reference/bad.py").write_text("def x(:\n")
    assert main(["validate"]) == 2
    assert "reference/bad.py:1:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{quantity: size}", "{quantity: size, published: 5}", "the published value is 5, but size computes 1234"),
        ("{times: 2}", "{times: 1}", "this misconception gives the right value on the task's own subject"),
        (
            "[{value: {quantity: size, with: {times: 2}}",
            "[{value: 2468, says: other}, {value: {quantity: size, with: {times: 2}}",
            "this misconception gives the same value as the one on line 22, so neither is ever claimed",
        ),
    ],
)
def test_validate_computes_what_only_computing_tells(course, capsys, old, new, message):
    path = course / "specs/lab/task.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert main(["validate"]) == 0
    assert main(["validate", "--compute"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("expected: 1234", "expected: 5.5", "23:70: 5.5 is no count: a whole number, not below 0"),
        ("expected: 1234", "expected: -5", "23:70: -5 is no count: a whole number, not below 0"),
        (
            "also_right: [{value: 6, says: a}]",
            "also_right: [{value: 6.5, says: a}]",
            "24:92: 6.5 is no count",
        ),
        (
            "says: counted twice, credit: 0.5}]",
            "says: counted twice}]\n    also_right: [{value: 2468, says: both}]",
            "22:22: this misconception gives on the task's own subject what line 23 calls right",
        ),
        (
            "checker: equal, expected: 1234",
            "checker: {between: {low: 9, high: 1}}",
            "the checker 'between' failed: ValueError: no number is from 9 to 1",
        ),
        (
            "checker: equal\n    expected: {quantity: size}",
            "checker: never\n    expected: {quantity: size}",
            "17:5: what is right is INCORRECT itself, so that nobody could earn this: never",
        ),
    ],
)
def test_validate_finds_what_no_student_could_get_right(course, capsys, old, new, message):
    (course / "checkers").mkdir()
    (course / "checkers/own.py").write_text(
        "from labgrade.verdict import incorrect\n\n\ndef never(answer, expected):\n    return incorrect('never')\n"
    )
    more = "  - {id: more, points: 0, answer: total, checker: equal, expected: 5, also_right: [{value: 6, says: a}]}\n"
    broken_course(course, ("  - {id: essay", f"{more}  - {{id: essay"), (old, new))
    assert main(["validate", "--compute"]) == 2
    assert message in capsys.readouterr().err


STUDY = """
id: study
title: Runs
points: 3
statement: Hand in runs.
answers:
  runs: {type: {table: {row: run, columns: {a: count, b: number}}}, from: [{file: runs.csv}]}
checks:
  - {id: one, points: 1, answer: runs, checker: CHECKER}
  - {id: rows, points: 2, answer: runs, checker: same_rows, expected: {literal: ROWS}}
"""


@pytest.mark.parametrize(
    ("checker", "rows", "message"),
    [
        ("{covers: {columns: [a, b], least: [1]}}", "[[p, 1, 2]]", "'least' has one number for each of 'columns': 2"),
        ("{covers: {columns: [a], least: [1], ends: [9, 1]}}", "[[p, 1, 2]]", "from the smaller number to the larger"),
        ("{trend: {column: a, along: a, goes: falls}}", "[[p, 1, 2]]", "are three different columns"),
        ("{trend: {column: a, along: b, seed: b, goes: falls}}", "[[p, 1, 2]]", "are three different columns"),
        ("{trend: {column: a, along: b, goes: falls}}", "[[p, 1, 2], [p, 2, 2]]", "the row 'p' stands twice"),
        ("{trend: {column: a, along: b, goes: falls}}", "[]", "this is empty, so that a hand-in without anything"),
        ("{trend: {column: a, along: b, goes: falls}}", "[[p, 1.5, 2]]", "1.5 (p, a) is no count"),
        ("{trend: {column: a, along: b, goes: falls}}", "[[p, 1, -2.5], [q, 2, 2]]", ""),
    ],
)
def test_validate_tries_checkers_and_reads_tables_that_are_written_down(course, capsys, checker, rows, message):
    (course / "specs/lab/study.yaml").write_text(STUDY.replace("CHECKER", checker).replace("ROWS", rows))
    assert main(["validate", "--compute"]) == (2 if message else 0)
    assert message in capsys.readouterr().err


def test_a_subject_that_functions_are_handed_has_to_run(course, capsys):
    text = (
        CASES.replace("given: [input_size]", "given: [model]").replace("[3, 2]", "[1, 3]").replace("[5, 2]", "[2, 3]")
    )
    (course / "specs/lab/cases.yaml").write_text(text.replace("ONE", "7"))
    assert main(["validate", "--compute", "specs/lab/cases.yaml"]) == 2
    assert "'torchvision/alexnet' can't be built or does not run on an input of [1, 3]" in capsys.readouterr().err


def broken_course(course, *changes):
    path = course / "specs/lab/task.yaml"
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)


@pytest.mark.parametrize("literal", ["some eleven million", "[1, 2]", "{literal: {a: 1}}", "{literal: null}", "1.5 MB"])
def test_a_literal_of_another_type_is_a_finding_at_its_place(course, capsys, literal):
    broken_course(course, ("expected: 1234", f"expected: {literal}"))
    assert main(["validate"]) == 2
    err = capsys.readouterr().err
    assert "specs/lab/task.yaml:23:" in err
    assert "this does not fit the answer's type" in err
    assert main(["validate", "--compute"]) == 2
    assert capsys.readouterr().err == err


def test_what_cannot_be_computed_is_a_finding_and_all_others_are_kept(course, capsys):
    broken_course(course, ("{quantity: size}", "{quantity: size, published: 5}"), ("expected: 1234", "expected: many"))
    faulty = small_course.FAULTY.replace("[1]}", "[1]}").replace("points: 2\n", "points: 2\n", 1)
    (course / "specs/lab/faulty.yaml").write_text(faulty)
    four = small_course.FAULTY.replace("id: faulty", "id: four").replace("[1]", "[1, 4, 64, 64]")
    (course / "specs/lab/four.yaml").write_text(four.replace("broken", "macs"))
    assert main(["validate", "--compute"]) == 2
    err = capsys.readouterr().err
    assert "specs/lab/faulty.yaml:10:" in err
    assert "the quantity 'broken' failed on 'torchvision/alexnet': ZeroDivisionError: by zero" in err
    assert (
        "specs/lab/four.yaml:6:10: 'torchvision/alexnet' can't be built or does not run on an input of [1, 4, 64, 64]"
        in err
    )
    assert "the published value is 5, but size computes 1234" in err
    assert "the text 'many'" in err or "'many' is not a count" in err


def test_a_module_to_freeze_that_is_not_there_is_found_by_computing(course, capsys):
    options = "options: {frozen: [featurs]}, input: [1, 3, 64, 64]}"
    text = small_course.FAULTY.replace("input: [1]}", options).replace("broken", "parameters")
    (course / "specs/lab/faulty.yaml").write_text(text)
    assert main(["validate"]) == 0
    assert main(["validate", "--compute"]) == 2
    err = capsys.readouterr().err
    assert "has no module or parameter 'featurs' to freeze; did you mean 'features'?" in err
    assert "specs/lab/faulty.yaml:6:10:" in err


def test_a_checker_that_raises_is_a_finding(course, capsys):
    (course / "checkers").mkdir()
    (course / "checkers/own.py").write_text("def odd(answer, expected):\n    raise ValueError('odd')\n")
    broken_course(course, ("checker: equal", "checker: odd"))
    assert main(["validate", "--compute"]) == 2
    assert "specs/lab/task.yaml:17:5: the checker 'odd' failed: ValueError: odd" in capsys.readouterr().err


def test_files_that_are_never_graded_are_findings(course, capsys):
    (course / "specs/other").mkdir()
    (course / "specs/other/new.yml").write_text("id: new\n")
    assert main(["validate"]) == 2
    err = capsys.readouterr().err
    assert "specs/other/new.yml:1:1: this is never graded: a task's file ends in .yaml; rename it to 'new.yaml'" in err
    assert "specs/other/lab.yaml:1:1: this lab has no lab.yaml; write one with a title" in err


def test_validate_computes_and_finds_nothing_wrong(course, capsys):
    assert main(["validate", "--compute"]) == 0


def test_a_course_folder_of_its_own_is_found_beside_the_built_in_one(course, capsys):
    main(["list", "quantities"])
    out = capsys.readouterr().out
    assert "size  A size." in out
    assert "macs " in out


def test_compute_compares_conventions_side_by_side(course, capsys):
    own = (
        "def sizes(subject, *, unit: Literal['one', 'two'] = 'one', plus: bool = False, n: int = 0) -> int:\n    'S.'\n"
    )
    (course / "reference/more.py").write_text(
        f"from typing import Literal\n\n\n{own}    return 5 * (1 + (unit == 'two')) + n\n"
    )
    asked = ["compute", "sizes", "--model", "torchvision/alexnet", "--all-conventions"]
    assert main(asked) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["unit", "plus", "sizes", "differs"]
    assert lines[1:] == [
        ["one", "False", "5"],
        ["one", "True", "5"],
        ["two", "False", "10", "*"],
        ["two", "True", "10", "*"],
    ]
    main([*asked, "--set", "unit=two", "--set", "n=1", "--csv"])
    assert capsys.readouterr().out == "plus,sizes,differs\nFalse,11,False\nTrue,11,False\n"
    main([*asked, "--set", "unit=two", "--json"])
    assert json.loads(capsys.readouterr().out)[1] == {"plus": True, "sizes": 10, "differs": False}


def test_compute_takes_the_subject_of_a_task_and_options_of_a_model(course, capsys):
    main(["compute", "size", "--task", "task"])
    assert capsys.readouterr().out == "1,234\n"
    main(["compute", "macs_by_type", "--model", "torchvision/alexnet", "--option", "num_classes=7", "--csv"])
    assert capsys.readouterr().out == ",macs_by_type\nConv2d,655566528\nLinear,54554624\n"
    assert main(["compute", "size", "--task", "tsak"]) == 2
    assert "there is no task 'tsak'; did you mean 'task'?" in capsys.readouterr().err
    assert main(["compute", "size", "--model", "torchvision/alexnet", "--option", "x"]) == 2
    assert "--option takes KEY=VALUE, not 'x'" in capsys.readouterr().err


def test_the_example_of_each_checker_may_stand_in_a_spec():
    for entry in COURSE.checkers.entries.values():
        shown = spec_yaml.load(_checker_lines(entry)[1].removeprefix("example: "), "").data["checker"]
        for name, value in (shown[entry.name] if isinstance(shown, dict) else {}).items():
            assert value is None or not list(problems(entry.parameters[name].schema, value)), (entry.name, name)
        if entry.name == "trend":  # which compares one column along another
            assert trend(Table(), None, **shown["trend"]).reason == "the table has no rows"


def test_list_says_unit_and_signature_and_an_example_that_runs(course, capsys):
    main(["list", "quantities", "weight_bytes_at_eight"])
    out = capsys.readouterr().out
    assert "of a model, gives int, in bytes" in out
    assert "Comes of taking float32 for Python's float" in out
    example = out.partition("example: labgrade ")[2].partition("\n")[0]
    assert main(example.split()) == 0
    assert capsys.readouterr().out == "93,516,096\n"
    main(["list", "checkers", "close"])
    assert "example: checker: {close: {rtol: 1e-05, atol: 1e-08, others: wrong}}" in capsys.readouterr().out
    main(["list", "subjects", "micro/lenet"])
    assert "labgrade compute onnx_operator_total --model micro/lenet.onnx --input 1,1,28,28" in capsys.readouterr().out
    main(["list", "tasks"])
    assert "lab/task  A task (10 points)" in capsys.readouterr().out


CASES = """
id: cases
title: In every case
points: 1
statement: How large is it?
subject: {model: torchvision/alexnet, input: [3, 2]}
answers:
  total: {type: count, from: [{call: "hw.py:total", given: [input_size]}]}
checks:
  - id: total
    points: 1
    answer: total
    checker: equal
    expected: {quantity: size, with: {times: 2}}
    misconceptions:
      - {value: {quantity: size, with: {times: 3}}, says: three times}
      - {value: ONE, says: another}
    cases: [{input: [3, 2]}, {input: [5, 2]}]
"""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("6", ""),  # the right value in one case
        ("9", ""),  # the other misconception in one case
        ("{quantity: size, with: {times: 2}}", "17:9: this misconception gives the right value in every case"),
        (
            "{quantity: size, with: {times: 3}}",
            "17:9: this misconception gives the same value as the one on line 16 in",
        ),
    ],
)
def test_misconceptions_that_no_case_tells_apart_are_findings(course, capsys, value, message):
    (course / "specs/lab/cases.yaml").write_text(CASES.replace("ONE", value))
    code = main(["validate", "--compute", "specs/lab/cases.yaml"])
    err = capsys.readouterr().err
    assert (code, message in err) == (2 if message else 0, True)
    assert bool(err) == bool(message)


def test_the_hook_for_pre_commit_refuses_a_broken_spec(course):
    root = Path(__file__).parents[2]
    (hook,) = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text())
    assert (hook["id"], hook["pass_filenames"]) == ("labgrade-validate", False)
    program, *arguments = hook["entry"].split()
    command = [sys.executable, "-m", f"{program}.cli", *arguments]
    assert subprocess.run(command, check=False).returncode == 0
    (course / "specs/lab/task.yaml").write_text("id: [")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "specs/lab/task.yaml:1:" in done.stderr
    assert re.match(hook["files"], "specs/lab/task.yaml")
    assert not re.match(hook["files"], "submissions/x/specs.yaml")
