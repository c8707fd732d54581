"""Whether what a spec analyses fits what is asked of it: a model in memory, an ONNX file, a file of the student's."""

from __future__ import annotations

import ast
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, cast

from labgrade.core.arguments import ALL
from labgrade.core.did_you_mean import offer
from labgrade.core.errors import SpecFinding
from labgrade.core.programs import TORCHSCRIPT, beside_the_spec, is_inside
from labgrade.core.task import ARTIFACT_KINDS
from labgrade.core.text import one_line
from labgrade.spec.data import WHICH, checks, listed, mapping, rows, sources, subjects_of, with_inherited
from labgrade.subjects import catalogue, onnx_export

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.files.yaml import Loaded, Path
    from labgrade.spec.course import Course

_IN_MEMORY = ("model", "input")
_BUILT = ("input", "inputs", "options", "seed")
_COMPUTED_OF = {"subject": "a model in memory", "artifact": "an ONNX file", "config": "a config"}


def findings(loaded: Loaded, course: Course) -> Iterator[SpecFinding]:
    """What does not fit, each with its place. Tolerant of data that the schema already refused."""
    data = mapping(loaded.data)
    main = mapping(data.get("subject"))
    for path, message in (
        *_subjects(data, main, FilePath(loaded.file).parent),
        *_given_findings(data),
        *_arguments(data, main, FilePath(loaded.file).parent),
        *_artifacts(data),
        *_quantities(data, main, course),
    ):
        yield SpecFinding(loaded.mark(path), message)
    yield from _options(main, ("subject",), loaded, course)
    for path, check in checks(data):
        yield from _of_cases(check, main, path, loaded, course)


def _subjects(data: dict[str, Any], main: dict[str, Any], folder: FilePath) -> Iterator[tuple[Path, str]]:
    for place, name in enumerate(listed(data.get("files"))):
        if isinstance(name, str) and (problem := _beside_problem(name, folder)):
            yield ("files", place), problem
    if main and not any(word in main for word in WHICH):
        yield ("subject",), "a subject needs a 'model' of the zoo, a 'file' beside the spec, 'handed_in', or a 'config'"
    places = [(("subject",), main), *(case for path, check in checks(data) for case in rows(check, path, "cases"))]
    for path, subject in places:
        named = [word for word in WHICH if word in subject]
        if len(named) > 1:
            yield (*path, named[1]), f"give '{named[0]}' or '{named[1]}', not both"
        built = [word for word in _BUILT if word in subject and "config" in with_inherited(subject, main)]
        if built:
            yield (*path, built[0]), f"a config has no '{built[0]}': write what it needs into 'config'"
        elif main and subject is not main and ("config" in main) != ("config" in with_inherited(subject, main)):
            yield path, "a task is about configs or about models, not both"
        yield from _inputs(subject, path)
        file = subject.get("file")
        if isinstance(file, str) and (problem := _beside_problem(file, folder)):
            yield (*path, "file"), problem


def _beside_problem(name: str, folder: FilePath) -> str:
    """Say why this is no file beside the spec, or "". A kit copies such files by name."""
    if not is_inside(name.removeprefix("./")) or not name.isprintable():
        return f"'{one_line(name)}' leads out of the spec's folder; name a file that lies in it"
    return "" if (folder / name).is_file() else f"there is no file '{name}' beside the spec"


