"""What a child's end means, with a reason in words for the student."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any, Literal, cast

from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import FaultError
from labgrade.core.execution import Execution
from labgrade.core.text import decoded, excerpt
from labgrade.sandbox.child import wire
from labgrade.sandbox.child.wire import MODULE, MOST_NAMES, NotPlainError, unpack_each
from labgrade.sandbox.jail.usage import PROCESSES
from labgrade.sandbox.requests import CallRequest, ProgramRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.core.execution import ExecutionStatus, Limits
    from labgrade.sandbox.host.child import Ending, Exit
    from labgrade.sandbox.requests import InspectRequest, ProgramRequest, ReadRequest, ScriptRequest

NOT_IMPORTED = "; so none of the file's functions can be called"
PRINTED_CHARS = 4000
REASON_CHARS = 800
_NAME_CHARS = 60
_MOST_SEEDED = 8
_SPAWNED = (
    "; a process that it started can't import the file (multiprocessing with the start method 'spawn'): do without, or "
    "use get_context('fork')"
)
_TEXTS: dict[str, tuple[str, ...]] = {
    "raised": ("phase", "kind", "message", "where", "code", "inside"),
    **dict.fromkeys(("unfit", "unconverted"), ("problem",)),
    "refused": ("problem", "where"),
}


def execution(ending: Ending, call: CallRequest, left_out: list[str]) -> Execution:
    """Return the Execution of a call that has ended. `left_out` names files that were too large to be copied."""
    printed = decoded(bytes(ending.child.output.data))
    name = call.function if ending.loaded else f"importing {call.file}"
    status, reason, value = what_happened(ending, name, call.limits, printed)
    seeded: tuple[str, ...] = ()
    failed = ""
    if status == "going":
        status, reason, value, seeded, failed = _delivered(ending, call)
    return Execution(
        status=status,
        value=value,
        reason=excerpt(_with_left_out(status, reason, left_out), REASON_CHARS),
        printed=excerpt(printed, PRINTED_CHARS),
        seconds=ending.exit.seconds if ending.exit else 0.0,
        seeded=seeded,
        failed=excerpt(failed, REASON_CHARS),
        loading=not ending.loaded,
    )


def _with_left_out(status: str, reason: str, left_out: list[str]) -> str:
    named = f" (too large to be copied for the call: {', '.join(left_out[:5])})"
    return reason + named if status == "crashed" and left_out else reason


def program_run(ending: Ending, request: ProgramRequest) -> ProgramRun:
    """Return the ProgramRun of a program that has ended."""
    name = request.name or (request.command[0] if request.command else "the program")
    errors = bytes(ending.child.errors.data) if ending.child.errors else b""
    status, reason, _ = what_happened(ending, name, request.limits, decoded(errors))
    code: int | None = None
    files: dict[str, bytes] = {}
    left_out: tuple[str, ...] = ()
    if status == "going":
        status, reason, code, files, left_out = _ran(ending, name, request.limits)
    return ProgramRun(
        status=status,
        code=code,
        reason=excerpt(reason, REASON_CHARS),
        stdout=bytes(ending.child.output.data),
        stderr=errors,
        files=files,
        left_out=left_out,
        seconds=ending.exit.seconds if ending.exit else 0.0,
    )


def failed(result: Execution | ProgramRun) -> bool:
    """Return whether another job may have caused this failure, by using up a shared resource.

    Time and memory do not count: a hostile job would stop all others while it waits to run once more, alone.
    """
    bad = result.status in {"crashed", "fault"}
    return bad or (isinstance(result, ProgramRun) and bool(result.code))


_NEARLY = 0.75  # of the time allowed
# What native code dies of, such as a runtime that opens a broken file.
_NATIVE = tuple(
    getattr(signal, name) for name in ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL") if hasattr(signal, name)
)


def measured(ending: Ending, request: InspectRequest) -> Execution:
    """Return the Execution of a measurement that has ended. A failure that no student could cause is a fault."""
    name = f"reading {request.artifact.name}"
    printed = decoded(bytes(ending.child.output.data))
    status, reason, value = what_happened(ending, name, request.limits, printed)
    if status == "going":
        status, reason, value = _measurement(ending, request, name)
    by_library = ending.exit is not None and -ending.exit.code in _NATIVE
    if (status == "crashed" and not by_library) or (_killed(ending.exit, request.limits) and not ending.stopped):
        status = "fault"
    return Execution(
        status=status,
        value=value,
        reason=excerpt(reason, REASON_CHARS),
        printed=excerpt(printed, PRINTED_CHARS),
        seconds=ending.exit.seconds if ending.exit else 0.0,
    )


def replies(ending: Ending, request: ReadRequest) -> Execution:
    """Return the Execution of a reading that has ended, with every reply that came before its end."""
    printed = decoded(bytes(ending.child.output.data))
    status, reason, _ = what_happened(ending, "reading", request.limits, printed)
    try:
        found = unpack_each(ending.frames, len(request.asks))
    except NotPlainError as error:
        return Execution(status="crashed", reason=f"a reply is no plain data: {error}")
    whole = len(found) == len(request.asks) and status != "fault"
    broken: ExecutionStatus = "crashed" if status == "going" else status
    spent = ending.exit.seconds if ending.exit else 0.0
    reason = excerpt(reason, REASON_CHARS)
    return Execution(status="returned" if whole else broken, value=found, reason=reason, seconds=spent)


def opened(ending: Ending, limits: Limits) -> str:
    """Return why reading what a student packed broke off; an empty text if it did not.

    Raises:
        FaultError: the sandbox failed.
    """
    printed = decoded(bytes(ending.child.output.data))
    if ending.fault or not ending.up:
        message = f"the sandbox could not prepare the reading: {ending.fault or printed[-REASON_CHARS:]}"
        raise FaultError(message)
    end = ending.exit
    if end is None:
        return "what reads it was lost"
    match ending.stopped or end.why or ("cpu" if end.code == -getattr(signal, "SIGXCPU", 0) else ""):
        case "memory":
            return f"it takes more than {limits.memory >> 20} MiB of memory to read"
        case "":
            return "" if end.code == 0 else "what reads it broke off"
    return f"it takes more than {limits.seconds:.0f} s of computing to read"


def what_happened(
    ending: Ending, name: str, limits: Limits, printed: str
) -> tuple[ExecutionStatus | Literal["going"], str, object]:
    """Return the status, the reason and None where there is no result; status `going` where there may be one."""
    if ending.fault or not ending.up:
        reason = ending.fault or ("it took too long" if ending.stopped else printed[-REASON_CHARS:])
        return "fault", f"the sandbox could not prepare the call: {reason}", None
    if ending.child.printed_too_much:
        allowed = f"{limits.output / 1e6:,.3g} MB"
        return "output", f"{name} printed more than {allowed}; print less, such as totals alone", None
    broken = ending.stopped or (ending.exit.why if ending.exit else "")
    if broken:
        status, reason = _over_limit(broken, name, limits)
        return status, reason + (_SPAWNED if MODULE in printed and status in {"timeout", "waited"} else ""), None
    if ending.exit is None:  # which no code in a jail can do
        return "fault", f"the process that {name} was run by is gone", None
    if not ending.frames:
        return (*_without_result(ending.exit, name, limits), None)
    return "going", "", None


def frame(ending: Ending) -> object:
    """Return the plain data that the child sent.

    Raises:
        NotPlainError: it is not one frame of plain data.
    """
    return wire.unpack(ending.frames)


def _delivered(ending: Ending, call: CallRequest) -> tuple[ExecutionStatus, str, object, tuple[str, ...], str]:
    try:
        event = frame(ending)
        return (*_reply_of(event, call), seeded_of(event), _failed_cell(event, call))
    except wire.NotPlainError as error:
        return "refused", f"{call.function} left {error.problem} on the channel that carries its answer", None, (), ""


def _failed_cell(event: object, call: CallRequest) -> str:
    """Return the error of a notebook's cell that failed, although the function is there."""
    found = event.get("failed") if isinstance(event, dict) else None
    texts = texts_of("raised", found) if isinstance(found, dict) else None
    return in_words("raised", texts, call, memory=False)[1] if texts is not None else ""


