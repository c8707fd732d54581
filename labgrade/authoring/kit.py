"""A kit: what students receive of a lab. Nothing of hidden checks is in it."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade import __version__
from labgrade.authoring import kit_ci, kit_templates, kit_values
from labgrade.authoring.kit_templates import Start
from labgrade.authoring.public_source import needed_source
from labgrade.core.errors import FaultError, SpecError, UsageError
from labgrade.core.task import CallForm, RunForm
from labgrade.files import wheel, yaml, yaml_write
from labgrade.files.external_data import files_beside
from labgrade.judging.variants import variant_of
from labgrade.spec import course, load, public
from labgrade.spec.kinds import HIDDEN_POINTS, UNTOLD
from labgrade.spec.lab import WORDS
from labgrade.subjects.onnx_files import external_data
from labgrade.truth.oracle import Oracle
from labgrade.verdict import as_credit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.task import SubjectSpec, Task
    from labgrade.spec.course import Course
    from labgrade.spec.registry import Entry

_INSTALL = f'pip install "./{wheel.NAME}[watch,counterexample,html]"'  # in quotes that every shell knows
_FOR_STAFF = {word.name for word in WORDS if word.for_staff}
_SCHEMA = "task.schema.json"
_FIRST_LINE = f"# yaml-language-server: $schema=../{_SCHEMA}\n"


def write_kit(
    found: Course, lab: str, out: Path, *, with_subjects: bool, with_reference: bool = False, student: str = ""
) -> list[str]:
    """Make a lab's kit in a new folder, or nothing at all; returns what `make` does.

    Raises:
        SpecError: a spec is broken.
        UsageError: the folder is there, there is no such lab, or no check of it is public.
    """
    specs = load.lab_files(found, lab)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        message = f"'{out}' is there already; name a new folder"
        raise UsageError(message)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".labgrade-kit-") as temporary:
        making = Path(temporary) / "kit"
        line = _data(lab_file).get("install", "") if (lab_file := specs[0].parent / "lab.yaml").is_file() else ""
        install = str(line) or _INSTALL
        how = {"with_subjects": with_subjects, "with_reference": with_reference}
        told = make(found, specs, making, **how, install=install, student=student)
        if not line:
            wheel.write(making)
        if out.exists():
            out.rmdir()
        making.rename(out)
    return told


def make(
    found: Course,
    specs: list[Path],
    out: Path,
    *,
    with_subjects: bool,
    with_reference: bool = False,
    install: str = _INSTALL,
    student: str = "",
) -> list[str]:
    """Write the kit of one lab's specs to the new folder `out`; returns what of hidden checks it says all the same.

    Raises:
        SpecError: a spec is broken.
        UsageError: no check of the lab is public.
    """
    read = _read(found, specs, student)
    data = {each.path: load.in_full(each.path, found, each.task.variant) for each in read if each.task is not None}
    whole = _public_parts(specs, data)
    shown, without = (whole, []) if with_reference else _without_reference(found, read, whole)
    others = (public.worth(data[each]["checks"]) for each in data if each not in shown)
    _write_specs(shown, out, sum(others, Fraction(0)))
    _copy_beside(whole, out)  # START.md names those of a task that is not shown, too
    own = _own_code(found, list(shown.values()), out)
    given = {task.id: task for task in _read_back(out)}
    files = _copy_files(found, list(given.values()), shown, out) if with_subjects else {}
    asked = [
        _as_students_see(each.task, whole[each.path]) for each in read if each.task is not None and each.path in whole
    ]
    start = Start(subjects=files, own_code=bool(own), install=install)
    _write_around(specs[0].parent, asked, start, out)
    _add_left_out(out, without)
    reference = [entry for entry in own if entry.file.parent.name == "reference"]
    return [
        *(f"not in the kit: {each}" for each in without),
        *(f"in the kit, for students to read: {each.name} ({each.file.name})" for each in reference),
        *_leaked_words(data, out),
    ]


def _read(found: Course, specs: list[Path], student: str) -> list[load.ReadSpec]:
    """Read a lab's specs, in the student's variant."""
    read = load.read_all(specs, found)
    if broken := [finding for each in read for finding in each.findings]:
        raise SpecError(broken)
    return [replace(each, task=variant_of(each.task, student, found.key)) for each in read if each.task is not None]


def _public_parts(specs: list[Path], data: dict[Path, dict[str, Any]]) -> dict[Path, dict[str, Any]]:
    """Return the public part of each spec that has one."""
    told = _lab_of(specs[0]).get(HIDDEN_POINTS) != UNTOLD
    shown = {path: given for path in specs if (given := public.public(data[path], told=told)) is not None}
    if not shown:
        message = "this lab has no public check: there is nothing to give to students"
        raise UsageError(message)
    return shown


def _without_reference(
    found: Course, read: list[load.ReadSpec], shown: dict[Path, dict[str, Any]]
) -> tuple[dict[Path, dict[str, Any]], list[str]]:
    """Replace the course's own quantities in the public parts by values; return what was left out, too.

    Raises:
        UsageError: nothing is left.
    """
    own = {name for name, entry in found.quantities.entries.items() if found.is_own(entry.file)}
    left, told = {}, []
    with Oracle(found.quantities) as oracle:
        for each in read:
            if each.task is not None and each.path in shown:
                data, more = kit_values.with_literal_values(shown[each.path], each.task, own, oracle.value)
                told += more
                if data is not None:
                    left[each.path] = data
    if not left:
        lines = "\n  ".join(told)
        message = f"no public check can go without the course's own code (--with-reference gives it):\n  {lines}"
        raise UsageError(message)
    return left, told


def _as_students_see(task: Task, data: dict[str, Any]) -> Task:
    """Return the task as students see it, with what is checked only after handing in."""
    names = {check["id"] for check in data["checks"]}
    answers = {name: answer for name, answer in task.answers.items() if name in data["answers"]}
    checks = tuple(check for check in task.checks if check.id in names)
    whole = replace(task, answers=answers, checks=checks, points=as_credit(data["points"]))
    return replace(whole, hidden_points=as_credit(data.get(HIDDEN_POINTS, 0)))


def _add_left_out(out: Path, without: list[str]) -> None:
    """Add to START.md what students can't try themselves, if there is anything."""
    if not without:
        return
    start = out / course.KIT_START
    names = "".join(f"- {each.partition(': ')[0]}\n" for each in without)
    text = f"\n## Checked when you hand in\n\nThese checks need what only the course's staff has:\n\n{names}"
    start.write_text(start.read_text(encoding="utf-8") + text, encoding="utf-8")


