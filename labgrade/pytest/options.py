"""What pytest's command line requests of a grading run, and what of it an xdist worker receives."""

from __future__ import annotations

import contextlib
import pickle
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import UsageError
from labgrade.files import downloaded_weights, output
from labgrade.reports import html
from labgrade.run.grader import hidden
from labgrade.run.plan import RunRequest, opened
from labgrade.sandbox.runner import Runner
from labgrade.spec import course, load

if TYPE_CHECKING:
    from labgrade.run.plan import Plan
    from labgrade.spec.course import Course

_PLAN, _SERVERS = "labgrade_plan", "labgrade_shared"
RUNNER = pytest.StashKey["Runner"]()  # what opened the hand-ins, and runs them then


def refuse(config: pytest.Config, there: Course) -> None:
    """Refuse options that can't be satisfied, before anything is graded.

    Raises:
        UsageError: the report can't be written, or a spec is not there.
    """
    if target := config.getoption("labgrade_json"):
        output.refuse_unwritable(target, "--labgrade-json")
    if target := config.getoption("report_html"):
        output.refuse_unwritable(str(config.invocation_params.dir / target), "--report-html")
        html.refuse_without()
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return
    for argument in config.args:
        path = config.invocation_params.dir / argument.partition("::")[0]
        if path.suffix == ".yaml" and not path.exists():
            known = [file.stem for file in load.files(there.specs)]
            message = f"there is no spec '{argument}'{did_you_mean(path.stem, known)}"
            raise UsageError(message)


def hand_over(workerinput: dict[str, object], plan: Plan, servers: Path | None) -> None:
    """Give a worker of xdist the plan and the address of this process's servers, which all share."""
    if servers is not None:
        workerinput[_SERVERS] = str(servers)
    workerinput[_PLAN] = pickle.dumps(plan)


def shared(config: pytest.Config) -> Path | None:
    """Return the address of the controller's servers, in a worker of xdist."""
    servers = getattr(config, "workerinput", {}).get(_SERVERS)
    return Path(servers) if servers else None


def plan(config: pytest.Config) -> Plan:
    """Return the plan of the run. Without a named results folder a temporary one is used.

    An xdist worker has its controller's.

    Raises:
        UsageError: there is no such submission; another run is at work in the results folder, or its ledger can't be
            used; a report can't be written; a spec is not there.
    """
    handed_over = getattr(config, "workerinput", {}).get(_PLAN)
    if handed_over is not None:
        found: Plan = pickle.loads(handed_over)  # noqa: S301 - the controller of this very run made it
        return found
    names = config.getoption("submission")
    _refuse_names(names)
    there = course.find(config.rootpath)
    refuse(config, there)
    stack = contextlib.ExitStack()
    config.add_cleanup(stack.close)
    here = config.invocation_params.dir
    source, results, home = (config.getoption(name) for name in ("submissions_dir", "results", "torch_home"))
    if not results:
        folder = tempfile.TemporaryDirectory(prefix="labgrade-results-", ignore_cleanup_errors=True)
        results = stack.enter_context(folder)
    request = RunRequest(
        source=here / Path(source).expanduser() if source else config.rootpath / "submissions",
        results=here / Path(results).expanduser(),
        root=there.root,
        names=() if "all" in names else tuple(names),
        torch_home=downloaded_weights.find(here / Path(home).expanduser() if home else None),
        fresh=config.getoption("fresh"),
    )
    secret = hidden(there, request.results, request.source)
    runner = config.stash[RUNNER] = Runner(secret=secret, torch_home=request.torch_home)
    stack.callback(runner.close)
    return stack.enter_context(opened(request, there, runner=runner))


def _refuse_names(names: list[str]) -> None:
    if "" in names:
        message = "--submission names nobody; it takes the name of a submission, or `all`"
        raise UsageError(message)
    for each in names:
        if Path(each).name not in ("", each):
            message = (
                f"--submission={each} is a path: --submission={Path(each).name} --submissions-dir={Path(each).parent}"
            )
            raise UsageError(message)
