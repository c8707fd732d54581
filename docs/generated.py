"""The reference pages: what the registries, the schemas, the commands and the language say of themselves.

MkDocs makes them anew each time. The words of the language are kept in the repository, too, where editors and people
read them without a site:

python docs/generated.py        writes docs/reference/words.md
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade import cli
from labgrade.core import task
from labgrade.spec import course, lab, language, load
from labgrade.spec.kinds import FLAG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

    from labgrade.spec.registry import Registry

ROOT = Path(__file__).parents[1]
WORDS = "docs/reference/words.md"
# The sections of the page of words: what holds them, and what they are.
SECTIONS: tuple[tuple[str, type | str, str], ...] = (
    ("A task", task.Task, "One file, `specs/<lab>/<id>.yaml`."),
    ("A lab", "lab", "What its tasks have in common, in `specs/<lab>/lab.yaml`."),
    ("limits", task.Limits, "Of a task or a lab."),
    ("environment", task.Environment, "Of a task or a lab."),
    ("subject", task.SubjectSpec, "What is analysed. A row of `cases` takes the same keys."),
    ("options of a subject", "options", "labgrade's own, beside those of the function that builds the model."),
    ("inputs", task.InputSpec, "Each entry, and `input` where it is a mapping."),
    ("each", "each", "In place of a model, an input, an option or a value of a config."),
    ("hand_in", "hand_in", "What the answers of a task or a lab have in common."),
    ("An answer", task.AnswerSpec, "Each entry of `answers`."),
    ("type: table", task.TableType, "Behind `{table: ...}`."),
    ("from: a call", task.CallForm, "A function of the student's."),
    ("from: an entry", task.EntryForm, "A value in answers.yaml or answers.json."),
    ("from: a text or a file", task.TextForm, "What students hand in."),
    ("from: a program", "run form", "What a program of the student's prints or writes."),
    ("run: a command", task.RunForm, "A program in Python."),
    ("run: a build", task.BuildForm, "A program in C++."),
    ("A check", task.Check, "Each entry of `checks`."),
    ("expected: a quantity", task.QuantityCall, "Also as a `value` and under `measured`."),
    ("expected: an answer", task.AnswerValue, "What the student handed in elsewhere in the task."),
    ("also_right and misconceptions", task.Alternative, "Each entry."),
    ("partly", task.RangeCredit, "Each entry."),
    ("when", "when", "Of `partly`."),
    ("by_hand", task.Criterion, "Each line of the rubric."),
    ("beside", task.Comparison, "Each row that staff see, beside the keys of a subject."),
    ("counterexample", task.Counterexample, "Random subjects."),
    ("picture", task.Picture, "What pages draw of an answer."),
)
_FORMS = {
    task.CallForm: "function",
    task.EntryForm: "entry",
    task.TextForm: "text",
    task.FileForm: "file",
    task.RunForm: "program",
    task.BuildForm: "program in C++",
}
# What the engine reads of the environment; a test holds the names against the source.
VARIABLES = {
    "LABGRADE_BY": "Who decides, in `mark`, `override`, `release` and the desk. Else your login.",
    "LABGRADE_CACHE": "The folder for what is remembered. Else `~/.cache/labgrade`.",
    "LABGRADE_FRESH": "`1`: each function of a student's is called in a process of its own.",
    "LABGRADE_GIT_TOKEN": "The token for the git server of `collect.repository`.",
    "LABGRADE_GIT_TOKEN_FILE": "A file that holds this token.",
    "LABGRADE_GIT_USER": "The user name that goes with the token: `x-access-token` for GitHub. Else `oauth2`.",
    "LABGRADE_TORCH_HOME": "Downloaded weights for students' code, as `--torch-home` takes them.",
}
REPORT = "labgrade/reports/report.schema.json"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages (a hook of MkDocs)."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def pages() -> dict[str, str]:
    """The pages of the site that are not in the repository, by name."""
    found = course.find(ROOT)
    return {
        "quantities": _registry(
            "Quantities", "what `labgrade compute` computes and a spec may expect", found.quantities
        ),
        "checkers": _registry("Checkers", "what a spec may name under `checker`", found.checkers),
        "commands": commands(),
        "tasks": tasks(found),
        "report": _schema("Fields of a report", REPORT, json.loads((ROOT / REPORT).read_text(encoding="utf-8"))),
        "findings": (ROOT / "findings" / "README.md").read_text(encoding="utf-8"),
    }


def words() -> str:
    """Every word of the spec language, section by section."""
    lines = [
        "# Words of the spec language",
        "",
        "Look up what a key of a spec means. [The spec language](../spec-language.md) says how they work together.",
        "`python docs/generated.py` writes this page, from the rows that the schema and the parser are made of.",
    ]
    own = {word.name for word in language.WORDS[task.SubjectSpec]}
    for title, holder, what in SECTIONS:
        table = _table(holder)
        if holder is task.Comparison:
            table = "\n".join(row for row in table.splitlines() if row.split("`")[1] not in own)
        lines += ["", f"## {title}", "", what, "", "| key | what it says |", "|---|---|", table]
        for key, schema in (("late", lab.LATE), ("collect", lab.COLLECT)) if holder == "lab" else ():
            lines += ["", f"### {key}", "", *_keys(schema)[:-1]]
    return "\n".join([*lines, ""])


def _table(holder: type | str) -> str:
    """The words that a holder has, as rows of a table in Markdown."""
    shown = (
        (f"{word.name}: true" if word.kind is FLAG else word.name, " (required)" * word.required, word.says)
        for word in language.WORDS[holder]
    )
    return "\n".join(f"| `{name}`{must} | {says} |" for name, must, says in shown)


def commands() -> str:
    """What each command says of itself, and the environment variables."""
    lines = ["# Commands", "", "What `labgrade COMMAND --help` prints.", ""]
    for name, purpose in re.findall(r"^    (\w+) +(.+)$", cli.overview(), re.MULTILINE):
        lines += [f"## {name}", "", f"{purpose[0].upper()}{purpose[1:]}.", "", "```text", _help(name), "```", ""]
    lines += ["## Environment variables", "", "| variable | says |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {says} |" for name, says in VARIABLES.items()), ""])


def tasks(found: course.Course) -> str:
    """The tasks of each lab that is included: how each is handed in, what is computed, what a person reads."""
    lines = [
        "# Tasks of the labs",
        "",
        "Every task that is included, from its spec. [The labs](../labs.md) introduces them.",
    ]
    lab_of = ""
    for path in load.files(found.specs):
        each = load.read(path, found)
        if each.lab != lab_of:
            lab_of = each.lab
            lines += ["", f"## {lab_of}", "", "| task | points | handed in as | computed | for a person |"]
            lines += ["|---|---|---|---|---|"]
        forms = dict.fromkeys(_FORMS[type(form)] for answer in each.answers.values() for form in answer.forms)
        sources = [source for check in each.checks for source in (check.measured, check.expected)]
        computed = dict.fromkeys(f"`{source.quantity}`" for source in sources if isinstance(source, task.QuantityCall))
        marked = [line.what for check in each.checks for line in check.by_hand]
        cells = [f"`{each.id}`: {each.title}", f"{float(each.points):g}", ", ".join(forms), ", ".join(computed)]
        lines.append(f"| {' | '.join([*cells, '; '.join(marked)])} |")
    return "\n".join([*lines, ""])


def _help(command: str) -> str:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            cli.parsed([command, "--help"])
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return printed.getvalue().rstrip()


def _registry(title: str, what: str, registry: Registry) -> str:
    """One section a file, one entry a function."""
    lines = [f"# {title}", "", f"Each function, {what}, with the parameters that a spec may set.", ""]
    by_file: dict[Path, list[str]] = {}
    for name, entry in registry.entries.items():
        by_file.setdefault(entry.file, []).append(name)
    for file, names in sorted(by_file.items()):
        lines += [f"## {file.stem}.py", ""]
        for name in sorted(names, key=lambda each: registry.entries[each].line):
            entry = registry.entries[name]
            lines += [f"### {name}", "", *_docstring(entry.docstring), ""]
            if entry.parameters:
                lines += ["| parameter | type | default |", "|---|---|---|"]
            for key, parameter in entry.parameters.items():
                kind = parameter.annotation.replace("|", "\\|")
                default = "required" if parameter.required else f"`{parameter.default}`"
                lines.append(f"| `{key}` | `{kind}` | {default} |")
            lines.append("")
    return "\n".join(lines)


def _docstring(text: str) -> Iterator[str]:
    """A docstring as Markdown: what it raises, as a list."""
    body, _, raises = inspect.cleandoc(text).partition("Raises:")
    yield body.strip()
    if raises:
        yield ""
        yield "Raises:"
        yield ""
        for line in inspect.cleandoc(raises).splitlines():
            yield f"- {line.strip()}" if ":" in line.split(" ")[0] else f"  {line.strip()}"


def _schema(title: str, file: str, schema: dict[str, Any]) -> str:
    """What a JSON Schema says of each key."""
    lines = [f"# {title}", "", f"As `{file}` has them.", "", *_keys(schema)]
    for name, definition in schema.get("$defs", {}).items():
        if isinstance(definition, dict) and definition.get("properties"):
            lines += [f"## {name}", "", str(definition.get("description", "")), "", *_keys(definition)]
    return "\n".join(lines)


def _keys(schema: dict[str, Any]) -> list[str]:
    required = set(schema.get("required", ()))
    lines = ["| key | says |", "|---|---|"]
    for key, value in schema.get("properties", {}).items():
        says = str(value.get("description", "")).replace("|", "\\|").replace("\n", " ")
        lines.append(f"| `{key}`{' (required)' if key in required else ''} | {says} |")
    return [*lines, ""]


if __name__ == "__main__":
    (ROOT / WORDS).parent.mkdir(exist_ok=True)
    (ROOT / WORDS).write_text(words(), encoding="utf-8")
