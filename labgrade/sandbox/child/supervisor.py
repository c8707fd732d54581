"""The process that keeps one job: forks it, meters it, ends it with all that it started, tells how it ended.

One supervisor a job, so that jobs run beside each other without knowing of each other, and so that whatever a job
leaves behind is ended. The grader holds the other end of the supervisor's line; when that is closed, the job ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from labgrade.sandbox.child import main
from labgrade.sandbox.jail import limits, usage
from labgrade.sandbox.jail.layers import LIMITS, METER, OUTER

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from labgrade.sandbox.jail.jail import Jail

_POLL_MS = 50
_SUBREAPER, _DEATH_SIGNAL = 36, 1


def keep(
    line: socket.socket,
    pipes: main.Pipes,
    request: Mapping[str, Any],
    jail: Jail,
    arguments: Callable[[object], Mapping[str, object]],
) -> NoReturn:
    """Run one job from its beginning to its end, in a process that does nothing else."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    allowed = limits.Allowed(request["seconds"], request["memory"], own_count=jail.private)
    try:
        if jail.private:
            from labgrade.sandbox.jail import linux

            linux.unshare(linux.NEW_PIDS)
        else:
            prctl(_SUBREAPER, 1, 0, 0, 0)
        pid = os.fork()
    except OSError as error:
        tell(line, {"event": "fault", "reason": f"no process could be made: {error}"})
        os._exit(1)
    if pid == 0:
        line.close()
        main.run_job(pipes, lambda: jail.confine(request["job"], request["user"], allowed), arguments, forked=True)
    for descriptor in (pipes.job, pipes.result, pipes.output, pipes.errors, *pipes.entries):
        os.close(descriptor)
    _report(line, pid, allowed, jail)
    if OUTER in jail.layers:
        shutil.rmtree(jail.folder(request["job"]), ignore_errors=True)  # of the scratch that all jobs share
    os._exit(0)


def _report(line: socket.socket, pid: int, allowed: limits.Allowed, jail: Jail) -> None:
    meter = usage.Meter(os.getpid())
    unmetered = METER not in jail.layers or (LIMITS not in jail.layers and sys.platform != "linux")
    why = _watch(line, pid, (lambda: "") if unmetered else lambda: meter.excess(allowed.seconds, allowed.memory))
    spent = meter.cpu_seconds()
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    usage.reap_all()
    waited_for = resource.getrusage(resource.RUSAGE_CHILDREN)  # to the microsecond, where /proc has hundredths
    spent = max(spent, waited_for.ru_utime + waited_for.ru_stime)
    code = os.waitstatus_to_exitcode(status)
    tell(line, {"event": "ended", "code": code, "seconds": spent, "why": why})


def _watch(line: socket.socket, pid: int, excess: Callable[[], str]) -> str:
    """Wait for the job's end, or for a reason to end it, which is returned."""
    life = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(life, select.POLLIN)
    poll.register(line, select.POLLIN)
    try:
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(_POLL_MS)}
            if life in ready:
                return ""
            if line.fileno() in ready:
                return "asked"
            why = excess()
            if why:
                return why
    finally:
        os.close(life)


def tell(line: socket.socket, data: Mapping[str, Any]) -> None:
    """Send one message. A grader that is gone hears nothing."""
    with contextlib.suppress(OSError):
        line.send(json.dumps(data).encode())
