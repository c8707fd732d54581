"""What came of a Python program: like that of a function, with its own line, and with what it printed and wrote."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from labgrade.sandbox import outcome, wire
from labgrade.sandbox.request import ProgramRun
from labgrade.sandbox.visible import decoded, visible

if TYPE_CHECKING:
    from labgrade.results import ExecutionStatus
    from labgrade.sandbox.follow import Ending
    from labgrade.sandbox.request import ScriptRequest

_SAID_CHARS = 200


def program_run(ending: Ending, request: ScriptRequest, left_out: list[str]) -> ProgramRun:
    """The ProgramRun of a Python program that has ended. `left_out`: files too large to be copied for it."""
    printed = decoded(bytes(ending.child.output.data))
    status, reason, _ = outcome.what_happened(ending, request.file, request.limits, printed)
    if status != "going":
        return ProgramRun(
            status=status,
            reason=visible(reason, outcome.REASON_CHARS),
            stdout=bytes(ending.child.output.data),
            seconds=ending.exit.seconds if ending.exit else 0.0,
        )
    return _ran(ending, request, left_out)


def _ran(ending: Ending, request: ScriptRequest, left_out: list[str]) -> ProgramRun:
    try:
        event = outcome.frame(ending)
    except wire.RefusedError as error:
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
                reason=visible(reason, outcome.REASON_CHARS),
                stdout=bytes(ending.child.output.data),
                stderr=errors.encode(),
                files={str(path): data.tobytes() for path, data in files.items() if hasattr(data, "tobytes")},
                left_out=tuple(map(str, large)),
                seconds=ending.exit.seconds if ending.exit else 0.0,
                seeded=outcome.seeded_of(event),
            )
    reason = f"{request.file} left something on the channel that carries its files"
    return ProgramRun(status="refused", reason=reason, stdout=bytes(ending.child.output.data))


def _ended(code: int, told: object, errors: str, request: ScriptRequest) -> tuple[ExecutionStatus, str]:
    """By its exit code, or minus a signal, and the exception that ended it."""
    if isinstance(told, dict) and (texts := outcome.texts_of("raised", told)) is not None:
        status, reason, _ = outcome.in_words("raised", texts, request, memory=told.get("memory") is True)
        return status, reason
    if code == 0:
        return "returned", ""
    if code == -getattr(signal, "SIGXCPU", 0):
        return "timeout", f"{request.file} used more than {request.limits.seconds:g} s of computing time"
    if code < 0:
        return "crashed", f"{request.file} was killed by {outcome.signal_name(-code)}"
    last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "")
    said = f", saying '{last[:_SAID_CHARS]}'" if last else ""
    return "crashed", f"{request.file} ended with exit code {code}{said}"
