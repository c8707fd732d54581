"""What keeps jobs: forks each, meters it, ends it with all that it started, tells how it ended.

Where each job has a process tree of its own, which ends with its first process, the server keeps all of its jobs
itself: another process between them would cost as much as most calls. Elsewhere one supervisor a job does, so that
whatever a job leaves behind is adopted and ended. The grader holds the other end of a job's line; when that is closed,
the job ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from labgrade.sandbox.child import main
from labgrade.sandbox.jail import limits, linux, usage
from labgrade.sandbox.jail.layers import LIMITS, METER, OUTER

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    from labgrade.sandbox.jail.jail import Jail

    Arguments = Callable[[object], Mapping[str, object]]

_POLL_MS = 50
_POLL_HELD_MS = 200  # of a job whose memory the kernel holds: what it has computed grows no faster than time


@dataclass(slots=True)
class _RunningJob:
    """A job that runs.

    `why`: the reason for which the supervisor ended it, `spent`: the CPU seconds that it had used by then. `held`: a
    control group holds its memory.
    """

    line: socket.socket
    pid: int
    allowed: limits.Allowed
    meter: usage.Meter
    held: bool
    why: str = ""
    spent: float = 0.0

    def end(self, why: str) -> None:
        """Kill the job for this reason; it is reaped later."""
        self.why, self.spent = why, self.meter.cpu_seconds()
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)

    def tell(self, status: int, waited_for: resource.struct_rusage) -> None:
        """Report how the job ended, with its exact CPU time where it was reaped."""
        seconds = max(self.spent, waited_for.ru_utime + waited_for.ru_stime)
        code = os.waitstatus_to_exitcode(status)
        tell(self.line, {"event": "ended", "code": code, "seconds": seconds, "why": self.why})
        self.line.close()


@dataclass(slots=True)
class Jobs:
    """The jobs of a server that gives each a process tree of its own. `poll` is what the server waits with.

    `compiler_wanted`: the server shall load torch's compiler as soon as it has no job. `begun`: how many jobs there
    were.
    """

    jail: Jail
    arguments: Arguments
    poll: select.poll
    running: dict[int, _RunningJob] = field(default_factory=dict)  # by their lines' descriptors
    compiler_wanted: bool = False
    begun: int = 0
    _looked: float = 0.0

    @property
    def patience(self) -> int | None:
        """Return the milliseconds after which jobs have to be looked at again; None for no limit."""
        if not self.running or _is_unmetered(self.jail):
            return None
        return _POLL_HELD_MS if all(job.held for job in self.running.values()) else _POLL_MS

    def begin(self, line: socket.socket, pipes: main.Pipes, request: Mapping[str, Any]) -> None:
        """Fork a job as the first process of a tree of its own."""
        self.begun += 1
        allowed = limits.Allowed(request["seconds"], request["memory"], own_count=True)
        own_tree = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        pid = -1
        try:
            linux.unshare(linux.NEW_PIDS)
            pid = os.fork()
        except OSError as error:
            tell(line, {"event": "fault", "reason": f"no process could be made: {error}"})
        if pid == 0:
            forget_signals()
            line.close()
            self.forget()
            main.run_job(pipes, lambda: self.jail.confine(request["job"], request["user"], allowed), self.arguments)
        linux.set_tree_of_children(own_tree)
        os.close(own_tree)
        _close(pipes)
        if pid < 0:
            line.close()
            return
        self.running[line.fileno()] = _RunningJob(
            line, pid, allowed, usage.Meter(pid, shared_with=os.getpid()), held=bool(pipes.entries)
        )
        self.poll.register(line, select.POLLIN)

    def look(self, ready: AbstractSet[int]) -> None:
        """End the jobs whose grader has hung up and, at intervals, those that use more than they may."""
        now, patience = time.monotonic(), self.patience
        metered = patience is not None and now - self._looked >= patience / 2000
        self._looked = now if metered else self._looked  # what else wakes the server may do so a hundred times a second
        for descriptor, job in self.running.items():
            if job.why:
                continue
            if descriptor in ready:
                self.poll.unregister(descriptor)
                job.end("asked")
            elif metered and (why := job.meter.excess(job.allowed.seconds, job.allowed.memory)):
                job.end(why)

    def reap(self) -> None:
        """Wait for all children that have ended, and report the end of those that are jobs."""
        by_pid = {job.pid: descriptor for descriptor, job in self.running.items()}
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, waited_for = os.wait4(-1, os.WNOHANG)
                if not pid:
                    return
                if pid in by_pid:
                    descriptor = by_pid[pid]
                    with contextlib.suppress(KeyError):  # of one whose grader has hung up
                        self.poll.unregister(descriptor)
                    self.running.pop(descriptor).tell(status, waited_for)

    def forget(self) -> None:
        """Close the connections of other jobs in a fork of the server."""
        for job in self.running.values():
            job.line.close()
        self.running.clear()


def forget_signals() -> None:
    """Restore the default handling of child signals in a fork of the server."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)


def supervise(
    line: socket.socket, pipes: main.Pipes, request: Mapping[str, Any], jail: Jail, arguments: Arguments
) -> NoReturn:
    """Run one job from its beginning to its end, in a process that does nothing else."""
    linux.prctl(linux.DEATH_SIGNAL, signal.SIGKILL)
    linux.prctl(linux.SUBREAPER, 1)
    allowed = limits.Allowed(request["seconds"], request["memory"], own_count=False)
    try:
        pid = os.fork()
    except OSError as error:
        tell(line, {"event": "fault", "reason": f"no process could be made: {error}"})
        os._exit(1)
    if pid == 0:
        line.close()
        main.run_job(pipes, lambda: jail.confine(request["job"], request["user"], allowed), arguments)
    _close(pipes)
    job = _RunningJob(line, pid, allowed, usage.Meter(os.getpid()), held=bool(pipes.entries))
    job.end(_watch(job, unmetered=_is_unmetered(jail)))
    status = os.waitpid(pid, 0)[1]
    usage.reap_all()
    job.tell(status, resource.getrusage(resource.RUSAGE_CHILDREN))
    if OUTER in jail.layers:
        shutil.rmtree(jail.folder(request["job"]), ignore_errors=True)  # of the scratch that all jobs share
    os._exit(0)


def _close(pipes: main.Pipes) -> None:
    for descriptor in {pipes.job, pipes.result, pipes.output, pipes.errors, pipes.file, *pipes.entries} - {-1}:
        os.close(descriptor)


def _is_unmetered(jail: Jail) -> bool:
    return METER not in jail.layers or (LIMITS not in jail.layers and sys.platform != "linux")


def _watch(job: _RunningJob, *, unmetered: bool) -> str:
    """Wait for the job's end, or for a reason to end it; return the reason, or an empty text."""
    life = os.pidfd_open(job.pid)
    poll = select.poll()
    poll.register(life, select.POLLIN)
    poll.register(job.line, select.POLLIN)
    try:
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(_POLL_MS)}
            if life in ready:
                return ""
            if job.line.fileno() in ready:
                return "asked"
            why = "" if unmetered else job.meter.excess(job.allowed.seconds, job.allowed.memory)
            if why:
                return why
    finally:
        os.close(life)


def tell(line: socket.socket, data: Mapping[str, Any]) -> None:
    """Send one message; do nothing if the grader is gone."""
    with contextlib.suppress(OSError):
        line.send(json.dumps(data).encode())
