"""What is wrong with a `run` form, as far as no schema can say it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade import run_words, zoo
from labgrade.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade import yamlfile
    from labgrade.yamlfile import Loaded

_KINDS = "subject.onnx, subject.pt (TorchScript), subject.pth (state dict), input.npy"


def varies(form: dict[str, Any]) -> bool:
    """Whether something that the program is handed changes with the subject."""
    provided = _provided(form).values()
    return bool(_given(form)) or any(isinstance(source, str) and run_words.of_subject(source) for source in provided)


def findings(
    form: dict[str, Any], path: yamlfile.Path, kind: object, loaded: Loaded, *, has_subject: bool
) -> Iterator[tuple[yamlfile.Path, str]]:
    """The place and the message of each."""
    run = form["run"] if isinstance(form["run"], dict) else {}
    here = (*path, "run")
    if isinstance(run.get("command"), str):
        try:
            run_words.parse_command(run["command"])
        except ValueError as error:
            yield (*here, "command"), str(error)
    if isinstance(run.get("folder"), str) and not run_words.is_inside(run["folder"]):
        yield (*here, "folder"), f"'{run['folder']}' is no folder within the submission"
    for target, source in _provided(form).items():
        place = (*here, "provide", target)
        if not run_words.is_inside(target):
            yield place, f"'{target}' is no place within the folder that the program runs in"
        if isinstance(source, str) and (problem := _source_problem(source, Path(loaded.file).parent, has_subject)):
            yield place, problem
    given = _given(form)
    if given and not has_subject:
        yield (*here, "given"), f"'{given[0]}' is of the subject, and this task has none"
    if run_words.INPUT_SIZE in given[:-1]:
        yield (
            (*here, "given"),
            f"'{run_words.INPUT_SIZE}' is as many arguments as the input has dimensions: put it last",
        )
    if run_words.TARGET in _provided(form):
        yield (*here, "provide", run_words.TARGET), f"'{run_words.TARGET}' is where '{run_words.TORCHSCRIPT}' lies"
    yield from _reading(form, path, kind)


def _given(form: dict[str, Any]) -> list[Any]:
    run = form.get("run")
    given = run.get("given") if isinstance(run, dict) else None
    return given if isinstance(given, list) else []


def _reading(form: dict[str, Any], path: yamlfile.Path, kind: object) -> Iterator[tuple[yamlfile.Path, str]]:
    words = [word for word in ("after", "find") if word in form]
    if len(words) > 1:
        yield path, "give 'after' or 'find', not both"
    if "entry" in form and (words or "file" in form or "files" in form):
        yield path, "'entry' stands alone beside 'run': it is a name in what the program prints"
    elif "entry" in form:
        return
    if "files" in form and (words or "file" in form):
        yield path, "'files' stands alone beside 'run'"
    elif not words and "file" not in form and "files" not in form and not isinstance(kind, dict):
        yield path, "say after which words the value is printed: 'after: Total MACs'"


def _source_problem(source: str, folder: Path, has_subject: bool) -> str:  # noqa: FBT001 - the one thing asked
    if run_words.of_subject(source):
        return "" if has_subject else f"'{source}' is of the subject, and this task has none"
    found = run_words.model_of(source)
    if found is not None:
        name = found[0]
        return "" if name in zoo.names() else f"there is no model '{name}'{did_you_mean(name, zoo.names())}"
    if source.startswith("./"):
        own = run_words.beside_the_spec(source)
        return "" if own is not None and (folder / own).is_file() else f"there is no file '{source}' beside the spec"
    return f"'{source}' can't be provided; it is {_KINDS}, a model such as torchvision/alexnet.onnx, or ./file"


def _provided(form: dict[str, Any]) -> dict[str, Any]:
    run = form.get("run")
    provided = run.get("provide") if isinstance(run, dict) else None
    return {str(key): value for key, value in provided.items()} if isinstance(provided, dict) else {}
