"""What to do about errors that come from where work is graded, not from what is wrong with it; and what to know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labgrade.results import Execution
    from labgrade.sandbox.request import ProgramRun

_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']{1,80})'")
_NO_FILE = re.compile(r"FileNotFoundError: .{0,40}No such file or directory: '([^']{1,200})'")


def hint(execution: Execution | ProgramRun) -> str:
    """The remedy, or nothing."""
    if found := _NO_MODULE.search(execution.reason):
        top = found[1].partition(".")[0]
        return (
            f"'{top}' is not installed where your work is graded: if it is a file of your own, hand it in, too; "
            "if it is a package, do without it, or hand in what your program printed"
        )
    if found := _NO_FILE.search(execution.reason):
        return f"hand in '{found[1]}', too, and open it by a path relative to your program's folder"
    if "EOFError: EOF when reading a line" in execution.reason:
        return "nobody types while your work is graded: take what you need as a constant, not by input()"
    return ""


def notes(execution: Execution | ProgramRun) -> tuple[str, ...]:
    """What holds beside the verdict: weights that stood in for trained ones."""
    if not execution.seeded:
        return ()
    names = ", ".join(f"'{name}'" for name in execution.seeded)
    note = (
        f"the trained weights of {names} can't be downloaded here: seeded ones stood in, which change no count and no "
        "shape, but every value that depends on weights"
    )
    return (note,)
