"""Templates of the files to hand in, made from the forms of public tasks; nothing in them counts as handed in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labgrade.answers import obtain
from labgrade.authoring import kit_ci
from labgrade.core.arguments import ALL as GIVEN
from labgrade.core.points import NOT_SHOWN
from labgrade.core.subject import as_plain, of_call
from labgrade.core.task import CallForm, EntryForm, Form, TableOfType, TableType, TextForm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from labgrade.core.task import AnswerSpec, AnswerType, SubjectSpec, Task

_MOST_COLUMNS = 6
_TYPES = {
    "model": "torch.nn.Module",
    "input": "torch.Tensor",
    "input_size": "tuple[int, ...]",
    "config": "dict",
    "m": "int",
    "k": "int",
    "n": "int",
}
# How START.md's lines call what is given.
_GIVEN_HERE = {"model": "model", "input": "input", "input_size": "tuple(input.shape)"}
_WORDS = {
    "count": "a whole number",
    "bytes": "a number of bytes",
    "number": "a number",
    "time": "a number of seconds",
    "text": "a text",
    "shape": "a shape, such as [1, 64, 112, 112]",
    "histogram": "a mapping of each name to its count",
    "tensor": "an array",
    "onnx": "an ONNX file",
    "file": "a file",
    "files": "files",
    "image": "a picture, as PNG or JPEG",
    "module": "a network (torch.nn.Module)",
}


def files(tasks: Iterable[Task]) -> dict[str, str]:
    """Return the templates by path: Python files with the functions asked for, answers.yaml, report.md."""
    tasks = list(tasks)
    found = dict(_python(tasks))
    if entries := _answers(tasks):
        found["answers.yaml"] = entries
    if report := _report(tasks):
        found["report.md"] = report
    return found


def type_in_words(kind: AnswerType) -> str:
    """Describe an answer's type: `a whole number`."""
    if isinstance(kind, TableType):
        columns = ", ".join(f"{name}: {column}" for name, column in list(kind.columns.items())[:_MOST_COLUMNS])
        more = ", ..." if len(kind.columns) > _MOST_COLUMNS else ""
        return f"a table: for each {kind.row} {{{columns}{more}}}"
    if isinstance(kind, TableOfType):
        return f"a mapping of each name to {_WORDS[kind.kind]}"
    return _WORDS[kind]


def _forms(tasks: Iterable[Task]) -> Iterator[tuple[Task, AnswerSpec, Form]]:
    for task in tasks:
        for answer in task.answers.values():
            for form in answer.forms:
                yield task, answer, form


# ---- functions -------------------------------------------------------------------------------------------------


def _python(tasks: list[Task]) -> Iterator[tuple[str, str]]:
    functions: dict[str, dict[str, str]] = {}
    for task, answer, form in _forms(tasks):
        if isinstance(form, CallForm):
            functions.setdefault(form.file, {}).setdefault(form.function, _stub(task, answer, form))
    for file, stubs in functions.items():
        head = '"""Fill in what you hand in. A function left as it is counts as not handed in."""\n'
        types = "".join(stubs.values())
        imports = "".join(f"import {name}\n" for name in ("torch",) if f": {name}." in types)
        yield file, head + (f"\n{imports}" if imports else "") + types


def _stub(task: Task, answer: AnswerSpec, form: CallForm) -> str:
    own, _ = of_call(form, task.subject)
    types = {**{name: type(value).__name__ for name, value in own.items()}, **_TYPES}
    arguments = ", ".join(f"{name}: {types.get(name, 'str')}" for name in form.given)
    told = {**{name: f"such as {value!r}" for name, value in own.items()}, **GIVEN}
    explained = "\n".join(f"    {name}: {told.get(name, 'the path of a file (str)')}" for name in form.given)
    returns = f"{task.id}, {answer.name}: {type_in_words(answer.type)}."
    return (
        f'\n\ndef {form.function}({arguments}):\n    """{returns}\n\n{explained}\n    """\n'
        f'    raise NotImplementedError("write {form.function}")\n'
    )


# ---- answers.yaml, report.md -----------------------------------------------------------------------------------


def _answers(tasks: list[Task]) -> str:
    tree: dict[str, Any] = {}
    for _, answer, form in _forms(tasks):
        if isinstance(form, EntryForm):
            _plant(tree, form.path.split("."), type_in_words(answer.type))
    lines = list(_lines(tree, 0))
    return "# Values in place of functions: write them behind the colons, delete the rest.\n" * bool(lines) + "".join(
        lines
    )


def _plant(tree: dict[str, Any], path: list[str], words: str) -> None:
    """Put a leaf at a dotted path; if a leaf and a branch clash, the path stays one key."""
    first, *rest = path
    below = tree.setdefault(first, {}) if rest else None
    if isinstance(below, dict):
        _plant(below, rest, words)
    else:
        tree.setdefault(".".join(path), words)


def _lines(tree: dict[str, Any], depth: int) -> Iterator[str]:
    for key, below in tree.items():
        name = key if key.replace("-", "").replace("_", "").isalnum() and not key.isdigit() else f'"{key}"'
        if isinstance(below, dict):
            yield f"{'  ' * depth}{name}:\n"
            yield from _lines(below, depth + 1)
        else:
            yield f"{'  ' * depth}{name}:  # {below}\n"