def seeded_of(event: object) -> tuple[str, ...]:
    """Return the architectures whose weights stood in. The child says them: only names are taken."""
    found = event.get("seeded") if isinstance(event, dict) else None
    names = [name for name in found if isinstance(name, str) and name.isidentifier()] if isinstance(found, list) else []
    return tuple(name[:_NAME_CHARS] for name in names[:_MOST_SEEDED])


def _ran(
    ending: Ending, name: str, limits: Limits
) -> tuple[ExecutionStatus, str, int | None, dict[str, bytes], tuple[str, ...]]:
    try:
        match frame(ending):
            case {"event": "ran", "code": int(code), "files": dict(files), "left_out": list(left_out)}:
                if code == -getattr(signal, "SIGXCPU", 0):
                    return (*_over_limit("cpu", name, limits), None, {}, ())
                written = {str(path): data.tobytes() for path, data in files.items() if hasattr(data, "tobytes")}
                return "returned", "", code, written, tuple(map(str, left_out))
            case {"event": "unstarted", "problem": str(problem)}:
                return "missing", f"'{name}' could not be started: {problem}", None, {}, ()
    except wire.NotPlainError as error:
        return "refused", f"{name} left {error.problem} on the channel that carries its files", None, {}, ()
    return "refused", f"{name} left something on the channel that carries its files", None, {}, ()


