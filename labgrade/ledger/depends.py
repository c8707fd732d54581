"""What a verdict depends on, in parts; the digest of all of them is the key under which it is found again.

`submission`: every file that was handed in. `spec`: what the check means. `checker`, `quantities`: their files, what
these import, and the versions of libraries that are not ours. `labgrade`: the engine's files, whatever its version is
called. `libraries`: the versions of those that we use. Where a student's code may run: `imports`, the versions of what
it imports, and `weights`, those that are offered. Some checks have more: `tools` that build a program, `search`.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import platform
import re
import shutil
import sys
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.core.task import AnswerValue, BuildForm, CallForm, QuantityCall, RunForm, SubjectSpec
from labgrade.diagnosis.bases import bases_of
from labgrade.diagnosis.explain import companions
from labgrade.files.cache import version_of
from labgrade.files.external_data import files_beside
from labgrade.judging.items import items
from labgrade.spec import language

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labgrade.core.results import Submission
    from labgrade.core.task import AnswerSpec, Check, Form, Task
    from labgrade.judging.items import Item
    from labgrade.spec.course import Course
    from labgrade.spec.registry import Entry

_HOME = Path(__file__).parent.parent
_NAME = _HOME.name
# Where grading begins. What runs in the jail is started by its path, so that no import leads to it.
_BEGINNINGS = (
    "run/grader.py",
    "truth/worker.py",
    *(file.relative_to(_HOME).as_posix() for file in (_HOME / "sandbox").rglob("*.py")),
)
_FROM_OR_IMPORT = re.compile(rb"^ *(?:from ([\w.]+) import (\([^)]*\)|[^\n]*)|import ([^\n#]+))", re.MULTILINE)
_NAMES = re.compile(rb"\w+")


@cache
def engine() -> dict[str, str]:
    """Return the digest of each file of the engine, by its path."""
    found: set[Path] = set()
    waiting = [_HOME / name for name in _BEGINNINGS]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting.extend(_imported(path))
    return {path.relative_to(_HOME.parent).as_posix(): digest(path) for path in sorted(found)}


def digest(path: Path) -> str:
    """Return the digest of a file's content, or a placeholder if it can't be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError:
        return "unreadable"


def _imported(path: Path) -> Iterator[Path]:
    """The modules of labgrade that one of its files imports. By pattern: parsing all files takes a second a command."""
    for module, names, plain in _FROM_OR_IMPORT.findall(path.read_bytes()):
        places = [module, *(module + b"." + name for name in _NAMES.findall(names))] if module else plain.split(b",")
        for place in places:
            yield from _files_of(place)


@cache
def _files_of(place: bytes) -> tuple[Path, ...]:
    """The files of what is imported, if it is labgrade's."""
    first, *rest = place.decode().split(" as ")[0].strip().split(".")
    if first != _NAME or not rest:
        return ()
    found = _HOME.joinpath(*rest)
    return tuple(each for each in (found.with_suffix(".py"), found / "__init__.py") if each.is_file())


def spec_of_item(task: Task, item: Item) -> dict[str, Any]:
    """Return what the spec says of an item, by the words of the language."""
    found = _fields(item.check)
    wanted, *others = answers_read(task, item)
    if others:
        found["answers beside"] = {each.name: [_plain(each.type), _plain(each.forms)] for each in others}
    return {
        **found,
        "answer": wanted.name,
        "type": _plain(wanted.type),
        "from": _plain(wanted.forms),
        "subject": _plain(item.subject),
        "limits": _plain(task.limits),
        "cases": bool(item.check.cases),
        "by_hand": bool(item.check.by_hand),
    }


def answers_read(task: Task, item: Item) -> list[AnswerSpec]:
    """The answer that is judged, those that it is compared with, and those that who marks it is shown beside it."""
    check = item.check
    sources = (*check.sources(), *(row.expected for row in check.beside))
    compared = (each.answer for each in sources if isinstance(each, AnswerValue))
    return [task.answers[name] for name in (check.answer, *compared, *(row.answer for row in check.beside))]


def _fields(thing: Any) -> dict[str, Any]:
    left_out = language.for_people(type(thing)) | {"mark", "known"}
    return {field.name: _plain(getattr(thing, field.name)) for field in fields(thing) if field.name not in left_out}


def _plain(thing: Any) -> Any:
    match thing:
        case None | bool() | int() | float() | str():
            return thing
        case Fraction():
            return str(thing)
        case Path():
            return {"file": thing.name, "content": digest(thing)}
        case list() | tuple():
            return [_plain(each) for each in thing]
        case SubjectSpec() if thing.file:
            return {**_fields(thing), "file": _onnx(Path(thing.file))}
        case _ if is_dataclass(thing):
            return {"is": type(thing).__name__, **_fields(thing)}
    return _mapping(thing)


