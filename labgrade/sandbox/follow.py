"""Follows one child from its start to its end, stopping it when its time is up or it prints too much."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labgrade.sandbox.starting import START_SECONDS

if TYPE_CHECKING:
    from labgrade.sandbox.collect import Child, Exit

_KILL_SECONDS = 10.0


@dataclass(slots=True)
class Ending:
    """What is known of a child, while it runs and in the end.

    `up`: it said so, and what happened later is the student's doing. `stopped`: why the grader ended it (`wall`,
    `start`, `output`). `fault`: why it could not be started. `lost`: its keeper is gone.
    """

    child: Child
    up: bool = False
    stopped: str = ""
    exit: Exit | None = None
    fault: str = ""
    lost: bool = False


def follow(child: Child, job: object, wall: float) -> Ending:
    """Give the child its job once it is up, and wait for its end. `wall`: the seconds it may take from then on."""
    ending = Ending(child)
    killed = False
    deadline = time.monotonic() + START_SECONDS
    while ending.exit is None and not ending.fault and not ending.lost:
        match child.next_event(deadline - time.monotonic()):
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