def _measurement(ending: Ending, request: InspectRequest, name: str) -> tuple[ExecutionStatus, str, object]:
    try:
        event = frame(ending)
    except wire.NotPlainError as error:
        return "fault", f"{request.function} sent {error.problem}", None
    match event:
        case {"event": "measured", "value": value}:
            return "returned", "", value
        case {"event": "rejected", "problem": str(problem)}:
            return "refused", problem, None
        case {"event": "starved"}:
            return (*_over_limit("memory", name, request.limits), None)
        case {"event": "broke", "problem": str(problem)}:
            return "fault", f"{request.function} failed on {request.artifact.name}: {problem}", None
    return "fault", f"{request.function} sent something that no result looks like", None


def _over_limit(limit: str, name: str, limits: Limits) -> tuple[ExecutionStatus, str]:
    seconds = f"{limits.seconds:g} s"
    match limit:
        case "cpu":
            return "timeout", f"{name} used more than {seconds} of computing time"
        case "memory":
            return "memory", f"{name} used more than {limits.memory / 1e6:,.0f} MB of memory"
        case "processes":
            return "crashed", f"{name} started more than {PROCESSES} processes"
    return "waited", f"{name} did not end; it may compute for {seconds}, and it was waiting longer than that"


def _without_result(end: Exit, name: str, limits: Limits) -> tuple[ExecutionStatus, str]:
    """Return the status and the reason of a process that ended without a result."""
    if end.code == -getattr(signal, "SIGXCPU", 0) or (end.code == -9 and _is_used_up(end, limits)):  # noqa: PLR2004
        return _over_limit("cpu", name, limits)
    if _killed(end, limits):
        why = "as it may do itself, and as a system does that has no memory left"
        return "memory", f"the process was killed by {signal_name(-end.code)} before {name} returned, {why}"
    if end.code < 0:
        return "crashed", f"the process was killed by {signal_name(-end.code)} before {name} returned"
    return "crashed", f"the process ended with os._exit({end.code}) before {name} returned"


def _killed(end: Exit | None, limits: Limits) -> bool:
    """Return whether the process was killed within its limits.

    Who killed it can't be known: a student's code may end itself so. That is why it costs points, once it was tried
    again; only where no student's code runs it is ours.
    """
    return end is not None and not (end.why or _is_used_up(end, limits)) and end.code == -getattr(signal, "SIGKILL", 0)


def _is_used_up(end: Exit, limits: Limits) -> bool:
    """Return whether its time was nearly over: the kernel counts ticks, which run ahead on a busy machine."""
    return end.seconds >= _NEARLY * limits.seconds


def signal_name(number: int) -> str:
    """Return a signal as text: `signal 11 (SIGSEGV)`."""
    name = signal.Signals(number).name if number in set(signal.Signals) else "a signal of no name"
    return f"signal {number} ({name})"


def _reply_of(event: object, call: CallRequest) -> tuple[ExecutionStatus, str, object]:
    """Return the status, the reason and the value that the child reports. A forged report can say nothing worse.

    Raises:
        NotPlainError: it is none of the things that a child says.
    """
    match event:
        case {"event": "returned", "value": value}:
            return "returned", "", value
        case {"event": "missing", "names": list(names)}:
            close = did_you_mean(call.function, [name for name in names[:MOST_NAMES] if isinstance(name, str)])
            return "missing", f"the file defines no '{call.function}' once it is imported{close}", None
        case {"event": str(kind)} if kind in _TEXTS:
            found = cast("dict[str, Any]", event)
            texts = texts_of(kind, found)
            if texts is not None:
                return in_words(kind, texts, call, memory=found.get("memory") is True)
    problem = "something that no result looks like"
    raise wire.NotPlainError(problem)


