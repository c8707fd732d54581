"""Whether what a spec analyses fits what is asked of it: a model in memory, an ONNX file, a file of the student's."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from labgrade.errors import Finding
from labgrade.forms import ARTIFACT_KINDS
from labgrade.run_words import TORCHSCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.course import Course
    from labgrade.yamlfile import Loaded, Path

_WHICH = ("model", "file", "handed_in", "config")
_IN_MEMORY = frozenset({"model", "input"})
_BUILT = ("input", "options", "seed")
_COMPUTED_OF = {"subject": "a model in memory", "artifact": "an ONNX file", "config": "a config"}
_SOURCES = ("expected", "also_right", "misconceptions")


def findings(loaded: Loaded, course: Course) -> Iterator[Finding]:
    """What does not fit, each with its place. Tolerant of data that the schema already refused."""
    data = _dict(loaded.data)
    main = _dict(data.get("subject"))
    for path, message in (
        *_subjects(data, main, FilePath(loaded.file).parent),
        *_given(data, main),
        *_artifacts(data),
        *_quantities(data, main, course),
    ):
        yield Finding(loaded.mark(path), message)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _checks(data: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for index, check in enumerate(_list(data.get("checks"))):
        if isinstance(check, dict):
            yield ("checks", index), check


def _cases(path: Path, check: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for index, case in enumerate(_list(check.get("cases"))):
        yield (*path, "cases", index), _dict(case)


def _besides(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [_dict(row) for _, check in _checks(data) for row in _list(check.get("beside"))]


def _subjects(data: dict[str, Any], main: dict[str, Any], folder: FilePath) -> Iterator[tuple[Path, str]]:
    if main and not any(word in main for word in _WHICH):
        yield ("subject",), "a subject needs a 'model' of the zoo, a 'file' beside the spec, 'handed_in', or a 'config'"
    places = [(("subject",), main), *(case for path, check in _checks(data) for case in _cases(path, check))]
    for path, subject in places:
        named = [word for word in _WHICH if word in subject]
        if len(named) > 1:
            yield (*path, named[1]), f"give '{named[0]}' or '{named[1]}', not both"
        built = [word for word in _BUILT if word in subject and "config" in _merged(main, subject)]
        if built:
            yield (*path, built[0]), f"a config has no '{built[0]}': write what it needs into 'config'"
        elif main and subject is not main and ("config" in main) != ("config" in _merged(main, subject)):
            yield path, "a task is about configs or about models, not both"
        file = subject.get("file")
        if isinstance(file, str) and not (folder / file).is_file():
            yield (*path, "file"), f"there is no file '{file}' beside the spec"


def _given(data: dict[str, Any], main: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """What a call is given fits the task's subject, and those of the cases of its answer."""
    for name, answer in _dict(data.get("answers")).items():
        checks = [(path, check) for path, check in _checks(data) if check.get("answer") == name]
        rows = [row for row in _besides(data) if row.get("answer") == name]
        subjects = [main] if checks or not rows else []
        subjects += [_merged(main, case) for path, check in checks for _, case in _cases(path, check)]
        subjects += [_merged(main, row) for row in rows]
        files = {kind for subject in subjects if (kind := _is_file(subject)) is not None}
        for index, form in enumerate(_list(_dict(answer).get("from"))):
            if TORCHSCRIPT in _list(_dict(_dict(form).get("run")).get("given")) and True in files:
                message = (
                    f"'{TORCHSCRIPT}' is traced of a subject in memory, such as torchvision/alexnet; this is a file"
                )
                yield ("answers", name, "from", index, "run", "given"), message
            path = ("answers", name, "from", index, "given")
            for place, word in enumerate(_list(_dict(form).get("given"))):
                if word == "model_path" and False in files:
                    yield (
                        (*path, place),
                        "'model_path' needs a subject that is an ONNX file, such as a zoo model's .onnx",
                    )
                about = {"config" in subject for subject in subjects}
                if word == "config" and False in about:
                    yield (*path, place), "'config' needs a subject that is one: 'config: {layers: 12, ...}'"
                elif word != "config" and True in about:
                    yield (*path, place), f"'{word}' is of a model, and the subject is a config; give 'config'"
                if word in _IN_MEMORY and True in files:
                    yield (*path, place), f"'{word}' needs a subject in memory; of an ONNX file, give 'model_path'"


