"""What a child's end means: the Execution, with a reason in words for the student."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from labgrade.errors import did_you_mean
from labgrade.results import Execution
from labgrade.sandbox import wire
from labgrade.sandbox.child import UP
from labgrade.sandbox.perform import MODULE
from labgrade.sandbox.usage import PROCESSES
from labgrade.sandbox.visible import decoded, visible

if TYPE_CHECKING:
    from labgrade.results import ExecutionStatus
    from labgrade.sandbox.processes import Child, Exit
    from labgrade.sandbox.request import CallRequest

PRINTED_CHARS = 4000
_REASON_CHARS = 800
_SPAWNED = (
    "; a process that it started can't import the file (multiprocessing with the start method 'spawn'): do without, or "
    "use get_context('fork')"
)
_TEXTS: dict[str, tuple[str, ...]] = {
    "raised": ("phase", "kind", "message", "where", "code", "inside"),
    "unfit": ("problem",),
    "refused": ("problem", "where"),
}


@dataclass(slots=True)
class Ending:
    """What is known of a child, while it runs and in the end.

    `up`: it said so, and what happened later is the student's doing. `stopped`: why the grader ended it (`wall`,
    `start`, `output`). `fault`: why the server could not start it. `lost`: the server is gone.
    """

    child: Child
    up: bool = False
    stopped: str = ""
    killed: bool = False
    exit: Exit | None = None
    fault: str = ""
    lost: bool = False


def execution(ending: Ending, call: CallRequest, left_out: list[str]) -> Execution:
    """The Execution of a call that has ended. `left_out` names files that were too large to be copied."""
    printed = decoded(bytes(ending.child.output.data))
    status, reason, value = _what_happened(ending, call, printed)
    if status == "crashed" and left_out:
        reason += f" (too large to be copied for the call: {', '.join(left_out[:5])})"
    return Execution(
        status=status,
        value=value,
        reason=visible(reason, _REASON_CHARS),
        printed=visible(printed, PRINTED_CHARS),
        seconds=ending.exit.seconds if ending.exit else 0.0,
    )


def _what_happened(ending: Ending, call: CallRequest, printed: str) -> tuple[ExecutionStatus, str, object]:
    if ending.fault or not ending.up:
        reason = ending.fault or ("it took too long" if ending.stopped else printed[-_REASON_CHARS:])
        return "fault", f"the sandbox could not prepare the call: {reason}", None
    if ending.child.output.over:
        allowed = f"{call.limits.output / 1e6:,.3g} MB"
        return "output", f"{call.function} printed more than {allowed}; print less, such as totals alone", None
    broken = ending.stopped or (ending.exit.why if ending.exit else "")
    if broken:
        status, reason = _broken(broken, call)
        return status, reason + (_SPAWNED if MODULE in printed and status == "timeout" else ""), None
    if ending.exit is None:
        return "crashed", f"{call.function} ended the process that it was run by", None
    return _delivered(bytes(ending.child.result.data[len(UP) :]), ending.exit, call)


def _delivered(frame: bytes, end: Exit, call: CallRequest) -> tuple[ExecutionStatus, str, object]:
    if not frame:
        return (*_silent(end, call), None)
    try:
        return _told(wire.unpack(frame), call)
    except wire.RefusedError as error:
        return "refused", f"{call.function} left {error.problem} on the channel that carries its answer", None


def _broken(limit: str, call: CallRequest) -> tuple[ExecutionStatus, str]:
    seconds = f"{call.limits.seconds:g} s"
    match limit:
        case "cpu":
            return "timeout", f"{call.function} used more than {seconds} of computing time"
        case "memory":
            return "memory", f"{call.function} used more than {call.limits.memory / 1e6:,.0f} MB of memory"
        case "processes":
            return "crashed", f"{call.function} started more than {PROCESSES} processes"
    return "timeout", f"{call.function} did not end; it may compute for {seconds}, and it was waiting longer than that"


def _silent(end: Exit, call: CallRequest) -> tuple[ExecutionStatus, str]:
    """The process is gone and left no result."""
    if end.code == -getattr(signal, "SIGXCPU", 0) or (end.code == -9 and end.seconds >= call.limits.seconds):  # noqa: PLR2004
        return _broken("cpu", call)
    if end.code < 0:
        name = signal.Signals(-end.code).name if -end.code in set(signal.Signals) else "a signal of no name"
        return "crashed", f"the process was killed by signal {-end.code} ({name}) before {call.function} returned"
    return "crashed", f"the process ended with os._exit({end.code}) before {call.function} returned"


def _told(event: object, call: CallRequest) -> tuple[ExecutionStatus, str, object]:
    """What the child says of its job. It may be a forgery of the student's: it is checked, and can say nothing worse.

    Raises:
        RefusedError: it is none of the things that a child says.
    """
    match event:
        case {"event": "returned", "value": value}:
            return "returned", "", value
        case {"event": "missing", "names": list(names)}:
            close = did_you_mean(call.function, [name for name in names if isinstance(name, str)])
            return "missing", f"the file defines no '{call.function}' once it is imported{close}", None
        case {"event": str(kind)} if kind in _TEXTS:
            told = cast("dict[str, Any]", event)
            texts = {key: told.get(key) for key in _TEXTS[kind]}
            if all(isinstance(text, str) for text in texts.values()):
                return _in_words(kind, cast("dict[str, str]", texts), call, memory=told.get("memory") is True)
    problem = "something that no result looks like"
    raise wire.RefusedError(problem)


def _in_words(
    kind: str, told: dict[str, str], call: CallRequest, *, memory: bool
) -> tuple[ExecutionStatus, str, object]:
    if kind == "unfit":
        return "crashed", f"{call.function} {told['problem']}", None
    if kind == "refused":
        where = f"in {told['where']}, " if told["where"] else ""
        return "refused", f"{call.function} returned {where}{told['problem']}", None
    reason = _raised(told, call)
    if memory:
        return "memory", f"{reason} (it may use {call.limits.memory / 1e6:,.0f} MB)", None
    return "crashed", reason, None


def _raised(told: dict[str, str], call: CallRequest) -> str:
    place = told["where"]
    if place and told["inside"]:
        place += f" in {told['inside']}"
    line = f"{place}: `{told['code']}` " if place else f"{call.function} "
    message = f": {told['message']}" if told["message"] else ""
    if told["kind"] == "SystemExit":
        when = "while the file was imported" if told["phase"] == "import" else f"before {call.function} returned"
        return f"{line}ended the program (SystemExit{message}) {when}"
    return f"{line}raised {told['kind']}{message}"
