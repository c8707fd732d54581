"""Measures a student's file with code of ours, in a process of its own, with limits on time and memory.

What a quantity raises as a ValueError is the student's: the file is no model, or not a valid one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.model import Limits
from labgrade.results import Execution

if TYPE_CHECKING:
    from collections.abc import Mapping

_START_SECONDS = 30.0
_SPARE_BYTES = 4 << 30  # address space that libraries take and never touch
_REPLY_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectRequest:
    """One measurement of a student's file: `function(path, **parameters)` of the trusted `file`, such as a quantity.

    `beside` are further files in the artifact's folder, by name, such as its external data.
    """

    file: Path
    function: str
    artifact: Path
    beside: Mapping[str, Path] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


def inspect(request: InspectRequest) -> Execution:
    """Measure a file. `returned` with plain data; `refused` with what is wrong with the file; `timeout`, `memory`.

    `crashed`: reading it ended the process. `fault`: anything else, which is ours.
    """
    if any("/" in name for name in request.beside):
        with tempfile.TemporaryDirectory(prefix="labgrade-inspect-") as folder:
            return inspect(_placed(request, Path(folder)))
    job = {
        "file": str(request.file),
        "function": request.function,
        "artifact": str(request.artifact),
        "parameters": dict(request.parameters),
        "seconds": request.limits.seconds,
        "memory": request.limits.memory + _SPARE_BYTES,
    }
    with tempfile.TemporaryFile() as replies:
        child = subprocess.Popen(
            [sys.executable, "-m", "labgrade.inspection"],
            stdin=subprocess.PIPE,
            stdout=replies,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
        )
        try:
            child.communicate(json.dumps(job).encode(), timeout=4 * request.limits.seconds + _START_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return _ended("timeout", request)
        replies.seek(0)
        reply = replies.read(_REPLY_BYTES)
    return _told(reply, child.returncode, request)


def _placed(request: InspectRequest, folder: Path) -> InspectRequest:
    """The same request on copies: the artifact, and what is to lie beside it, also in folders there."""
    for name, source in {request.artifact.name: request.artifact, **request.beside}.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            target.hardlink_to(source)
        except OSError:
            shutil.copyfile(source, target)
    return replace(request, artifact=folder / request.artifact.name, beside={})


def _told(reply: bytes, code: int, request: InspectRequest) -> Execution:
    try:
        said: dict[str, Any] = json.loads(reply)
    except ValueError:
        # 24 and 9 are SIGXCPU and SIGKILL, the kernel's answers to too much computing time.
        return _ended("timeout" if code in (-24, -9) else "crashed", request)
    match said:
        case {"value": value}:
            return Execution(status="returned", value=value)
        case {"refused": reason}:
            return Execution(status="refused", reason=str(reason))
        case {"memory": _}:
            return _ended("memory", request)
    return Execution(status="fault", reason=f"measuring '{request.function}' failed: {said.get('fault', said)}")


def _ended(status: str, request: InspectRequest) -> Execution:
    match status:
        case "timeout":
            reason = f"analysing it took more than {request.limits.seconds:g} s of computing time"
            return Execution(status="timeout", reason=reason)
        case "memory":
            reason = f"analysing it took more than {request.limits.memory / 1e6:,.0f} MB of memory"
            return Execution(status="memory", reason=reason)
    return Execution(status="crashed", reason="analysing it ended the process: the file is damaged beyond reading")


def main() -> None:
    """Be the process: the job comes on stdin, what came of it goes to stdout."""
    job = json.load(sys.stdin)
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _limit(job)
    json.dump(_measure(job), replies)
    replies.flush()
    os._exit(0)


def _limit(job: Mapping[str, Any]) -> None:
    if sys.platform == "win32":
        return
    import resource

    seconds = int(job["seconds"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (job["memory"], job["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _measure(job: Mapping[str, Any]) -> dict[str, object]:
    from labgrade.registry import read

    try:
        file = Path(job["file"])
        function = read("quantity", (file.parent,)).get(job["function"]).load()
        return {"value": function(Path(job["artifact"]), **job["parameters"])}
    except ValueError as error:
        return {"refused": str(error)}
    except MemoryError:
        return {"memory": True}
    except Exception as error:  # noqa: BLE001 - whatever it is, it is ours to look at
        return {"fault": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
