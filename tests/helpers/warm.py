"""Servers of the sandbox, and what computes expected values, are started once a run, when first asked for.

Graders of the tests borrow them. A test of the sandbox itself makes a `Runner` of its own, which starts its own; a test
of expected values an `Oracle`.
"""

import atexit
import contextlib
import functools
import os
import socket
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parents[2]
WHERE = "LABGRADE_TESTS_SERVERS"
_COURSES = 3  # whose quantities a server shows, for each worker: it has one or two at a time


def lend(config):
    """In the process that others are started by: listen, and end the servers when all is over."""
    if sys.platform != "linux" or hasattr(config, "workerinput"):
        return
    from labgrade.sandbox.runner import Runner

    runner = Runner()
    workers = getattr(config.option, "numprocesses", None) or 1
    runner._servers.__class__ = _few(_COURSES * (1 + workers))
    os.environ[WHERE] = str(runner.share())
    config.add_cleanup(runner.close)
    config.add_cleanup(Lines(runner).close)


def _few(most):
    """Servers that keep few of those that show the quantities of a test's own course: tests are done with them soon."""
    from labgrade.sandbox.host.servers import LIGHT, READER, STUDENTS, Servers

    class Few(Servers):
        def _start(self, kind):
            others = [each for each in self._running if each not in {STUDENTS, LIGHT, READER, str(ROOT / "reference")}]
            for each in others[:-most]:
                self.drop(each)
            return super()._start(kind)

    return Few


class Lines(threading.Thread):
    """Hands out the line on which forks of the process that has torch loaded, for expected values, are asked for."""

    def __init__(self, runner):
        from labgrade.truth.lent import Lender

        super().__init__(daemon=True)
        self.lender, self.fork = Lender(), runner.fork
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(_line_at()))
        self.listener.listen(64)
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                asking, _ = self.listener.accept()
                with asking, contextlib.suppress(OSError):  # it is gone already
                    if self.lender.start(self.fork):
                        socket.send_fds(asking, [b"."], [self.lender.line.fileno()])

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.join()
        self.lender.close()


class Line:
    """In place of a `Lender` of one's own: that of the run. `line` is None where there is none."""

    line = None

    def __init__(self):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.connect(str(_line_at()))
            for line in socket.recv_fds(asking, 16, 1)[1]:
                self.line = socket.socket(fileno=line)

    def start(self, _fork=None):
        return self.line is not None

    def close(self):
        if self.line is not None:
            self.line.close()


def _line_at():
    return Path(os.environ[WHERE]).parent / "values"


def runner():
    """A runner with these servers, or with its own where there are none."""
    from labgrade.sandbox.runner import Runner

    return Runner(shared=Path(os.environ[WHERE])) if WHERE in os.environ else Runner()


def borrow():
    """From now on graders of this process borrow servers, where these would be as their own."""
    if WHERE not in os.environ:
        return
    from labgrade.pytest import options
    from labgrade.run import class_run, grader, plan, regrade
    from labgrade.sandbox.host.servers import Servers
    from labgrade.sandbox.runner import Runner

    class Lent(Servers):
        def _start(self, kind):
            if kind.isprintable() and not kind.startswith("alone:"):
                return super()._start(kind)
            return self._start_jailed(kind)  # it loads nothing, or begins with an environment of its own

    def borrowing(*, secret=(), torch_home=None, shared=None):
        if torch_home or shared or os.environ.get("LABGRADE_FRESH") == "1":
            return Runner(secret=secret, torch_home=torch_home, shared=shared)
        runner = Runner(secret=secret, shared=Path(os.environ[WHERE]))
        runner._servers.__class__ = Lent
        return runner

    if grader.Runner is not Runner:
        return
    for each in (grader, class_run, plan, regrade, options):
        each.Runner = borrowing
    if os.environ.get("LABGRADE_FRESH") != "1":
        _borrow_values()


def _borrow_values():
    from labgrade.run import class_run, grader
    from labgrade.truth import oracle

    class Lent(oracle.Oracle):
        def lender(self):
            return _own_line().line

    grader.Oracle = oracle.Oracle = Lent
    class_run.Lender = grader.Lender = Line


@functools.cache
def _own_line():
    line = Line()
    atexit.register(line.close)
    return line
