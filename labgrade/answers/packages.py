"""What to do where a student's code imports a package that is not there."""

from __future__ import annotations

import importlib.util
import re

_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']{1,80})'")
_ALWAYS = ("numpy", "onnx", "onnxruntime", "torch", "torchvision")
_OFTEN = ("fvcore", "matplotlib", "pandas", "ptflops", "scipy", "thop", "torchinfo", "torchsummary", "tqdm")


def hint(reason: str) -> str:
    """The remedy where `reason` is of a missing module, else nothing: names it, and what may be imported."""
    found = _NO_MODULE.search(reason)
    if found is None:
        return ""
    top = found[1].partition(".")[0]
    there = (*_ALWAYS, *(name for name in _OFTEN if importlib.util.find_spec(name) is not None))
    return (
        f"'{top}' is not there where work is graded: a file of your own must be handed in, too; of packages, "
        f"Python's own, {', '.join(there[:-1])} and {there[-1]} may be imported. Import others only inside of the "
        "function that needs them, and the rest of the file still counts"
    )
