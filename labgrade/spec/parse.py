"""Validated plain data -> Task: the frozen types of a spec."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

from labgrade.core import programs
from labgrade.core.task import (
    ARTIFACT_KINDS,
    CONFIG,
    Alternative,
    AnswerSpec,
    AnswerType,
    AnswerValue,
    BuildForm,
    CallForm,
    Check,
    CheckerCall,
    Comparison,
    Counterexample,
    Criterion,
    EntryForm,
    Environment,
    FileForm,
    Form,
    InputSpec,
    Limits,
    LiteralValue,
    Picture,
    QuantityCall,
    RangeCredit,
    RunForm,
    Source,
    SubjectSpec,
    TableOfType,
    TableType,
    Task,
    TextForm,
)
from labgrade.spec import language
from labgrade.spec.data import rows, with_inherited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from labgrade.files import yaml
    from labgrade.spec.in_full.expand import Expanded


def form(data: Any, spec_path: Path) -> Form:
    """One form of an answer of the spec at `spec_path`."""
    if "call" in data:
        file, _, function = data["call"].partition(":")
        notebook = data.get("notebooks") == "accepted"
        given = [each if isinstance(each, str) else f"argument_{at}" for at, each in enumerate(data["given"], 1)]
        written = {
            name: each.get("literal") if isinstance(each, dict) else each
            for name, each in zip(given, data["given"], strict=True)
            if not isinstance(each, str)
        }
        return CallForm(file=file, function=function, given=tuple(given), written=written, notebook=notebook)
    if "run" in data:
        return _run_form(data, spec_path)
    return _read_form(data)


def _saving(found: Form, answer: Mapping[str, Any], answers: Mapping[str, Any]) -> Form:
    """Return the form; a call that writes its answer gets the name of that file.

    Where the answer has no such file, as the first group of files that another of the `answers` asks for: some writers
    refuse a path without the ending of their format.
    """
    kind = answer["type"]
    if not isinstance(found, CallForm) or kind not in ARTIFACT_KINDS:
        return found
    groups = (each.get("files") for other in answers.values() for each in other["from"])
    others = (next(iter(group.values())) for group in groups if isinstance(group, dict) and group)
    named = [*(str(each.get("file", "")) for each in answer["from"]), *map(str, others)]
    ending = next((suffix for name in named if (suffix := PurePosixPath(name).suffix)), "")
    suffix = {"onnx": ".onnx", "module": ".pt"}.get(kind, ending)
    return replace(found, saved_as=f"answer{suffix}", module=kind == "module")


def _run_form(data: Any, spec_path: Path) -> RunForm | BuildForm:
    run = data["run"]
    sources: dict[str, str] = run.get("provide", {})
    beside = {target: programs.beside_the_spec(source) for target, source in sources.items()}
    shared: Any = {
        "folder": run.get("folder", ""),
        "provide": {
            target: source if (own := beside[target]) is None else spec_path.absolute().parent / own
            for target, source in sources.items()
        },
        "varies": any(map(programs.of_subject, sources.values())) or bool(run.get("given")),
        "given": tuple(run.get("given", ())),
        "reads": _read_form(data),
    }
    if "build" in run:
        return BuildForm(program=run["program"], **shared)
    file, arguments = programs.parse_command(run["command"])
    return RunForm(file=file, arguments=arguments, **shared)


def _read_form(data: Any) -> TextForm | FileForm | EntryForm:
    """Parse what is read from the submission, or from what a program printed and wrote."""
    if "entry" in data:
        return EntryForm(path=data["entry"])
    if isinstance(files := data.get("files"), dict):
        return FileForm(pattern=", ".join(files.values()), groups=files)
    raw = language.fields("raw", data)
    if files is not None:
        return FileForm(pattern=files, **raw)
    if "file" in data and "report" not in data and "after" not in data and "find" not in data:
        return FileForm(pattern=data["file"], **raw)
    return TextForm(
        after=data.get("after"), find=data.get("find"), file=data.get("file"), report=_headings(data.get("report"))
    )


def _headings(text: str | None) -> tuple[str, ...] | None:
    """Parse `under 2-1-4` and `under [Lab 2, 1]` to a path of headings; `anywhere` is the whole report."""
    if text is None:
        return None
    path = text.removeprefix("under ").strip()
    if text == "anywhere":
        return ()
    return tuple(part.strip() for part in path[1:-1].split(",")) if path.startswith("[") else (path,)


_UNITS = {"B": 0, "KB": 1, "MB": 2, "GB": 3}
_KIB = {"KiB": 10, "MiB": 20, "GiB": 30}


CodeOf: TypeAlias = "Callable[[str], Mapping[str, str]]"


def task(loaded: Expanded, path: Path, limits: Limits, code_of: CodeOf) -> Task:
    """Make the task of a validated spec in full; `limits` are the lab's.

    `code_of` gives the source of a network of the course's by name; nothing for the zoo's.
    """
    return _Parser(loaded, path, limits, code_of).task()


def limits_of(data: Any, base: Limits) -> Limits:
    """Parse `limits:`; what it leaves out comes from `base`."""
    amounts: dict[str, Any] = {key: _amount(data[key]) for key in ("memory", "output") if key in data}
    return replace(base, **language.fields(Limits, data), **amounts)


def with_environment(data: Any, base: Limits) -> Limits:
    """Add a task's or a lab's `environment` to the limits, if there is one."""
    if "environment" not in data:
        return base
    return replace(base, environment=Environment(**language.fields(Environment, data["environment"])))


def _amount(text: str) -> int:
    number, unit = text.rstrip("KMGiB").strip(), text.lstrip("0123456789. ")
    scale = 2 ** _KIB[unit] if unit in _KIB else 1000 ** _UNITS[unit]
    return int(Fraction(number) * scale)


class _Parser:
    """Turns validated plain data into frozen types. Nothing can fail here: the schema was checked before."""

    def __init__(self, loaded: Expanded, path: Path, limits: Limits, code_of: CodeOf) -> None:
        self.loaded = loaded
        self.code_of = code_of
        self.path = path
        self.limits = limits

    def task(self) -> Task:
        data: Any = self.loaded.data
        main = data.get("subject", {})
        return Task(
            lab=self.path.parent.name,
            **language.fields(Task, data),
            subject=self._subject(main, {}, ("subject",)) if main else None,
            answers={
                name: AnswerSpec(
                    name=name,
                    type=_type(answer["type"]),
                    forms=tuple(_saving(form(f, self.path), answer, data["answers"]) for f in answer["from"]),
                    mark=self.loaded.key_mark(("answers", name)),
                    **language.fields(AnswerSpec, answer),
                )
                for name, answer in data["answers"].items()
            },
            checks=tuple(self._check(check, index, main) for index, check in enumerate(data["checks"])),
            limits=with_environment(data, limits_of(data.get("limits", {}), self.limits)),
            path=self.path,
        )

    def _subject(self, data: Any, main: Mapping[str, Any], here: yaml.Path) -> SubjectSpec:
        """Parse a subject; what a case leaves out comes from the task's."""
        mark = self.loaded.mark(here)
        whole = with_inherited(data, main)
        arguments = {name: self._argument(value) for name, value in whole.get("arguments", {}).items()}
        found: dict[str, Any] = {"arguments": arguments, "mark": mark}
        if "config" in whole:
            return SubjectSpec(model=CONFIG, options=whole["config"], input=InputSpec(shape=()), **found)
        found |= {name: whole[name] for name in ("model", "options") if name in whole}
        if "file" in whole:
            found["file"] = str((self.path.parent / whole["file"]).absolute())
        if "model" in whole:
            found["code"] = self.code_of(whole["model"])
        first, *further = map(_input, whole["inputs"] if "inputs" in whole else [whole["input"]])
        return SubjectSpec(**language.fields(SubjectSpec, whole), **found, input=first, further=tuple(further))

    def _argument(self, value: Any) -> Any:
        """Parse an argument; a file beside the spec becomes its path."""
        own = programs.beside_the_spec(value) if isinstance(value, str) else None
        return value if own is None else self.path.absolute().parent / own

    def _check(self, data: Any, index: int, main: Mapping[str, Any]) -> Check:
        here = ("checks", index)
        return Check(
            **language.fields(Check, data),
            checker=_checker(data["checker"]) if "checker" in data else None,
            measured=self._quantity(data["measured"], (*here, "measured")) if "measured" in data else None,
            expected=self._source(data["expected"], (*here, "expected")) if "expected" in data else None,
            also_right=(*self._alternatives(data, (*here, "also_right"), Fraction(1)), *self._implied(here)),
            misconceptions=self._alternatives(data, (*here, "misconceptions"), Fraction(0)),
            partly=tuple(
                RangeCredit(**language.fields(RangeCredit, item), **language.fields("when", item["when"]))
                for item in data.get("partly", [])
            ),
            by_hand=tuple(Criterion(**language.fields(Criterion, item)) for item in data.get("by_hand", [])),
            beside=tuple(self._beside(row, main, place) for place, row in rows(data, here, "beside")),
            cases=tuple(self._subject(case, main, place) for place, case in rows(data, here, "cases")),
            counterexample=Counterexample(**language.fields(Counterexample, data["counterexample"]))
            if "counterexample" in data
            else None,
            picture=self._picture(data["picture"], (*here, "picture")) if "picture" in data else None,
            mark=self.loaded.mark(here),
        )

    def _picture(self, data: Any, here: yaml.Path) -> Picture:
        measured = self._quantity(data["measured"], (*here, "measured")) if "measured" in data else None
        return Picture(**language.fields(Picture, data), measured=measured)

    def _beside(self, data: Any, main: Mapping[str, Any], here: yaml.Path) -> Comparison:
        own = {name: data[name] for name in language.SUBJECT_WORDS if name in data}
        return Comparison(
            says=data["says"],
            answer=data["answer"],
            expected=self._source(data["expected"], (*here, "expected")),
            subject=self._subject(own, main, here) if own else None,
        )

    def _alternatives(self, data: Any, here: yaml.Path, credit: Fraction) -> tuple[Alternative, ...]:
        return tuple(
            Alternative(
                source=self._source(item["value"], (*here, index, "value")),
                **{"credit": credit, **language.fields(Alternative, item)},
                known=(*here, index) in self.loaded.slips,
                by_share=(*here, index) in self.loaded.shared,
                mark=self.loaded.mark((*here, index)),
            )
            for index, item in enumerate(data.get(here[-1], []))
        )

    def _implied(self, here: yaml.Path) -> Iterator[Alternative]:
        """The conventions of a check that are right in any task."""
        for item in self.loaded.implied.get(here, ()):
            source = self._quantity(item["value"], here)
            fields = language.fields(Alternative, item)
            yield Alternative(source=source, **{"credit": Fraction(1), **fields}, known=True, implied=True)

    def _source(self, data: Any, here: yaml.Path) -> Source:
        if not isinstance(data, dict):
            return LiteralValue(value=data, mark=self.loaded.mark(here))
        if "literal" in data:
            return LiteralValue(value=data["literal"], mark=self.loaded.mark((*here, "literal")))
        if "answer" in data:
            return AnswerValue(**language.fields(AnswerValue, data), mark=self.loaded.mark(here))
        return self._quantity(data, here)

    def _quantity(self, data: Any, here: yaml.Path) -> QuantityCall:
        return QuantityCall(
            quantity=data["quantity"],
            parameters=data.get("with", {}),
            published=data.get("published"),
            times=data.get("times", 1),
            mark=self.loaded.mark((*here, "published") if "published" in data else here),
        )


def _input(data: Any) -> InputSpec:
    own = data if isinstance(data, dict) else {"shape": data}
    kind = {"dtype": "int64"} if own.get("fill") == "tokens" else {}
    return InputSpec(**language.fields(InputSpec, {**kind, **own}))


def _type(data: Any) -> AnswerType:
    if isinstance(data, str):
        return data
    if "table_of" in data:
        return TableOfType(kind=data["table_of"])
    table = data["table"]
    return TableType(**language.fields(TableType, table))


def _checker(data: Any) -> CheckerCall:
    if isinstance(data, str):
        return CheckerCall(name=data)
    ((name, parameters),) = data.items()
    return CheckerCall(name=name, parameters=parameters or {})