def _data(path: Path) -> dict[str, Any]:
    data: Any = yaml.load(path.read_text(encoding="utf-8"), str(path)).data
    return dict(data)


def _lab_of(spec: Path) -> dict[str, Any]:
    """Return the data of the lab.yaml beside a spec, or nothing."""
    lab = spec.parent / "lab.yaml"
    return _data(lab) if lab.is_file() else {}


def _write_specs(shown: dict[Path, dict[str, Any]], out: Path, hidden: Fraction) -> None:
    """Write the specs and their lab.yaml. `hidden` are the points of tasks that are not shown."""
    first = next(iter(shown))
    folder = out / "specs" / first.parent.name
    folder.mkdir(parents=True)
    lab = {word: said for word, said in _lab_of(first).items() if word not in _FOR_STAFF}
    if hidden:
        lab = {"title": first.parent.name, HIDDEN_POINTS: public.points_as_number(hidden), **lab}
    if lab:
        (folder / "lab.yaml").write_text(yaml_write.dump(lab), encoding="utf-8")
    for path, data in shown.items():
        (folder / path.name).write_text(_FIRST_LINE + yaml_write.dump(data), encoding="utf-8")


def _copy_beside(given: dict[Path, dict[str, Any]], out: Path) -> None:
    """Copy the files that lie beside specs and are public."""
    for path, data in given.items():
        for name in _public_files(data):
            target = out / "specs" / path.parent.name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path.parent / name, target)


def _public_files(data: dict[str, Any]) -> Iterator[str]:
    """Yield the files beside a spec that its public part names."""
    yield from data.get("files", ())
    subjects = [data.get("subject", {}), *(case for check in data["checks"] for case in check.get("cases", []))]
    yield from (each["file"] for each in subjects if "file" in each)
    given = [value for each in subjects for value in each.get("arguments", {}).values()]
    yield from (value[2:] for value in given if isinstance(value, str) and value.startswith("./"))
    for answer in data["answers"].values():
        for form in answer["from"]:
            provided = form.get("run", {}).get("provide", {}).values()
            yield from (source[2:] for source in provided if source.startswith("./"))


