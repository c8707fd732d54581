"""What to do about errors that come from where work is graded, not from what is wrong with it; and what to know."""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
from typing import TYPE_CHECKING

from labgrade.core.results import Execution

if TYPE_CHECKING:
    from labgrade.sandbox.requests import ProgramRun

_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']{1,80})'")
_ALWAYS = ("numpy", "onnx", "onnxruntime", "torch", "torchvision")
_OFTEN = ("fvcore", "matplotlib", "pandas", "ptflops", "scipy", "thop", "torchinfo", "torchsummary", "tqdm")
_NEWER = re.compile(  # what Python 3.12 takes, and 3.11 does not
    r"raised SyntaxError: f-string\b|`[^`]*\b[Rr]?[fF]['\"][^`]*\{[^`]*` raised SyntaxError: unexpected"
    r"|`(?:(?:async )?(?:def|class) \w+\[|type \w+(?:\[[^`]*\])? = )[^`]*` raised SyntaxError"
)
_NO_FILE = re.compile(r"FileNotFoundError: .{0,40}No such file or directory: '([^']{1,200})'")


def hint(execution: Execution | ProgramRun) -> str:
    """Return the remedy for a failed run; an empty text if none is known."""
    if found := _NO_MODULE.search(execution.reason):
        return _not_installed(found[1].partition(".")[0])
    if found := _NO_FILE.search(execution.reason):
        return f"hand in '{found[1]}', too, and open it by a path relative to your program's folder"
    if _NEWER.search(execution.reason) and sys.version_info < (3, 12):
        return (
            "if this line runs for you, you have a newer Python: your work is graded by Python 3.11, which takes "
            "neither an f-string's own quotes nor a backslash within its braces, nor `type X = ...` or `def f[T](...)`"
        )
    if "EOFError: EOF when reading a line" in execution.reason:
        return "nobody types while your work is graded: take what you need as a constant, not by input()"
    if execution.status == "memory":
        return "a loop that keeps what it makes and does not end takes all memory, too: look for one"
    return ""


@functools.cache  # to look whether a package is there reads folders
def _there() -> tuple[str, ...]:
    return (*_ALWAYS, *(name for name in _OFTEN if importlib.util.find_spec(name) is not None))


def _not_installed(module: str) -> str:
    there = _there()
    return (
        f"'{module}' is not installed where your work is graded: a file of your own must be handed in, too; of "
        f"packages, Python's own, {', '.join(there[:-1])} and {there[-1]} may be imported. Import others only inside "
        "of the function that needs them, and the rest of the file still counts; or hand in what your program printed"
    )


def notes(execution: Execution | ProgramRun) -> tuple[str, ...]:
    """Return remarks beside the verdict: weights that stood in for trained ones, a cell of a notebook that failed."""
    failed = execution.failed if isinstance(execution, Execution) else ""
    cell = (f"what the notebook defines is judged although a cell failed: {failed}",) if failed else ()
    if not execution.seeded:
        return cell
    names = ", ".join(f"'{name}'" for name in execution.seeded)
    note = (
        f"the trained weights of {names} can't be downloaded here: seeded ones stood in, which change no count and no "
        "shape, but every value that depends on weights"
    )
    return (note, *cell)
