"""Torch is loaded once a run: servers are forks of one process, which knows nothing of a class."""

import os
import signal
import sys
from pathlib import Path

import pytest

from labgrade.core.task import Environment
from labgrade.sandbox.host.servers import LIGHT, READER, STUDENTS, in_environment
from labgrade.sandbox.jail.usage import family
from labgrade.sandbox.runner import Runner

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux alone")]

HERE = Path(__file__).parent
TRUSTED = str(HERE / "trusted")
NATIVE = in_environment(STUDENTS, Environment(preload=("wave",)))


@pytest.fixture
def servers():
    with Runner(zoo=HERE / "zoo_light.py", fresh=False) as runner:
        yield runner._servers


def parent(server):
    status = Path(f"/proc/{server._process.pid}/status").read_text()
    return int(status.partition("PPid:")[2].split()[0])


@pytest.mark.promise("the-loader-sees-nothing")
def test_what_runs_students_code_and_what_measures_it_are_forks_of_one_process(servers):
    before = set(family(os.getpid()))
    loader, other = (parent(servers.get(kind)) for kind in (STUDENTS, TRUSTED))
    assert loader == other == servers._loader._process.pid
    assert {parent(servers.get(kind)) for kind in (LIGHT, READER, NATIVE)} == {os.getpid()}
    sockets = [each for each in Path(f"/proc/{loader}/fd").iterdir() if "socket" in str(each.readlink())]
    assert len(sockets) == 1, "it holds no server's line"
    servers.close()
    assert set(family(os.getpid())) <= before  # what another test began may have ended meanwhile


def test_a_loader_that_was_lost_costs_nobody(servers):
    students = servers.get(STUDENTS)
    lost = servers._loader._process
    os.kill(lost.pid, signal.SIGKILL)
    lost.wait()
    assert parent(servers.get(TRUSTED)) == servers._loader._process.pid != lost.pid
    assert servers.get(STUDENTS) is students
    with students.branch():
        pass


def test_where_it_does_not_come_up_servers_load_for_themselves():
    with Runner(zoo=HERE / "zoo_threads.py", fresh=False) as runner:
        assert parent(runner._servers.get(STUDENTS)) == os.getpid()
        assert runner._servers._loader is None
