"""What a process and its descendants use, read while they come and go."""

import os
import signal
import sys
import time

import pytest

from labgrade.sandbox.jail.usage import family

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="it is read from /proc")]


@pytest.fixture
def restless():
    """A child that starts and ends children of its own all the time."""
    pid = os.fork()
    while not pid:
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_processes_that_end_meanwhile_are_no_error(restless):
    looks = set()
    end = time.monotonic() + 2
    while time.monotonic() < end:
        looks.add(len(family(restless)))
        assert restless in family(os.getpid())
    assert {1, 2} <= looks
