"""A spec file -> Task, or SpecError with all that is wrong in it."""

from __future__ import annotations

import contextlib
import json
import unicodedata
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from labgrade.core.arguments import ALL as GIVEN
from labgrade.core.by_identity import ByIdentity
from labgrade.core.did_you_mean import did_you_mean, look_up
from labgrade.core.errors import Mark, SpecError, SpecFinding
from labgrade.core.results import LabText
from labgrade.core.task import Limits, Task
from labgrade.core.text import one_line
from labgrade.files import validate, yaml
from labgrade.spec import lab as late_rules
from labgrade.spec import parse, rules, schema
from labgrade.spec.in_full import expand, variants
from labgrade.spec.kinds import HIDDEN_POINTS, UNTOLD
from labgrade.subjects.importing import without_garbage_collection
from labgrade.verdict import as_credit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from fractions import Fraction

    from labgrade.core.task import Schema
    from labgrade.files.yaml import Loaded
    from labgrade.spec.course import Course
    from labgrade.spec.in_full.expand import Expanded
    from labgrade.spec.lab import Deadline

_LARGEST_SPEC = 1 << 20


@dataclass(frozen=True, slots=True)
class ReadSpec:
    """A task's file, read and validated or not: `task` is None where there are findings."""

    path: Path
    task: Task | None
    findings: tuple[SpecFinding, ...] = ()


def files(folder: Path) -> list[Path]:
    """Return all task files below a folder, sorted by lab and name, without `lab.yaml`."""
    return sorted(path for path in folder.glob("**/*.yaml") if path.name != "lab.yaml")


def task_file(course: Course, name: str) -> Path:
    """The file of the task of that name.

    Raises:
        UsageError: there is no such task; the message offers the closest.
    """
    return _file_called(name, files(course.specs))


def lab_files(course: Course, lab: str) -> list[Path]:
    """The files of the tasks of one lab.

    Raises:
        UsageError: there is no such lab; the message offers the closest.
    """
    labs: dict[str, list[Path]] = {}
    for path in files(course.specs):
        labs.setdefault(path.parent.name, []).append(path)
    return look_up(lab, labs, "lab")


def chosen(course: Course, lab: str | None = None, names: Sequence[str] = ()) -> list[Path]:
    """Return the files of the chosen tasks: of a lab, of these names, or of all usual labs.

    A name that is no task's stands for all that begin so: `2-1` for `2-1-1-parameters`, and not for `2-10-x`. It may
    stand behind its lab's: `lab2/2-1`. Where nothing is named, or tasks of other labs begin so, labs on request are
    left out.

    Raises:
        UsageError: there is no such lab or task; the message offers the closest.
        SpecError: two are called alike.
    """
    if alike := list(_clashing_names(files(course.specs))):
        raise SpecError(alike)
    if lab is None and not names:
        usual = usual_labs(course)
        return [path for path in files(course.specs) if path.parent in usual]
    paths = lab_files(course, lab) if lab is not None else files(course.specs)
    usual = usual_labs(course)
    wanted = {path for name in names for path in _files_called(name, paths, usual)}
    return [path for path in paths if not names or path in wanted]


def _files_called(name: str, paths: Sequence[Path], usual: Sequence[Path]) -> Sequence[Path]:
    """Return the files of the tasks that a name stands for: `2-1` or `acal-lab2/2-1`.

    What begins so in `usual` labs comes before what does in those on request, which number their tasks alike.
    """
    lab, _, task = name.rpartition("/")
    there = [path for path in paths if lab in ("", path.parent.name)]
    exact = [path for path in there if path.stem == task]
    begun = [path for path in there if starts_with(task, path.stem)]
    return exact or [path for path in begun if path.parent in usual] or begun or [_file_called(name, paths)]


def _file_called(name: str, paths: Iterable[Path]) -> Path:
    """Return the file of the task of exactly this name, with or without its lab's name.

    Raises:
        UsageError: there is none; the message offers the closest.
    """
    named = {path.stem: path for path in paths}
    if "/" in name:
        named = {f"{path.parent.name}/{path.stem}": path for path in paths}
    return look_up(name, named, "task")


def usual_labs(course: Course) -> list[Path]:
    """Return the labs that are graded if none is named: those not on request, or all if all are."""
    labs = sorted({path.parent for path in files(course.specs)})
    return [lab for lab in labs if not _on_request(lab)] or labs


def _on_request(lab: Path) -> bool:
    """Return whether lab.yaml says `on_request`; an unreadable one does not."""
    try:
        data: Any = _load(lab / "lab.yaml").data
    except SpecError:
        return False
    return isinstance(data, dict) and data.get("on_request") is True


def starts_with(start: str, name: str) -> bool:
    """Return whether a name starts with a prefix that does not end within a number."""
    return bool(start) and name.startswith(start) and not name[len(start) - 1 : len(start) + 1].isdigit()


