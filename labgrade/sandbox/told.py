"""An exception of a student's code in plain words: its kind, its message, the last line of the student's own."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import TypeAlias

Event: TypeAlias = dict[str, object]
NO_PLACE: Event = {"message": "", "where": "", "code": "", "inside": ""}
_MESSAGE_CHARS = 2000
_RELATIVE = "attempted relative import with no known parent package"


def raised(error: BaseException, folder: Path, phase: str) -> Event:
    """An exception in plain words, whatever it does to keep from being described."""
    event: Event = {**NO_PLACE, "event": "raised", "phase": phase, "kind": "exception", "memory": False}
    try:
        event["kind"] = str.__str__(type(error).__name__)[:100]
        event["memory"] = _is_out_of_memory(error)
        event.update(_place(error, folder))
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        event["message"] = str.__str__(text)[:_MESSAGE_CHARS]
        if event["kind"] == "ImportError" and event["message"] == _RELATIVE:
            event["message"] = (
                f"{_RELATIVE}; the file is imported by itself: write `import name`, not `from . import name`"
            )
    except BaseException:  # noqa: BLE001
        event["message"] = "(its message cannot be shown)"
    return event


def _is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error))


def _place(error: BaseException, folder: Path) -> Event:
    """The last line of the student's own that the exception went through."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_relative_to(folder):
        own = Path(error.filename).relative_to(folder).as_posix()
        return {"where": f"{own}:{error.lineno}", "code": (error.text or "").strip()[:200], "inside": ""}
    found: Event = {}
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if Path(code.co_filename).is_relative_to(folder):
            own = Path(code.co_filename).relative_to(folder).as_posix()
            line = linecache.getline(code.co_filename, trace.tb_lineno).strip()[:200]
            inside = "" if code.co_name == "<module>" else code.co_name
            found = {"where": f"{own}:{trace.tb_lineno}", "code": line, "inside": inside}
        trace = trace.tb_next
    return found
