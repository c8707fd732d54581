"""One job within the child: load the student's file, find the function, call it, pack what it returns.

What is said of an exception is the student's own line, never a frame of ours. All of this can be forged by the code it
runs, and all that can be gained is another value or another message.
"""

from __future__ import annotations

import importlib.util
import inspect
import linecache
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from labgrade.sandbox.foreign import convert
from labgrade.sandbox.wire import RefusedError, pack

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

MODULE = "student_file"
_MESSAGE_CHARS = 2000
_MOST_NAMES = 200
Event: TypeAlias = dict[str, object]
_NO_PLACE: Event = {"message": "", "where": "", "code": "", "inside": ""}


class Job(TypedDict):
    """Which function of which file."""

    file: str
    function: str


def perform(job: Job, values: Mapping[str, object], folder: Path) -> bytes:
    """The frame that tells what came of it."""
    try:
        module = _load(folder, job["file"])
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are the student's here
        return _packed(_raised(error, folder, "import"))
    names = vars(module)
    if job["function"] not in names:
        functions = [name for name, item in names.items() if type(name) is str and callable(item)]
        return _packed({"event": "missing", "names": [name[:80] for name in functions[:_MOST_NAMES]]})
    function = names[job["function"]]
    problem = _unfit(function, values)
    if problem:
        return _packed({"event": "unfit", "problem": problem})
    try:
        value = function(*values.values())
    except BaseException as error:  # noqa: BLE001
        return _packed(_raised(error, folder, "call"))
    return _packed({"event": "returned", "value": value})


def _load(folder: Path, file: str) -> ModuleType:
    """Import a file by its path. Its folder comes last in the search path: a torch.py beside it shadows nothing."""
    path = folder / file
    sys.argv[:] = [str(path)]
    sys.path += dict.fromkeys([str(path.parent), str(folder)])
    loader = SourceFileLoader(MODULE, str(path))
    spec = importlib.util.spec_from_file_location(MODULE, path, loader=loader)
    if spec is None:
        raise ImportError(file)
    linecache.getlines(str(path))  # read now: the file may be gone when a line of it is to be shown
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    loader.exec_module(module)
    return module


def _unfit(function: Any, values: Mapping[str, object]) -> str:
    """Why `function` can't be called with that many arguments, or nothing."""
    if not callable(function):
        return f"is of type {type(function).__name__}, not a function"
    try:
        signature = inspect.signature(function)
    except Exception:  # noqa: BLE001 - a callable without a readable signature is called as it is
        return ""
    try:
        signature.bind(*values.values())
    except TypeError:
        own = [name for name, item in signature.parameters.items() if item.default is inspect.Parameter.empty]
        by_name = [name for name in own if signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY]
        if by_name:
            return f"takes '{by_name[0][:60]}' by name only, the task gives it by position: take out the *"
        count = f"{len(own)} argument{'' if len(own) == 1 else 's'}" if own else "no argument"
        named = f" ({', '.join(own)[:200]})" if own else ""
        return f"takes {count}{named}, the task gives {len(values)}: {', '.join(values)}"
    return ""


def _raised(error: BaseException, folder: Path, phase: str) -> Event:
    """An exception in plain words, whatever it does to keep from being described."""
    event: Event = {**_NO_PLACE, "event": "raised", "phase": phase, "kind": "exception", "memory": False}
    try:
        event["kind"] = str.__str__(type(error).__name__)[:100]
        event["memory"] = _is_out_of_memory(error)
        event.update(_place(error, folder))
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        event["message"] = str.__str__(text)[:_MESSAGE_CHARS]
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


def _packed(event: Event) -> bytes:
    try:
        return pack(event, convert)
    except RefusedError as error:
        where = error.where.removeprefix("['value']")
        return _packed({"event": "refused", "problem": error.problem, "where": where})
    except MemoryError:
        return _packed({**_NO_PLACE, "event": "raised", "phase": "call", "kind": "MemoryError", "memory": True})
    except BaseException as error:  # noqa: BLE001 - an item of the student's may raise while it is looked at
        name = type(error).__name__
        event = {"event": "refused", "problem": f"something that raised {name} when it was read", "where": ""}
        return _packed(event)
