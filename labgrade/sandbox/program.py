"""A program within the child: started in the copy of the hand-in, waited for, and what it wrote collected.

Whatever it does to the collector, which is of the same user, can only change what it says of itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from labgrade.sandbox.wire import RawArray, RefusedError, pack
from labgrade.sandbox.written import Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def run(job: Mapping[str, Any], folder: Path) -> bytes:
    """The frame: `ran` with the exit code (minus a signal) and the files written, or `unstarted` with the reason."""
    before = Snapshot(folder)
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]  # noqa: PTH120 - text
    try:
        process = subprocess.Popen(job["command"], cwd=folder, stdin=subprocess.DEVNULL)
        code = process.wait()
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        return pack({"event": "unstarted", "problem": problem}, _refuse)
    written, left_out = before.changed()
    files = {name: RawArray("|u1", (len(data),), data) for name, data in written.items()}
    return pack({"event": "ran", "code": code, "files": files, "left_out": left_out}, _refuse)


def _refuse(item: object) -> object:
    raise RefusedError(type(item).__name__)