def _mapping(thing: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): _plain(value) for key, value in thing.items()}


def _onnx(path: Path) -> dict[str, str]:
    """Describe a file and its external data by content, not by place."""
    if not path.is_file():
        return {path.name: "unreadable"}
    return {each.name: digest(each) for each in (path, *files_beside(path).values())}


_LIBRARIES = ("torch", "torchvision", "onnx", "onnxruntime", "onnxscript", "numpy", "pyyaml")
# Possessive: a student's line of a million letters must not be read a million times.
_IMPORT = re.compile(
    rb"^[ \t]*+(?:from[ \t]++(\w++)(?>(?:[ \t]*+\.[ \t]*+\w++)*)[ \t]++import\b|import[ \t]++([\w., \t]++))",
    re.MULTILINE,
)
_SOURCE_BYTES = 2 << 20
_MOST_IMPORTS = 100
_DIGITS = 32


def digest_of_data(content: object) -> str:
    """The digest of plain data."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_DIGITS]


class VerdictParts:
    """The parts of each item of a course. `contents` has what each digest stands for."""

    def __init__(self, course: Course, weights: Path | None = None) -> None:
        self._course = course
        self._weights = dict(_weights(weights)) if weights is not None else {}
        self._known: dict[tuple[str, str, str, str], dict[str, str]] = {}
        self._whole: dict[tuple[str, str, str], str] = {}
        self._read: dict[Path, list[Path]] = {}
        self._files: dict[Path, str] = {}
        self._imports: dict[Path, set[str]] = {}
        self._of_files: dict[Path, dict[str, str]] = {}
        self.contents: dict[str, Any] = {}

    def of(self, task: Task, item: Item) -> dict[str, str]:
        """Return the digest of each part by name, without the submission's own."""
        place = (task.lab, task.id, task.variant, item.id)
        if place not in self._known:
            found: dict[str, Any] = {
                "spec": spec_of_item(task, item),
                "checker": self._checker(item.check),
                "quantities": self._quantities(item),
                "labgrade": engine(),
                "libraries": libraries(),
            }
            if runs_student_code(task, item):
                found["weights"] = self._weights
            found |= self._parts_of_some_checks(task, item)
            self._known[place] = {name: self.keep(content) for name, content in found.items() if content}
        return self._known[place]

    def lasting(self, task: Task, key: str) -> str:
        """The key of a verdict beside its ledger: with all that the task asks, as a check may look at its neighbours.

        The checks of a task are others for a student, who is not given the hidden ones. A function sees where
        Python and labgrade lie, and may print it.
        """
        place = (task.lab, task.id, task.variant)
        if place not in self._whole:
            every = ((each, item) for each in (task, *task.variants) for item in items(each))
            asked = [[each.variant, item.id, spec_of_item(each, item)] for each, item in every]
            drawn_by = hashlib.sha256(self._course.key).hexdigest()  # other inputs, too
            self._whole[place] = digest_of_data([task.variant, asked, drawn_by, sys.executable, __file__])
        return digest_of_data([key, self._whole[place]])

    def keep(self, content: Any) -> str:
        """Return the digest of a part and remember its content under it."""
        digest = digest_of_data(content)
        self.contents[digest] = content
        return digest

    def _parts_of_some_checks(self, task: Task, item: Item) -> dict[str, Any]:
        """Return the parts that only some checks have, such as build tools and the search."""
        builds = any(isinstance(form, BuildForm) for form in _forms(task, item))
        return {
            "packages": {name: version_of(name) or "absent" for name in task.packages},
            "tools": _tools() if builds else {},
            "search": {"hypothesis": version_of("hypothesis") or "absent"} if item.check.counterexample else {},
        }

    def _checker(self, check: Check) -> dict[str, str]:
        return self._of(self._course.checkers.get(check.checker.name)) if check.checker is not None else {}

    def _quantities(self, item: Item) -> dict[str, str]:
        check = item.check
        named = {
            each.quantity
            for each in (
                check.measured,
                check.picture and check.picture.measured,
                *check.sources(),
                *(row.expected for row in check.beside),
            )
            if isinstance(each, QuantityCall)
        }
        named |= {call.quantity for call, _ in companions(item, self._course.quantities)}
        named |= {name for base in bases_of(item.check, self._course.quantities) for name in base.quantities}
        return {
            path: digest
            for name in sorted(named)
            for path, digest in self._of(self._course.quantities.get(name)).items()
        }

    def _of(self, entry: Entry) -> dict[str, str]:
        """Return what all functions of the entry's file depend on."""
        if entry.file not in self._of_files:
            self._of_files[entry.file] = dict(self._found(entry))
        return self._of_files[entry.file]

    def _found(self, entry: Entry) -> Iterator[tuple[str, str]]:
        base, names = entry.file.parent.parent, set()
        for path in sorted(entry.sources(self._read)):
            if path not in self._files:
                self._files[path] = digest(path)
                self._imports[path] = set(_imported_names(path)) - sys.stdlib_module_names - {"labgrade", *_LIBRARIES}
            names |= self._imports[path]
            yield path.relative_to(base).as_posix(), self._files[path]
        for path in entry.data(self._read):
            if path not in self._files:
                self._files[path] = digest(path)
            yield path.relative_to(base).as_posix(), self._files[path]
        yield from ((f"import {name}", _present(name)) for name in sorted(names))


