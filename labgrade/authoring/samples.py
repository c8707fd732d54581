"""The submissions by which tasks are tried: samples with the verdicts that they must get, and an exemplar.

`submissions/NAME` with `NAME.expected.yaml` beside it is a sample: `{task: {check: CORRECT 4}}`. An exemplar is
`submissions/exemplar`, or for a task that it hands nothing in for, a sample that is expected to be right throughout.
`NAME.survivors.yaml` names mutants that may survive, by file: `{hw.py: [{was, becomes, because}]}`; without
`becomes` any change of that line, with `in` and no line those of a function, with `for` for some tasks only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import Mark, SpecError, SpecFinding
from labgrade.files import yaml, yaml_write

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from labgrade.authoring.mutants import Mutant
    from labgrade.core.results import TaskReport

EXEMPLAR = "exemplar"
_EXPECTED = ".expected.yaml"
_SURVIVORS = ".survivors.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedMutants:
    """Mutants that may survive, and why: one change of a line, any of a line, or any of a function.

    What is left out (`""`) is any. `tasks`: for which it holds; none is all.
    """

    file: str
    was: str
    becomes: str
    function: str
    because: str
    tasks: tuple[str, ...]
    mark: Mark

    def covers(self, file: str, mutant: Mutant, task: str) -> bool:
        """Return whether a mutant is one of these, for this task."""
        pairs = ((self.was, mutant.was), (self.becomes, mutant.becomes), (self.function, mutant.function))
        named = all(said in ("", is_) for said, is_ in pairs)
        return self.file == file and named and (not self.tasks or task in self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A submission by which tasks are tried. `expected`: the outcome of each check of a task."""

    name: str
    expected: Mapping[str, Mapping[str, str]]
    explained: tuple[ExplainedMutants, ...] = ()


def samples(folder: Path) -> list[Sample]:
    """Return the samples of a folder of submissions, the exemplar first.

    Raises:
        SpecError: a file beside them can't be understood.
    """
    files = sorted(folder.glob(f"*{_EXPECTED}"))
    names = [file.name.removesuffix(_EXPECTED) for file in files]
    if (folder / EXEMPLAR).is_dir() and EXEMPLAR not in names:
        names.append(EXEMPLAR)
    names.sort(key=lambda name: (name != EXEMPLAR, EXEMPLAR not in name, name))
    if absent := [name for name in names if not (folder / name).is_dir()]:
        raise SpecError([_refuse_missing_sample(folder, name) for name in absent])
    return [
        Sample(name=name, expected=_expected(folder / f"{name}{_EXPECTED}"), explained=_survivors(folder, name))
        for name in names
    ]


def _refuse_missing_sample(folder: Path, name: str) -> SpecFinding:
    """Refuse expected verdicts without their sample, since nothing would be tried unnoticed."""
    message = (
        f"there is no folder '{name}' beside this file, so nothing is tried; "
        f"if .gitignore leaves it out, add the line '!{folder.name}/{name}/'"
    )
    return SpecFinding(Mark(str(folder / f"{name}{_EXPECTED}"), 1, 1), message)


def outcomes(report: TaskReport) -> dict[str, str]:
    """Return each check's outcome as a sample's file has it: `CORRECT 4`."""
    return {check.id: f"{check.verdict.outcome.value} {float(check.earned):g}" for check in report.checks}


def as_text(reports: list[TaskReport]) -> str:
    """The text of a sample's file."""
    return yaml_write.dump({report.id: dict(outcomes(report)) for report in reports})


def _load(file: Path) -> tuple[Any, yaml.Loaded]:
    loaded = yaml.load(file.read_text(encoding="utf-8"), str(file))
    data: Any = loaded.data or {}
    if not isinstance(data, dict):
        raise SpecError([SpecFinding(Mark(str(file), 1, 1), "this must be a mapping")])
    return data, loaded


def _expected(file: Path) -> dict[str, dict[str, str]]:
    if not file.is_file():
        return {}
    data, loaded = _load(file)
    for task, checks in data.items():
        if not isinstance(checks, dict) or not all(isinstance(each, str) for each in checks.values()):
            message = "for each check stands its outcome and its points: 'total: CORRECT 4'"
            raise SpecError([SpecFinding(loaded.mark((task,)), message)])
    return dict(data)


def _survivors(folder: Path, name: str) -> tuple[ExplainedMutants, ...]:
    file = folder / f"{name}{_SURVIVORS}"
    if not file.is_file():
        return ()
    data, loaded = _load(file)
    return tuple(
        _declared(source, entry, loaded.mark((source, index)))
        for source, entries in data.items()
        for index, entry in enumerate(entries if isinstance(entries, list) else [entries])
    )


def _declared(file: str, entry: Any, mark: Mark) -> ExplainedMutants:
    words = {"was", "becomes", "in", "because", "for"}
    if (
        not isinstance(entry, dict)
        or not set(entry) <= words
        or "because" not in entry
        or not {"was", "in"} & set(entry)
    ):
        message = (
            "say which mutants may survive: 'was' (a line), 'becomes', 'in' (a function), 'because', 'for' (tasks)"
        )
        raise SpecError([SpecFinding(mark, message)])
    tasks = entry.get("for", [])
    return ExplainedMutants(
        file=file,
        was=str(entry.get("was", "")).strip(),
        becomes=str(entry.get("becomes", "")).strip(),
        function=str(entry.get("in", "")),
        because=str(entry["because"]),
        tasks=tuple(tasks) if isinstance(tasks, list) else (str(tasks),),
        mark=mark,
    )
