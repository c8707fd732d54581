"""Follows one child from its start to its end, stopping it when its time is up or it prints too much."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labgrade.sandbox.starting import START_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from labgrade.sandbox.collect import Child, Exit

_KILL_SECONDS = 10.0
_LOOK_SECONDS = 0.05


@dataclass(slots=True)
class Ending:
    """What is known of a child, while it runs and in the end.

    `up`: it said so, and what happened later is the student's doing. `stopped`: why the grader ended it (`wall`,
    `start`, `output`, `memory`). `fault`: why it could not be started. `lost`: its keeper is gone, which is ours.
    """

    child: Child
    up: bool = False
    stopped: str = ""
    exit: Exit | None = None
    fault: str = ""
    lost: bool = False


def follow(child: Child, job: object, wall: float, starved: Callable[[], bool] = lambda: False) -> Ending:
    """Give the child its job once it is up, and wait for its end. `wall`: the seconds it may take from then on.

    `starved`: whether the kernel held its memory at the limit, asked now and then and in the end.
    """
    ending = Ending(child)
    killed = False
    deadline = time.monotonic() + START_SECONDS
    while ending.exit is None and not ending.fault and not ending.lost:
        match _next(ending, deadline, starved):
            case None if ending.stopped:
                ending.lost = True
            case None:
                ending.stopped = "wall" if ending.up else "start"
            case ("up", _):
                ending.up = True
                deadline = time.monotonic() + wall
                child.give(job)
            case ("over", _):
                ending.stopped = ending.stopped or "output"
            case ("ended", exit_):
                ending.exit = exit_
            case ("fault", reason):
                ending.fault = reason
            case _:
                ending.lost = True
        if ending.stopped and not killed:
            killed = True
            deadline = time.monotonic() + _KILL_SECONDS
            child.kill()
    child.close()
    return ending


def _next(ending: Ending, deadline: float, starved: Callable[[], bool]) -> tuple[str, Any] | None:
    """The next event, or None at the deadline. Looks at memory meanwhile, from when the child is the student's."""
    while True:
        event = ending.child.next_event(min(deadline - time.monotonic(), _LOOK_SECONDS))
        if ending.up and not ending.stopped and starved():
            ending.stopped = "memory"
            return event or ("over", None)
        if event is not None or time.monotonic() >= deadline:
            return event
