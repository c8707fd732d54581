"""`compute` on a file: no process imports torch, and the jail is as tight as any other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from labgrade.subjects import onnx_small

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")]

ROOT = Path(__file__).parents[2]
TFLITE = ROOT / "specs/acal-lab2-tutorial/small-int8.tflite"
# What is forked has the finder, too; what would be started anew has not, and is not started.
PROGRAM = """
import subprocess, sys
class None_of_it:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "torchvision"):
            raise ImportError("this loads " + name)
sys.meta_path.insert(0, None_of_it())
def refuse(*_, **__):
    raise OSError("this starts a process")
subprocess.Popen.__init__ = refuse
from labgrade import cli
sys.exit(cli.main(sys.argv[1:]))
"""
SEEN = '''
import os
from pathlib import Path


def seen(artifact: Path) -> dict[str, list[str]]:
    """What there is."""
    def listed(path):
        try:
            return sorted(map(str, os.listdir(path)))
        except OSError as error:
            return [type(error).__name__]

    def text(path):
        try:
            return [Path(path).read_text(errors="replace")]
        except OSError as error:
            return [type(error).__name__]

    return {
        "root": listed("/"), "home": listed(%r), "course": listed(%r), "descriptors": listed("/proc/self/fd"),
        "processes": [each for each in listed("/proc") if each.isdigit()], "passwd": text("/etc/shadow"),
        "environment": [f"{key}={value}" for key, value in os.environ.items()] + text("/proc/self/environ"),
        "user": [str(os.getuid())], "folder": listed("."), "network": listed("/sys/class/net"),
    }
'''


def computed(*arguments, cwd=ROOT, **more):
    command = [sys.executable, "-c", PROGRAM, "compute", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=env)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "pools.onnx"
    onnx_small.make("pools", path)
    return path


@pytest.mark.parametrize(
    "quantity",
    ["onnx_macs", "onnx_macs_by_layer", "onnx_parameters", "onnx_operator_counts", "onnx_attributes", "onnx_tensors",
     "onnx_activation_bytes", "onnx_traffic_bytes", "file_macs", "file_parameters", "file_format", "file_tensors"],
)  # fmt: skip
def test_a_quantity_of_a_file_imports_no_torch_in_any_process(model, quantity):
    done = computed(quantity, "--file", model, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


def test_the_same_value_as_by_a_server_that_has_torch_loaded(model):
    from helpers import direct

    entry = direct.COURSE.quantities.get("onnx_macs")
    assert json.loads(computed("onnx_macs", "--file", model, "--json").stdout) == entry.load()(model)
    assert json.loads(computed("file_macs", "--file", TFLITE, "--json").stdout) == 106_656


@pytest.mark.parametrize("words", [["list", "quantities", "file_"], ["list", "quantities"]])
def test_listing_quantities_imports_no_torch(words):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "file_macs" in done.stdout


def test_a_quantity_that_takes_torch_says_so_in_this_test(tmp_path):
    path = tmp_path / "w.pth"
    path.write_bytes(b"PK\x03\x04")
    assert "this loads torch" in computed("tensors", "--file", path).stderr


def test_the_jail_of_a_fork_shows_nothing_of_the_grader(tmp_path, model):
    course = tmp_path / "course"
    (course / "specs").mkdir(parents=True)
    (course / "reference").mkdir()
    (course / "specs/secret.yaml").write_text("x")
    (course / "reference/seen.py").write_text(SEEN % (str(Path.home()), str(course)))
    done = computed("seen", "--file", model, "--json", cwd=course, LABGRADE_OF_MINE="secret-of-the-grader")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "secret-of-the-grader" not in json.dumps(found)
    assert "secret.yaml" not in json.dumps(found)
    assert "specs" not in found["course"]
    assert found["folder"] == ["pools.onnx"]
    assert found["user"] == ["1000"]
    assert len(found["processes"]) <= 3
    assert len(found["descriptors"]) <= 6
    assert found["passwd"] in (["FileNotFoundError"], ["PermissionError"])


def test_a_crash_within_is_told_and_leaves_nothing_behind(tmp_path, model):
    course = tmp_path / "course"
    (course / "specs").mkdir(parents=True)
    (course / "reference").mkdir()
    text = "import os\n\n\ndef crash(artifact: str) -> int:\n    '''It ends.'''\n    os._exit(7)\n"
    (course / "reference/crash.py").write_text(text)
    done = computed("crash", "--file", model, cwd=course)
    assert done.returncode in (2, 3)
    assert done.stderr.startswith("labgrade:")
    assert not [line for line in done.stderr.splitlines() if line.startswith("Traceback")]
