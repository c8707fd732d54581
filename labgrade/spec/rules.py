"""What a schema can't say of a spec: sums, references, cycles. Tolerant of data that the schema already refused."""

from __future__ import annotations

from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import SpecFinding
from labgrade.core.points import PLACES
from labgrade.core.task import SCALAR_KINDS
from labgrade.spec import rules_form, rules_subject, rules_type
from labgrade.spec.data import answers_of, is_number, listed, mapping, rows, sources
from labgrade.values import show
from labgrade.verdict import as_credit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.files.yaml import Loaded, Path
    from labgrade.spec.course import Course

_LAYER = "linear/layer.onnx"
_EXCLUDES = ("cases", "by_hand")
_REVEALED = (*SCALAR_KINDS, "histogram")  # the types of which a line can say what is expected; of a table its rows do


def findings(loaded: Loaded, course: Course) -> list[SpecFinding]:
    """Return every finding that takes several places of the file, or the course, to see."""
    if not isinstance(loaded.data, dict):
        return []
    finder = _Finder(loaded, course)
    finder.names()
    finder.points()
    finder.answers()
    finder.needs()
    for index, check in finder.checks():
        finder.one_check(check, ("checks", index))
    return [
        *finder.found,
        *rules_form.findings(loaded),
        *rules_subject.findings(loaded, course),
        *rules_type.findings(loaded, course),
    ]


def _texts(value: object) -> list[str]:
    return [item for item in listed(value) if isinstance(item, str)]


