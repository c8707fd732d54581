"""What a child's end means: the Execution, with a reason in words for the student."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from labgrade.errors import did_you_mean
from labgrade.results import Execution
from labgrade.sandbox import wire
from labgrade.sandbox.child import UP
from labgrade.sandbox.request import RunRequest
from labgrade.sandbox.usage import PROCESSES
from labgrade.sandbox.visible import decoded, visible

if TYPE_CHECKING:
    from labgrade.results import ExecutionStatus
    from labgrade.sandbox.processes import Child, Exit
    from labgrade.sandbox.request import CallRequest

PRINTED_CHARS = 4000
_REASON_CHARS = 800
_NAME_CHARS = 60
_MOST_NAMES = 8
_TEXTS: dict[str, tuple[str, ...]] = {
    "raised": ("phase", "kind", "message", "where", "code", "inside"),
    "unfit": ("problem",),
    "refused": ("problem", "where"),
}


@dataclass(slots=True)
class Ending:
    """What is known of a child, while it runs and in the end.

    `up`: it said so, and what happened later is the student's doing. `stopped`: why the grader ended it (`wall`,
    `start`, `output`). `fault`: why the server could not start it. `lost`: the server is gone. `seeded` and `errors`
    are what the child says of it: weights that stood in for others, and the end of what went to a program's stderr.
    """

    child: Child
    up: bool = False
    stopped: str = ""
    killed: bool = False
    exit: Exit | None = None
    fault: str = ""
    lost: bool = False
    seeded: tuple[str, ...] = ()
    errors: str = ""


def execution(ending: Ending, call: CallRequest | RunRequest, left_out: list[str]) -> Execution:
    """The Execution of a call that has ended. `left_out` names files that were too large to be copied."""
    printed = decoded(bytes(ending.child.output.data))
    status, reason, value = _what_happened(ending, call, printed)
    if ending.errors:
        printed += f"\n(on stderr:)\n{ending.errors}"
    if status == "crashed" and left_out:
        reason += f" (too large to be copied for the call: {', '.join(left_out[:5])})"
    return Execution(
        status=status,
        value=value,
        reason=visible(reason, _REASON_CHARS),
        printed=visible(printed, PRINTED_CHARS),
        seconds=ending.exit.seconds if ending.exit else 0.0,
        stdout=bytes(ending.child.output.data) if isinstance(call, RunRequest) else b"",
        seeded=ending.seeded,
    )


def _what_happened(ending: Ending, call: CallRequest | RunRequest, printed: str) -> tuple[ExecutionStatus, str, object]:
    if ending.fault or not ending.up:
        reason = ending.fault or ("it took too long" if ending.stopped else printed[-_REASON_CHARS:])
        return "fault", f"the sandbox could not prepare the call: {reason}", None
    if ending.child.output.over:
        allowed = f"{call.limits.output / 1e6:,.3g} MB"
        return "output", f"{call.function} printed more than {allowed}; print less, such as totals alone", None
    broken = ending.stopped or (ending.exit.why if ending.exit else "")
    if broken:
        return (*_broken(broken, call), None)
    if ending.exit is None:
        return "crashed", f"{call.function} ended the process that it was run by", None
    return _delivered(ending, ending.exit, call)


def _delivered(ending: Ending, end: Exit, call: CallRequest | RunRequest) -> tuple[ExecutionStatus, str, object]:
    frame = bytes(ending.child.result.data[len(UP) :])
    if not frame:
        return (*_silent(end, call), None)
    try:
        event = wire.unpack(frame)
        _note(event, ending)
        return _told(event, call)
    except wire.RefusedError as error:
        return "refused", f"{call.function} left {error.problem} on the channel that carries its answer", None


def _broken(limit: str, call: CallRequest | RunRequest) -> tuple[ExecutionStatus, str]:
    seconds = f"{call.limits.seconds:g} s"
    match limit:
        case "cpu":
            return "timeout", f"{call.function} used more than {seconds} of computing time"
        case "memory":
            return "memory", f"{call.function} used more than {call.limits.memory / 1e6:,.0f} MB of memory"
        case "processes":
            return "crashed", f"{call.function} started more than {PROCESSES} processes"
    return "timeout", f"{call.function} did not end; it may compute for {seconds}, and it was waiting longer than that"


def _silent(end: Exit, call: CallRequest | RunRequest) -> tuple[ExecutionStatus, str]:
    """The process is gone and left no result."""
    if end.code == -getattr(signal, "SIGXCPU", 0) or (end.code == -9 and end.seconds >= call.limits.seconds):  # noqa: PLR2004
        return _broken("cpu", call)
    if end.code < 0:
        return "crashed", f"the process was killed by {_signal(-end.code)} before {call.function} returned"
    return "crashed", f"the process ended with os._exit({end.code}) before {call.function} returned"


def _signal(number: int) -> str:
    name = signal.Signals(number).name if number in set(signal.Signals) else "a signal of no name"
    return f"signal {number} ({name})"


def _told(event: object, call: CallRequest | RunRequest) -> tuple[ExecutionStatus, str, object]:
    """What the child says of its job. It may be a forgery of the student's: it is checked, and can say nothing worse.

    Raises:
        RefusedError: it is none of the things that a child says.
    """
    match event:
        case {"event": "ran", "code": int(code), "files": dict(files), "left_out": list(left), **rest}:
            status, reason = _ended(code, rest.get("raised"), str(rest.get("errors") or ""), call)
            if left:
                reason += f" (written, but too large to be read: {', '.join(map(str, left))})"
            return status, reason, files
        case {"event": "returned", "value": value}:
            return "returned", "", value
        case {"event": "missing", "names": list(names)}:
            close = did_you_mean(call.function, [name for name in names if isinstance(name, str)])
            return "missing", f"the file defines no '{call.function}' once it is imported{close}", None
        case {"event": str(kind)} if kind in _TEXTS:
            told = cast("dict[str, Any]", event)
            texts = _texts(kind, told)
            if texts is not None:
                return _in_words(kind, texts, call, memory=told.get("memory") is True)
    problem = "something that no result looks like"
    raise wire.RefusedError(problem)


def _texts(kind: str, told: dict[str, Any]) -> dict[str, str] | None:
    texts = {key: told.get(key) for key in _TEXTS[kind]}
    return cast("dict[str, str]", texts) if all(isinstance(text, str) for text in texts.values()) else None


def _note(event: object, ending: Ending) -> None:
    """What may stand beside any event. Names only: the sentences are ours."""
    told = event if isinstance(event, dict) else {}
    seeded, errors = told.get("seeded"), told.get("errors")
    if isinstance(seeded, list):
        names = [name for name in seeded if isinstance(name, str) and name.isidentifier()]
        ending.seeded = tuple(name[:_NAME_CHARS] for name in names[:_MOST_NAMES])
    if isinstance(errors, str):
        ending.errors = errors


def _ended(code: int, told: object, errors: str, call: CallRequest | RunRequest) -> tuple[ExecutionStatus, str]:
    """How a program ended, by its exit code, or minus a signal, and the exception that ended it."""
    if isinstance(told, dict) and (texts := _texts("raised", told)) is not None:
        status, reason, _ = _in_words("raised", texts, call, memory=told.get("memory") is True)
        return status, reason
    if code == 0:
        return "returned", ""
    if code < 0:
        return "crashed", f"{call.function} was killed by {_signal(-code)}"
    last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "")
    return "crashed", f"{call.function} ended with exit code {code}" + (f", saying '{last[:200]}'" if last else "")


def _in_words(
    kind: str, told: dict[str, str], call: CallRequest | RunRequest, *, memory: bool
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


def _raised(told: dict[str, str], call: CallRequest | RunRequest) -> str:
    place = told["where"]
    if place and told["inside"]:
        place += f" in {told['inside']}"
    line = f"{place}: `{told['code']}` " if place else f"{call.function} "
    message = f": {told['message']}" if told["message"] else ""
    if told["kind"] == "SystemExit":
        when = "while the file was imported" if told["phase"] == "import" else f"before {call.function} returned"
        return f"{line}ended the program (SystemExit{message}) {when}"
    return f"{line}raised {told['kind']}{message}"
