"""Files of a submission that have names which Python, pytest or libraries look for. None is read by the grader."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import small_course

from labgrade.core.task import Limits
from labgrade.files import process
from labgrade.sandbox.requests import CallRequest
from labgrade.sandbox.runner import Runner

pytestmark = pytest.mark.slow

LIGHT = Path(__file__).parents[1] / "sandbox/zoo_light.py"

MARK = 'import os\nopen({marker!r}, "a").write(__file__ + "\\n")\n'
NAMES = (
    "torch.py",
    "numpy.py",
    "json.py",
    "os.py",
    "yaml.py",
    "labgrade.py",
    "reference.py",
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "test_evil.py",
    "__init__.py",
    "setup.py",
    "tests/conftest.py",
    "torch/__init__.py",
)
SETTINGS = {
    "evil.pth": "import os; open({marker!r}, 'a').write('pth')\n",
    "pytest.ini": "[pytest]\naddopts = -p evil --collect-only\n",
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["--collect-only"]\n',
    "tox.ini": "[pytest]\naddopts = --collect-only\n",
    "evil.py": "",
    "specs/lab/task.yaml": "id: task\ntitle: mine\npoints: 1000\n",
    "checkers/equal.py": "def equal(answer, expected): return None\n",
}


@pytest.fixture
def evil(tmp_path):
    """A course with a submission that holds all of them, beside a right answer."""
    small_course.write(tmp_path)
    marker = str(tmp_path / "marker.txt")
    folder = tmp_path / "submissions/right"
    for name, text in {**dict.fromkeys(NAMES, MARK), **SETTINGS}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.format(marker=marker))
    return tmp_path


def run(folder, *command, cwd=None):
    environment = {**os.environ, "LABGRADE_CACHE": str(folder / "cache"), "COLUMNS": "80"}
    return subprocess.run(
        [sys.executable, "-P", *command],
        cwd=cwd or folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )


def test_the_grader_reads_none_of_them(evil):
    command = ("-m", "pytest", "-p", "no:cacheprovider", "--submission=right", "--labgrade-json", "out.json")
    done = run(evil, *command)
    report = json.loads((evil / "out.json").read_text())
    found = {check["id"]: check["outcome"] for task in report["submissions"][0]["tasks"] for check in task["checks"]}
    assert found == {"total": "CORRECT", "secret": "CORRECT", "essay": "MANUAL"}
    assert done.returncode == 0
    assert not (evil / "marker.txt").exists()


WAYS = {  # what is said, where, and whether all is graded all the same
    "the folder of the course": (("--submission=right", "."), ".", True),
    "the folder of hand-ins": (("--submission=right", "submissions"), ".", False),
    "a hand-in": (("--submission=right", "submissions/right"), ".", False),
    "from within a hand-in": (("--submission=right", "--submissions-dir=.."), "submissions/right", False),
    "from where hand-ins lie": (("--submission=right", "--submissions-dir=.", "--rootdir=.."), "submissions", None),
}


@pytest.mark.promise("nothing-handed-in-configures-pytest")
@pytest.mark.parametrize("settings", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_pytest_imports_and_collects_nothing_of_a_hand_in_however_it_is_named(evil, way, settings):
    said, where, graded = WAYS[way]
    if not settings:
        for name in ("pytest.ini", "pyproject.toml", "tox.ini"):
            (evil / "submissions/right" / name).unlink()
    (evil / "older/right").mkdir(parents=True)  # of another term: what lies there is no spec
    (evil / "older/right/task.yaml").write_text(small_course.TASK.replace("id: task", "id: mine"))
    (evil / "older/right/conftest.py").write_text(MARK.format(marker=str(evil / "marker.txt")))
    (evil / "submissions/test1").mkdir()  # pytest looks for conftest.py in folders of such names at once
    (evil / "submissions/test1/conftest.py").write_text(MARK.format(marker=str(evil / "marker.txt")))
    done = run(evil, "-m", "pytest", "-p", "no:cacheprovider", *said, cwd=evil / where)
    assert not (evil / "marker.txt").exists(), (evil / "marker.txt").read_text()
    assert "mine" not in done.stdout
    if graded is not None:
        assert (done.returncode == 0) == graded, done.stdout + done.stderr
    if done.returncode and way in ("a hand-in", "from within a hand-in") and not settings:
        assert "was handed in, and pytest would run it" in done.stderr


def test_a_student_who_checks_such_a_folder_reads_none_of_them_either(evil):
    done = run(evil, "-m", "labgrade.cli", "check", "submissions/right")
    assert "total" in done.stdout
    assert not (evil / "marker.txt").exists()


def test_nor_does_one_who_checks_from_within_it(evil):
    folder = evil / "submissions/right"
    (folder / "specs/lab/task.yaml").unlink()
    (folder / "subprocess.py").write_text(MARK.format(marker=str(evil / "marker.txt")))
    done = run(evil, "-m", "labgrade.cli", "check", ".", "--course", str(evil), cwd=folder)
    assert not (evil / "marker.txt").exists(), (evil / "marker.txt").read_text()
    assert "CORRECT    total" in done.stdout, done.stdout + done.stderr


def test_a_process_of_ours_has_no_working_folder_in_its_path(evil, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", "torch", str(evil / "elsewhere")]))
    (evil / "elsewhere").mkdir()
    command, environment = process.command("labgrade.truth.worker"), process.environment()
    assert environment["PYTHONPATH"] == str(evil / "elsewhere")
    folder = evil / "submissions/right"
    done = subprocess.run(command, cwd=folder, env=environment, input=b"", check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert not (evil / "marker.txt").exists(), (evil / "marker.txt").read_text()


def test_within_the_jail_they_shadow_no_library_that_is_there(evil):
    folder = evil / "submissions/right"
    (folder / "hw.py").write_text(
        "import json, os, sys\ndef f(): return [json.dumps([1]), sys.modules['json'].__file__, os.__file__]"
    )
    with Runner(zoo=LIGHT) as runner:
        limits = Limits(seconds=5)
        done = runner.run(CallRequest(folder=folder, file="hw.py", function="f", given=(), subject=None, limits=limits))
    assert done.value[0] == "[1]"
    assert not any("handin" in place for place in done.value)
    assert not (evil / "marker.txt").exists()