def _own_code(found: Course, shown: list[dict[str, Any]], out: Path) -> list[Entry]:
    """Copy the course's own checkers and quantities that public checks use."""
    entries: list[Entry] = []
    for registry in (found.checkers, found.quantities, found.models):
        names = {name.removesuffix(".onnx") for name in kit_values.names_under(shown, registry.kind)}
        entries += [entry for name, entry in registry.entries.items() if name in names and found.is_own(entry.file)]
    for file, text in needed_source(entries).items():
        target = out / file.relative_to(found.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return entries


def _read_back(out: Path) -> list[Task]:
    """The tasks of the kit, read as a student's labgrade will; writes their schema, too."""
    kit = course.find(out)
    (out / "specs" / _SCHEMA).write_text(load.schema_text(kit), encoding="utf-8")
    read = load.read_all(load.files(kit.specs), kit)
    if broken := [finding for each in read for finding in each.findings]:
        message = "the kit's specs do not validate:\n" + "\n".join(map(str, broken))
        raise FaultError(message)
    return [each.task for each in read if each.task is not None]


# ---- subjects --------------------------------------------------------------------------------------------------


def _copy_files(found: Course, tasks: list[Task], shown: dict[Path, dict[str, Any]], out: Path) -> dict[str, str]:
    """Copy the ONNX files that tasks are about to subjects/; the file of each task's own subject by the task's id."""
    places: dict[Path, Path] = {}
    named: dict[str, str] = {}
    with Oracle(found.quantities) as oracle:
        for task in tasks:
            for subject in _subjects(task):
                source = oracle.file(subject)
                if source not in places:
                    places[source] = _unused_name(out / "subjects", task.id, source.name, set(places.values()))
                    _copy(source, places[source], own=not subject.file)
                if subject is task.subject:
                    named[task.id] = places[source].relative_to(out).as_posix()
    folder = {path.name: path.parent for path in shown}
    for task in tasks:
        for subject in _subjects(task):
            if subject.file:
                original = folder[task.path.name] / Path(subject.file).relative_to(task.path.parent.absolute())
                _copy_data(original, Path(subject.file).parent)
                _copy_data(original, places[Path(subject.file)].parent)
    return named


def _subjects(task: Task) -> Iterator[SubjectSpec]:
    """Yield the ONNX files that the task's functions are given or its values are read from."""
    calls = [form for answer in task.answers.values() for form in answer.forms if isinstance(form, CallForm)]
    if calls and not any("model_path" in form.given for form in calls) and not _provides(task):
        return
    of_checks = [subject for check in task.checks for subject in check.cases or (task.subject,)]
    for subject in of_checks:
        if subject is not None and subject.is_onnx and not subject.handed_in:
            yield subject


def _provides(task: Task) -> bool:
    return any(isinstance(form, RunForm) and form.varies for answer in task.answers.values() for form in answer.forms)


def _unused_name(folder: Path, task: str, name: str, taken: set[Path]) -> Path:
    return folder / name if folder / name not in taken else folder / task / name


def _copy(source: Path, target: Path, *, own: bool) -> None:
    """Copy a file, with its external data if labgrade made both."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for name, file in {source.name: source, **(files_beside(source) if own else {})}.items():
        shutil.copyfile(file, target.parent / (target.name if name == source.name else name))


def _copy_data(source: Path, folder: Path) -> None:
    """Copy the external data that a file beside a spec names; other files there may be another model's."""
    for name in external_data(source):
        if (source.parent / name).is_file() and not Path(name).is_absolute() and ".." not in Path(name).parts:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source.parent / name, folder / name)


# ---- what lies around ------------------------------------------------------------------------------------------


def _write_around(lab: Path, tasks: list[Task], about: Start, out: Path) -> None:
    title = str(_data(lab / "lab.yaml")["title"]) if (lab / "lab.yaml").is_file() else lab.name
    start = kit_templates.start(title, tasks, about)
    marker = yaml_write.dump({"kit": lab.name, "made_by": f"labgrade {__version__}"})
    texts = {**kit_templates.files(tasks), course.KIT_START: start, course.KIT: marker}
    texts |= kit_ci.files(about.install, own_code=about.own_code, marker=course.KIT)
    for name, text in texts.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")


def _leaked_words(data: dict[Path, dict[str, Any]], out: Path) -> list[str]:
    """Return words of hidden checks that the kit's texts have, too: a statement may name what it should not."""
    secret = public.only_hidden(data.values())
    told = []
    for file in sorted(out.rglob("*")):
        if file.suffix in (".yaml", ".py", ".md") and file.is_file():
            text = file.read_text(encoding="utf-8")
            words = [word for word in sorted(secret) if public.mentions(text, word)]
            told += [
                f"look at {file.relative_to(out)}: '{word}': a hidden check of this lab says the same" for word in words
            ]
    return told