def texts_of(kind: str, found: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the texts of a child's event of that kind; None where one is missing or is no text."""
    texts = {key: found.get(key) for key in _TEXTS[kind]}
    return cast("dict[str, str]", texts) if all(isinstance(text, str) for text in texts.values()) else None


def in_words(
    kind: str, found: dict[str, str], call: CallRequest | ScriptRequest, *, memory: bool
) -> tuple[ExecutionStatus, str, object]:
    """Return the status and the reason that an event's texts describe."""
    if kind == "unfit":
        return "crashed", f"{call.function} {found['problem']}", None
    if kind == "unconverted":  # a person looks, also where a student's code says so
        return "fault", f"{call.function} returned what can't be converted here: {found['problem']}", None
    if kind == "refused":
        where = f"in {found['where']}, " if found["where"] else ""
        return "refused", f"{call.function} returned {where}{found['problem']}", None
    allowed = f" (it may use {call.limits.memory / 1e6:,.0f} MB)" if memory else ""
    return "memory" if memory else "crashed", _raised(found, call) + allowed, None


def _raised(found: dict[str, str], call: CallRequest | ScriptRequest) -> str:
    place = found["where"] + (f" in {found['inside']}" if found["where"] and found["inside"] else "")
    line = f"{place}: `{found['code']}` " if place else f"{call.function} "
    message = f": {found['message']}" if found["message"] else ""
    if found["kind"] == "SystemExit":
        when = "while the file was imported" if found["phase"] == "import" else f"before {call.function} returned"
        return f"{line}ended the program (SystemExit{message}) {when}"
    # What a notebook defined before the cell that failed is there all the same.
    whole = found["phase"] == "import" and call.file.endswith(".py") and isinstance(call, CallRequest)
    return f"{line}raised {found['kind']}{message}{NOT_IMPORTED * whole}"


_SAID_CHARS = 200


def script_run(ending: Ending, request: ScriptRequest, left_out: list[str]) -> ProgramRun:
    """Return the ProgramRun of a Python program that has ended. `left_out`: files too large to be copied for it."""
    printed = decoded(bytes(ending.child.output.data))
    status, reason, _ = what_happened(ending, request.file, request.limits, printed)
    if status != "going":
        return ProgramRun(
            status=status,
            reason=excerpt(reason, REASON_CHARS),
            stdout=bytes(ending.child.output.data),
            seconds=ending.exit.seconds if ending.exit else 0.0,
        )
    return _script_ran(ending, request, left_out)


def _script_ran(ending: Ending, request: ScriptRequest, left_out: list[str]) -> ProgramRun:
    try:
        event = frame(ending)
    except wire.NotPlainError as error:
        event = error.problem
    match event:
        case {"event": "ran", "code": int(code), "files": dict(files), "left_out": list(large), **rest}:
            errors = str(rest.get("errors") or "")
            status, reason = _ended(code, rest.get("raised"), errors, request)
            if status == "crashed" and left_out:
                reason += f" (too large to be copied for it: {', '.join(left_out[:5])})"
            return ProgramRun(
                status=status,
                code=code,
                reason=excerpt(reason, REASON_CHARS),
                stdout=bytes(ending.child.output.data),
                stderr=errors.encode(),
                files={str(path): data.tobytes() for path, data in files.items() if hasattr(data, "tobytes")},
                left_out=tuple(map(str, large)),
                seconds=ending.exit.seconds if ending.exit else 0.0,
                seeded=seeded_of(event),
            )
    reason = f"{request.file} left something on the channel that carries its files"
    return ProgramRun(status="refused", reason=reason, stdout=bytes(ending.child.output.data))


def _ended(code: int, found: object, errors: str, request: ScriptRequest) -> tuple[ExecutionStatus, str]:
    """Return the status and the reason, from the exit code (or minus a signal) and the exception `found`."""
    if isinstance(found, dict) and (texts := texts_of("raised", found)) is not None:
        status, reason, _ = in_words("raised", texts, request, memory=found.get("memory") is True)
        return status, reason
    if code == 0:
        return "returned", ""
    if code == -getattr(signal, "SIGXCPU", 0):
        return "timeout", f"{request.file} used more than {request.limits.seconds:g} s of computing time"
    if code < 0:
        return "crashed", f"{request.file} was killed by {signal_name(-code)}"
    last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "")
    said = f", saying '{last[:_SAID_CHARS]}'" if last else ""
    return "crashed", f"{request.file} ended with exit code {code}{said}"
