"""Servers of the sandbox that are started once a run, when first asked for: graders of the tests borrow them.

A test of the sandbox itself makes a `Runner` of its own, which starts its own.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WHERE = "LABGRADE_TESTS_SERVERS"


def lend(config):
    """In the process that others are started by: listen, and end the servers when all is over."""
    if sys.platform != "linux" or hasattr(config, "workerinput"):
        return
    from labgrade.sandbox.runner import Runner

    runner = Runner()
    os.environ[WHERE] = str(runner.share())
    config.add_cleanup(runner.close)


def runner():
    """A runner with these servers, or with its own where there are none."""
    from labgrade.sandbox.runner import Runner

    return Runner(shared=Path(os.environ[WHERE])) if WHERE in os.environ else Runner()


def borrow():
    """From now on graders of this process borrow servers, where these would be as their own."""
    if WHERE not in os.environ:
        return
    from labgrade.run import grader
    from labgrade.sandbox.host.servers import LIGHT, READER, STUDENTS, Servers
    from labgrade.sandbox.runner import Runner

    class Lent(Servers):
        def _start(self, kind):
            if kind in {STUDENTS, LIGHT, READER, str(ROOT / "reference")}:
                return super()._start(kind)
            return self._start_jailed(kind)  # it shows the quantities of a course of a test's own

    def borrowing(*, secret=(), torch_home=None, shared=None):
        if torch_home or shared or os.environ.get("LABGRADE_FRESH") == "1":
            return Runner(secret=secret, torch_home=torch_home, shared=shared)
        runner = Runner(secret=secret, shared=Path(os.environ[WHERE]))
        runner._servers.__class__ = Lent
        return runner

    if grader.Runner is Runner:
        grader.Runner = borrowing
