"""The pages of the documentation that are made anew each time: what the registries and the schema say of themselves."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

from labgrade.spec import course, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

    from labgrade.spec.registry import Registry

ROOT = Path(__file__).parents[1]
REPORT = "labgrade/reports/report.schema.json"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages (a hook of MkDocs)."""
    found = course.find(ROOT)
    pages = {
        "quantities": _registry(
            "Quantities", "what `labgrade compute` computes and a spec may expect", found.quantities
        ),
        "checkers": _registry("Checkers", "what a spec may name under `checker`", found.checkers),
        "task": _schema("Keys of a task", "specs/task.schema.json", json.loads(load.schema_text(found))),
        "report": _schema("Fields of a report", REPORT, json.loads((ROOT / REPORT).read_text(encoding="utf-8"))),
    }
    pages["findings"] = (ROOT / "findings" / "README.md").read_text(encoding="utf-8")
    for name, text in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


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
