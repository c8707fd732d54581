"""How a process of labgrade's is started: it imports nothing out of the working folder, which may be a student's."""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

_HOME = str(Path(__file__).parents[2])
_BEGIN = """
import runpy, sys
home, module = sys.argv[1:3]
del sys.argv[1:3]
sys.path.append(home)
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this labgrade."""
    return [sys.executable, "-P", "-c", _BEGIN, _HOME, module, *arguments]


def environment(**own: str) -> dict[str, str]:
    """Return our environment with a process's own variables, without entries of PYTHONPATH that are relative."""
    found = {**os.environ, "OMP_NUM_THREADS": "1", **own}
    kept = [path for path in found.pop("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(path)]  # noqa: PTH117
    return {**found, "PYTHONPATH": os.pathsep.join(kept)} if kept else found


def search_path() -> list[str]:
    """Return where such a process looks for modules beside the interpreter's own places, in order."""
    own = environment().get("PYTHONPATH", "").split(os.pathsep)
    return [place for place in (*own, site.USER_SITE if site.ENABLE_USER_SITE else "", _HOME) if place]
