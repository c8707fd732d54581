"""Validated plain data -> Task: the frozen types of a spec."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labgrade.forms import AnswerSpec, AnswerType, TableOfType, TableType
from labgrade.model import (
    CONFIG,
    Alternative,
    Beside,
    Check,
    CheckerCall,
    Counterexample,
    Criterion,
    InputSpec,
    Limits,
    LiteralValue,
    Partly,
    QuantityCall,
    Source,
    SubjectSpec,
    Task,
)
from labgrade.spec_forms import form
from labgrade.verdict import as_credit

if TYPE_CHECKING:
    from pathlib import Path

    from labgrade import yamlfile
    from labgrade.yamlfile import Loaded

_UNITS = {"B": 0, "KB": 1, "MB": 2, "GB": 3}
_KIB = {"KiB": 10, "MiB": 20, "GiB": 30}
_OF_A_SUBJECT = ("model", "file", "handed_in", "config", "options", "input", "seed")


def task(loaded: Loaded, path: Path, limits: Limits) -> Task:
    """The task of a file that the schema and all checks found right; `limits` are the lab's."""
    return _Parser(loaded, path, limits).task()


def limits_of(data: Any, base: Limits) -> Limits:
    """The limits that some `limits:` says; those of `base` where it says nothing."""
    changes: dict[str, Any] = {key: _amount(data[key]) for key in ("memory", "output") if key in data}
    if "seconds" in data:
        changes["seconds"] = float(data["seconds"])
    return replace(base, **changes)


def _amount(text: str) -> int:
    number, unit = text.rstrip("KMGiB").strip(), text.lstrip("0123456789. ")
    scale = 2 ** _KIB[unit] if unit in _KIB else 1000 ** _UNITS[unit]
    return int(Fraction(number) * scale)


class _Parser:
    """From validated plain data to the frozen types. Nothing here can fail: the schema has been there before."""

    def __init__(self, loaded: Loaded, path: Path, limits: Limits) -> None:
        self.loaded = loaded
        self.path = path
        self.limits = limits

    def task(self) -> Task:
        data: Any = self.loaded.data
        main = self._subject(data["subject"], None, ("subject",)) if "subject" in data else None
        return Task(
            lab=self.path.parent.name,
            id=data["id"],
            title=data["title"],
            statement=data["statement"],
            points=_number(data["points"]),
            subject=main,
            answers={
                name: AnswerSpec(
                    name=name, type=_type(answer["type"]), forms=tuple(form(f, self.path) for f in answer["from"])
                )
                for name, answer in data["answers"].items()
            },
            checks=tuple(self._check(check, index, main) for index, check in enumerate(data["checks"])),
            limits=limits_of(data.get("limits", {}), self.limits),
            path=self.path,
        )

    def _subject(self, data: Any, main: SubjectSpec | None, here: yamlfile.Path) -> SubjectSpec:
        if "config" in data:
            inherited = main.options if main is not None and main.is_config else {}
            options = {**{key: value for key, value in inherited.items() if key != "name"}, **data["config"]}
            return SubjectSpec(model=CONFIG, options=options, input=InputSpec(shape=()), mark=self.loaded.mark(here))
        own = data.get("input")
        if own is None and main is not None:
            given = main.input
        else:
            given = _input(own if isinstance(own, dict) else {"shape": own})
        which = {word: data[word] for word in ("model", "file", "handed_in") if word in data}
        if not which and main is not None:
            which = {"model": main.model, "file": main.file, "handed_in": main.handed_in}
        if "file" in data:
            which["file"] = str((self.path.parent / data["file"]).absolute())
        return SubjectSpec(
            **which,
            options=data.get("options", main.options if main else {}),
            seed=data.get("seed", main.seed if main else 0),
            input=given,
            mark=self.loaded.mark(here),
        )

    def _check(self, data: Any, index: int, main: SubjectSpec | None) -> Check:
        here = ("checks", index)
        return Check(
            id=data["id"],
            points=_number(data["points"]),
            answer=data["answer"],
            checker=_checker(data["checker"]) if "checker" in data else None,
            measured=self._quantity(data["measured"], (*here, "measured")) if "measured" in data else None,
            expected=self._source(data["expected"], (*here, "expected")) if "expected" in data else None,
            also_right=self._alternatives(data, (*here, "also_right"), Fraction(1)),
            misconceptions=self._alternatives(data, (*here, "misconceptions"), Fraction(0)),
            partly=tuple(_partly(item) for item in data.get("partly", [])),
            by_hand=tuple(Criterion(points=_number(i["points"]), what=i["for"]) for i in data.get("by_hand", [])),
            beside=tuple(self._beside(row, main, (*here, "beside", i)) for i, row in enumerate(data.get("beside", []))),
            hidden=data.get("hidden", False),
            bonus=data.get("bonus", False),
            reveal=data.get("reveal", False),
            needs=tuple(data.get("needs", [])),
            cases=tuple(self._subject(case, main, (*here, "cases", i)) for i, case in enumerate(data.get("cases", []))),
            counterexample=Counterexample(**data["counterexample"]) if "counterexample" in data else None,
            mark=self.loaded.mark(here),
        )

    def _beside(self, data: Any, main: SubjectSpec | None, here: yamlfile.Path) -> Beside:
        own = {key: data[key] for key in _OF_A_SUBJECT if key in data}
        return Beside(
            says=data["says"],
            answer=data["answer"],
            expected=self._source(data["expected"], (*here, "expected")),
            subject=self._subject(own, main, here) if own else None,
        )

    def _alternatives(self, data: Any, here: yamlfile.Path, credit: Fraction) -> tuple[Alternative, ...]:
        return tuple(
            Alternative(
                source=self._source(item["value"], (*here, index, "value")),
                says=item["says"],
                credit=_number(item["credit"]) if "credit" in item else credit,
                mark=self.loaded.mark((*here, index)),
            )
            for index, item in enumerate(data.get(here[-1], []))
        )

    def _source(self, data: Any, here: yamlfile.Path) -> Source:
        if not isinstance(data, dict):
            return LiteralValue(value=data, mark=self.loaded.mark(here))
        if "literal" in data:
            return LiteralValue(value=data["literal"], mark=self.loaded.mark((*here, "literal")))
        return self._quantity(data, here)

    def _quantity(self, data: Any, here: yamlfile.Path) -> QuantityCall:
        return QuantityCall(
            quantity=data["quantity"],
            parameters=data.get("with", {}),
            published=data.get("published"),
            mark=self.loaded.mark((*here, "published") if "published" in data else here),
        )


def _input(data: Any) -> InputSpec:
    return InputSpec(shape=tuple(data["shape"]), fill=data.get("fill", "normal"), seed=data.get("seed", 0))


def _type(data: Any) -> AnswerType:
    if isinstance(data, str):
        return data
    if "table_of" in data:
        return TableOfType(kind=data["table_of"])
    table = data["table"]
    return TableType(row=table["row"], columns=table["columns"], sparse=table.get("sparse", False))


def _checker(data: Any) -> CheckerCall:
    if isinstance(data, str):
        return CheckerCall(name=data)
    ((name, parameters),) = data.items()
    return CheckerCall(name=name, parameters=parameters or {})


def _partly(data: Any) -> Partly:
    bounds = {key: _number(value) for key, value in data["when"].items()}
    return Partly(**bounds, credit=_number(data["credit"]), says=data["says"])


def _number(value: float) -> Fraction:
    return as_credit(value)
