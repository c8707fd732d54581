"""One job within the child: load the student's file, find the function, call it, pack what it returns.

What is said of an exception is the student's own line, never a frame of labgrade's. The code that runs can forge
all of this, and all that can be gained is another value or another message.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import linecache
import sys
from importlib.machinery import SourceFileLoader
from itertools import islice
from pathlib import Path
from time import process_time  # as it is now, whatever a student's code makes of the module's
from types import GeneratorType
from typing import TYPE_CHECKING, Any, TypeAlias

from labgrade.sandbox.child import notebook
from labgrade.sandbox.child.plain_data import convert
from labgrade.sandbox.child.surroundings import Surroundings
from labgrade.sandbox.child.wire import MODULE, MOST_NAMES, NotPlainError, pack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

Event: TypeAlias = dict[str, object]
_Uses: TypeAlias = "Sequence[Callable[[Callable[..., object]], object]]"
NO_PLACE: Event = {"message": "", "where": "", "code": "", "inside": ""}
_MESSAGE_CHARS = 2000
_RELATIVE = "attempted relative import with no known parent package"


def raised(error: BaseException, folder: Path, phase: str) -> Event:
    """Describe an exception in plain words, even one that resists being described."""
    event: Event = {**NO_PLACE, "event": "raised", "phase": phase, "kind": "exception", "memory": False}
    try:
        event["kind"] = str.__str__(type(error).__name__)[:100]
        event["memory"] = _is_out_of_memory(error)
        event.update(place(error, folder))
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


def place(error: BaseException, folder: Path) -> Event:
    """Return the last line of the student's own code that the exception went through."""
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


_FAILING_SECONDS = 1.0
_MOST_YIELDED = 1 << 22


def load_and_use(
    job: Mapping[str, Any], names: tuple[str, ...], folder: Path, use: Callable[[Callable[..., object]], object]
) -> bytes:
    """Load the function of a job, let `use` call it with values of these `names`, and pack the outcome."""
    around = Surroundings(job["torch_home"])
    event = _used(job, names, folder, use)
    return _packed({**event, "seeded": around.seeded})


def call_each(job: Mapping[str, Any], several: Sequence[Mapping[str, object]], folder: Path) -> bytes:
    """Call the function for each of several subjects, up to the first call that fails, and pack the results.

    Where the job says `past`, a call that raises at once does not end this: its result is None.
    """
    failing = _FAILING_SECONDS if job["past"] else 0.0
    return use_each(job, folder, [functools.partial(_called, values) for values in several], failing)


def _called(values: Mapping[str, object], function: Callable[..., object]) -> object:
    return _listed(function(*values.values()))


def use_each(job: Mapping[str, Any], folder: Path, uses: _Uses, failing: float = 0.0) -> bytes:
    """Let each of `uses` call the function, up to the first that fails, and pack the results.

    Failing calls are passed over until they have taken `failing` seconds of computing in all.
    """
    around = Surroundings(job["torch_home"])
    return _packed({**_uses(job, folder, uses, failing), "seeded": around.seeded})


def _uses(job: Mapping[str, Any], folder: Path, uses: _Uses, failing: float) -> Event:
    try:
        function = vars(_load(folder, job)[0])[job["function"]]
    except BaseException as error:  # noqa: BLE001
        return raised(error, folder, "import")
    said: list[object] = []
    for use in uses:
        start = process_time()
        try:
            said.append(use(function))
        except BaseException as error:  # noqa: BLE001 - a call of its own says what is wrong with it
            failing -= process_time() - start
            if failing <= 0 or not isinstance(error, Exception) or _is_out_of_memory(error):
                break
            said.append(None)
    return {"event": "returned", "value": said}


class UnfitValueError(Exception):
    """The function returned something that can be no answer; the message follows `returned`."""


class UnconvertedError(Exception):
    """The function returned something valid that labgrade can't convert; the message is for staff."""


def _used(
    job: Mapping[str, Any], names: tuple[str, ...], folder: Path, use: Callable[[Callable[..., object]], object]
) -> Event:
    try:
        module, failed = _load(folder, job)
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are the student's here
        return raised(error, folder, "import")
    there = vars(module)
    if failed is not None:
        cell = raised(failed, folder, "import")
        return {**_used_of(job, there, names, folder, use), "failed": cell} if job["function"] in there else cell
    return _used_of(job, there, names, folder, use)


def _used_of(
    job: Mapping[str, Any],
    there: Mapping[str, Any],
    names: tuple[str, ...],
    folder: Path,
    use: Callable[[Callable[..., object]], object],
) -> Event:
    if job["function"] not in there:
        functions = [name for name, item in there.items() if type(name) is str and callable(item)]
        return {"event": "missing", "names": [name[:80] for name in functions[:MOST_NAMES]]}
    function = there[job["function"]]
    problem = _unfit(function, names)
    if problem:
        return {"event": "unfit", "problem": problem}
    try:
        value = _listed(use(function))
    except UnfitValueError as error:
        return {"event": "refused", "problem": str(error), "where": ""}
    except UnconvertedError as error:
        return {"event": "unconverted", "problem": str(error)}
    except BaseException as error:  # noqa: BLE001
        return raised(error, folder, "call")
    return {"event": "returned", "value": value}


def _listed(value: object) -> object:
    """List what a generator yields here, so that an error in it names the student's own line."""
    return list(islice(value, _MOST_YIELDED)) if type(value) is GeneratorType else value


def _load(folder: Path, job: Mapping[str, Any]) -> tuple[ModuleType, BaseException | None]:
    """Import a job's file by its path; also return what a notebook's cell raised. Report that loading has ended.

    The file's folder comes last in the search path, so that a torch.py beside it shadows nothing.
    """
    file: str = job["file"]
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
    if file.endswith(notebook.SUFFIX):
        failed = notebook.run(module, str(path), path.read_bytes())
    else:
        failed = None
        loader.exec_module(module)
    job["loaded"]()
    return module, failed


def _unfit(function: Any, names: tuple[str, ...]) -> str:
    """Return why `function` can't be called with that many arguments; an empty text if it can."""
    if not callable(function):
        return f"is of type {type(function).__name__}, not a function"
    try:
        signature = inspect.signature(function, follow_wrapped=False)  # what a decorator's wrapper takes counts
    except Exception:  # noqa: BLE001 - a callable without a readable signature is called as it is
        return ""
    try:
        signature.bind(*names)
    except TypeError:
        own = [name for name, item in signature.parameters.items() if item.default is inspect.Parameter.empty]
        by_name = [name for name in own if signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY]
        if by_name:
            return f"takes '{by_name[0][:60]}' by name only, the task gives it by position: take out the *"
        count = f"{len(own)} argument{'' if len(own) == 1 else 's'}" if own else "no argument"
        named = f" ({', '.join(own)[:200]})" if own else ""
        return f"takes {count}{named}, the task gives {len(names)}: {', '.join(names)}"
    return ""


def _packed(event: Event) -> bytes:
    try:
        return pack(event, convert)
    except NotPlainError as error:
        where = error.where.removeprefix("['value']")
        return _packed({"event": "refused", "problem": error.problem, "where": where})
    except MemoryError:
        return _packed({**NO_PLACE, "event": "raised", "phase": "call", "kind": "MemoryError", "memory": True})
    except BaseException as error:  # noqa: BLE001 - an item of the student's may raise while it is looked at
        name = type(error).__name__
        event = {"event": "refused", "problem": f"something that raised {name} when it was read", "where": ""}
        return _packed(event)