def folder_findings(paths: Sequence[Path]) -> list[SpecFinding]:
    """Find files with a name that is never read, and labs without a lab.yaml."""
    found = []
    for path in paths:
        shown, lab = _relative_path(path), path.parent / "lab.yaml"
        if path.suffix == ".yml":
            message = f"this is never graded: a task's file ends in .yaml; rename it to '{path.stem}.yaml'"
            found.append(SpecFinding(Mark(shown, 1, 1), message))
        if not lab.is_file():
            found.append(
                SpecFinding(Mark(_relative_path(lab), 1, 1), "this lab has no lab.yaml; write one with a title")
            )
    return [*found, *_clashing_names(paths)]


def _clashing_names(paths: Iterable[Path]) -> Iterator[SpecFinding]:
    """Find labs, and tasks of a lab, whose names differ only by case."""
    named: dict[tuple[Path, str], Path] = {}
    for path in dict.fromkeys(each for file in paths for each in (file.parent, file)):
        key = path.parent, unicodedata.normalize("NFKC", path.name).casefold()
        if (first := named.setdefault(key, path)) != path:
            place = Mark(_relative_path(path if path.suffix == ".yaml" else path / "lab.yaml"), 1, 1)
            message = (
                f"'{one_line(path.name)}' differs from '{one_line(first.name)}' beside it only in case or encoding"
            )
            yield SpecFinding(place, f"{message}; rename one")


def read_all(paths: Iterable[Path], course: Course) -> list[ReadSpec]:
    """Read each file; a broken one is reported and the others go on."""
    reader = _SpecReader(course)
    result = []
    with without_garbage_collection():
        for path in paths:
            try:
                result.append(ReadSpec(path, reader.read(path)))
            except SpecError as error:
                result.append(ReadSpec(path, None, error.findings))
    return result


def read(path: Path, course: Course) -> Task:
    """Read one task.

    Raises:
        SpecError: with every finding, each with file, line and column.
    """
    return _SpecReader(course).read(path)


def schema_text(course: Course) -> str:
    """The JSON Schema of a task as it stands in `specs/task.schema.json`."""
    return schema_as_text(task_schema(course))


def schema_as_text(made: Schema) -> str:
    """A schema as its file has it, for editors and for people."""
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def task_schema(course: Course) -> Schema:
    """The JSON Schema of a task of the course."""
    return schema.task_schema(course, tuple(GIVEN))


def in_full(path: Path, course: Course, variant: str = "") -> dict[str, Any]:
    """Return the plain data of a valid spec, or of its variant, in full."""
    loaded = dict(variants.each_variant(_load(path)))[variant]
    return dict(cast("dict[str, Any]", _SpecReader(course).in_full(path, loaded).data))


_COURSES = 4  # that one process reads specs of
_schema_of = ByIdentity(task_schema, _COURSES)  # it has all quantities, and pytest reads a spec at a time


class _SpecReader:
    """Reads the specs of a course; what they share is made once."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._schema = _schema_of(course)
        self._labs: dict[Path, dict[str, Any]] = {}
        self._written: dict[Path, tuple[Loaded, list[SpecFinding]]] = {}
        self._others: dict[Path, dict[str, Any] | str] = {}

    def read(self, path: Path) -> Task:
        """One task; raises SpecError with every finding."""
        loaded, problems = self._as_written(path)
        lab = self._lab(path)
        limits = parse.with_environment(lab, parse.limits_of(lab.get("limits", {}), Limits()))
        found = validate.number_findings(loaded) + problems
        made = [
            self._variant(path, label, each, limits, (loaded, found)) for label, each in variants.each_variant(loaded)
        ]
        common = lab.get("packages", ())
        tasks = tuple(replace(each, packages=tuple(dict.fromkeys((*common, *each.packages)))) for each in made)
        if lab.get(HIDDEN_POINTS) == UNTOLD:
            tasks = tuple(replace(each, hidden_points=None) for each in tasks)
        return tasks[0] if not tasks[0].variant else replace(tasks[0], variant="", variants=tasks)

    def _variant(
        self, path: Path, label: str, loaded: Loaded, limits: Limits, written: tuple[Loaded, list[SpecFinding]]
    ) -> Task:
        """The task of one variant, or the only one; raises SpecError with every finding, also of what is `written`."""
        whole = self.in_full(path, loaded)
        found = [*written[1], *variants.problems(written[0], whole)]
        if whole.cut_call:
            found = []  # what a comma cut off is an unknown key, too
        found += [*whole.findings, *rules.findings(whole, self._course)]
        found = found or validate.findings(self._schema, whole)
        if found:
            raise SpecError(list(dict.fromkeys(found)))
        return replace(parse.task(whole, path, limits, self._course.code_of), variant=label)

    def _as_written(self, path: Path) -> tuple[Loaded, list[SpecFinding]]:
        """Load a file and validate it; the result is kept, since tasks show each other's answers."""
        if path not in self._written:
            loaded = _load(path)
            self._written[path] = loaded, validate.findings(self._schema, loaded)
        return self._written[path]

    def in_full(self, path: Path, loaded: Loaded) -> Expanded:
        """Expand a spec to its full form."""
        quantities = self._course.quantities.entries
        common = self._lab(path).get("hand_in", {})
        return expand.expanded(loaded, path.stem, common, quantities, partial(self._other, path))

    def _other(self, path: Path, name: str) -> dict[str, Any] | str:
        """Return another task of the same lab in full, or why it can't be shown."""
        other = path.with_name(f"{name}.yaml")
        if not other.is_file():
            known = [each.stem for each in files(path.parent)]
            return f"there is no task '{name}' in this lab{did_you_mean(name, known)}"
        if other not in self._others:
            self._others[other] = f"the task '{name}' shows answers of others itself, or does not validate"
            loaded, problems = self._as_written(other)
            if len(variants.each_variant(loaded)) > 1:
                self._others[other] = f"each student has a variant of the task '{name}', so it can't be shown beside it"
            elif not problems:
                whole = self.in_full(other, loaded)
                if not whole.findings:
                    self._others[other] = cast("dict[str, Any]", whole.data)
        return self._others[other]

    def _lab(self, path: Path) -> dict[str, Any]:
        lab = path.parent / "lab.yaml"
        if lab not in self._labs:
            self._labs[lab] = _lab(lab) if lab.is_file() else {}
        return self._labs[lab]


