"""`labgrade new LAB/TASK-ID`: a few questions, then a spec that validates. Overwrites nothing."""

from __future__ import annotations

import re
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.answers import obtain
from labgrade.authoring import new_course
from labgrade.commands.compute import conventions_of, pairs, shape_of
from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import SpecError, UsageError
from labgrade.core.task import CONFIG, InputSpec, QuantityCall, SubjectSpec
from labgrade.files import yaml, yaml_write
from labgrade.spec import course, load
from labgrade.spec.in_full import hand_in, slips
from labgrade.spec.language import KNOWN
from labgrade.spec.parse import form
from labgrade.truth.named import value_of
from labgrade.truth.oracle import Oracle

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping

    from labgrade.spec.course import Course
    from labgrade.spec.registry import Entry

_FIRST_LINE = "# yaml-language-server: $schema=../task.schema.json\n"


def spec_text(data: Mapping[str, Any]) -> str:
    """The spec's text; a check has a line a key, since it is there that its author goes on."""
    checks = "".join(_item(check) for check in data["checks"])
    before = yaml_write.dump({key: value for key, value in data.items() if key != "checks"})
    return f"{_FIRST_LINE}{before}checks:\n{checks}"


def title_for(entry: Entry, subject: Mapping[str, Any]) -> str:
    """What is asked, of what: `Weight bytes of resnet18`."""
    words = entry.name.replace("_", " ")
    name = str(subject["model"]).rpartition("/")[2] if "model" in subject else subject[CONFIG].get("name", "")
    return f"{words[0].upper()}{words[1:]}{f' of {name}' if name else ''}"


def statement(entry: Entry, subject: Mapping[str, Any], forms: list[dict[str, Any]], path: Path) -> str:
    """What the quantity says of itself, of what it is asked, and how it may be handed in."""
    *places, last = obtain.places(tuple(form(each, path) for each in forms))
    told = entry.description.rstrip(".") or entry.name
    return (
        f"{told}.\nAbout {_subject_in_words(subject)}.\nHand in {', '.join(places)}{' or ' if places else ''}{last}.\n"
    )


def checker(kind: Any, tolerance: float | None) -> Any:
    """How a value of a type is judged: as printed, to a number of digits (1 or more), or within a share.

    Raises:
        UsageError: values of the type are not judged so.
    """
    word = kind if isinstance(kind, str) else next(iter(kind))
    if tolerance is None:
        return _AS_PRINTED.get(word, "equal")
    digits = tolerance >= 1
    if (name := (_TO_DIGITS if digits else _WITHIN).get(word)) is None:
        what = "a table of tensors" if word == "table_of" else f"a {word}"
        message = f"{what} is not judged {'to digits' if digits else 'within a share'}: take out --tolerance"
        raise UsageError(message)
    return {name: {"digits" if digits else "rtol": tolerance}}


_AS_PRINTED = {"table_of": "close", "table": "same_rows"}
_TO_DIGITS = {"table": "same_rows", **dict.fromkeys(("count", "bytes", "number", "histogram"), "equal")}
_WITHIN = {**_AS_PRINTED, **dict.fromkeys(("count", "bytes", "number"), "close")}