def runs_student_code(task: Task, item: Item) -> bool:
    """Return whether a student's code may run for this item."""
    return any(isinstance(form, CallForm | RunForm | BuildForm) for form in _forms(task, item))


def _forms(task: Task, item: Item) -> Iterator[Form]:
    return (form for answer in answers_read(task, item) for form in answer.forms)


@cache
def _tools() -> dict[str, str]:
    """Return the state of compilers and build tools; a change means that programs are built anew."""
    found = {name: shutil.which(name) for name in ("cmake", "make", "c++")}
    return {
        name: f"{path} {Path(path).resolve().stat().st_mtime_ns}" if path else "absent" for name, path in found.items()
    }


@cache
def libraries() -> dict[str, str]:
    """The versions of Python and of the libraries that we use."""
    return {
        "python": f"{platform.python_version()} {platform.machine()}",
        **{name: version_of(name) or "absent" for name in _LIBRARIES},
    }


def handed_in(submission: Submission) -> dict[str, str]:
    """Return the digest of each file of a submission, and what was left out."""
    found = {path: digest(submission.folder / path) for path in submission.files}
    if not submission.files:  # the message says what lies there instead
        folders = sorted(entry.name for entry in submission.folder.iterdir() if entry.is_dir())
        found |= {f"{name}/": "folder" for name in folders}
    return found | {f"left out: {what}": "" for what in submission.refused}


def imports(submission: Submission) -> dict[str, str]:
    """The version of each library that a submission's code may import; where one is absent, this is what changes.

    Of all libraries there are where its programs are too long, or name too many, to be looked through by the grader, or
    a notebook may be one.
    """
    own = {part for path in submission.files for part in path.removesuffix(".py").split("/")}
    programs = [submission.folder / path for path in submission.files if path.endswith(".py")]
    if sum(map(_size, programs)) > _SOURCE_BYTES or any(path.endswith(".ipynb") for path in submission.files):
        return _installed()
    named = {name for program in programs for name in _imported_names(program)}
    wanted = sorted(named - own - sys.stdlib_module_names)
    return {name: _present(name) for name in wanted} if len(wanted) <= _MOST_IMPORTS else _installed()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _imported_names(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            source = file.read(_SOURCE_BYTES)
    except OSError:
        return
    for single, several in _IMPORT.findall(source):
        for part in (single or several).decode("ascii", "ignore").split(","):
            name = part.strip().partition(" ")[0].partition(".")[0]
            if name:
                yield name


@cache
def _present(name: str) -> str:
    try:
        there = importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        there = False
    return (version_of(name) or _of_distributions(name) or "there") if there else "absent"


@cache
def _of_distributions(name: str) -> str:
    """The versions of what brings a library that is called otherwise: pillow brings PIL.

    What each distribution says that it holds is searched as text: to take it apart costs ten times as much.
    """
    place = re.compile(rf"^(?:\./)?{re.escape(name)}[/.]", re.MULTILINE)
    top = re.compile(rf"^{re.escape(name)}$", re.MULTILINE)
    brings = (
        each
        for each in importlib.metadata.distributions()
        if place.search(each.read_text("RECORD") or "") or top.search(each.read_text("top_level.txt") or "")
    )
    return ", ".join(sorted({f"{each.name} {each.version}" for each in brings}))


@cache
def _installed() -> dict[str, str]:
    """The version of each library that is installed."""
    return {each.name: each.version for each in importlib.metadata.distributions()}


def _weights(home: Path) -> Iterator[tuple[str, int]]:
    """Yield the offered checkpoints by size; their names hold a digest of their content."""
    for path in sorted((home / "hub" / "checkpoints").glob("*")):
        yield path.name, path.stat().st_size


def key_of(parts: Mapping[str, str]) -> str:
    """The key under which a verdict is found again."""
    return digest_of_data(dict(parts))
