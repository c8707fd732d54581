"""What a jail shows of the machine is enough for right work: compilers, fonts, time zones, databases, processes."""

import ast
import shutil
import sys
from pathlib import Path

import pytest
from helpers import warm

from labgrade.core.task import Limits
from labgrade.sandbox.jail.layers import NAMESPACES
from labgrade.sandbox.requests import CallRequest

SOURCE = Path(__file__).parent / "right_work.py"
NAMES = [
    node.name
    for node in ast.parse(SOURCE.read_text()).body
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
]
NEEDS = {"compiles": "g++", "builds_with_cmake": "cmake", "keeps_versions": "git"}
NEEDS["compiles_against_python_and_torch"] = "g++"
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def runner():
    with warm.runner() as one:
        if NAMESPACES not in one.protection.layers:
            pytest.skip("this machine has no namespaces")
        yield one


@pytest.mark.parametrize("name", NAMES)
def test_right_work_is_right_in_the_jail(runner, tmp_path, name):
    if shutil.which(NEEDS.get(name, "sh")) is None:
        pytest.skip(f"there is no {NEEDS[name]}")
    shutil.copy(SOURCE, tmp_path / "hw.py")
    limits = Limits(seconds=120.0, memory=4 << 30)
    done = runner.run(CallRequest(folder=tmp_path, file="hw.py", function=name, given=(), subject=None, limits=limits))
    assert (done.status, done.value) == ("returned", True), done


ON_META = """
import sys, time
def f():
    loaded = "torch._dynamo" in sys.modules
    end = time.process_time() + {seconds}
    while time.process_time() < end:
        "meta"
    return loaded
"""


def test_what_loads_the_compiler_slowly_finds_it_loaded_the_next_time(tmp_path):
    with warm.runner() as own:  # a branch that nobody else uses
        found = []
        for seconds in (0, 0, 0.6, 0):
            (tmp_path / "hw.py").write_text(ON_META.format(seconds=seconds))
            asked = CallRequest(folder=tmp_path, file="hw.py", function="f", given=(), subject=None, limits=Limits())
            found.append(own.run(asked).value)
    assert found == [False, False, False, True]
