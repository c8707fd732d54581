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
from itertools import islice
from types import GeneratorType
from typing import TYPE_CHECKING, Any, TypedDict

from labgrade.sandbox.foreign import convert
from labgrade.sandbox.surroundings import Surroundings
from labgrade.sandbox.told import NO_PLACE, raised
from labgrade.sandbox.wire import RefusedError, pack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    from labgrade.sandbox.told import Event

MODULE = "student_file"
_MOST_NAMES = 200
_MOST_YIELDED = 1 << 22


class Job(TypedDict):
    """Which function of which file."""

    file: str
    function: str
    torch_home: str


def perform(job: Job, values: Mapping[str, object], folder: Path) -> bytes:
    """The frame that tells what came of it."""
    around = Surroundings(job["torch_home"])
    event = _call(job, values, folder)
    return _packed({**event, "seeded": around.seeded})


def perform_each(job: Job, several: Sequence[Mapping[str, object]], folder: Path) -> bytes:
    """The frame of what the function returned for each of several, up to the first call that does not return."""
    around = Surroundings(job["torch_home"])
    return _packed({**_calls(job, several, folder), "seeded": around.seeded})


def _calls(job: Job, several: Sequence[Mapping[str, object]], folder: Path) -> Event:
    try:
        function = vars(_load(folder, job["file"]))[job["function"]]
    except BaseException as error:  # noqa: BLE001
        return raised(error, folder, "import")
    said: list[object] = []
    for values in several:
        try:
            value = function(*values.values())
            said.append(list(islice(value, _MOST_YIELDED)) if type(value) is GeneratorType else value)
        except BaseException:  # noqa: BLE001 - what is wrong with it is told when it is called by itself
            break
    return {"event": "returned", "value": said}


def _call(job: Job, values: Mapping[str, object], folder: Path) -> Event:
    try:
        module = _load(folder, job["file"])
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are the student's here
        return raised(error, folder, "import")
    names = vars(module)
    if job["function"] not in names:
        functions = [name for name, item in names.items() if type(name) is str and callable(item)]
        return {"event": "missing", "names": [name[:80] for name in functions[:_MOST_NAMES]]}
    function = names[job["function"]]
    problem = _unfit(function, values)
    if problem:
        return {"event": "unfit", "problem": problem}
    try:
        value = function(*values.values())
        if type(value) is GeneratorType:  # what it raises is told with the student's own line
            value = list(islice(value, _MOST_YIELDED))
    except BaseException as error:  # noqa: BLE001
        return raised(error, folder, "call")
    return {"event": "returned", "value": value}


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


def _packed(event: Event) -> bytes:
    try:
        return pack(event, convert)
    except RefusedError as error:
        where = error.where.removeprefix("['value']")
        return _packed({"event": "refused", "problem": error.problem, "where": where})
    except MemoryError:
        return _packed({**NO_PLACE, "event": "raised", "phase": "call", "kind": "MemoryError", "memory": True})
    except BaseException as error:  # noqa: BLE001 - an item of the student's may raise while it is looked at
        name = type(error).__name__
        event = {"event": "refused", "problem": f"something that raised {name} when it was read", "where": ""}
        return _packed(event)