class _Finder:
    def __init__(self, loaded: Loaded, course: Course) -> None:
        self.loaded = loaded
        self.course = course
        self.data = mapping(loaded.data)
        self.found: list[SpecFinding] = []
        self._twice = False

    def _find(self, path: Path, message: str, *, key: bool = False) -> None:
        mark = self.loaded.key_mark(path) if key else self.loaded.mark(path)
        self.found.append(SpecFinding(mark, message))

    def checks(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The checks that are mappings, with their index."""
        for index, check in enumerate(listed(self.data.get("checks"))):
            if isinstance(check, dict):
                yield index, check

    def names(self) -> None:
        """Check that the id is the file's name and that check ids are unique."""
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
        """Check that points add up: checks to the task (bonus aside), rubric lines to their check."""
        if not isinstance(self.data.get("checks"), list):
            return  # which is said by itself
        finer = [place for index, check in self.checks() for place in self._unearnable(check, ("checks", index))]
        finer += self._unearnable(self.data, ())
        if finer:
            return
        total = sum((_points(check) for _, check in self.checks() if check.get("bonus") is not True), Fraction(0))
        if is_number(self.data.get("points")) and _points(self.data) != total:
            self._find(("points",), f"the checks add up to {show(total)} points, not {show(_points(self.data))}")
        for index, check in self.checks():
            rubric = [line for line in listed(check.get("by_hand")) if isinstance(line, dict)]
            worth = sum((_points(line) for line in rubric), Fraction(0))
            if rubric and worth != _points(check):
                message = f"the rubric adds up to {show(worth)} points, not {show(_points(check))}"
                self._find(("checks", index, "points"), message)
            said = [line.get("for") for line in rubric]
            for at in (at for at, what in enumerate(said) if what in said[:at]):
                message = f"'{said[at]}' is line {said.index(said[at]) + 1} already, and marks are known by their line"
                self._find(("checks", index, "by_hand", at, "for"), f"{message}: say it in other words")

    def _unearnable(self, check: dict[str, Any], path: Path) -> list[Path]:
        """Say which points of a check, a rubric or the task are no hundredths, so that nobody can earn them."""
        places = [((*path, "points"), check), *(((*at, "points"), row) for at, row in rows(check, path, "by_hand"))]
        finer = {place: worth for place, each in places if (worth := _points(each)) != round(worth, PLACES)}
        for place, worth in finer.items():
            message = f"points are earned in hundredths, and {float(worth)} has more digits"
            self._find(place, f"{message}; write {max(float(round(worth, PLACES)), 0.01):g}")
        return list(finer)

    def answers(self) -> None:
        """Check that each answer is used and each used one exists."""
        answers = mapping(self.data.get("answers")) if isinstance(self.data.get("checks"), list) else {}
        asked = [
            (("checks", index, *place), name) for index, check in self.checks() for place, name in answers_of(check)
        ]
        used = [name for _, name in asked]  # of any kind
        for name in answers:
            if name not in used:
                self._find(("answers", name), f"no check uses the answer '{name}'", key=True)
        for path, wanted in asked:
            if isinstance(wanted, str) and wanted not in answers:
                self._find(path, f"there is no answer '{wanted}'{did_you_mean(wanted, answers)}")

    def needs(self) -> None:
        """Check that needs name other checks without a cycle, and that no visible check needs a hidden one."""
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
        """Check that a check is judged by a checker or by hand, and that its parts fit together."""
        for place, message in _counterexample(self.data, check, path):
            self._find(place, message)
        self._reveal(check, (*path, "reveal"))
        if "by_hand" in check:
            extra = [word for word in ("checker", "expected", "misconceptions", "cases") if word in check]
            if extra:
                self._find((*path, extra[0]), f"a check marked by hand has no '{extra[0]}'", key=True)
            return
        if "beside" in check:
            self._find((*path, "beside"), "'beside' is shown to the person who marks by hand: 'by_hand'", key=True)
        self._judged(check, path)
        if "cases" in check and not self._is_live(check.get("answer")):
            self._find((*path, "cases"), self._not_live(check.get("answer")), key=True)
        for place, source in sources(check, path) if "subject" not in self.data else ():
            if "quantity" in source:
                self._find(place, "a quantity is computed of the subject, and this task has none")

    def _judged(self, check: dict[str, Any], path: Path) -> None:
        """Say what judges a check, and what is right, where something is missing."""
        if "checker" not in check:
            self._find(path, "say how it is judged: 'checker', or 'by_hand' with a rubric")
        self._required_parameters(check.get("checker"), (*path, "checker"))
        if "expected" not in check and not self._expects_nothing(check.get("checker")):
            self._find(path, "say what is right: 'expected'")

    def _expects_nothing(self, checker: object) -> bool:
        """Return whether a checker's signature says that it needs no expected value."""
        name = next(iter(checker), None) if isinstance(checker, dict) else checker
        entry = self.course.checkers.entries.get(str(name))
        return entry is not None and "None" in entry.expects.split(" | ")

    def _reveal(self, check: dict[str, Any], path: Path) -> None:
        answer = mapping(mapping(self.data.get("answers")).get(str(check.get("answer"))))
        if check.get("reveal") is not True:
            return
        if check.get("hidden") is True:
            self._find(path, "a hidden check reveals nothing; take out 'reveal' or 'hidden'", key=True)
        elif "type" in answer and answer["type"] not in _REVEALED and "table" not in mapping(answer["type"]):
            self._find(path, "'reveal' shows the expected value, and of such an answer none is written", key=True)

    def _required_parameters(self, checker: object, path: Path) -> None:
        if not isinstance(checker, str) or checker not in self.course.checkers.entries:
            return
        needed = [key for key, value in self.course.checkers.get(checker).parameters.items() if value.required]
        if needed:
            example = ", ".join(f"{key}: ..." for key in needed)
            self._find(path, f"checker '{checker}' needs parameters: {{{checker}: {{{example}}}}}")

    def _forms(self, answer: object) -> list[dict[str, Any]]:
        forms = listed(mapping(mapping(self.data.get("answers")).get(str(answer))).get("from"))
        return [mapping(form) for form in forms]

    def _is_live(self, answer: object) -> bool:
        return any("call" in form or rules_form.varies_with_subject(form) for form in self._forms(answer))

    def _not_live(self, answer: object) -> str:
        if any("build" in mapping(form.get("run")) for form in self._forms(answer)):
            return "cases need a 'run' that is handed the case's subject: given: [torchscript_path, input_size]"
        if any("run" in form for form in self._forms(answer)):
            return "cases need a 'run' that is handed the case's subject: provide: {model.onnx: subject.onnx}"
        return "cases need an answer that can be computed again: a 'call' form, or a 'run' that is handed the subject"


def _counterexample(data: dict[str, Any], check: dict[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    if "counterexample" not in check:
        return
    here = (*path, "counterexample")
    for word in _EXCLUDES:
        if word in check:
            yield here, f"a check has '{word}' or 'counterexample', not both"
    answer = mapping(mapping(data.get("answers")).get(str(check.get("answer"))))
    forms = [mapping(form) for form in answer.get("from", []) if isinstance(answer.get("from"), list)]
    if not any("call" in form for form in forms):
        yield here, "a counterexample is looked for by calling a function: the answer needs a 'call' form"
    expected = check.get("expected")
    if expected is not None and "quantity" not in mapping(expected):
        yield (*path, "expected"), "what is right differs from network to network: give a 'quantity'"
    among, subject = mapping(check["counterexample"]).get("among"), mapping(data.get("subject"))
    if among == "sizes" and not str(subject.get("model")).endswith(".onnx"):
        yield (
            (*here, "among"),
            "'sizes' are those of linear layers in an ONNX file, and the subject is none of the zoo's",
        )
    other = next((word for word in ("handed_in", "config") if word in subject), "")
    if among != "sizes" and (subject.get("model") == _LAYER or other):
        yield (*here, "among"), f"random networks don't take the place of '{subject.get('model') or other}'"


def _points(data: dict[str, Any]) -> Fraction:
    return as_credit(data["points"]) if is_number(data.get("points")) else Fraction(0)
