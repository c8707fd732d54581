"""What a grading run was asked for on the command line, and what of it an xdist worker is told."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.config import create_terminal_writer

from labgrade.core.errors import UsageError, did_you_mean
from labgrade.core.results import Submission
from labgrade.files import output
from labgrade.reports import html
from labgrade.sandbox.runner import Runner
from labgrade.spec import load
from labgrade.submissions import find

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.spec.course import Course

_TAKEN = "labgrade_submissions"


def refuse(config: pytest.Config, course: Course) -> None:
    """Refuse, before anything is graded for it, what can't be done.

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
            there = [file.stem for file in load.files(course.specs)]
            message = f"there is no spec '{argument}'{did_you_mean(path.stem, there)}"
            raise UsageError(message)


def leave_stdout(config: pytest.Config) -> None:
    """Where stdout is for the JSON, all that pytest says goes to stderr."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if config.getoption("labgrade_json") == "-" and reporter is not None:
        reporter._tw = create_terminal_writer(config, sys.stderr)  # noqa: SLF001 - made anew, as pytest itself does


def tell(workerinput: dict[str, object], taken: Iterable[Submission], servers: Path | None) -> None:
    """Tell an xdist worker what was taken in, and where this process's servers are: one set serves all."""
    if servers is not None:
        workerinput["labgrade_shared"] = str(servers)
    workerinput[_TAKEN] = json.dumps([[who.name, str(who.folder), who.files, who.refused, who.unread] for who in taken])


def shared(config: pytest.Config) -> Path | None:
    """In one of xdist's workers: where the servers of its controller are to be had."""
    told = getattr(config, "workerinput", {}).get("labgrade_shared")
    return Path(told) if told else None


def source(config: pytest.Config) -> Path:
    """Where hand-ins lie: a folder of them, or an archive."""
    given = config.getoption("submissions_dir")
    return config.invocation_params.dir / Path(given).expanduser() if given else config.rootpath / "submissions"


def submissions(config: pytest.Config) -> find.Taken:
    """Those that are graded, in a store that ends with the run; an xdist worker takes what its controller took in.

    Raises:
        UsageError: there is no such submission.
    """
    told = getattr(config, "workerinput", {}).get(_TAKEN)
    if told is not None:
        return find.Taken(
            submissions=tuple(
                Submission(name=name, folder=Path(folder), files=tuple(files), refused=tuple(out), unread=tuple(unread))
                for name, folder, files, out, unread in json.loads(told)
            )
        )
    names = config.getoption("submission")
    if "" in names:
        message = "--submission names nobody; it takes the name of a submission, or `all`"
        raise UsageError(message)
    folder = source(config)
    store = tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True)
    config.add_cleanup(store.cleanup)
    with Runner() as runner:
        taken = find.find(folder, names, Path(store.name), opening=runner.open, grader=config.rootpath.resolve())
    if not taken.submissions:
        message = f"there is no submission in '{folder}'"
        raise UsageError(message)
    return taken
