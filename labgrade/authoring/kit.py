"""A kit: what students receive of a lab. Nothing of hidden checks is in it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade import __version__
from labgrade.authoring import kit_templates
from labgrade.authoring.source import needed
from labgrade.core.errors import FaultError, SpecError, UsageError
from labgrade.core.task import CallForm, RunForm
from labgrade.files import yaml, yaml_write
from labgrade.spec import course, load, public
from labgrade.subjects.files import beside, external_data
from labgrade.truth.oracle import Oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.task import SubjectSpec, Task
    from labgrade.spec.course import Course
    from labgrade.spec.registry import Entry

_SCHEMA = "task.schema.json"
_FIRST_LINE = f"# yaml-language-server: $schema=../{_SCHEMA}\n"


def write_kit(found: Course, lab: str, out: Path, *, with_subjects: bool) -> list[str]:
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
        told = make(found, specs, making, with_subjects=with_subjects)
        if out.exists():
            out.rmdir()
        making.rename(out)
    return told


def make(found: Course, specs: list[Path], out: Path, *, with_subjects: bool) -> list[str]:
    """Write the kit of one lab's specs to the new folder `out`; returns what of hidden checks it says all the same.

    Raises:
        SpecError: a spec is broken.
        UsageError: no check of the lab is public.
    """
    read = load.read_all(specs, found)
    if broken := [finding for each in read for finding in each.findings]:
        raise SpecError(broken)
    data = {path: _data(path) for path in specs}
    shown = {path: given for path in specs if (given := public.public(data[path])) is not None}
    if not shown:
        message = "this lab has no public check: there is nothing to give to students"
        raise UsageError(message)
    _write_specs(shown, out)
    own = _own_code(found, list(shown.values()), out)
    tasks = _read_back(out)
    files = _copy_files(found, tasks, shown, out) if with_subjects else {}
    _write_around(specs[0].parent, tasks, files, out, own_code=own)
    return _told(data, out)


def _data(path: Path) -> dict[str, Any]:
    data: Any = yaml.load(path.read_text(encoding="utf-8"), str(path)).data
    return dict(data)


def _write_specs(shown: dict[Path, dict[str, Any]], out: Path) -> None:
    first = next(iter(shown))
    folder = out / "specs" / first.parent.name
    folder.mkdir(parents=True)
    lab = first.parent / "lab.yaml"
    if lab.is_file():
        (folder / "lab.yaml").write_text(yaml_write.dump(_data(lab)), encoding="utf-8")
    for path, data in shown.items():
        (folder / path.name).write_text(_FIRST_LINE + yaml_write.dump(data), encoding="utf-8")
        for name in _beside(data):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path.parent / name, target)


def _beside(data: dict[str, Any]) -> Iterator[str]:
    """The files beside a spec that its public part names: subjects, and what programs are provided with."""
    subjects = [data.get("subject", {}), *(case for check in data["checks"] for case in check.get("cases", []))]
    yield from (each["file"] for each in subjects if "file" in each)
    for answer in data["answers"].values():
        for form in answer["from"]:
            provided = form.get("run", {}).get("provide", {}).values()
            yield from (source[2:] for source in provided if source.startswith("./"))


def _own_code(found: Course, shown: list[dict[str, Any]], out: Path) -> bool:
    """The course's own checkers and quantities that public checks use; whether there are any."""
    names = {kind: set(_named(shown, kind)) for kind in ("checker", "quantity")}
    entries: list[Entry] = [
        entry
        for registry in (found.checkers, found.quantities)
        for name, entry in registry.entries.items()
        if name in names[registry.kind] and found.is_own(entry.file)
    ]
    for file, text in needed(entries).items():
        target = out / file.relative_to(found.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return bool(entries)


def _named(value: Any, key: str) -> Iterator[str]:
    """Every name that stands under `key`: as a text, or as the only key of a mapping."""
    if isinstance(value, dict):
        if key in value:
            yield value[key] if isinstance(value[key], str) else next(iter(value[key]))
        for item in value.values():
            yield from _named(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _named(item, key)


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
                    places[source] = _free(out / "subjects", task.id, source.name, set(places.values()))
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
    """The ONNX files that the task's functions are given, or that its values are read off."""
    calls = [form for answer in task.answers.values() for form in answer.forms if isinstance(form, CallForm)]
    if calls and not any("model_path" in form.given for form in calls) and not _provides(task):
        return
    of_checks = [subject for check in task.checks for subject in check.cases or (task.subject,)]
    for subject in of_checks:
        if subject is not None and subject.is_onnx and not subject.handed_in:
            yield subject


def _provides(task: Task) -> bool:
    return any(isinstance(form, RunForm) and form.varies for answer in task.answers.values() for form in answer.forms)


def _free(folder: Path, task: str, name: str, taken: set[Path]) -> Path:
    return folder / name if folder / name not in taken else folder / task / name


def _copy(source: Path, target: Path, *, own: bool) -> None:
    """A file, and its external data where the zoo made both: then nothing else lies beside it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for name, file in {source.name: source, **(beside(source) if own else {})}.items():
        shutil.copyfile(file, target.parent / (target.name if name == source.name else name))


def _copy_data(source: Path, folder: Path) -> None:
    """The external data that a file beside a spec names: by name, since another's may lie in the same folder."""
    for name in external_data(source):
        if (source.parent / name).is_file() and not Path(name).is_absolute() and ".." not in Path(name).parts:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source.parent / name, folder / name)


# ---- what lies around ------------------------------------------------------------------------------------------


def _write_around(lab: Path, tasks: list[Task], files: dict[str, str], out: Path, *, own_code: bool) -> None:
    title = str(_data(lab / "lab.yaml")["title"]) if (lab / "lab.yaml").is_file() else lab.name
    start = kit_templates.start(title, tasks, files, own_code=own_code)
    marker = yaml_write.dump({"kit": lab.name, "made_by": f"labgrade {__version__}"})
    texts = {**kit_templates.files(tasks), course.KIT_START: start, course.KIT: marker}
    for name, text in texts.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")


def _told(data: dict[Path, dict[str, Any]], out: Path) -> list[str]:
    """What only hidden checks say and the kit's texts say, too: a statement may name what it should not."""
    secret = public.only_hidden(data.values())
    told = []
    for file in sorted(out.rglob("*")):
        if file.suffix in (".yaml", ".py", ".md") and file.is_file():
            text = file.read_text(encoding="utf-8")
            told += [f"{file.relative_to(out)}: '{word}'" for word in sorted(secret) if public.says(text, word)]
    return told
