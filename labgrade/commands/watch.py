"""`labgrade check --watch`: the verdict on what was just saved, from a process that stays."""

from __future__ import annotations

import contextlib
import importlib.util
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from labgrade.core.errors import UsageError
from labgrade.core.results import CLUTTER
from labgrade.files import downloaded_weights
from labgrade.judging.variants import own_variant
from labgrade.review import roster
from labgrade.review.groups import drawn_as
from labgrade.run.grader import Grader
from labgrade.run.student_check import public_task
from labgrade.run.watch_session import Session
from labgrade.spec import course, load
from labgrade.submissions import find

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

_QUIET_MS = 40  # after a save, until nothing more is written
_STEP_MS = 20
_LOOK_MS = 200  # between looks at whether Ctrl-C was pressed


def watch(options: argparse.Namespace) -> int:
    """Check at each save until Ctrl-C.

    Raises:
        UsageError: watchfiles is not installed, or it is no folder that is named.
    """
    if importlib.util.find_spec("watchfiles") is None:
        message = "--watch needs watchfiles: pip install watchfiles"
        raise UsageError(message)
    if not options.path.is_dir():
        message = f"--watch: '{options.path}' is no folder"
        raise UsageError(message)
    found = course.find_for(options.path, options.course)
    specs = load.read_all(load.chosen(found, options.lab, options.task or ()), found)
    student = drawn_as(roster.of_course(found.root), options.drawn_as or find.name_of(options.path))
    tasks = [own_variant(public_task(each.task), student, found.key) for each in specs if each.task is not None]
    stop = threading.Event()
    with Grader(found, torch_home=downloaded_weights.find(options.torch_home)) as grader:
        session = Session(grader, tasks, options.path, Console(highlight=False))
        # Watched before the first round: what is saved meanwhile is seen after it.
        changes = _saves(options.path, stop)
        with contextlib.suppress(KeyboardInterrupt):
            next(changes)  # begins to watch
            session.begin(stop)
            for changed in changes:
                if changed:
                    session.begin(stop)
        stop.set()
        session.close()
    if session.failed is not None:
        raise session.failed
    return 0


def _saves(folder: Path, stop: threading.Event) -> Iterator[object]:
    """Yield the files of each save; also yield nothing at intervals, so that Ctrl-C is noticed."""
    import watchfiles

    return watchfiles.watch(
        folder,
        watch_filter=lambda _, path: not CLUTTER & set(Path(path).parts),
        debounce=_QUIET_MS,
        step=_STEP_MS,
        stop_event=stop,
        yield_on_timeout=True,
        rust_timeout=_LOOK_MS,
        raise_interrupt=True,
    )
