"""A command imports what it needs when it runs. What is imported is checked, and no time."""

import subprocess
import sys
from pathlib import Path

import pytest

from labgrade import cli
from labgrade.core.errors import UsageError
from labgrade.spec import course, load

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
try:
    from labgrade import cli
    code = cli.main(sys.argv[1:])
except SystemExit as end:
    code = end.code
print(code, *sys.modules, file=sys.stderr)
"""
NAMES = [name for name, _, _ in cli._COMMANDS]


def imported(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return set(modules)


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_import_nothing_of_labgrade_but_the_door(flag):
    found = imported(flag)
    assert {name for name in found if name.startswith("labgrade")} == {"labgrade", "labgrade.cli"}
    assert not found & {"typing", "dataclasses", "json", "pathlib", "rich", "yaml"}


@pytest.mark.slow
@pytest.mark.parametrize("command", [["list", "tasks"], ["validate", "specs"]])
def test_reading_specs_imports_nothing_that_grades(command):
    found = imported(*command)
    assert not found & {"torch", "torchvision", "onnx", "numpy", "jsonschema", "asyncio", "sqlite3", "unittest.mock"}
    packages = {name.split(".")[1] for name in found if name.startswith("labgrade.")}
    assert not packages & {"cpp", "diagnosis", "judging", "ledger", "run", "sandbox", "submissions", "truth"}
    of_review = {name for name in found if name.startswith("labgrade.review.")}
    assert of_review <= {"labgrade.review.roster"}  # the words of a roster, of which a course keeps a schema


@pytest.mark.slow
@pytest.mark.parametrize(("name", "module"), [("list", "specs"), ("picture", "picture"), ("init", "course")])
def test_of_the_commands_the_one_that_runs_is_imported(name, module):
    found = {each for each in imported(name, "--help") if each.startswith("labgrade.commands.")}
    assert found == {f"labgrade.commands.{module}"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compute", "kit"])
def test_a_quantity_is_asked_for_without_what_grades(name):
    found = imported(name, "--help")
    assert not found & {"importlib.metadata", "rich", "yaml", "sqlite3"}
    packages = {name.split(".")[1] for name in found if name.startswith("labgrade.")}
    assert not packages & {"answers", "authoring", "cpp", "judging", "review", "sandbox"}


@pytest.mark.parametrize("name", NAMES)
def test_each_command_has_help(name, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([name, "--help"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: labgrade {name} [-h]")


@pytest.mark.parametrize("arguments", [[], ["list"], ["--help"]])
def test_what_can_be_done_is_grouped_by_who_does_it(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 0
    said = capsys.readouterr().out
    places = [
        said.index(text)
        for text in ("your own work:", "check ", "marking a class:", " grade ", "writing tasks:", " new ")
    ]
    assert places == sorted(places)
    assert "argparse" not in imported("--help")


@pytest.mark.parametrize("arguments", [["chek"], ["--wrong"], ["compute"], ["--", "chek"]])
def test_what_is_no_command_ends_with_2_and_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("usage: labgrade")


def test_a_start_of_a_name_takes_all_that_begin_so_and_no_longer_number(tmp_path):
    for name in ("2-1-1-a", "2-1-2-b", "2-10-c", "2-1"):
        (tmp_path / "specs/lab").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"specs/lab/{name}.yaml").write_text("")
    found = course.find(tmp_path)
    assert [path.stem for path in load.chosen(found, None, ["2-1-"])] == ["2-1-1-a", "2-1-2-b"]
    assert [path.stem for path in load.chosen(found, None, ["2-1"])] == ["2-1"]
    (tmp_path / "specs/lab/2-1.yaml").unlink()
    assert [path.stem for path in load.chosen(found, None, ["2-1", "2-10-c"])] == ["2-1-1-a", "2-1-2-b", "2-10-c"]
    for name in ("2-1-3", ""):
        with pytest.raises(UsageError, match="there is no task"):
            load.chosen(found, None, [name])
