"""What Dask runs on a worker: it hands parcels to sessions, processes of labgrade's, one for each thread and course."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, TypeAlias

from distributed import WorkerPlugin, get_worker

from labgrade.cluster.parcels import SessionRefusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributed import Worker

    from labgrade.cluster.parcels import (
        CourseParcel,
        SessionIntroduction,
        SessionVerdicts,
        SubmissionParcel,
    )

JudgedTogether: TypeAlias = "tuple[list[SessionVerdicts | SessionRefusal | SessionLostError], float]"

_courses: dict[str, CourseParcel] = {}
_sessions: dict[tuple[str, int], _SessionLine] = {}
_lock = threading.Lock()


class SessionLostError(Exception):
    """A session ended before it answered, with this exit code."""


class CoursePlugin(WorkerPlugin):  # type: ignore[misc]
    """Brings a course to each worker, also to those that come later, and ends its sessions when it is taken away."""

    def __init__(self, run: str, parcel: CourseParcel) -> None:
        self.name = f"labgrade-{run}"
        self._run, self._parcel = run, parcel

    def setup(self, worker: Worker) -> None:  # noqa: ARG002 - Dask's signature
        """Keep the course."""
        _courses[self._run] = self._parcel

    def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - Dask's signature
        """End all sessions of the course."""
        stop(self._run)


class _SessionLine:
    """The asker's end of a session."""

    def __init__(self, course: CourseParcel) -> None:
        own = [sys.executable, "-m", "labgrade.cluster.session"]
        (theirs, to), (came, answers) = os.pipe(), os.pipe()
        self._to, self._from = Connection(to, readable=False), Connection(came, writable=False)
        try:
            self.process = subprocess.Popen(own, stdin=theirs, stdout=answers)  # noqa: S603 - our own
        finally:
            os.close(theirs)
            os.close(answers)
        self.introduction: SessionIntroduction = self.ask(course)

    def ask(self, parcel: CourseParcel | SubmissionParcel) -> Any:
        try:
            self._to.send(parcel)
            return self._from.recv()
        except (EOFError, OSError) as error:
            self.end()
            raise SessionLostError(self.process.returncode) from error

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for line in (self._to, self._from):
            with contextlib.suppress(OSError):
                line.close()


def introduce(run: str) -> SessionIntroduction:
    """What this worker has.

    Raises:
        SessionLostError: labgrade could not be started here.
    """
    return _session(run).introduction


def judge(run: str, several: Sequence[SubmissionParcel]) -> JudgedTogether:
    """What came of each of several submissions, one after the other, and how many seconds all of them took.

    A worker that ended its session is a `SessionLostError` among the others.
    """
    begun = time.monotonic()
    found: list[SessionVerdicts | SessionRefusal | SessionLostError] = []
    for parcel in several:
        try:
            one: SessionVerdicts | SessionRefusal = _session(run).ask(parcel)
        except SessionLostError as error:
            found.append(error)
            continue
        unfit = isinstance(one, SessionRefusal) and one.unfit
        found.append(replace(one, worker=get_worker().address) if unfit else one)
    return found, time.monotonic() - begun


def stop(run: str) -> None:
    """End all sessions of a run, and with them all code of students that runs for it."""
    with _lock:
        for key in [key for key in _sessions if key[0] == run]:
            _sessions.pop(key).process.kill()
        _courses.pop(run, None)


def _session(run: str) -> _SessionLine:
    key = (run, threading.get_ident())
    with _lock:
        found, course = _sessions.get(key), _courses[run]
    if found is None or found.process.poll() is not None:
        found = _SessionLine(course)
        with _lock:
            _sessions[key] = found
    return found
