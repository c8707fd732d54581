"""What a child may be told to do: call a student's function, run a program, measure a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from labgrade.sandbox import measure, perform, program, script

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Job: TypeAlias = "Mapping[str, Any]"


def do(job: Job, values: Mapping[str, object], folder: Path) -> bytes:
    """The frame that tells what came of a job on the copy of a hand-in in `folder`."""
    match job["do"]:
        case "run":
            return program.run(job, folder)
        case "script":
            return script.perform(job, folder)
        case "measure":
            return measure.measure(job, folder)
    if "model_path" in values:
        values = {**values, "model_path": str(folder / job["model"])}
    return perform.perform(
        perform.Job(file=job["file"], function=job["function"], torch_home=job["torch_home"]), values, folder
    )
