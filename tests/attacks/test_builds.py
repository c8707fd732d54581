"""Attacks of the gallery once more, as steps of a build: CMake runs them while it configures, and none succeeds."""

import json
import re
import shutil
import sys
from dataclasses import replace

import pytest
from attacks.driver import HERE, PROJECT, headers
from attacks.world import World, plant
from helpers.handed_in import read

from labgrade.cpp import build
from labgrade.cpp.sources import find
from labgrade.sandbox.jail.layers import NAMESPACES
from labgrade.sandbox.runner import Runner

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone"),
    pytest.mark.skipif(not all(map(shutil.which, ("cmake", "g++", "make"))), reason="apt install cmake g++ make"),
]
ATTACKS = [
    "calls_home_over_tcp",
    "calls_home_over_udp",
    "imports_the_answer_sheet",
    "kills_the_grader",
    "leaves_a_daemon",
    "lists_the_class",
    "reads_another_student",
    "reads_answers_by_path",
    "reads_answers_through_a_link_of_its_own",
    "reads_environments",
    "removes_outside",
    "writes_outside",
]
CMAKE = """cmake_minimum_required(VERSION 3.0)
project(x NONE)
execute_process(COMMAND {python} attack.py WORKING_DIRECTORY ${{CMAKE_SOURCE_DIR}}
  OUTPUT_VARIABLE said ERROR_VARIABLE said)
message(FATAL_ERROR "attacked: ${{said}}")
"""
START = "import json, hw\ntry:\n    print('came:', json.dumps(repr(hw.attack() or '')))\n"
START += "except BaseException as error:\n    print('failed:', type(error).__name__)\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    folder.chmod(0o755)
    world = World(folder, PROJECT)
    yield world
    world.close()


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    with Runner(zoo=PROJECT / "tests/sandbox/zoo_light.py", fresh=False, spare_seconds=5.0) as runner:
        if NAMESPACES not in runner.protection.layers:
            pytest.skip("this machine has no namespaces")
        yield runner


@pytest.mark.promise("builds-are-contained")
@pytest.mark.parametrize("name", ATTACKS)
def test_a_step_of_a_build_is_stopped(name, world, runner, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "LIMITS", replace(build.LIMITS, seconds=3.0))
    monkeypatch.setattr(build, "_WALL_SECONDS", 10.0)  # what a daemon that keeps CMake's pipe open takes in vain
    folder = tmp_path / "hw"
    folder.mkdir()
    shutil.copy(HERE / "gallery" / f"{name}.py", folder / "hw.py")
    (folder / "attack.py").write_text(START)
    (folder / "CMakeLists.txt").write_text(CMAKE.format(python=sys.executable))
    plant(headers(name).get("plant", ""), folder, world)
    sources = find(read(tmp_path, "anna"), "hw")
    built = build.Builder(runner, tmp_path / "builds").build(sources, "x")
    said = built.failed.stdout.decode() + built.failed.reason
    # It was tried; of a daemon that keeps CMake's pipe open the clock is what ends it.
    assert "attacked:" in said or (name == "leaves_a_daemon" and built.failed.status in {"timeout", "waited"}), said
    assert not world.damage(said)
    came = re.search(r"came: (\".*\")", said)
    assert came is None or json.loads(came[1]) in ("''", "[]", "False", "None"), said


@pytest.mark.promise("builds-are-contained")
def test_a_program_that_was_built_reaches_no_answers(world, runner, tmp_path):
    """The program itself, too: what it runs as is jailed like any other."""
    from labgrade.sandbox.requests import ProgramRequest

    folder = tmp_path / "hw"
    folder.mkdir()
    reads = '#include <cstdio>\nint main(int, char** a) { FILE* f = fopen(a[1], "r"); puts(f ? "opened" : "no"); }\n'
    (folder / "a.cpp").write_text(reads)
    built = build.Builder(runner, tmp_path / "builds").build(find(read(tmp_path, "anna"), "hw"), "x")
    command = ("./.build/x", str(world.answers))
    run = runner.execute(ProgramRequest(command=command, provide=dict(built.files)))
    assert (run.status, run.stdout) == ("returned", b"no\n")
