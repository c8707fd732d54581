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
    own = perform.Job(file=job["file"], function=job["function"], torch_home=job["torch_home"])
    if job["do"] == "calls":
        each: Any = values["each"]
        paired = zip(each, job["models"], strict=True)
        return perform.perform_each(own, [_with_path(one, folder / model) for one, model in paired], folder)
    return perform.perform(own, _with_path(values, folder / job["model"]), folder)


def _with_path(values: Mapping[str, object], path: Path) -> Mapping[str, object]:
    return {**values, "model_path": str(path)} if "model_path" in values else values
