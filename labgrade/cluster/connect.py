"""Reaches a cluster by what `--cluster` says: processes here, a scheduler that runs, or a queue that starts workers."""

from __future__ import annotations

import contextlib
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import UsageError
from labgrade.files import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import Client

QUEUES = {"slurm": "SLURMCluster", "pbs": "PBSCluster", "sge": "SGECluster", "lsf": "LSFCluster"}
SAYS = "local:4, tls://host:8786, or slurm:cluster.yaml (pbs, sge, lsf)"
_WAIT_SECONDS = 30.0
_JOBS = "jobs"
_NO_PAGES = "127.0.0.1:0"  # Dask serves its pages in any case: see `http.routes`; here for this machine alone


@contextlib.contextmanager
def connected(place: str, *, insecure: bool = False) -> Iterator[Client]:
    """A client of the cluster, which is stopped at the end where it was started here.

    Raises:
        UsageError: Dask is not installed; there is no such cluster; its line is open to everybody.
    """
    kind, _, rest = place.partition(":")
    with contextlib.ExitStack() as stack:
        try:
            import distributed  # noqa: F401 - whether it is there
        except ImportError:
            message = "--cluster needs Dask: pip install 'labgrade[cluster]'"
            raise UsageError(message) from None
        stack.enter_context(_as_we_need_it())
        if kind == "local":
            client = _local(rest, stack)
        elif kind in QUEUES:
            client = _queue(kind, Path(rest), stack)
        elif kind in ("tls", "tcp"):
            client = _running(place, stack, insecure=insecure)
        else:
            near = did_you_mean(kind, ["local", "tls", *QUEUES])
            message = f"--cluster {place}: say {SAYS}{near}"
            raise UsageError(message)
        yield client


@contextlib.contextmanager
def _as_we_need_it() -> Iterator[None]:
    """Configure Dask: a worker takes one task at a time, and no page shows others what runs.

    Nor is it sampled: watching itself takes Dask 4 % of a core on the machine that keeps the ledger, and so 1 %.
    """
    import dask

    wanted = {
        "distributed.scheduler.worker-saturation": 1.0,
        "distributed.comm.timeouts.connect": _WAIT_SECONDS,
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "500ms",
        "distributed.admin.system-monitor.interval": "10s",
    }
    logger = logging.getLogger("distributed")  # what goes wrong is said in our words
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with dask.config.set(wanted):
            yield
    finally:
        logger.setLevel(before)


def _local(rest: str, stack: contextlib.ExitStack) -> Client:
    import distributed

    if not re.fullmatch(r"[1-9]\d{0,3}", rest):
        message = f"--cluster local:{rest}: say how many processes, as in local:4"
        raise UsageError(message)
    # By TLS with keys of this run: who else works on this machine may not send work to our workers.
    cluster = distributed.LocalCluster(
        n_workers=int(rest),
        threads_per_worker=1,
        dashboard_address=_NO_PAGES,
        memory_limit=0,
        security=True,
        silence_logs="CRITICAL",
    )
    stack.enter_context(cluster)
    return stack.enter_context(distributed.Client(cluster))


def _running(place: str, stack: contextlib.ExitStack, *, insecure: bool) -> Client:
    import distributed

    if place.startswith("tcp:") and not insecure:
        message = (
            f"--cluster {place}: by tcp:// everybody on the way can read students' work and forge results; run the "
            "scheduler with TLS and say tls://..., or add --insecure on a network of your own"
        )
        raise UsageError(message)
    try:
        return stack.enter_context(distributed.Client(place, timeout=_WAIT_SECONDS))
    except (OSError, TimeoutError, TypeError, ValueError) as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        tls = "; TLS needs its keys in Dask's configuration (distributed.comm.tls)" if place.startswith("tls:") else ""
        message = f"--cluster {place}: no scheduler answers there: {first}{tls}"
        raise UsageError(message) from error


def _queue(kind: str, path: Path, stack: contextlib.ExitStack) -> Client:
    import dask_jobqueue
    import distributed

    options = _read(kind, path)
    jobs = options.pop(_JOBS)
    options.setdefault("security", True)
    # Scheduler and workers would show everybody in the network what runs on them.
    options["scheduler_options"] = {"dashboard_address": _NO_PAGES, **_option(options, "scheduler_options", {}, path)}
    given = _option(options, "worker_extra_args", [], path)
    options["worker_extra_args"] = ["--no-dashboard", "--dashboard-address", _NO_PAGES, *given]
    try:
        cluster = stack.enter_context(getattr(dask_jobqueue, QUEUES[kind])(**options))
        cluster.scale(jobs=jobs)
    except (TypeError, ValueError, RuntimeError, OSError) as error:
        message = f"'{path}': {str(error).splitlines()[0]}"
        raise UsageError(message) from error
    return stack.enter_context(distributed.Client(cluster))


_Kind = TypeVar("_Kind", dict[str, Any], list[Any])


def _option(options: dict[str, Any], name: str, default: _Kind, path: Path) -> _Kind:
    """Return an option of the queue's file."""
    found = options.get(name) or default
    if not isinstance(found, type(default)):
        message = f"'{path}': `{name}` is {'a mapping' if isinstance(default, dict) else 'a list'}"
        raise UsageError(message)
    return found


def _read(kind: str, path: Path) -> dict[str, Any]:
    """What the file of a queue says: `jobs`, and what dask-jobqueue's class of that queue takes."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"--cluster {kind}:{path}: it can't be read ({error.strerror}); say {SAYS}"
        raise UsageError(message) from error
    found = yaml.load(text, str(path)).data
    jobs = found.get(_JOBS) if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(jobs, int) or jobs < 1:
        message = f"'{path}' needs `jobs: N`, how many jobs to queue, beside what dask_jobqueue.{QUEUES[kind]} takes"
        raise UsageError(message)
    return found
