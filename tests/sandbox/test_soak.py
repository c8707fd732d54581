"""What students do with the libraries ends each time, and with the same value: forking torch has many ways to hang.

3 runs in a row of each, 2 of what imports a compiler each time; `LABGRADE_SOAK=200` for more.
"""

import ast
import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest
from helpers import warm

from labgrade.core.task import Limits
from labgrade.sandbox.jail.layers import NAMESPACES
from labgrade.sandbox.requests import CallRequest

HERE = Path(__file__).parent
RUNS = int(os.environ.get("LABGRADE_SOAK", "3"))
SOURCE = HERE / "workloads.py"
NAMES = [
    node.name
    for node in ast.parse(SOURCE.read_text()).body
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
]
COSTLY = {"backward", "jit_trace", "onnx_by_dynamo"}
NEEDS = {"onnx_by_dynamo": "onnxscript"}
SHARES_MEMORY = {"data_loader", "pool"}
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="servers are warm on Linux alone")]


@pytest.fixture(scope="module")
def runner():
    with warm.runner() as one:
        yield one


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("soak")
    shutil.copy(SOURCE, place / "hw.py")
    return place


@pytest.mark.parametrize("name", NAMES)
def test_every_run_ends_with_the_same_value(runner, folder, name):
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    if name in SHARES_MEMORY and NAMESPACES not in runner.protection.layers:
        pytest.skip("a shared scratch has no /dev/shm; docs/security.md says so")
    values = set()
    for run in range(2 if name in COSTLY and "LABGRADE_SOAK" not in os.environ else RUNS):
        limits = Limits(seconds=60.0)
        execution = runner.run(
            CallRequest(folder=folder, file="hw.py", function=name, given=(), subject=None, limits=limits)
        )
        assert execution.status == "returned", (run, execution)
        values.add(repr(execution.value))
    assert len(values) == 1


def test_what_a_server_must_be_before_it_forks(runner):
    state = runner._servers.get("students").state
    assert state["threads"] == 1
    assert state["sessions"] == 0
    assert state["quiet"] is True
    assert state["frozen"] > 10_000
    assert state["huge_pages"] >= 0
