"""Hostile files: models that point to other files or bring code along, programs that include the answers."""

import os
import pickle
import sys
from pathlib import Path

import pytest

from labgrade.core.task import Limits
from labgrade.sandbox.jail.layers import LANDLOCK, LAYERS, NAMESPACES
from labgrade.sandbox.requests import InspectRequest, ProgramRequest
from labgrade.sandbox.runner import Runner

HERE = Path(__file__).parent
READERS = HERE / "trusted/readers.py"
LIGHT = HERE.parent / "sandbox/zoo_light.py"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")]


@pytest.fixture(scope="module")
def runner():
    with Runner(zoo=LIGHT, fresh=False) as one:
        if NAMESPACES not in one.protection.layers:
            pytest.skip("this machine has no namespaces")
        yield one


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.txt"
    path.write_text('const char answer[] = "1498376192";\n')
    return path


def model(path, location):
    """A model whose weights are said to be in another file."""
    import onnx
    from onnx import TensorProto, helper

    tensor = onnx.TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    graph = helper.make_graph([], "g", [], [], initializer=[tensor])
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return path


@pytest.mark.parametrize("way", ["absolute", "upwards"])
def test_external_data_leads_nowhere(runner, answers, tmp_path, way):
    location = str(answers) if way == "absolute" else "../" * 12 + str(answers).lstrip("/")
    artifact = model(tmp_path / "model.onnx", location)
    careless = runner.inspect(InspectRequest(file=READERS, function="reads_external_data", artifact=artifact))
    assert careless.status == "fault"
    assert "FileNotFoundError" in careless.reason
    proper = runner.inspect(InspectRequest(file=READERS, function="reads_properly", artifact=artifact))
    assert proper.status != "returned"
    assert "1498376192" not in careless.reason + careless.printed + proper.reason + proper.printed


def test_external_data_is_read_once_the_private_root_and_landlock_are_off(answers, tmp_path):
    layers = tuple(layer for layer in LAYERS if layer not in {NAMESPACES, LANDLOCK})
    artifact = model(tmp_path / "model.onnx", str(answers))
    with Runner(zoo=LIGHT, fresh=False, layers=layers) as open_one:
        found = open_one.inspect(InspectRequest(file=READERS, function="reads_external_data", artifact=artifact))
    if found.status == "fault" and "may not run" in found.reason:
        pytest.skip("this Python is root's own, and nothing of a student's runs as root")
    assert "1498376192" in str(found.value)


class Payload:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def test_code_in_a_pickle_runs_in_the_jail_at_most(runner, answers, tmp_path):
    target = tmp_path / "taken.txt"
    tmp_path.chmod(0o777)
    artifact = tmp_path / "model.pt"
    artifact.write_bytes(pickle.dumps(Payload(f"cp {answers} {target}; cp {answers} /scratch/x && echo leaked")))
    found = runner.inspect(InspectRequest(file=READERS, function="unpickles", artifact=artifact))
    assert not target.exists()
    assert "leaked" not in found.printed


HOSTILE = {
    "include": '#include "{answers}"\nint main() {{ return 0; }}\n',
    "incbin": 'asm(".incbin \\"{answers}\\"");\nint main() {{ return 0; }}\n',
    "templates": """
        template<int n> struct T {{ static T<n - 1> a; static T<n - 2> b; }};
        int main() {{ return sizeof(T<1000000>::a.a); }}
    """,
    "initializer": "char large[4ul << 30] = {{1}};\nint main() {{ return 0; }}\n",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_program_is_compiled_in_the_jail_too(runner, answers, tmp_path, name):
    folder = tmp_path / "student"
    folder.mkdir()
    (folder / "main.cpp").write_text(HOSTILE[name].format(answers=answers))
    limits = Limits(seconds=20.0, memory=1 << 30)
    done = runner.execute(ProgramRequest(command=("g++", "main.cpp", "-o", "main"), folder=folder, limits=limits))
    if done.status == "missing":
        pytest.skip("there is no g++")
    assert done.status in {"returned", "timeout", "waited", "memory"}
    assert done.code != 0
    assert "main" not in done.files
    assert b"1498376192" not in done.stdout + done.stderr


def test_a_good_program_is_compiled_and_its_output_comes_back(runner, tmp_path):
    folder = tmp_path / "student"
    folder.mkdir()
    (folder / "main.cpp").write_text('#include <cstdio>\nint main() { std::puts("MACs 5"); return 3; }\n')
    build = runner.execute(ProgramRequest(command=("g++", "main.cpp", "-o", "main"), folder=folder))
    if build.status == "missing":
        pytest.skip("there is no g++")
    assert (build.code, list(build.files)) == (0, ["main"]), build.stderr
    program = tmp_path / "main"
    program.write_bytes(build.files["main"])
    done = runner.execute(ProgramRequest(command=("sh", "-c", "chmod +x main && ./main"), provide={"main": program}))
    assert (done.code, done.stdout) == (3, b"MACs 5\n")
