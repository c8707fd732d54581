"""Grades a class on a cluster: takes submissions in here, has them judged there, and writes the ledger here, alone.

What travels back is what the ledger remembers of judging; it is entered as if it had been judged on this machine. So
the report is the same, and a worker that is lost, or the whole cluster, loses nothing that was entered.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Self

from labgrade.cluster import parcels, remote
from labgrade.cluster.parcels import SessionIntroduction, SessionRefusal, SessionVerdicts
from labgrade.cluster.session import introduction
from labgrade.core.errors import FaultError, UsageError
from labgrade.ledger.database import LedgerError
from labgrade.run.events import CutOff, Judging, SubmissionFailed, WorkerLost
from labgrade.run.grader import Grader
from labgrade.run.pool import WorkerQuestion
from labgrade.run.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from distributed import Client, Future

    from labgrade.cluster.parcels import SubmissionParcel
    from labgrade.ledger.rows import Place
    from labgrade.ledger.verdict_memory import MarkedVerdict
    from labgrade.run.plan import Plan

_STEP_SECONDS = 1.0
_WAIT_SECONDS = 600.0  # for the first worker: a queue may let it wait
_AHEAD = 2  # tasks for each worker that are on their way at a time; one has several submissions where these are small
_TOGETHER, _TOGETHER_SECONDS, _TOGETHER_BYTES = 16, 2.0, 1 << 20  # of a task, at most
_TRIES = 2
_GONE = "the cluster's scheduler is gone; what was graded is kept: run the same command again to go on"


class ClusterMachines:
    """The machines behind a client, for the passes of one run. Close it when the run is over.

    `protection`: what protects them from submissions' code; a line that does not hold for all names the machines.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.run = secrets.token_hex(8)
        self.protection: tuple[str, ...] | None = None
        self.refused: set[str] = set()
        self.proof = ""
        self._there: dict[str, int] | None = None
        self._asked = 0.0

    def close(self) -> None:
        """End all that still runs for us on the workers."""
        with contextlib.suppress(Exception):  # a cluster that is gone runs nothing
            self.client.unregister_worker_plugin(f"labgrade-{self.run}")

    def workers(self, plan: Plan) -> ClusterWorkers:
        """What grades on them."""
        return ClusterWorkers(self, plan)

    def meet(self, plan: Plan, values: dict[str, object]) -> Iterator[str | None]:
        """Bring the course to all workers, and use those that have what we have. Says whom it does not use.

        Raises:
            UsageError: none of them can be used.
        """
        client, own = self.client, introduction(plan.known, plan.tasks)
        yield from self._awaited()
        parcel = parcels.of_course(plan.course, plan.tasks, values, unsafe=plan.request.unsafe)
        client.register_plugin(remote.CoursePlugin(self.run, parcel))
        there = self.workers_there()
        asked = {name: client.submit(remote.introduce, self.run, workers=[name], pure=False) for name in there}
        came = {name: _result(future) for name, future in asked.items()}
        whys = {name: _unfit(own, each) for name, each in came.items()}
        for name, why in whys.items():
            if why:
                self.refuse(name)
                yield f"not used: the worker {name}: {why}"
        used = [each for name, each in came.items() if not whys[name]]
        if not used:
            raise UsageError("\n".join(f"the worker {name} can't be used: {why}" for name, why in whys.items()))
        self.proof = own.proof
        self.protection = _protection({name: each.protection for name, each in came.items() if not whys[name]})

    def _awaited(self) -> Iterator[str | None]:
        """Wait for the first worker."""
        yield "waiting for workers"
        end = time.monotonic() + _WAIT_SECONDS
        while not self.workers_there():
            if time.monotonic() > end:
                message = f"no worker of the cluster came within {_WAIT_SECONDS:g} s"
                raise UsageError(message)
            time.sleep(_STEP_SECONDS)
            yield None

    def workers_there(self) -> dict[str, int]:
        """The threads of each worker that is not refused, by its address; asked for once a second.

        Raises:
            UsageError: the scheduler is gone.
        """
        if self._there is None or time.monotonic() > self._asked + _STEP_SECONDS:
            self.refuse_if_gone()
            try:
                found = self.client.scheduler_info(n_workers=-1)["workers"]
            except (OSError, TimeoutError) as error:
                raise UsageError(_GONE) from error
            self._there = {name: int(each["nthreads"]) for name, each in found.items() if name not in self.refused}
            self._asked = time.monotonic()
        return self._there

    def refuse(self, name: str) -> None:
        """Send a worker nothing any more."""
        self.refused.add(name)
        self._there = None

    def refuse_if_gone(self) -> None:
        """Go on only while there is a scheduler.

        Raises:
            UsageError: there is none any more.
        """
        if self.client.status not in ("running", "newly-created"):
            raise UsageError(_GONE)


