"""What a schema can't say of a spec: sums, references, cycles. Tolerant of data that the schema already refused."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from labgrade import spec_counterexamples, spec_runs, spec_subjects
from labgrade.errors import Finding, did_you_mean
from labgrade.schema_words import KINDS
from labgrade.values import show
from labgrade.verdict import as_credit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.course import Course
    from labgrade.yamlfile import Loaded, Path

_WHOLE = ("text", "histogram")  # read from a whole section, without words before it

_EXPECT_NOTHING = frozenset({"at_most", "between", "catches", "none_left"})


def findings(loaded: Loaded, course: Course) -> list[Finding]:
    """Every finding that needs more than one place of the file to be seen."""
    if not isinstance(loaded.data, dict):
        return []
    finder = _Finder(loaded, course)
    finder.names()
    finder.points()
    finder.answers()
    finder.needs()
    for index, check in finder.checks():
        finder.one_check(check, ("checks", index))
    return [*finder.found, *spec_subjects.findings(loaded, course)]


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]


class _Finder:
    def __init__(self, loaded: Loaded, course: Course) -> None:
        self.loaded = loaded
        self.course = course
        self.data = _dict(loaded.data)
        self.found: list[Finding] = []
        self._twice = False

    def _find(self, path: Path, message: str, *, key: bool = False) -> None:
        mark = self.loaded.key_mark(path) if key else self.loaded.mark(path)
        self.found.append(Finding(mark, message))

    def checks(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The checks that are mappings, with their index."""
        for index, check in enumerate(_list(self.data.get("checks"))):
            if isinstance(check, dict):
                yield index, check

    def names(self) -> None:
        """The id is the file's name; no two checks share one."""
        stem = PurePath(self.loaded.file).stem
        if isinstance(self.data.get("id"), str) and self.data["id"] != stem:
            self._find(("id",), f"the id '{self.data['id']}' differs from the file's name, '{stem}'")
        seen: dict[str, int] = {}
        for index, check in self.checks():
            name = check.get("id")
            if isinstance(name, str) and name in seen:
                line = self.loaded.mark(("checks", seen[name], "id")).line
                self._find(("checks", index, "id"), f"the check '{name}' is already on line {line}")
            elif isinstance(name, str):
                seen[name] = index
        self._twice = len(seen) < sum(isinstance(check.get("id"), str) for _, check in self.checks())

    def points(self) -> None:
        """The task's points are the sum of those of its checks, bonus checks aside; a rubric's those of its check."""
        total = sum((_points(check) for _, check in self.checks() if check.get("bonus") is not True), Fraction(0))
        if _is_number(self.data.get("points")) and _points(self.data) != total:
            self._find(("points",), f"the checks add up to {show(total)} points, not {show(_points(self.data))}")
        for index, check in self.checks():
            rubric = [line for line in _list(check.get("by_hand")) if isinstance(line, dict)]
            worth = sum((_points(line) for line in rubric), Fraction(0))
            if rubric and worth != _points(check):
                message = f"the rubric adds up to {show(worth)} points, not {show(_points(check))}"
                self._find(("checks", index, "points"), message)

    def answers(self) -> None:
        """Each answer is used, each used one exists; forms are whole."""
        answers = _dict(self.data.get("answers"))
        besides = [
            (("checks", index, "beside", row, "answer"), _dict(item).get("answer"))
            for index, check in self.checks()
            for row, item in enumerate(_list(check.get("beside")))
        ]
        used = {check.get("answer") for _, check in self.checks()} | {name for _, name in besides}
        for name, answer in answers.items():
            if name not in used:
                self._find(("answers", name), f"no check uses the answer '{name}'", key=True)
            for index, form in enumerate(_list(_dict(answer).get("from"))):
                self._form(_dict(form), ("answers", name, "from", index), _dict(answer).get("type"))
        asked = [(("checks", index, "answer"), check.get("answer")) for index, check in self.checks()]
        for path, wanted in (*asked, *besides):
            if isinstance(wanted, str) and wanted not in answers:
                self._find(path, f"there is no answer '{wanted}'{did_you_mean(wanted, answers)}")

    def _form(self, form: dict[str, Any], path: Path, kind: object) -> None:
        if "call" in form and "subject" not in self.data:
            self._find(path, "a 'call' is handed the subject, and this task has none")
        if "run" in form:
            for place, message in spec_runs.findings(form, path, kind, self.loaded, has_subject=self._is_built()):
                self._find(place, message)
        elif form and "call" not in form and "entry" not in form:
            self._where(form, path, kind)
        if isinstance(form.get("find"), str):
            self._pattern(form["find"], (*path, "find"))

    def _is_built(self) -> bool:
        return "subject" in self.data and "config" not in _dict(self.data["subject"])

    def _where(self, form: dict[str, Any], path: Path, kind: object) -> None:
        words = [word for word in ("after", "find") if word in form]
        where = [word for word in ("file", "report") if word in form]
        if len(words) > 1:
            self._find(path, "give 'after' or 'find', not both")
        if "files" in form:
            if words or where:
                self._find(path, "'files' stands alone")
        elif len(where) != 1:
            self._find(path, "say where to look: 'file' or 'report'" + (", not both" if where else ""))
        elif "report" in where and not words and kind in KINDS and kind not in _WHOLE:
            self._find(path, "say after which words the value stands: 'after: Total MACs'")

    def _pattern(self, pattern: str, path: Path) -> None:
        try:
            groups = re.compile(pattern).groupindex
        except re.error as error:
            self._find(path, f"this is not a regular expression: {error}")
            return
        if "answer" not in groups:
            self._find(path, "the expression needs a group named 'answer': (?P<answer>...)")

    def needs(self) -> None:
        """Needs name other checks, never in a circle, and a visible check needs no hidden one."""
        by_name = {check["id"]: check for _, check in self.checks() if isinstance(check.get("id"), str)}
        graph: dict[str, list[str]] = {}
        for index, check in self.checks():
            for position, need in enumerate(_texts(check.get("needs"))):
                path = ("checks", index, "needs", position)
                if need not in by_name:
                    self._find(path, f"there is no check '{need}'{did_you_mean(need, by_name)}")
                elif by_name[need].get("hidden") is True and check.get("hidden") is not True:
                    self._find(path, f"'{need}' is hidden, and a visible check can't need it")
                elif isinstance(check.get("id"), str):
                    graph.setdefault(check["id"], []).append(need)
        if self._twice:  # two checks of one name would seem to need each other
            return
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circle = " -> ".join(reversed(error.args[1]))
            first = next(i for i, check in self.checks() if check.get("id") in error.args[1])
            self._find(("checks", first, "needs"), f"these checks need each other: {circle}")

    def one_check(self, check: dict[str, Any], path: Path) -> None:
        """A check is judged by a checker or by hand, and its parts fit together."""
        for place, message in spec_counterexamples.findings(self.data, check, path):
            self._find(place, message)
        self._reveal(check, (*path, "reveal"))
        if "by_hand" in check:
            extra = [word for word in ("checker", "expected", "misconceptions", "cases") if word in check]
            if extra:
                self._find((*path, extra[0]), f"a check marked by hand has no '{extra[0]}'", key=True)
            return
        if "beside" in check:
            self._find((*path, "beside"), "'beside' is shown to the person who marks by hand: 'by_hand'", key=True)
        if "checker" not in check:
            self._find(path, "say how it is judged: 'checker', or 'by_hand' with a rubric")
        self._required_parameters(check.get("checker"), (*path, "checker"))
        if "expected" not in check and not _expects_nothing(check.get("checker")):
            self._find(path, "say what is right: 'expected'")
        if "cases" in check and not self._is_live(check.get("answer")):
            self._find((*path, "cases"), self._not_live(check.get("answer")), key=True)
        if "subject" not in self.data:
            for place, _ in _quantities(check, path):
                self._find(place, "a quantity is computed of the subject, and this task has none")

    def _reveal(self, check: dict[str, Any], path: Path) -> None:
        answer = _dict(_dict(self.data.get("answers")).get(str(check.get("answer"))))
        if check.get("reveal") is not True:
            return
        if check.get("hidden") is True:
            self._find(path, "a hidden check reveals nothing; take out 'reveal' or 'hidden'", key=True)
        elif "type" in answer and "table" not in _dict(answer["type"]):
            self._find(path, "'reveal' shows a table beside the expected one, and this answer is none", key=True)

    def _required_parameters(self, checker: object, path: Path) -> None:
        if not isinstance(checker, str) or checker not in self.course.checkers.entries:
            return
        needed = [key for key, value in self.course.checkers.get(checker).parameters.items() if value.required]
        if needed:
            example = ", ".join(f"{key}: ..." for key in needed)
            self._find(path, f"checker '{checker}' needs parameters: {{{checker}: {{{example}}}}}")

    def _forms(self, answer: object) -> list[dict[str, Any]]:
        forms = _list(_dict(_dict(self.data.get("answers")).get(str(answer))).get("from"))
        return [_dict(form) for form in forms]

    def _is_live(self, answer: object) -> bool:
        return any("call" in form or spec_runs.varies(form) for form in self._forms(answer))

    def _not_live(self, answer: object) -> str:
        if any("build" in _dict(form.get("run")) for form in self._forms(answer)):
            return "cases need a 'run' that is handed the case's subject: given: [torchscript_path, input_size]"
        if any("run" in form for form in self._forms(answer)):
            return "cases need a 'run' that is handed the case's subject: provide: {model.onnx: subject.onnx}"
        return "cases need an answer that can be computed again: a 'call' form, or a 'run' that is handed the subject"


def _expects_nothing(checker: object) -> bool:
    """Some checkers have what is right as their parameters, or know it by themselves."""
    name = next(iter(checker), None) if isinstance(checker, dict) else checker
    return name in _EXPECT_NOTHING


def _quantities(value: object, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    if isinstance(value, dict):
        if "quantity" in value:
            yield path, value
        for key, item in value.items():
            yield from _quantities(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _quantities(item, (*path, index))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _points(data: dict[str, Any]) -> Fraction:
    return as_credit(data["points"]) if _is_number(data.get("points")) else Fraction(0)
