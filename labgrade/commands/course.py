"""`labgrade init` makes a course; `kit` and `subject` what students receive of it: a lab, the file of a task."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.errors import UsageError
from labgrade.spec import course

if TYPE_CHECKING:
    import argparse

    from labgrade.core.task import Task
    from labgrade.spec.course import Course


def add_init(parser: argparse.ArgumentParser) -> None:
    """The arguments of `init`."""
    parser.add_argument("folder", type=Path, help="a new or empty folder")
    parser.set_defaults(run=_init)


def add_kit(parser: argparse.ArgumentParser) -> None:
    """The arguments of `kit`."""
    parser.add_argument("lab", metavar="LAB", help="such as acal-lab2")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a new folder")
    parser.add_argument("--without-subjects", action="store_true", help="leave out the ONNX files of the tasks")
    add_for(parser)
    said = "give the course's own quantities, too: they are its solution, and students can read them"
    parser.add_argument("--with-reference", action="store_true", help=said)
    parser.set_defaults(run=_kit)


def add_subject(parser: argparse.ArgumentParser) -> None:
    """The arguments of `subject`."""
    parser.add_argument("task", metavar="TASK", help="such as 2-2-1-operators")
    parser.add_argument("--to", type=Path, default=Path(), metavar="FOLDER", help="where (default: here)")
    add_for(parser)
    parser.set_defaults(run=_subject)


def add_for(parser: argparse.ArgumentParser) -> None:
    """Whose variant is meant, where each student has one."""
    said = "whose variant, where each student has one: the roster's id or the name of the hand-in"
    parser.add_argument("--for", dest="drawn_as", default="", metavar="NAME", help=said)


def variant_owner(options: argparse.Namespace, found: Course) -> str:
    """Return the name by which the variant of `--for` is drawn; "" where nobody is named."""
    if not options.drawn_as:
        return ""
    from labgrade.review import groups, roster

    warn_about_unknown_name(found, options.drawn_as)
    return groups.drawn_as(roster.of_course(found.root), options.drawn_as)


def warn_about_unknown_name(found: Course, name: str) -> None:
    """Warn about a name that the roster does not have."""
    from labgrade.review import groups, roster

    if said := groups.unknown_name_warning(roster.of_course(found.root), name):
        print(said, file=sys.stderr)  # noqa: T201


def _init(options: argparse.Namespace) -> int:
    """Write the course's files; its sample task validates, and its exemplar is right."""
    from labgrade.authoring import new_course

    folder: Path = options.folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        message = f"'{folder}' is there already and not empty; name a new folder"
        raise UsageError(message)
    for name, text in new_course.files(folder.absolute().name).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name, text in new_course.schema_texts(course.find(folder)).items():
        (folder / "specs" / name).write_text(text, encoding="utf-8")
    print(f"{folder} is a course with one task; go there, then: labgrade validate --compute && labgrade test")  # noqa: T201
    return 0


def _kit(options: argparse.Namespace) -> int:
    from labgrade.authoring import kit, new_course
    from labgrade.judging import variants

    out: Path = options.out
    found = course.find(Path.cwd())
    new_course.keep_schemas(found)
    told = kit.write_kit(
        found,
        options.lab,
        out,
        with_subjects=not options.without_subjects,
        with_reference=options.with_reference,
        student=variant_owner(options, found),
    )
    print(f"{out}: {len(list(out.rglob('*')))} files and folders; begin with {out / course.KIT_START}")  # noqa: T201
    said = variants.weak_key_warning(found) if options.drawn_as else ""
    for line in [*told, *([f"warning: {said}"] if said else [])]:
        print(line)  # noqa: T201
    return 0


def _subject(options: argparse.Namespace) -> int:
    """Write the ONNX file that a task is about, and its external data, or its TorchScript file, to a folder."""
    from labgrade.files.external_data import files_beside
    from labgrade.judging.variants import variant_of
    from labgrade.spec import load
    from labgrade.subjects.provide import provide
    from labgrade.truth.oracle import Oracle

    found = course.find(Path.cwd())
    task = variant_of(load.read(load.task_file(found, options.task), found), variant_owner(options, found), found.key)
    about = task.subject
    if about is not None and not about.is_onnx and _gives_torchscript(task):
        options.to.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(provide("subject.pt", about), options.to / f"{about.short_name}.pt")
        print(options.to / f"{about.short_name}.pt")  # noqa: T201
        return 0
    if about is None or not about.is_onnx or about.handed_in:
        message = f"'{options.task}' has no ONNX or TorchScript file of labgrade's"
        raise UsageError(message)
    with Oracle(found.quantities) as oracle:
        file = oracle.file(about)
    options.to.mkdir(parents=True, exist_ok=True)
    for name, source in {file.name: file, **files_beside(file)}.items():
        shutil.copyfile(source, options.to / name)
        print(options.to / name)  # noqa: T201
    return 0


def _gives_torchscript(task: Task) -> bool:
    from labgrade.core.programs import TORCHSCRIPT
    from labgrade.core.task import BuildForm

    forms = [form for answer in task.answers.values() for form in answer.forms]
    return any(isinstance(form, BuildForm) and TORCHSCRIPT in form.given for form in forms)