class ClusterWorkers:
    """One pass over submissions. Use as a context manager; what runs for it elsewhere ends with it."""

    def __init__(self, machines: ClusterMachines, plan: Plan) -> None:
        self._machines, self._plan = machines, plan
        self._came: dict[str, SessionVerdicts] = {}
        self._grader = Grader(plan.course, torch_home=plan.request.torch_home, secret=(plan.request.results,))
        self._worker = Worker(plan, self._grader, elsewhere=self._verdict)
        self._running: dict[Future, list[str]] = {}
        self._seconds = _TOGETHER_SECONDS  # that one takes, as far as was seen
        self._tries: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):  # of a scheduler that is gone
            if self._running:
                self._machines.client.cancel(list(self._running), force=True)
        self._worker.close()
        self._grader.stop()

    def run(self, names: Iterable[str]) -> Iterator[Any]:
        """Have the submissions graded: what is entered, and what went wrong.

        Raises:
            UsageError: the cluster is gone; the ledger can't be read or written.
        """
        waiting = deque(names)
        while waiting or self._running:
            while waiting and len(self._running) < self._most():
                yield from self._begin(waiting)
            if self._running:
                yield from self._heard(waiting)

    def _most(self) -> int:
        """How many tasks may be on their way."""
        return max(1, _AHEAD * sum(self._machines.workers_there().values())) if self._machines.proof else 1

    def _begin(self, waiting: deque[str]) -> Iterator[Any]:
        """Send a task: one submission, or as many small ones as take two seconds, and leave as much for others."""
        most = min(_TOGETHER, int(_TOGETHER_SECONDS / self._seconds), len(waiting) // self._most())
        together: dict[str, SubmissionParcel] = {}
        size = 0
        while waiting and (not together or (len(together) < most and size < _TOGETHER_BYTES)):
            if together and self._tries.keys() & {waiting[0], *together}:
                break  # a task that was lost is tried alone
            who = waiting.popleft()
            parcel = yield from self._parcel(who)
            if parcel is not None:
                together[who] = parcel
                size += sum(map(len, parcel.files.values()))
        if not together:
            return
        usable = list(self._machines.workers_there()) if self._machines.refused else None
        if usable == []:
            message = "no worker of the cluster can be used; what was graded is kept"
            raise UsageError(message)
        own = list(together.values())
        future = self._machines.client.submit(remote.judge, self._machines.run, own, pure=False, workers=usable)
        self._running[future] = list(together)

    def _parcel(self, who: str) -> Generator[Any, None, SubmissionParcel | None]:
        """Take a submission in; None for one of which all is known, which is entered, or that can't be taken in."""
        try:
            submission, known = self._worker.remembered(who)
            if all(each is not None for each in known.values()):
                yield from self._entered(who, SessionVerdicts(verdicts={}))
                return None
            if not self._machines.proof:
                yield from self._met()
            seconds, proof = self._plan.request.seconds, self._machines.proof
            parcel = parcels.of_submission(submission, known, self._plan.decisions, seconds=seconds, proof=proof)
        except (UsageError, FaultError, OSError) as error:
            if isinstance(error, LedgerError) or not self._machines.proof:
                raise
            yield SubmissionFailed(who, str(error))
            return None
        yield Judging(who, "its checks, on the cluster")
        return parcel

    def _met(self) -> Iterator[Any]:
        values: list[dict[str, object]] = []
        yield WorkerQuestion("values", values.append)
        yield from self._machines.meet(self._plan, values[0])

    def _heard(self, waiting: deque[str]) -> Iterator[Any]:
        """What came back within a second."""
        import distributed
        from distributed.client import FuturesCancelledError

        try:
            done = distributed.wait(list(self._running), timeout=_STEP_SECONDS, return_when="FIRST_COMPLETED").done
        except FuturesCancelledError as error:  # nobody but a scheduler that ends does that
            raise UsageError(_GONE) from error
        except TimeoutError:
            self._machines.refuse_if_gone()
            yield None
            return
        for future in done:
            names = self._running.pop(future)
            result = _result(future)
            future.release()
            if not isinstance(result, tuple):
                for who in reversed(names):
                    yield from self._not_judged(who, result, waiting)
                continue
            each, seconds = result
            self._seconds = (self._seconds + seconds / len(names)) / 2
            for who, one in zip(names, each, strict=True):
                if isinstance(one, SessionVerdicts):
                    yield from self._entered(who, one)
                else:
                    yield from self._not_judged(who, one, waiting)

    def _not_judged(self, who: str, result: Any, waiting: deque[str]) -> Iterator[Any]:
        if result is None:  # cancelled, in the same way
            raise UsageError(_GONE)
        if isinstance(result, SessionRefusal) and result.unfit:
            yield f"not used: the worker {result.worker}: {result.why}"
            self._machines.refuse(result.worker)
            waiting.appendleft(who)
            return
        self._tries[who] += 1
        if self._tries[who] < _TRIES:
            waiting.appendleft(who)
            return
        self._worker.forget(who)
        if isinstance(result, SessionRefusal):
            yield SubmissionFailed(who, result.why)
        else:
            yield WorkerLost(who, result.args[0] if isinstance(result, remote.SessionLostError) else -9)

    def _entered(self, who: str, result: SessionVerdicts) -> Iterator[Any]:
        self._came[who] = result
        try:
            yield from self._worker.entered(who)
        except FaultError as error:
            self._worker.forget(who)
            yield SubmissionFailed(who, str(error))
        if result.cut:
            yield CutOff(who)
        del self._came[who]

    def _verdict(self, who: str, place: Place) -> MarkedVerdict:
        found = self._came[who].verdicts.get(place)
        if found is None:
            message = f"the worker came to no verdict on {' '.join(place[1:])}"
            raise FaultError(message)
        return found


def _result(future: Future) -> Any:
    """What came of a task; the exception where it failed, None where it was cancelled."""
    import distributed

    try:
        return future.result()
    except (distributed.CancelledError, TimeoutError):
        return None
    except Exception as error:  # noqa: BLE001 - whatever a worker met: KilledWorker, a session that ended
        return error


def _unfit(own: SessionIntroduction, other: Any) -> str:
    """Why a worker can't be used, in words; "" where it can."""
    if not isinstance(other, SessionIntroduction):
        return f"labgrade does not start there ({type(other).__name__}: {other})"
    if other.refused:
        return other.refused
    if other.version != own.version:
        return f"it has labgrade {other.version}, here is {own.version}"
    places = own.parts.keys() | other.parts.keys()
    differ = {
        name
        for place in places
        for name in own.parts.get(place, {}).keys() | other.parts.get(place, {}).keys()
        if own.parts.get(place, {}).get(name) != other.parts.get(place, {}).get(name)
    }
    return "; ".join(_difference(name, own, other) for name in sorted(differ))


def _difference(name: str, own: SessionIntroduction, other: SessionIntroduction) -> str:
    here, there = (
        {key: value for title, each in side.contents.items() if title.split()[0] == name for key, value in each.items()}
        for side in (own, other)
    )
    keys = [key for key in sorted(here.keys() | there.keys()) if here.get(key) != there.get(key)]
    if name == "labgrade":
        return f"{len(keys)} of labgrade's files differ, such as {keys[0]}"
    said = [f"{key} is {there.get(key, 'absent')} there, {here.get(key, 'absent')} here" for key in keys]
    return ", ".join(said) or f"its {name} differ"


def _protection(lines: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the lines of all machines, once each; a line that only some have names them."""
    machines: dict[str, list[str]] = {}
    for name, own in lines.items():
        for line in own:
            machines.setdefault(line, []).append(name)
    return tuple(line if len(own) == len(lines) else f"{line} ({', '.join(own)})" for line, own in machines.items())
