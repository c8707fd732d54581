"""A spec file -> Task, or SpecError with all that is wrong in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from labgrade import (
    late_rules,
    schema,
    schema_errors,
    spec_checks,
    spec_fits,
    spec_numbers,
    spec_task,
    yamlfile,
    zoo_onnx,
)
from labgrade.errors import Finding, Mark, SpecError
from labgrade.given import ALL as GIVEN
from labgrade.model import Limits, Task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.course import Course
    from labgrade.late_rules import Deadline
    from labgrade.registry import Schema
    from labgrade.yamlfile import Loaded

_LARGEST_SPEC = 1 << 20


@dataclass(frozen=True, slots=True)
class SpecFile:
    """A task's file, read and validated or not: `task` is None where there are findings."""

    path: Path
    task: Task | None
    findings: tuple[Finding, ...] = ()


def files(folder: Path) -> list[Path]:
    """All task files below a folder of specs, sorted by lab and name; `lab.yaml` is not one."""
    return sorted(path for path in folder.glob("**/*.yaml") if path.name != "lab.yaml")


def folder_findings(paths: Iterable[Path]) -> list[Finding]:
    """What is wrong with the files around tasks: a name that is never found, a lab without its lab.yaml."""
    found = []
    for path in paths:
        shown, lab = _shown(path), path.parent / "lab.yaml"
        if path.suffix == ".yml":
            message = f"this is never graded: a task's file ends in .yaml; rename it to '{path.stem}.yaml'"
            found.append(Finding(Mark(shown, 1, 1), message))
        if not lab.is_file():
            found.append(Finding(Mark(_shown(lab), 1, 1), "this lab has no lab.yaml; write one with a title"))
    return found


def read_all(paths: Iterable[Path], course: Course) -> list[SpecFile]:
    """Read each file; a broken one is reported and does not stop the others."""
    wanted = schema.task_schema(course, zoo_onnx.models(), tuple(GIVEN))
    result = []
    for path in paths:
        try:
            result.append(SpecFile(path, _read(path, course, wanted)))
        except SpecError as error:
            result.append(SpecFile(path, None, error.findings))
    return result


def read(path: Path, course: Course) -> Task:
    """Read one task.

    Raises:
        SpecError: with every finding, each with file, line and column.
    """
    return _read(path, course, schema.task_schema(course, zoo_onnx.models(), tuple(GIVEN)))


def schema_text(course: Course) -> str:
    """The JSON Schema of a task as it stands in `specs/task.schema.json`."""
    return json.dumps(schema.task_schema(course, zoo_onnx.models(), tuple(GIVEN)), indent=1, ensure_ascii=False) + "\n"


def _read(path: Path, course: Course, wanted: Schema) -> Task:
    loaded = _load(path)
    limits = _lab_limits(path.parent / "lab.yaml")
    found = spec_numbers.findings(loaded) + schema_errors.findings(wanted, loaded)
    found += [*spec_checks.findings(loaded, course), *spec_fits.findings(loaded, course)]
    if found:
        raise SpecError(found)
    return spec_task.task(loaded, path, limits)


def _load(path: Path) -> Loaded:
    shown = _shown(path)
    start = Mark(shown, 1, 1)
    try:
        if path.stat().st_size > _LARGEST_SPEC:
            raise SpecError([Finding(start, "this is larger than 1 MiB, which no spec needs to be")])
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError([Finding(start, f"this can't be read: {error.strerror}")]) from None
    except UnicodeDecodeError as error:
        raise SpecError(
            [Finding(start, f"this is not UTF-8: byte {error.start} is {error.object[error.start]:#x}")]
        ) from None
    loaded = yamlfile.load(text, shown)
    if loaded.data is None:
        raise SpecError([Finding(start, "this file is empty")])
    return loaded


def _shown(path: Path) -> str:
    """The path as one would type it: relative to the working folder where it is below it."""
    absolute, here = path.absolute(), Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(path)


def deadlines(folder: Path) -> dict[str, Deadline]:
    """When each lab below a folder of specs is due, by the lab's name; those that say nothing are left out.

    Raises:
        SpecError: with every finding of every lab.yaml.
    """
    labs: list[Deadline | None] = []
    found: list[Finding] = []
    for path in sorted(folder.glob("**/lab.yaml")):
        try:
            labs.append(late_rules.deadline(path.parent.name, _lab(path)))
        except SpecError as error:
            found += error.findings
    if found:
        raise SpecError(found)
    return {lab.lab: lab for lab in labs if lab is not None}


def _lab_limits(path: Path) -> Limits:
    return spec_task.limits_of(_lab(path).get("limits", {}), Limits()) if path.is_file() else Limits()


def _lab(path: Path) -> dict[str, Any]:
    loaded = _load(path)
    found = spec_numbers.findings(loaded) + schema_errors.findings(schema.lab_schema(), loaded)
    if found := found + late_rules.findings(loaded):
        raise SpecError(found)
    return cast("dict[str, Any]", loaded.data)