def handed_in(
    forms: Iterable[str], task: str, quantity: str, about: str, kind: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """How a task is handed in, and what its answer adds to that; `forms` are of `call`, `entry`, `report`, `file`.

    What a network makes of its input are tensors: a function of these is handed the input itself.
    """
    of_model = "model, input" if "tensor" in (kind, *(kind.values() if isinstance(kind, dict) else ())) else ""
    given = {"artifact": "model_path", CONFIG: CONFIG}.get(about, of_model or "model, input_size")
    common: dict[str, Any] = {}
    answer: dict[str, Any] = {}
    for way in forms:
        match way:
            case "call":
                common["code"] = "hw.py"
                answer["call"] = f"{quantity}({given})"
            case "entry":
                common["entries"] = task
            case "report":
                common["report"] = "under <number>" if _NUMBERED.match(task) else f"under {task}"
            case _:
                common["output"] = f"{task}-output.txt"
    if {"report", "output"} & common.keys():
        answer["words"] = quantity.replace("_", " ").capitalize()
    return common, answer


def _item(check: Mapping[str, Any]) -> str:
    first, *others = yaml_write.dump(dict(check)).splitlines()
    return "".join(f"{line}\n" for line in (f"  - {first}", *(f"    {line}" for line in others)))


def _subject_in_words(subject: Mapping[str, Any]) -> str:
    if CONFIG in subject:
        return "a config with " + ", ".join(f"{key} {value}" for key, value in subject[CONFIG].items())
    return f"{subject['model']}, with an input of {'x'.join(map(str, subject['input']))}"


_NUMBERED = re.compile(r"\d+(?:-\d+)*(?:-|$)")  # 1-2-activations: students write the number alone
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
FORMS = ("call", "entry", "report", "file")
_TYPES = {"int": "count", "float": "number", "str": "text", "list[int]": "shape", "dict[str, int]": "histogram"}
_NO_COLUMNS = ("also_named", "also_right", "optional")  # what the engine reads of a row, and no student writes
_MOST_TRIES = 5
_MOST_OFFERED = 4


def add_new(parser: argparse.ArgumentParser) -> None:
    """The arguments of `new`: every question has one, so that a script can answer."""
    parser.add_argument("task", metavar="LAB/TASK-ID", help="such as acal-lab2/2-5-1-something")
    parser.add_argument("--title", help="what students read first")
    parser.add_argument("--subject", metavar="MODEL", help="such as torchvision/resnet18; see labgrade list subjects")
    parser.add_argument("--config", nargs="+", metavar="KEY=VALUE", help="plain data in place of a model")
    parser.add_argument("--input", metavar="SHAPE", help="such as 1,3,224,224")
    parser.add_argument("--quantity", metavar="NAME", help="what is asked for; see labgrade list quantities")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a convention of the quantity")
    parser.add_argument("--forms", metavar="LIST", help=f"ways of handing in: {','.join(FORMS)}")
    parser.add_argument("--points", metavar="N", help="what it is worth")
    parser.add_argument(
        "--tolerance", metavar="T", help="digits, such as 3, or a share, such as 1e-5; nothing: as printed"
    )
    parser.add_argument("--publish", action="store_true", default=None, help="compute the value and write it down")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Ask, write, validate."""
    if not (Path.cwd() / "specs").is_dir():
        message = "there is no folder 'specs' here; go to your course, or make one: labgrade init mycourse"
        raise UsageError(message)
    found = course.find(Path.cwd())
    new_course.keep_schemas(found)
    lab, _, task = options.task.partition("/")
    if not _ID.fullmatch(lab) or not _ID.fullmatch(task):
        message = (
            f"a task is called LAB/TASK-ID in letters, digits, - and _, such as lab2/2-5-1-sizes, not '{options.task}'"
        )
        raise UsageError(message)
    target = found.specs / lab / f"{task}.yaml"
    if target.exists():
        message = f"'{target.relative_to(Path.cwd())}' is there already"
        raise UsageError(message)
    data = _ask_for_spec(options, task, found)
    text = spec_text(data)
    _validate(text, lab, task, found)
    target.parent.mkdir(exist_ok=True)
    if not (target.parent / "lab.yaml").exists():
        (target.parent / "lab.yaml").write_text(yaml_write.dump({"title": lab}), encoding="utf-8")
    with target.open("x", encoding="utf-8") as file:
        file.write(text)
    print(f"{target.relative_to(Path.cwd())} is written; next: its statement, known wrong values, a hidden case")  # noqa: T201
    if data["checks"][0]["expected"].get("published") == 0:
        print("the value is 0: is what it counts in this subject?", file=sys.stderr)  # noqa: T201
    return 0


# ---- questions -------------------------------------------------------------------------------------------------


def _ask_for_spec(options: argparse.Namespace, task: str, found: Course) -> dict[str, Any]:
    """The spec's data from the flags, and from a person for what no flag says."""
    subject, about, shown = _subject(options, found)
    entries = found.quantities.entries
    fitting = _computed_of(about, entries)
    quantity = _answer("quantity", options.quantity, lambda text: _fitting(text, fitting, entries, shown))
    entry = entries[quantity]
    call = QuantityCall(quantity=quantity, parameters=_conventions(options, entry))
    if about != CONFIG:
        subject["input"] = list(_answer("input", options.input, shape_of, default="1,3,224,224"))
    forms = _answer("forms", options.forms, _forms, default="call,entry")
    points = _answer("points", options.points, _points, default="10")
    tolerance = _answer("tolerance", options.tolerance, _tolerance, default="")
    title = _answer("title", options.title, str, default=title_for(entry, subject))
    publish = _is_published(options)
    kind, value = _answer_type(found, call, _spec_of(subject, found), publish=publish)
    common, answer = handed_in(forms, task, quantity, about, kind)
    written = [each for _, each in hand_in.forms("value", {"type": kind, **answer}, common)]
    if not written:
        message = f"'{quantity}' gives what no person writes down: hand it in by a function, --forms call"
        raise UsageError(message)
    expected = {"quantity": quantity, **({"with": dict(call.parameters)} if call.parameters else {})}
    check = {
        "id": "value",
        "points": points,
        "answer": "value",
        "checker": checker(kind, tolerance),
        "expected": {**expected, **({"published": value} if publish else {})},
        **({"misconceptions": KNOWN} if any(slips.slips_of(entries, quantity)) else {}),
    }
    return {
        "id": task,
        "title": title,
        "points": points,
        "statement": statement(entry, subject, written, found.specs),
        "subject": subject,
        "hand_in": common,
        "answers": {"value": {"type": kind, **answer}},
        "checks": [check],
    }


def _is_published(options: argparse.Namespace) -> bool:
    given = "yes" if options.publish else _refuse_questions(options)
    published: bool = _answer("publish the value (yes or no)", given, _yes, default="no")
    return published


def _computed_of(about: str, entries: Mapping[str, Entry]) -> list[str]:
    """The quantities of such subjects, without those that compare with an original."""
    return [name for name, each in entries.items() if each.takes[:1] == (about,) and "original" not in each.parameters]


def _subject(options: argparse.Namespace, found: Course) -> tuple[dict[str, Any], str, str]:
    """The subject as a spec has it, the parameter of quantities that are computed of such, and what it is called."""
    if options.config is not None:
        return {CONFIG: pairs(options.config, "--config")}, CONFIG, "a config"
    known = found.model_names
    asked = "subject (such as torchvision/resnet18; see labgrade list models)"
    model = _answer(asked, options.subject, lambda text: _one_of(text, known, "model", "torchvision/"))
    return {"model": model}, "artifact" if model.endswith(".onnx") else "subject", f"'{model}'"


def _spec_of(subject: dict[str, Any], found: Course) -> SubjectSpec:
    if CONFIG in subject:
        return SubjectSpec(model=CONFIG, options=subject[CONFIG], input=InputSpec(shape=()))
    model = subject["model"]
    return SubjectSpec(model=model, code=found.code_of(model), input=InputSpec(shape=tuple(subject["input"])))


def _refuse_questions(options: argparse.Namespace) -> str | None:
    """Decline to publish when a script runs the command, since nobody can be asked."""
    given = (options.subject, options.quantity)
    return "no" if all(given) or options.publish is False else None


def _answer(what: str, said: str | None, parse: Callable[[str], Any], default: str | None = None) -> Any:
    """Return a flag's value, else what a person types, else the default where nobody can be asked.

    Raises:
        UsageError: a flag says what can't be, or nobody answers a question that has no default.
    """
    if said is not None:
        return parse(said)
    offer = f" [{default}]" if default is not None else ""
    for _ in range(_MOST_TRIES):
        if not sys.stdin.isatty() and default is not None:
            return parse(default)
        try:
            typed = input(f"{what}{offer}: ").strip() or (default or "")
        except EOFError:
            flag = f"{what}=..." if what.startswith("set ") else what.partition(" ")[0]
            message = f"nobody answers: say --{flag}"
            raise UsageError(message) from None
        try:
            return parse(typed)
        except UsageError as error:
            print(error)  # noqa: T201
    message = f"no {what} was given"
    raise UsageError(message)


def _one_of(text: str, known: Iterable[str], kind: str, prefix: str = "") -> str:
    known = list(known)
    for name in (text, prefix + text):
        if name in known:
            return name
    near = did_you_mean(text, known) or did_you_mean(prefix + text, known)
    holding = [name for name in known if text and text.lower() in name.lower()]
    if holding and not near:
        near = f"; '{text}' is in {', '.join(holding[:_MOST_OFFERED])}{', ...' if holding[_MOST_OFFERED:] else ''}"
    message = f"there is no {kind} '{text}'{near}"
    raise UsageError(message)


def _fitting(text: str, fitting: list[str], entries: Any, shown: str) -> str:
    if text in entries and text not in fitting:
        of = {"artifact": "an ONNX file", CONFIG: "a config"}.get("".join(entries[text].takes[:1]), "a model in memory")
        message = f"'{text}' is computed of {of}, and {shown} is none"
        raise UsageError(message)
    return _one_of(text, fitting, "quantity")


def _forms(text: str) -> list[str]:
    return list(dict.fromkeys(_one_of(each.strip(), FORMS, "form") for each in text.split(",")))


def _points(text: str) -> int | float:
    data = yaml.load(text, "--points").data
    if not isinstance(data, int | float) or isinstance(data, bool) or data <= 0:
        message = f"points are a number above 0, not '{text}'"
        raise UsageError(message)
    return data


def _tolerance(text: str) -> int | float | None:
    """Parse a tolerance: a whole number of digits, a share, or nothing for the printed precision."""
    data = yaml.load(text, "--tolerance").data if text else None
    if data is None:
        return None
    if isinstance(data, int | float) and not isinstance(data, bool) and data > 0:
        return data
    message = f"a tolerance is a number of digits, such as 3, or a share, such as 1e-5, not '{text}'"
    raise UsageError(message)


def _yes(text: str) -> bool:
    if text.lower() in ("y", "yes", "n", "no"):
        return text.lower().startswith("y")
    message = f"say yes or no, not '{text}'"
    raise UsageError(message)


# ---- the spec --------------------------------------------------------------------------------------------------


def _conventions(options: argparse.Namespace, entry: Entry) -> dict[str, Any]:
    """Return the conventions of --set, and ask for those that the quantity requires."""
    chosen = conventions_of(options.set, entry)
    for name, parameter in entry.parameters.items():
        if parameter.required and name not in chosen:
            chosen |= _answer(f"set {name}", None, partial(_convention, entry, name))
    return chosen


def _convention(entry: Entry, name: str, text: str) -> dict[str, Any]:
    return conventions_of([f"{name}={text}"], entry)


def _answer_type(found: Course, call: QuantityCall, subject: SubjectSpec, *, publish: bool) -> tuple[Any, Any]:
    """Return the answer's type, and its value if it is to be published. A table's columns come from its value."""
    entry = found.quantities.get(call.quantity)
    kind: Any = _TYPES.get(entry.returns)
    if kind == "count" and call.quantity.endswith("_bytes"):
        kind = "bytes"
    if entry.returns == "dict[str, torch.Tensor]":
        if publish:
            message = "arrays are not published in a spec; leave --publish out"
            raise UsageError(message)
        return {"table_of": "tensor"}, None
    if kind is not None and not publish and not subject.is_config:  # of which nobody knows what it has to say
        return kind, None
    with Oracle(found.quantities) as oracle:
        value: Any = value_of(oracle.value, call, subject)
    return (kind or _table(value, call.quantity)), value


def _table(value: Any, quantity: str) -> dict[str, Any]:
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        message = f"'{quantity}' gives no value that an answer can be compared with"
        raise UsageError(message)
    (row, _), *rest = ((key, item) for key, item in value[0].items() if key not in _NO_COLUMNS)
    columns = {key: _column(key, item) for key, item in rest}
    return {"table": {"row": row, "columns": columns}}


def _column(name: str, value: object) -> str:
    if isinstance(value, list):
        return "shape"
    if isinstance(value, int) and not isinstance(value, bool):
        return "bytes" if name.endswith("bytes") else "count"
    return "number" if isinstance(value, float) else "text"


def _validate(text: str, lab: str, task: str, found: Course) -> None:
    """Validate the new spec as `labgrade validate` will.

    Raises:
        UsageError: something in it does not fit; nothing is written then.
    """
    with tempfile.TemporaryDirectory(prefix="labgrade-new-") as folder:
        path = Path(folder) / lab / f"{task}.yaml"
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
        try:
            load.read(path, found)
        except SpecError as error:
            message = f"nothing is written: {error.findings[0].message}"
            raise UsageError(message) from error
