"""What is wrong with the forms of an answer, as far as no schema can say it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.core import programs
from labgrade.core.arguments import SAVE_TO
from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import SpecFinding
from labgrade.spec.data import NUMBERS, WHICH, checks, listed, mapping, subjects_of
from labgrade.spec.kinds import KINDS
from labgrade.subjects import models

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.files import yaml
    from labgrade.files.yaml import Loaded

_WHOLE = ("text", "histogram", "file")  # read from a whole section, without words before it
_NAMED = {"entry", "after", "find"}  # what says where a single value stands
_ONE_OF_TWO = "give 'after' or 'find', not both"
_OUTSIDE = re.compile(r"[/\\~]|[A-Za-z]:|(?:.*[/\\])?\.\.(?:[/\\]|$)")
_KINDS = "subject.onnx, subject.pt (TorchScript), subject.pth (state dict), input.npy"


def varies_with_subject(form: dict[str, Any]) -> bool:
    """Return whether something that a program is handed changes with the subject."""
    provided = _provided(form).values()
    return bool(_arguments_given(form)) or any(
        isinstance(source, str) and programs.of_subject(source) for source in provided
    )


def findings(loaded: Loaded) -> Iterator[SpecFinding]:
    """What does not fit, each with its place. Tolerant of data that the schema already refused."""
    data = mapping(loaded.data)
    yield from _read_twice(data, loaded)
    for name, answer in mapping(data.get("answers")).items():
        forms, kind = listed(mapping(answer).get("from")), mapping(answer).get("type")
        for index, form in enumerate(forms):
            path = ("answers", name, "from", index)
            if form in forms[:index]:
                yield SpecFinding(loaded.mark(path), "this form stands twice; the second is never looked at")
            for place, message in _form(mapping(form), path, kind, loaded, subjects_of(name, data)):
                yield SpecFinding(loaded.mark(place), message)


def _read_twice(data: dict[str, Any], loaded: Loaded) -> Iterator[SpecFinding]:
    """Find answers that are read from the same place."""
    judged = [check.get("answer") for _, check in checks(data)]
    seen: list[tuple[dict[str, Any], object, str]] = []
    for name, answer in mapping(data.get("answers")).items():
        kind = mapping(answer).get("type")
        kind = "number" if isinstance(kind, str) and kind in NUMBERS else kind
        for index, form in enumerate(map(mapping, listed(mapping(answer).get("from")))):
            if name not in judged or not _NAMED & form.keys():
                continue
            other = next((who for there, of, who in seen if (there, of) == (form, kind)), name)
            if other != name:
                message = f"this is where '{other}' is read, too, and one value can't be both: give each its own place"
                yield SpecFinding(loaded.mark(("answers", name, "from", index)), message)
            seen.append((form, kind, name))


def _form(
    form: dict[str, Any], path: yaml.Path, kind: object, loaded: Loaded, subjects: list[dict[str, Any]]
) -> Iterator[tuple[yaml.Path, str]]:
    there = all(any(word in each for word in WHICH) for each in subjects)
    for word in ("call", "file", "files"):
        named = form.get(word)
        if isinstance(named, str) and _OUTSIDE.match(named):
            yield (*path, word), f"'{named}' leads out of a submission; name a file within its folder"
    if "call" in form and not there and set(map(str, listed(form.get("given")))) != {SAVE_TO}:
        yield path, "a 'call' is handed the subject, and this task has none"
    if "run" in form:
        configs = sum("config" in each for each in subjects)
        yield from _run(form, path, kind, loaded, has_subject=there and not configs)
        whole = "config" if there and configs == len(subjects) else "model" if there and not configs else ""
        yield from _arguments(_arguments_given(form), (*path, "run", "given"), whole)
        single = [(*path, "run", "provide", to) for to, source in _provided(form).items() if source == programs.INPUT]
        single += [(*path, "run", "given")] if programs.INPUT_SIZE in _arguments_given(form) else []
        for place in single if any("inputs" in each for each in subjects) else ():
            yield place, "this is about one input, and the subject has several"
    elif form and "call" not in form and "entry" not in form:
        yield from _text(form, path, kind)
    yield from _raw_bytes_problem(form, path)
    if isinstance(form.get("find"), str):
        yield from _pattern(form["find"], (*path, "find"))


def _raw_bytes_problem(form: dict[str, Any], path: yaml.Path) -> Iterator[tuple[yaml.Path, str]]:
    """Find raw bytes without a type, and a type given for a file that states its own."""
    named = str(form.get("file", form.get("files", "")))
    said = [word for word in ("dtype", "shape") if word in form]
    if named.lower().endswith(".bin") and len(said) == 1:
        yield path, "a .bin file holds bytes alone: give 'dtype' and 'shape'"
    elif said and not named.lower().endswith(".bin"):
        yield (*path, said[0]), f"'{said[0]}' is of a .bin file; others say it themselves"


def _text(form: dict[str, Any], path: yaml.Path, kind: object) -> Iterator[tuple[yaml.Path, str]]:
    words = [word for word in ("after", "find") if word in form]
    where = [word for word in ("file", "report") if word in form]
    if len(words) > 1:
        yield path, _ONE_OF_TWO
    if "files" in form:
        if words or where:
            yield path, "'files' stands alone"
    elif len(where) != 1:
        yield path, "say where to look: 'file' or 'report'" + (", not both" if where else "")
    elif "report" in where and not words and kind in KINDS and kind not in _WHOLE:
        yield path, "say after which words the value stands: 'after: Total MACs'"


def _pattern(pattern: str, path: yaml.Path) -> Iterator[tuple[yaml.Path, str]]:
    try:
        groups = re.compile(pattern).groupindex
        widths = importlib.import_module("re._parser").parse(pattern).state.groupwidths
    except re.error as error:
        yield path, f"this is not a regular expression: {error}"
        return
    if "answer" not in groups:
        yield path, "the expression needs a group named 'answer': (?P<answer>...)"
    elif not widths[groups["answer"]][1]:
        yield (
            path,
            "the group 'answer' matches no character, so nothing would be read; write (?P<answer>\\S+) for a word",
        )


def _run(
    form: dict[str, Any], path: yaml.Path, kind: object, loaded: Loaded, *, has_subject: bool
) -> Iterator[tuple[yaml.Path, str]]:
    run = mapping(form["run"])
    here = (*path, "run")
    if isinstance(run.get("command"), str):
        try:
            programs.parse_command(run["command"])
        except ValueError as error:
            yield (*here, "command"), str(error)
    if isinstance(run.get("folder"), str) and not programs.is_inside(run["folder"]):
        yield (*here, "folder"), f"'{run['folder']}' is no folder within the submission"
    for target, source in _provided(form).items():
        place = (*here, "provide", target)
        if not programs.is_inside(target):
            yield place, f"'{target}' is no place within the folder that the program runs in"
        if isinstance(source, str) and (problem := _source_problem(source, Path(loaded.file).parent, has_subject)):
            yield place, problem
    if programs.TARGET in _provided(form):
        yield (*here, "provide", programs.TARGET), f"'{programs.TARGET}' is where '{programs.TORCHSCRIPT}' lies"
    yield from _reading(form, path, kind)


def _arguments(given: list[Any], place: yaml.Path, subject: str) -> Iterator[tuple[yaml.Path, str]]:
    """Say what is wrong with a program's arguments. `subject`: 'config' or 'model' if all cases are one, else ""."""
    for word in given:
        if word == programs.CONFIG and subject != "config":
            yield place, f"'{word}' is of a subject that is a config, and this task has none"
        elif word != programs.CONFIG and subject != "model":
            yield place, f"'{word}' is of the subject, and this task has none"
    for word, many in ((programs.INPUT_SIZE, "the input has dimensions"), (programs.CONFIG, "the config has names")):
        if word in given[:-1]:
            yield place, f"'{word}' is as many arguments as {many}: put it last"


