"""A course of its own, with labgrade as an installed wheel: found from anywhere, and this project is not needed."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
import yaml
from helpers.shown import unframed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
OWN_TASK = """
id: own
title: Own
points: 1
statement: Half of it?
subject: {model: micro/dilated, input: [6, 3, 32, 40]}
answers:
  half: {type: count, from: [{entry: own.half}]}
checks:
  - {id: half, points: 1, answer: half, checker: at_least_half, expected: {quantity: first_size}}
"""
OWN_QUANTITY = "def first_size(subject) -> int:\n    '''The first size.'''\n    return subject.shape[0]\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of the scripts of an environment with labgrade's wheel and our other packages."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling builds the wheel; pip install hatchling")
    base = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(base), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False, cwd=base)
    assert done.returncode == 0, done.stderr
    (wheel,) = base.glob("labgrade-*.whl")
    venv.create(base / "env", symlinks=os.name != "nt")
    python = base / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    where = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip())
    ours = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (site / "ours.pth").write_text("\n".join(dict.fromkeys([sysconfig.get_path("purelib"), *ours])), encoding="utf-8")
    install = [*pip, "--python", str(python), "install", "--no-deps", "--no-compile", "--ignore-installed", str(wheel)]
    subprocess.run(install, check=True)
    return python.parent


@pytest.fixture(scope="module")
def course(installed, tmp_path_factory):
    base = tmp_path_factory.mktemp("course")
    assert "is a course with one task" in run(installed, base, "labgrade", "init", "my course").stdout
    return base / "my course"


def run(installed, where, program, *arguments, code=0):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST"))}
    environment["LABGRADE_CACHE"] = str(installed.parent / "cache")
    done = subprocess.run(
        [str(installed / "python"), "-m", "labgrade.cli" if program == "labgrade" else program, *arguments],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    return done


def with_our_packages(folder):
    """Let an environment have our other packages, in place of what pip would fetch."""
    python = folder / "bin/python"
    where = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip())
    ours = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (site / "ours.pth").write_text("\n".join(dict.fromkeys([sysconfig.get_path("purelib"), *ours])), encoding="utf-8")


def shell(lines, where, **more):
    """Run lines as a terminal does; pip installs only what lies here."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST"))}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}",
        "LABGRADE_CACHE": f"{where}/../cache",
    }
    environment |= {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_IGNORE_INSTALLED": "1", "PIP_NO_COMPILE": "1", **more}
    command = ["bash", "-ec", "\n".join(lines)]
    return subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(os.name == "nt" or shutil.which("bash") is None, reason="START.md's lines are for bash")
def test_every_command_of_a_kits_start_and_of_its_workflow_runs_where_labgrade_is_not(installed, course, tmp_path):
    """With the wheel that an installed labgrade packs of itself."""
    kit = tmp_path / "kit"
    run(installed, course, "labgrade", "kit", "lab1", "--out", str(kit))
    make, *others = [line[4:] for line in (kit / "START.md").read_text().splitlines() if line.startswith("    ")]
    assert [line.partition("/labgrade-")[0] for line in (make, *others)] == [
        "python3 -m venv .venv",
        ". .venv/bin/activate",
        "pip install torch torchvision --index-url https://download.pytorch.org/whl/cpu",
        'pip install ".',
        "labgrade check",
    ]
    torch = others.pop(1)  # from where no test goes
    assert shell([make], kit).returncode == 0
    with_our_packages(kit / ".venv")
    done = shell(others, kit)
    assert (done.returncode, "0 / 8 points" in done.stdout) == (1, True), done.stderr
    where = shell([others[0], "python -c 'import labgrade; print(labgrade.__file__)'"], kit)
    assert where.stdout.startswith(str(kit / ".venv"))
    steps = yaml.safe_load((kit / ".github/workflows/check.yml").read_text())["jobs"]["check"]["steps"]
    install, check = (step["run"] for step in steps if "run" in step)
    assert install.splitlines() == ["python -m venv .venv", others[0], torch, others[1]]
    assert "html" in others[1]
    summary = tmp_path / "summary.md"
    done = shell([check], kit, GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 1, done.stderr
    assert "**0 of 8 points**" in summary.read_text()
    assert "cases that are not shown: 2 more points" in summary.read_text()
    assert "<testsuite" in (kit / "junit.xml").read_text()
    lines = yaml.safe_load((kit / ".gitlab-ci.yml").read_text())["check"]["script"]
    (kit / "junit.xml").unlink()
    done = shell(lines, kit)  # with what is there from before: nothing is installed
    assert done.returncode == 1, done.stderr
    assert "<testsuite" in (kit / "junit.xml").read_text()
    assert "0 of 8 points" in (kit / "summary.md").read_text()


def test_the_wheel_is_what_runs(installed, tmp_path):
    code = "import labgrade.cli, labgrade.spec.course as c; print(labgrade.cli.__file__); print(c.find().specs)"
    done = subprocess.run(
        [str(installed / "python"), "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    cli, specs = done.stdout.splitlines()
    assert Path(cli).is_relative_to(installed.parent)
    assert Path(specs).is_relative_to(installed.parent)
    assert (Path(specs) / "acal-lab2/2-1-4-macs.yaml").is_file()


def test_a_new_course_validates_and_its_task_is_good(installed, course):
    assert run(installed, course, "labgrade", "validate", "--compute").stdout == "1 spec, nothing wrong\n"
    assert "1-1-head-bytes: good" in run(installed, course, "labgrade", "test").stdout
    assert "head_bytes" in run(installed, course, "labgrade", "list", "quantities", "head").stdout
    assert "at_least_half" in run(installed, course, "labgrade", "list", "checkers").stdout
    assert run(installed, course, "labgrade", "schema").stdout == (course / "specs/task.schema.json").read_text()


def test_submissions_are_graded_from_the_course_and_from_elsewhere(installed, course, tmp_path):
    assert "10 / 10 points" in run(installed, course, "pytest", "--submission=exemplar").stdout
    (course / "submissions/written").mkdir()  # which needs no torch
    (course / "submissions/written/answers.yaml").write_text("1-1: {total: 2052000}\n")
    rootdir = ("--rootdir", str(course), str(course / "specs"))
    elsewhere = run(installed, tmp_path, "pytest", "--submission=written", *rootdir, code=1)
    assert "8 / 10 points" in elsewhere.stdout
    below = run(installed, course / "submissions", "labgrade", "check", "written", "--course", "..")
    assert "8 / 8 points" in below.stdout


def test_own_checkers_and_quantities_are_found_where_they_lie(installed, course):
    (course / "specs/lab1/own.yaml").write_text(OWN_TASK)
    (course / "reference/sizes.py").write_text(OWN_QUANTITY)
    (course / "submissions/half").mkdir()
    answers = course / "submissions/half/answers.yaml"
    answers.write_text("own: {half: 3}\n")
    task = ["labgrade", "check", "submissions/half", "--task", "own"]
    assert "1 / 1 points" in run(installed, course, *task).stdout
    answers.write_text("own: {half: 2}\n")
    assert "got 2, less than half" in run(installed, course, *task, code=1).stdout
    (course / "specs/lab1/own.yaml").unlink()


def test_a_new_task_and_a_kit_in_the_course(installed, course):
    new = ["new", "lab1/1-2-macs", "--subject", "resnet18", "--quantity", "macs", "--publish"]
    assert "is written" in run(installed, course, "labgrade", *new).stdout
    assert "2 specs, nothing wrong" in run(installed, course, "labgrade", "validate").stdout
    run(installed, course, "labgrade", "kit", "lab1", "--out", "kit", "--with-reference")
    assert sorted(path.name for path in (course / "kit/reference").iterdir()) == ["heads.py"]
    assert "resnet50" not in (course / "kit/specs/lab1/1-1-head-bytes.yaml").read_text()
    done = run(installed, course / "kit", "labgrade", "check", ".", "--all", "--course", ".", code=1)
    assert "is as in the template" in unframed(done.stdout)


def test_what_is_there_is_not_overwritten(installed, course):
    done = run(installed, course, "labgrade", "init", ".", code=2)
    assert "is there already and not empty" in done.stderr
