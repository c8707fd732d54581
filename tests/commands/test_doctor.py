"""`labgrade doctor`: what a machine offers, tried; and what is said where something is missing."""

import sys

import pytest
from helpers import warm
from helpers.handed_in import read

from labgrade.commands import doctor
from labgrade.core.errors import FaultError
from labgrade.core.results import Execution
from labgrade.cpp import build
from labgrade.cpp.sources import find
from labgrade.sandbox.host import start_server
from labgrade.sandbox.host.protection import Protection, ProtectionNote, polled
from labgrade.sandbox.jail.layers import NAMESPACES
from labgrade.sandbox.requests import ProgramRun
from labgrade.sandbox.runner import Runner

pytestmark = pytest.mark.slow


class Canned:
    """A runner that protects from nothing."""

    protection = Protection(missing={NAMESPACES: "refused"})

    def run(self, request):
        return Execution(status="returned", value=1)

    def execute(self, request):
        return ProgramRun(status="fault", reason="no server")


class Broken(Canned):
    def run(self, request):
        return Execution(status="fault", reason="no server")


def by_name(findings):
    return {finding.what: finding for finding in findings}


@pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")
def test_what_this_machine_offers_is_tried():
    with warm.runner() as runner:
        found = by_name(doctor.examine(runner))
        protection = runner.protection
    assert found["protection"].good is (protection.tier != "D" and not protection.missing)
    assert found["students' functions"].good
    assert "another after" in found["students' functions"].found
    canaries = [finding for what, finding in found.items() if what.startswith("an attack")]
    assert [finding.found for finding in canaries] == ["refused"] * 3
    assert found["torch"].good
    assert {"torchvision", "onnx", "onnxruntime", "cmake", "g++", "make", "bwrap", "disk"} <= set(found)


def test_attacks_that_work_and_servers_that_do_not_are_told_with_a_remedy():
    found = by_name(doctor.examine(Canned()))
    assert found["protection"].good is False
    hit = found["an attack, reading a file of yours"]
    assert (hit.good, hit.found) == (False, "it worked")
    assert hit.remedy.startswith("grade others' work in a virtual machine")
    assert (found["cmake"].good, found["cmake"].found) == (False, "no server")
    broken = by_name(doctor.examine(Broken()))
    assert broken["students' functions"].good is False
    assert broken["an attack, calling a server of yours"].found == "fault: no server"


def test_what_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda _: None)
    absent = doctor._program("bwrap", "apt install bubblewrap")
    assert (absent.good, absent.found, absent.remedy) == (None, "not there", "apt install bubblewrap")
    library = doctor._library("no-such-library")
    assert (library.good, library.remedy) == (False, "pip install -c constraints.txt no-such-library")
    monkeypatch.setattr(doctor, "_wanted", lambda _: "99.0")
    assert doctor._library("torch").found.endswith("is older than 99.0")


@pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")
def test_what_builds_programs_is_looked_for_where_they_are_built(monkeypatch, tmp_path):
    """A machine where the jail finds nothing: the grader's own search path makes no difference."""
    monkeypatch.setattr(start_server, "SEARCHED", "/nowhere")
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw/CMakeLists.txt").write_text("")
    sources = find(read(tmp_path, "anna"), "hw")
    with Runner() as runner:
        monkeypatch.setattr(doctor.shutil, "which", {"cmake": "/opt/cmake/bin/cmake"}.get)
        cmake, make = doctor._tool(runner, "cmake"), doctor._tool(runner, "make")
        with pytest.raises(FaultError, match=r"'cmake' is needed .* apt install cmake .*; `labgrade doctor`"):
            build.Builder(runner, tmp_path / "builds").build(sources, "x")
    assert (cmake.good, cmake.found) == (None, "in '/opt/cmake/bin/cmake', which the sandbox does not look into")
    assert (make.good, make.found, make.remedy) == (None, "not there", cmake.remedy)
    assert cmake.remedy == "needed to build students' C++ programs: apt install cmake g++ make"


def test_a_full_disk_is_a_finding(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1 << 30}))
    found = doctor._space()
    assert (found.good, found.found.partition(" in ")[0]) == (False, "1.1 GB free")
    assert "TMPDIR" in found.remedy


def test_the_command_is_there(capsys):
    from labgrade import cli

    with pytest.raises(SystemExit):
        cli.main(["doctor", "--help"])
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("memory", "good", "remedy"),
    [(ProtectionNote("memory", "held by cgroup v1"), True, ""), (polled("refused", "do this"), None, "do this")],
)
def test_what_holds_memory_is_told_and_polling_is_no_failure(memory, good, remedy):
    runner = Canned()
    runner.protection = Protection(memory=memory)
    found = by_name(doctor.examine(runner))["memory"]
    assert (found.good, found.found, found.remedy) == (good, memory.found, remedy)