def _inputs(subject: dict[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    """Find inputs whose values can't be drawn, and things said twice."""
    if "input" in subject and "inputs" in subject:
        yield (*path, "inputs"), "give 'input' or 'inputs', not both"
    if "inputs" in subject and ("file" in subject or "handed_in" in subject):
        yield (*path, "inputs"), "'inputs' are of a model in memory; a file says its own"
    several = [((*path, "inputs", place), each) for place, each in enumerate(listed(subject.get("inputs")))]
    for place, each in (((*path, "input"), subject.get("input")), *several):
        one = mapping(each)
        fill, whole = one.get("fill", "normal"), not str(one.get("dtype", "float32")).lstrip("b").startswith("float")
        if fill == "tokens" and "below" not in one:
            yield place, "say how many tokens there are: 'below: 50257'"
        elif fill != "tokens" and "below" in one:
            yield (*place, "below"), "'below' is of 'fill: tokens'"
        if fill == "tokens" and "dtype" in one and not whole:
            yield (*place, "dtype"), "tokens are whole numbers: int64, int32, ..."
        elif fill in ("normal", "uniform") and whole:
            yield (*place, "dtype"), f"'{fill}' draws no whole numbers; there is 'fill: tokens'"


def _given_findings(data: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Check that a call's arguments fit the task's subject and those of its cases."""
    for name, answer in mapping(data.get("answers")).items():
        subjects = subjects_of(name, data)
        files = {kind for subject in subjects if (kind := _is_file(subject)) is not None}
        for index, form in enumerate(listed(mapping(answer).get("from"))):
            if TORCHSCRIPT in listed(mapping(mapping(form).get("run")).get("given")) and True in files:
                message = (
                    f"'{TORCHSCRIPT}' is traced of a subject in memory, such as torchvision/alexnet; this is a file"
                )
                yield ("answers", name, "from", index, "run", "given"), message
            path = ("answers", name, "from", index, "given")
            for place, word in enumerate(listed(mapping(form).get("given"))):
                if isinstance(word, str) and not _is_own(word, subjects):
                    for message in _argument(word, subjects, files):
                        yield (*path, place), message


def _argument(word: str, subjects: list[dict[str, Any]], files: set[bool]) -> Iterator[str]:
    """Say what is wrong with one of labgrade's own arguments for these subjects."""
    if word not in ALL and word in _known_arguments(subjects):
        lacking = "the task's own subject" if word not in _given_by(subjects[0]) else "each case"
        yield f"'{word}' is not given by {lacking}: add it to its `arguments`, or its `config`"
        return
    if word not in ALL:
        yield f"no argument is called '{word}'{offer(word, _known_arguments(subjects))}"
        return
    about = {"config" in subject for subject in subjects}
    if word == "model_path" and False in files:
        yield "'model_path' needs a subject that is an ONNX file, such as a zoo model's .onnx"
    if word == "config" and False in about:
        yield "'config' needs a subject that is one: 'config: {layers: 12, ...}'"
    elif word != "config" and True in about:
        yield f"'{word}' is of a model, and the subject is a config; give 'config'"
    if word in _IN_MEMORY and True in files:
        yield f"'{word}' needs a subject in memory; of an ONNX file, give 'model_path'"


def _is_own(word: str, subjects: list[dict[str, Any]]) -> bool:
    """Return whether each subject has an argument of this name, or a config that holds it."""
    return word not in ALL and bool(subjects) and all(word in _given_by(each) for each in subjects)


def _given_by(subject: dict[str, Any]) -> dict[str, Any]:
    return {**mapping(subject.get("config")), **mapping(subject.get("arguments"))}


def _known_arguments(subjects: list[dict[str, Any]]) -> list[str]:
    own = [name for each in subjects for word in ("config", "arguments") for name in mapping(each.get(word))]
    return list(dict.fromkeys((*own, *ALL)))


def _arguments(data: dict[str, Any], main: dict[str, Any], folder: FilePath) -> Iterator[tuple[Path, str]]:
    """Find the task's own arguments that are named like labgrade's, or name a missing file."""
    places = [(("subject",), main), *(case for path, check in checks(data) for case in rows(check, path, "cases"))]
    for path, subject in places:
        for name, value in mapping(subject.get("arguments")).items():
            here = (*path, "arguments", name)
            if name in ALL:
                yield here, f"'{name}' is one of labgrade's own arguments: call it otherwise"
            if isinstance(value, str) and value.startswith("./"):
                own = beside_the_spec(value)
                if own is None or not (folder / own).is_file():
                    yield here, f"there is no file '{value}' beside the spec"
            elif (
                isinstance(value, str) and "." in value and beside_the_spec(f"./{value}") and (folder / value).is_file()
            ):
                yield here, f"'{value}' is a text here; the file beside the spec is './{value}'"


def _artifacts(data: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Check that exactly the files that students make are measured."""
    answers = mapping(data.get("answers"))
    made = {name for name, answer in answers.items() if mapping(answer).get("type") in ARTIFACT_KINDS}
    for name in made:
        kind = mapping(answers[name])["type"]
        for index, form in enumerate(listed(mapping(answers[name]).get("from"))):
            if message := _no_file(mapping(form), kind):
                yield ("answers", name, "from", index), message
    for path, check in checks(data):
        answer = str(check.get("answer"))
        if answer in made and "measured" not in check and "by_hand" not in check:
            yield path, f"'{answer}' is a file: say what of it is judged, 'measured: {{quantity: ...}}'"
        elif answer in answers and answer not in made and "measured" in check:
            yield (
                (*path, "measured"),
                f"'{answer}' is no file to be measured; its type is not one of {_joined(ARTIFACT_KINDS)}",
            )


def _no_file(form: dict[str, Any], kind: str) -> str:
    """Say why a form gives no file of the kind, or ""."""
    called, read = "call" in form, set(form) - {"run"}
    if kind == "files":
        fits = read == {"files"} and isinstance(form["files"], dict)
        return "" if fits else "files are given by patterns: 'files: {golden: golden/*.pth, input: input/*.pth}'"
    if kind == "module" and called:
        saves = "save_to" in listed(form.get("given"))
        return "a network is what the 'call' returns; take out 'save_to', or say 'type: file'" if saves else ""
    if (called and "save_to" in listed(form.get("given"))) or read == {"file"}:
        return ""
    if kind == "file" and read == {"report"} and "run" not in form:
        return ""
    if kind == "module":
        return "a network is what a 'call' returns, or a 'file' that holds it as TorchScript"
    return "an answer that is a file is a 'file', or what a 'call' writes that is given 'save_to'"


def _quantities(data: dict[str, Any], main: dict[str, Any], course: Course) -> Iterator[tuple[Path, str]]:
    """Check that quantities of files are asked of files, and those of models of models."""
    for path, check in checks(data):
        yield from _measured(mapping(check.get("measured")), (*path, "measured"), course, alone=not main)
        subjects = [with_inherited(case, main) for _, case in rows(check, path, "cases")] or [main]
        calls = [(place, call, subjects) for place, call in _calls(check, path)]
        yield from _left_open(check, path, subjects, course)
        calls += [
            ((*place, "expected"), mapping(row.get("expected")), [with_inherited(row, main)])
            for place, row in rows(check, path, "beside")
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
                name = next((str(subject[word]) for word in WHICH if word in subject), "")
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


def _measured(call: dict[str, Any], path: Path, course: Course, *, alone: bool) -> Iterator[tuple[Path, str]]:
    """Check that a measured quantity takes a file, and is given a subject if it compares with one."""
    entry = course.quantities.entries.get(str(call.get("quantity")))
    if entry is None:
        return
    if (taken := "".join(entry.takes[:1])) != "artifact":
        of = _COMPUTED_OF.get(taken, "nothing that labgrade knows")
        yield path, f"quantity '{entry.name}' is computed of {of}, not of a file: its first parameter is 'artifact'"
    elif alone and "original" in entry.parameters:
        yield path, f"quantity '{entry.name}' compares with the subject, and this task has none"


def _calls(check: dict[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    return ((place, source) for place, source in sources(check, path) if isinstance(source.get("quantity"), str))


def _left_open(
    check: dict[str, Any], path: Path, subjects: list[dict[str, Any]], course: Course
) -> Iterator[tuple[Path, str]]:
    """Find required parameters of a quantity that neither the spec nor a subject's arguments give."""
    for place, call in (*_calls(check, path), ((*path, "measured"), mapping(check.get("measured")))):
        entry = course.quantities.entries.get(str(call.get("quantity")))
        given = [{*mapping(call.get("with")), *mapping(each.get("arguments"))} for each in subjects]
        named = [name for name, each in entry.parameters.items() if each.required] if entry is not None else []
        if needed := [name for name in named if not all(name in each for each in given)]:
            example = ", ".join(f"{name}: ..." for name in needed)
            yield place, f"quantity '{call['quantity']}' needs 'with: {{{example}}}'"


def _takes(call: dict[str, Any], course: Course) -> str:
    entry = course.quantities.entries.get(str(call.get("quantity")))
    return entry.takes[0] if entry is not None and entry.takes else ""


def _is_file(subject: dict[str, Any]) -> bool | None:
    """Return whether a subject is an ONNX file; None if it names nothing."""
    if "file" in subject or "handed_in" in subject:
        return True
    model = subject.get("model")
    return model.endswith(".onnx") if isinstance(model, str) else None


def _joined(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _of_cases(
    check: dict[str, Any], main: dict[str, Any], path: Path, loaded: Loaded, course: Course
) -> Iterator[SpecFinding]:
    seen: list[dict[str, Any]] = []
    cases = [(place, with_inherited(case, main)) for place, case in rows(check, path, "cases")]
    if (
        cases
        and main
        and _asked_of_own(check, loaded)
        and all(_in_full(case, course) == _in_full(main, course) for _, case in cases)
    ):
        message = "this is the task's own subject again, on which a constant is right, too: change its model, options "
        yield SpecFinding(loaded.mark(cases[0][0]), f"{message}or input")
    for place, case in rows(check, path, "cases"):
        whole = with_inherited(case, main)
        if whole in seen:
            yield SpecFinding(loaded.mark(place), "this case stands twice")
        seen.append(whole)
        yield from _options(whole, place, loaded, course)


def _asked_of_own(check: dict[str, Any], loaded: Loaded) -> bool:
    """Return whether another check judges the same answer on the task's own subject; in a kit a case may do."""
    others = (
        other
        for _, other in rows(cast("dict[str, Any]", loaded.data), (), "checks")
        if other.get("answer") == check.get("answer")
    )
    return any(not (other.get("cases") or other.get("counterexample")) for other in others)


def _in_full(subject: dict[str, Any], course: Course) -> dict[str, Any]:
    """Return a subject with its defaults filled in."""
    model = str(subject.get("model"))
    network = course.network(model)
    usual = (
        {name: each.default for name, each in network.parameters.items()}
        if network
        else catalogue.default_options(model)
    )
    options = {**onnx_export.DEFAULTS, **{name: _default_value(default) for name, default in usual.items()}}
    several = listed(subject.get("inputs")) or [subject.get("input")]
    return {
        **{name: value for name, value in subject.items() if name != "input"},
        "seed": subject.get("seed", 0),
        "options": {**options, **mapping(subject.get("options"))},
        "inputs": [{"fill": "normal", "seed": 0, **(mapping(each) or {"shape": each})} for each in several],
    }


def _default_value(default: str) -> object:
    """Parse a default as Python writes it; what is no plain data stays text."""
    try:
        return ast.literal_eval(default)
    except (ValueError, SyntaxError):
        return default


def _options(subject: dict[str, Any], path: Path, loaded: Loaded, course: Course) -> Iterator[SpecFinding]:
    """Find options that the model does not take, and those that a network lacks."""
    model = subject.get("model")
    if not isinstance(model, str):
        return
    network, options = course.network(model), mapping(subject.get("options"))
    for option, parameter in network.parameters.items() if network is not None else ():
        if parameter.required and option not in options:
            yield SpecFinding(loaded.mark(path), f"'{model}' needs 'options: {{{option}: ...}}'")
    if not options:
        return  # so that the source of the zoo is read only where something is held against it
    known = (
        catalogue.options_of(model)
        if network is None
        else {*network.parameters, *catalogue.ADDED[model.endswith(".onnx")]}
    )
    for option in options:
        if known is not None and option not in known:
            message = f"'{model}' has no option '{option}'{offer(option, sorted(known))}"
            yield SpecFinding(loaded.key_mark((*path, "options", option)), message)