def _load(path: Path) -> Loaded:
    shown = _relative_path(path)
    start = Mark(shown, 1, 1)
    try:
        if path.stat().st_size > _LARGEST_SPEC:
            raise SpecError([SpecFinding(start, "this is larger than 1 MiB, which no spec needs to be")])
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError([SpecFinding(start, f"this can't be read: {error.strerror}")]) from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise SpecError(
            [SpecFinding(_place_of(error, shown), f"this is not UTF-8: {byte:#x} stands here; save the file as UTF-8")]
        ) from None
    loaded = yaml.load(text, shown)
    if loaded.data is None:
        raise SpecError([SpecFinding(start, "this file is empty")])
    return loaded


def _place_of(error: UnicodeDecodeError, file: str) -> Mark:
    """Return line and column of a byte that can't be decoded."""
    *above, before = error.object[: error.start].decode().split("\n")
    return Mark(file, len(above) + 1, len(before) + 1)


def _relative_path(path: Path) -> str:
    """Return a path relative to the working folder if it lies below it."""
    absolute, here = path.absolute(), Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(path)


def deadlines(folder: Path) -> dict[str, Deadline]:
    """Return the deadlines of the labs below a folder, by lab; labs without one are left out.

    Raises:
        SpecError: with every finding of every lab.yaml.
    """
    dated = ((lab, late_rules.deadline(lab, data)) for lab, data in labs(folder).items())
    return {lab: found for lab, found in dated if found is not None}


def points_not_shown(folder: Path) -> dict[str, Fraction]:
    """Return by lab what the tasks are worth that a kit does not have."""
    told = {lab: data.get(HIDDEN_POINTS) for lab, data in labs(folder).items()}
    return {lab: as_credit(worth) for lab, worth in told.items() if worth not in (None, UNTOLD)}


def labs(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the data of each lab.yaml below a folder, by lab.

    Raises:
        SpecError: with every finding of every lab.yaml.
    """
    read: dict[str, dict[str, Any]] = {}
    found: list[SpecFinding] = []
    for path in sorted(folder.glob("**/lab.yaml")):
        try:
            read[path.parent.name] = _lab(path)
        except SpecError as error:
            found += error.findings
    if found:
        raise SpecError(found)
    return read


def lab_texts(folder: Path) -> tuple[LabText, ...]:
    """Return the texts that pages show for each lab below a folder; nothing for broken specs."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in files(folder):
        with contextlib.suppress(SpecError):
            data = _load(path).data
            if isinstance(data, dict) and isinstance(text := data.get("statement"), str):
                found.setdefault(path.parent.name, []).append((path.stem, text))
    titles = labs(folder)
    return tuple(
        LabText(
            lab=lab,
            title=titles.get(lab, {}).get("title", ""),
            course=titles.get(lab, {}).get("course", ""),
            statements=tuple(statements),
        )
        for lab, statements in found.items()
    )


def _lab(path: Path) -> dict[str, Any]:
    loaded = _load(path)
    found = validate.number_findings(loaded) + validate.findings(schema.lab_schema(), loaded)
    if found := found + late_rules.findings(loaded):
        raise SpecError(found)
    return cast("dict[str, Any]", loaded.data)