def _report(tasks: list[Task]) -> str:
    """Write the headings under which values are looked for, and the words before them as comments."""
    sections: dict[tuple[str, ...], dict[str, None]] = {}
    for _, answer, form in _forms(tasks):
        if isinstance(form, TextForm) and form.report is not None:
            words = form.after or f"{answer.name}: {type_in_words(answer.type)}"
            sections.setdefault(form.report, {}).setdefault(words)
    lines = ["# Report"] if sections else []
    above: tuple[str, ...] = ()
    for path in sorted(sections, key=lambda path: (bool(path), path)):
        shared = next(
            (n for n, (a, b) in enumerate(zip(above, path, strict=False)) if a != b), min(len(above), len(path))
        )
        for depth in range(shared, len(path)):
            lines += ["", f"{'#' * (depth + 2)} {path[depth]}"]
        lines += ["", *(f"<!-- {words} -->" for words in sections[path] if "--" not in words)]
        above = path
    return "\n".join(lines) + "\n" * bool(lines)


# ---- START.md, and what GitHub runs ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What START.md says beside the tasks.

    `subjects`: the file of a task's subject, by the task's id. `own_code`: functions of the course are in the kit.
    `install`: the line that installs labgrade.
    """

    subjects: dict[str, str]
    own_code: bool
    install: str


def start(title: str, tasks: Iterable[Task], about: Start) -> str:
    """Write START.md: the tasks, how each answer may be handed in, and how to check it."""
    check = "labgrade check --course ." if about.own_code else "labgrade check"
    why = (
        "\n\n`--course .` lets the functions of this folder judge, which your course wrote; they run as they are."
        if about.own_code
        else ""
    )
    head = (
        f"# {title}\n\nFill in the files of this folder that you want to hand in, and delete the others. Once, with "
        "Python 3.11 or newer, in a terminal in this folder (on Windows the first two lines are `py -m venv .venv` and "
        f"`.venv\\Scripts\\activate`):\n\n    python3 -m venv .venv\n    . .venv/bin/activate\n    {kit_ci.TORCH}\n"
        f"    {about.install}\n\nThe third line takes PyTorch without support for graphics cards, which is all that is "
        "needed, on Linux, macOS and Windows alike; leave it out where you have PyTorch already. Then as often as you "
        f"like:\n\n    {check}\n\nIt says what is right, what is not and why, and what to do first. `{check} --watch` "
        "stays, and checks at each save; `--all` shows all of it; `--html page.html` writes a page with pictures. "
        f"Functions should be right for any model, not for the task's alone.{why}\n\nWhere this folder is a repository "
        f"on GitHub or GitLab, `{kit_ci.GITHUB}` or `{kit_ci.GITLAB}` does the same at each push; delete them if you "
        "don't want that."
    )
    parts = [head, *(_about(task, about.subjects.get(task.id, "")) for task in tasks)]
    return "\n\n".join(parts) + "\n"


def _about(task: Task, file: str) -> str:
    more = f", and {float(task.hidden_points):g} for {NOT_SHOWN}" if task.hidden_points else ""
    lines = [f"## {task.id}: {task.title} ({float(task.points):g} points{more})", "", task.statement.rstrip()]
    if task.subject is not None:
        lines += ["", f"About: {_subject(task.subject, file)}."]
        if program := _program(task, task.subject, file):
            lines += ["", "```python", *program, "```"]
    lines += ["", "Handed in as (the first that is there counts):", ""]
    for answer in task.answers.values():
        ways = "; ".join(obtain.places(answer.forms))
        lines.append(f"- {answer.name}, {type_in_words(answer.type)}: {ways}")
    return "\n".join(lines)


def _program(task: Task, subject: SubjectSpec, file: str) -> list[str]:
    """Return lines that build the task's subject and call each function of the task on it."""
    here = dict(_GIVEN_HERE)
    if subject.is_config:
        lines, here = [f"config = {dict(subject.options)!r}"], {"config": "config"}
    elif file:
        lines, here = ["import onnx", "", f"model = onnx.load({file!r})"], {"model_path": repr(file)}
    elif not subject.model or subject.is_onnx or subject.handed_in:
        return []
    else:
        lines = _built(subject)
    forms = [form for answer in task.answers.values() for form in answer.forms if isinstance(form, CallForm)]
    for form in forms:
        if subject.further and "input_size" in form.given:
            continue
        plain, files = of_call(form, subject)
        beside = {name: repr(f"specs/{task.lab}/{path.relative_to(task.path.parent)}") for name, path in files.items()}
        known = {**here, **{name: repr(value) for name, value in plain.items()}, **beside}
        if form.file.count(".") == 1 and "/" not in form.file and set(form.given) <= known.keys():
            given = ", ".join(known[name] for name in form.given)
            lines += ["", f"from {form.file.removesuffix('.py')} import {form.function}", ""]
            lines += [f"print({form.function}({given}))"]
    return lines


def _built(subject: SubjectSpec) -> list[str]:
    """Return lines that build a model with its seeds and its input."""
    plain = {**as_plain(subject)}
    own = ["from pathlib import Path", "", "from labgrade.spec import course"] if plain.pop("code", None) else []
    settings = [f"model={plain.pop('model')!r}", f"shape={tuple(plain.pop('shape'))!r}"]
    settings += [f"code=course.find(Path.cwd()).code_of({subject.model!r})"] if own else []
    settings += [f"{name}={value!r}" for name, value in plain.items() if value and value != "normal"]
    return [
        *own,
        "from labgrade.subjects.models import Subject",
        "",
        f"model, input = Subject({', '.join(settings)}).with_weights()",
    ]


def _subject(subject: SubjectSpec, file: str) -> str:
    if subject.is_config:
        return "a config: " + ", ".join(f"`{key}: {value}`" for key, value in subject.options.items())
    options = "".join(f", {key}={value!r}" for key, value in subject.options.items())
    shape = " and ".join("x".join(map(str, each.shape)) for each in (subject.input, *subject.further))
    where = f", the file {file}" if file else ""
    inputs = f"{'inputs' if subject.further else 'an input'} of {shape}"
    return f"`{subject.model or subject.short_name}`{options}{where}, with {inputs}"
