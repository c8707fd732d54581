"""The ways of handing in an answer, from a spec's data to their types. The schema has been there before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labgrade import run_words
from labgrade.forms import BuildForm, CallForm, EntryForm, FileForm, Form, RunForm, TextForm

if TYPE_CHECKING:
    from pathlib import Path


def form(data: Any, spec_path: Path) -> Form:
    """One form of an answer of the spec at `spec_path`."""
    if "call" in data:
        file, _, function = data["call"].partition(":")
        return CallForm(file=file, function=function, given=tuple(data["given"]))
    if "run" in data:
        return _run_form(data, spec_path)
    return _read_form(data)


def _run_form(data: Any, spec_path: Path) -> RunForm | BuildForm:
    run = data["run"]
    sources: dict[str, str] = run.get("provide", {})
    beside = {target: run_words.beside_the_spec(source) for target, source in sources.items()}
    shared: Any = {
        "folder": run.get("folder", ""),
        "provide": {
            target: source if (own := beside[target]) is None else spec_path.absolute().parent / own
            for target, source in sources.items()
        },
        "varies": any(map(run_words.of_subject, sources.values())) or bool(run.get("given")),
        "reads": _read_form(data),
    }
    if "build" in run:
        return BuildForm(program=run["program"], given=tuple(run.get("given", ())), **shared)
    file, arguments = run_words.parse_command(run["command"])
    return RunForm(file=file, arguments=arguments, **shared)


def _read_form(data: Any) -> TextForm | FileForm | EntryForm:
    """What is read: of the submission, or of what a program printed and wrote."""
    if "entry" in data:
        return EntryForm(path=data["entry"])
    if "files" in data:
        return FileForm(pattern=data["files"])
    if "file" in data and "report" not in data and "after" not in data and "find" not in data:
        return FileForm(pattern=data["file"])
    return TextForm(
        after=data.get("after"), find=data.get("find"), file=data.get("file"), report=_headings(data.get("report"))
    )


def _headings(text: str | None) -> tuple[str, ...] | None:
    """`under 2-1-4` and `under [Lab 2, 1]` name a path of headings; `anywhere` is the whole report."""
    if text is None:
        return None
    path = text.removeprefix("under ").strip()
    if text == "anywhere":
        return ()
    return tuple(part.strip() for part in path[1:-1].split(",")) if path.startswith("[") else (path,)
