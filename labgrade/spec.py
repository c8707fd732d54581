"""A spec file -> Task, or SpecError with all that is wrong in it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from labgrade import late_rules, schema, schema_errors, spec_checks, spec_fits, spec_numbers, yamlfile, zoo_onnx
from labgrade.errors import Finding, Mark, SpecError
from labgrade.given import ALL as GIVEN
from labgrade.model import (
    Alternative,
    AnswerSpec,
    AnswerType,
    Beside,
    Check,
    CheckerCall,
    Counterexample,
    Criterion,
    InputSpec,
    Limits,
    LiteralValue,
    Partly,
    QuantityCall,
    Source,
    SubjectSpec,
    TableOfType,
    TableType,
    Task,
)
from labgrade.spec_forms import form
from labgrade.verdict import as_credit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.course import Course
    from labgrade.late_rules import Deadline
    from labgrade.registry import Schema
    from labgrade.yamlfile import Loaded

_UNITS = {"B": 0, "KB": 1, "MB": 2, "GB": 3}
_KIB = {"KiB": 10, "MiB": 20, "GiB": 30}
_OF_A_SUBJECT = ("model", "file", "handed_in", "options", "input", "seed")
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
    return _Parser(loaded, path, limits).task()


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
    return _limits(_lab(path).get("limits", {}), Limits()) if path.is_file() else Limits()


def _lab(path: Path) -> dict[str, Any]:
    loaded = _load(path)
    found = spec_numbers.findings(loaded) + schema_errors.findings(schema.lab_schema(), loaded)
    if found := found + late_rules.findings(loaded):
        raise SpecError(found)
    return cast("dict[str, Any]", loaded.data)


def _limits(data: Any, base: Limits) -> Limits:
    changes: dict[str, Any] = {key: _amount(data[key]) for key in ("memory", "output") if key in data}
    if "seconds" in data:
        changes["seconds"] = float(data["seconds"])
    return replace(base, **changes)


def _amount(text: str) -> int:
    number, unit = text.rstrip("KMGiB").strip(), text.lstrip("0123456789. ")
    scale = 2 ** _KIB[unit] if unit in _KIB else 1000 ** _UNITS[unit]
    return int(Fraction(number) * scale)


class _Parser:
    """From validated plain data to the frozen types. Nothing here can fail: the schema has been there before."""

    def __init__(self, loaded: Loaded, path: Path, limits: Limits) -> None:
        self.loaded = loaded
        self.path = path
        self.limits = limits

    def task(self) -> Task:
        data: Any = self.loaded.data
        main = self._subject(data["subject"], None, ("subject",)) if "subject" in data else None
        return Task(
            lab=self.path.parent.name,
            id=data["id"],
            title=data["title"],
            statement=data["statement"],
            points=_number(data["points"]),
            subject=main,
            answers={
                name: AnswerSpec(
                    name=name, type=_type(answer["type"]), forms=tuple(form(f, self.path) for f in answer["from"])
                )
                for name, answer in data["answers"].items()
            },
            checks=tuple(self._check(check, index, main) for index, check in enumerate(data["checks"])),
            limits=_limits(data.get("limits", {}), self.limits),
            path=self.path,
        )

    def _subject(self, data: Any, main: SubjectSpec | None, here: yamlfile.Path) -> SubjectSpec:
        own = data.get("input")
        if own is None and main is not None:
            given = main.input
        else:
            given = _input(own if isinstance(own, dict) else {"shape": own})
        which = {word: data[word] for word in ("model", "file", "handed_in") if word in data}
        if not which and main is not None:
            which = {"model": main.model, "file": main.file, "handed_in": main.handed_in}
        if "file" in data:
            which["file"] = str((self.path.parent / data["file"]).absolute())
        return SubjectSpec(
            **which,
            options=data.get("options", main.options if main else {}),
            seed=data.get("seed", main.seed if main else 0),
            input=given,
            mark=self.loaded.mark(here),
        )

    def _check(self, data: Any, index: int, main: SubjectSpec | None) -> Check:
        here = ("checks", index)
        return Check(
            id=data["id"],
            points=_number(data["points"]),
            answer=data["answer"],
            checker=_checker(data["checker"]) if "checker" in data else None,
            measured=self._quantity(data["measured"], (*here, "measured")) if "measured" in data else None,
            expected=self._source(data["expected"], (*here, "expected")) if "expected" in data else None,
            also_right=self._alternatives(data, (*here, "also_right"), Fraction(1)),
            misconceptions=self._alternatives(data, (*here, "misconceptions"), Fraction(0)),
            partly=tuple(_partly(item) for item in data.get("partly", [])),
            by_hand=tuple(Criterion(points=_number(i["points"]), what=i["for"]) for i in data.get("by_hand", [])),
            beside=tuple(self._beside(row, main, (*here, "beside", i)) for i, row in enumerate(data.get("beside", []))),
            hidden=data.get("hidden", False),
            bonus=data.get("bonus", False),
            reveal=data.get("reveal", False),
            needs=tuple(data.get("needs", [])),
            cases=tuple(self._subject(case, main, (*here, "cases", i)) for i, case in enumerate(data.get("cases", []))),
            counterexample=Counterexample(**data["counterexample"]) if "counterexample" in data else None,
            mark=self.loaded.mark(here),
        )

    def _beside(self, data: Any, main: SubjectSpec | None, here: yamlfile.Path) -> Beside:
        own = {key: data[key] for key in _OF_A_SUBJECT if key in data}
        return Beside(
            says=data["says"],
            answer=data["answer"],
            expected=self._source(data["expected"], (*here, "expected")),
            subject=self._subject(own, main, here) if own else None,
        )

    def _alternatives(self, data: Any, here: yamlfile.Path, credit: Fraction) -> tuple[Alternative, ...]:
        return tuple(
            Alternative(
                source=self._source(item["value"], (*here, index, "value")),
                says=item["says"],
                credit=_number(item["credit"]) if "credit" in item else credit,
                mark=self.loaded.mark((*here, index)),
            )
            for index, item in enumerate(data.get(here[-1], []))
        )

    def _source(self, data: Any, here: yamlfile.Path) -> Source:
        if not isinstance(data, dict):
            return LiteralValue(value=data, mark=self.loaded.mark(here))
        if "literal" in data:
            return LiteralValue(value=data["literal"], mark=self.loaded.mark((*here, "literal")))
        return self._quantity(data, here)

    def _quantity(self, data: Any, here: yamlfile.Path) -> QuantityCall:
        return QuantityCall(
            quantity=data["quantity"],
            parameters=data.get("with", {}),
            published=data.get("published"),
            mark=self.loaded.mark((*here, "published") if "published" in data else here),
        )


def _input(data: Any) -> InputSpec:
    return InputSpec(shape=tuple(data["shape"]), fill=data.get("fill", "normal"), seed=data.get("seed", 0))


def _type(data: Any) -> AnswerType:
    if isinstance(data, str):
        return data
    if "table_of" in data:
        return TableOfType(kind=data["table_of"])
    table = data["table"]
    return TableType(row=table["row"], columns=table["columns"], sparse=table.get("sparse", False))


def _checker(data: Any) -> CheckerCall:
    if isinstance(data, str):
        return CheckerCall(name=data)
    ((name, parameters),) = data.items()
    return CheckerCall(name=name, parameters=parameters or {})


def _partly(data: Any) -> Partly:
    bounds = {key: _number(value) for key, value in data["when"].items()}
    return Partly(**bounds, credit=_number(data["credit"]), says=data["says"])


def _number(value: float) -> Fraction:
    return as_credit(value)