def _arguments_given(form: dict[str, Any]) -> list[Any]:
    return listed(mapping(form.get("run")).get("given"))


def _reading(form: dict[str, Any], path: yaml.Path, kind: object) -> Iterator[tuple[yaml.Path, str]]:
    words = [word for word in ("after", "find") if word in form]
    if len(words) > 1:
        yield path, _ONE_OF_TWO
    if "entry" in form and (words or "file" in form or "files" in form):
        yield path, "'entry' stands alone beside 'run': it is a name in what the program prints"
    elif "entry" in form:
        return
    if "files" in form and (words or "file" in form):
        yield path, "'files' stands alone beside 'run'"
    elif not words and "file" not in form and "files" not in form and not isinstance(kind, dict):
        yield path, "say after which words the value is printed: 'after: Total MACs'"


def _source_problem(source: str, folder: Path, has_subject: bool) -> str:  # noqa: FBT001 - the one thing asked
    if programs.of_subject(source):
        return "" if has_subject else f"'{source}' is of the subject, and this task has none"
    found = programs.model_of(source)
    if found is not None:
        name = found[0]
        return "" if name in models.names() else f"there is no model '{name}'{did_you_mean(name, models.names())}"
    if source.startswith("./"):
        own = programs.beside_the_spec(source)
        return "" if own is not None and (folder / own).is_file() else f"there is no file '{source}' beside the spec"
    return f"'{source}' can't be provided; it is {_KINDS}, a model such as torchvision/alexnet.onnx, or ./file"


def _provided(form: dict[str, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in mapping(mapping(form.get("run")).get("provide")).items()}
