"""The code of a Jupyter notebook: its cells in their order, without what is written for the notebook alone."""

from __future__ import annotations

import json
import linecache
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

SUFFIX = ".ipynb"
_MAGIC = re.compile(r"(?m)^([ \t]*)(?:%{1,2}[A-Za-z]\w*|!)(?![ \t]*=).*$")
_PYTHON_STILL = ("time", "timeit", "capture", "prun")  # of a whole cell, which is Python all the same
_CELL = re.compile(r"\s*%%(\w+)")


def cells(data: bytes) -> list[str]:
    """Return the source of each code cell; a line of magic is `pass`, and a cell of another language is empty.

    Raises:
        ValueError, TypeError, KeyError, AttributeError, RecursionError: it is no notebook.
    """
    found = ["".join(cell["source"]) for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"]
    return [_plain(source) for source in found]


def _plain(source: str) -> str:
    whole = _CELL.match(source)
    return "" if whole and whole[1] not in _PYTHON_STILL else _MAGIC.sub(r"\1pass", source)


def run(module: ModuleType, path: str, data: bytes) -> BaseException | None:
    """Execute the cells in the module; return the first error. A cell that fails stops no other cell.

    A cell counts as a file, so that a message can say which one.

    Raises:
        ImportError: it is no notebook.
    """
    try:
        found = cells(data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = f"it is no notebook that can be read ({type(error).__name__}: {error})"
        raise ImportError(message) from None
    failed: BaseException | None = None
    for number, source in enumerate(found, 1):
        name = f"{path}, code cell {number}"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        try:
            exec(compile(source, name, "exec"), vars(module))  # noqa: S102 - a student's code, in its jail
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, it is the student's
            failed = failed or error
    return failed