def _artifacts(data: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Files that students make are measured, and nothing else is."""
    answers = _dict(data.get("answers"))
    made = {name for name, answer in answers.items() if _dict(answer).get("type") in ARTIFACT_KINDS}
    for name in made:
        for index, form in enumerate(_list(_dict(answers[name]).get("from"))):
            if set(_dict(form)) != {"file"} and "save_to" not in _list(_dict(form).get("given")):
                message = "an answer that is a model is a 'file', or what a 'call' writes that is given 'save_to'"
                yield ("answers", name, "from", index), message
    for path, check in _checks(data):
        answer = check.get("answer")
        if answer in made and "measured" not in check and "by_hand" not in check:
            yield path, f"'{answer}' is a file: say what of it is judged, 'measured: {{quantity: ...}}'"
        elif answer in answers and answer not in made and "measured" in check:
            yield (
                (*path, "measured"),
                f"'{answer}' is no file to be measured; its type is not one of {_named(ARTIFACT_KINDS)}",
            )


def _quantities(data: dict[str, Any], main: dict[str, Any], course: Course) -> Iterator[tuple[Path, str]]:
    """A quantity of a file is asked of a file, a quantity of a model of a model."""
    for path, check in _checks(data):
        measured = _dict(check.get("measured"))
        if _takes(measured, course) == "subject":
            yield (
                (*path, "measured"),
                f"quantity '{measured['quantity']}' is computed of a model of the zoo, not of a file",
            )
        subjects = [_merged(main, case) for _, case in _cases(path, check)] or [main]
        calls = [(place, call, subjects) for place, call in _calls(check, path)]
        calls += [
            ((*path, "beside", index, "expected"), _dict(_dict(row).get("expected")), [_merged(main, _dict(row))])
            for index, row in enumerate(_list(check.get("beside")))
        ]
        for place, call, those in calls:
            taken = _takes(call, course)
            if call.get("quantity") in course.quantities.entries and taken not in _COMPUTED_OF:
                known = ", ".join(f"'{name}' ({what})" for name, what in _COMPUTED_OF.items())
                yield (
                    place,
                    f"quantity '{call['quantity']}' is computed of nothing: its first parameter is one of {known}",
                )
                continue
            for subject in those:
                name = next((str(subject[word]) for word in _WHICH if word in subject), "")
                if taken and subject and (taken == "config") != ("config" in subject):
                    other = "a config" if "config" in subject else f"'{name}'"
                    yield place, f"quantity '{call['quantity']}' is computed of {_COMPUTED_OF[taken]}, not of {other}"
                elif taken == "artifact" and _is_file(subject) is False:
                    yield place, f"quantity '{call['quantity']}' is computed of an ONNX file, and '{name}' is none"
                elif taken == "subject" and _is_file(subject):
                    yield (
                        place,
                        f"quantity '{call['quantity']}' is computed of a model in memory, and '{name}' is a file",
                    )
            if "published" in call and any("handed_in" in subject for subject in subjects):
                yield (*place, "published"), "a model that students choose has no published value"


def _merged(main: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """The subject of a case: what it names takes the place of what the task names."""
    return case if any(word in case for word in _WHICH) else {**main, **case}


def _calls(check: dict[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for word in _SOURCES:
        source = check.get(word)
        listed = [(index, _dict(item).get("value")) for index, item in enumerate(_list(source))]
        places: list[tuple[Path, object]] = [((*path, word), source)]
        places += [((*path, word, index, "value"), value) for index, value in listed]
        for place, value in places:
            if isinstance(value, dict) and isinstance(value.get("quantity"), str):
                yield place, value


def _takes(call: dict[str, Any], course: Course) -> str:
    entry = course.quantities.entries.get(str(call.get("quantity")))
    return entry.takes[0] if entry is not None and entry.takes else ""


def _is_file(subject: dict[str, Any]) -> bool | None:
    """Whether a subject is an ONNX file; None where it names nothing."""
    if "file" in subject or "handed_in" in subject:
        return True
    model = subject.get("model")
    return model.endswith(".onnx") if isinstance(model, str) else None


def _named(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)
