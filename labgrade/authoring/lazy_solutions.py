"""Lazy solutions that nobody wrote: a constant, rows chosen by name, an input of one's own. Each has to be noticed.

They are made of what the exemplar's functions return, and judged as it is; no code is written for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labgrade.answers import obtain
from labgrade.answers.question import Question
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.authoring.check_values import is_computed
from labgrade.core.errors import FaultError
from labgrade.core.results import Answer
from labgrade.core.task import CallForm, QuantityCall, TableOfType
from labgrade.diagnosis.counterexample import plan_of
from labgrade.diagnosis.probe import judged_value
from labgrade.diagnosis.search import available, subjects
from labgrade.judging.items import items
from labgrade.judging.judge import judge
from labgrade.truth.measure import UnfitError, files_given
from labgrade.values import Artifact, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from labgrade.core.results import Submission
    from labgrade.core.task import AnswerSpec, InputSpec, SubjectSpec, Task
    from labgrade.judging.items import Item
    from labgrade.run.grader import Grader
    from labgrade.values import Value

_FEW_NETWORKS = 8  # of a search: what is lazy shows itself at once
_FEW_ENDINGS = 0.5  # of the rows: with more, names say nothing of types


@dataclass(frozen=True, slots=True, kw_only=True)
class LazySolution:
    """What a lazy function does, and the first item that notices it, or ""."""

    answer: str
    says: str
    noticed_by: str


class LazySolutions:
    """The lazy solutions of a task, made of what `who` hands in."""

    def __init__(self, grader: Grader, task: Task, who: Submission) -> None:
        self._grader, self._task, self._who = grader, task, who

    def tried(self) -> Iterator[LazySolution]:
        """Yield each lazy solution with the item that notices it."""
        for wanted in self._task.answers.values():
            judged = [
                each
                for item in items(self._task)
                if item.check.answer == wanted.name and item.check.checker
                for each in self._judged_on(item)
            ]
            untried = any(each.check.counterexample for each in judged) and not available()
            own = self._value(wanted, self._task.subject) if judged and is_computed(wanted) and not untried else None
            if own is not None:
                for says, made in self._solutions(wanted, own):
                    if not (wanted.constant_is_fine and says in _ALL_ALIKE_ON_ONE_SUBJECT):
                        yield LazySolution(answer=wanted.name, says=says, noticed_by=self._noticed(judged, made))

    def _judged_on(self, item: Item) -> Iterator[Item]:
        """Yield the item; of a search for a counterexample, its first networks."""
        if item.check.counterexample is None:
            yield item
            return
        plan = plan_of(self._task, item.check.counterexample)
        for subject in subjects(plan)[:_FEW_NETWORKS] if available() else [item.subject]:
            yield replace(item, subject=subject)

    def _solutions(self, wanted: AnswerSpec, own: Value) -> Iterator[tuple[str, Callable[[Item], Value | None]]]:
        given = {word for form in wanted.forms if isinstance(form, CallForm) for word in form.given}
        if "transformed_path" not in given:  # it is called for each row: a constant gives each row the same
            yield _CONSTANT, lambda _: own
        if isinstance(own, Table) and len(own.rows) > 1:
            yield "gives each row the cells of the first", lambda item: _all_alike(self._of(wanted, item))
            endings = {_ending(row.name) for row in own.rows}
            if len(endings) <= _FEW_ENDINGS * len(own.rows):
                yield (
                    _BY_NAME,
                    lambda item: _by_ending(self._of(wanted, item), endings),
                )
        shown = wanted.type == "file"  # an exporter is shown an input; what it wrote is run on others
        if "input" in given and not shown:
            for says, changed in _OTHER_INPUTS.items():
                if not self._matters(wanted, changed):
                    continue
                yield f"computes on {says} in place of its input", self._on(wanted, changed)
        about = self._task.subject
        sizes = {"input", "input_size"} & given and not shown
        if sizes and about is not None and any(self._matters(wanted, each) for each in _OTHER_SIZES):
            yield _ONE_SIZE, lambda item: self._value(wanted, _with_inputs(item.subject, about))
        if about is not None and given & about.arguments.keys():
            yield _ONE_ARGUMENT, lambda item: self._value(wanted, _with_arguments(item.subject, about))
        yield "returns what it was given", lambda item: self._echo(wanted, given, item)

    def _matters(self, wanted: AnswerSpec, changed: Callable[[InputSpec], InputSpec]) -> bool:
        """Return whether the right value depends on what is changed of the input; that of tensors must."""
        if wanted.type == "tensor" or isinstance(wanted.type, TableOfType):
            return True
        asked = [item for item in items(self._task) if item.check.answer == wanted.name and item.subject is not None]
        computed = [item for item in asked if isinstance(item.check.expected, QuantityCall)]  # a literal says nothing
        return not all(self._is_as_right(item, changed) for item in (computed or asked)[:1])

    def _is_as_right(self, item: Item, changed: Callable[[InputSpec], InputSpec]) -> bool:
        """Return whether the right value on another input is right on the item's own, too."""
        subject, source = item.subject, item.check.expected
        if subject is None or not isinstance(source, QuantityCall) or item.check.checker is None:
            return False
        first, *further = map(changed, (subject.input, *subject.further))
        other = replace(subject, input=first, further=tuple(further), passing=True)
        try:
            judging, expect = self._grader.judging_of(self._task, item.check, subject, self._who)
            right = self._grader.judging_of(self._task, item.check, other, self._who)[1](source)
            return judging(right, expect(source)).credit == 1
        except (FaultError, UnfitError):
            return False

    def _on(self, wanted: AnswerSpec, changed: Callable[[InputSpec], InputSpec]) -> Callable[[Item], Value | None]:
        def made(item: Item) -> Value | None:
            subject = item.subject
            if subject is None:
                return None
            first, *further = map(changed, (subject.input, *subject.further))
            return self._value(wanted, replace(subject, input=first, further=tuple(further), passing=True))

        return made

    def _of(self, wanted: AnswerSpec, item: Item) -> Value | None:
        return self._value(wanted, item.subject)

    def _value(self, wanted: AnswerSpec, subject: SubjectSpec | None) -> Value | None:
        """Return what the exemplar computes of a subject, or None."""
        try:
            question = Question(
                wanted=wanted,
                submission=self._who,
                subject=subject,
                model=files_given(self._grader.oracle, wanted, subject, self._who),
                live_only=True,
                limits=self._task.limits,
            )
            found = obtain.obtain(question, self._grader)
        except (FaultError, UnfitError):
            return None
        return found.value if isinstance(found, Answer) and found.computed else None

    def _echo(self, wanted: AnswerSpec, given: set[str], item: Item) -> Value | None:
        subject = item.subject
        if subject is None:
            return None
        if {"model_path", "save_to"} <= given:
            path = self._grader.oracle.file(subject)
            return Artifact(path=path, name=path.name)
        try:
            return as_value(list(subject.input.shape), wanted.type)
        except (WrongTypeError, FaultError):  # a file, which no shape is
            return None

    def _noticed(self, judged: Sequence[Item], made: Callable[[Item], Value | None]) -> str:
        """Return the first item at which the solution is wrong."""
        return next((item.id for item in judged if not self._passes(item, made(item))), "")

    def _passes(self, item: Item, value: Value | None) -> bool:
        grader, check = self._grader, item.check
        if value is None:
            return False
        try:
            judging, expect = grader.judging_of(self._task, check, item.subject, self._who)
            if check.measured is not None:
                answer = Answer(value=value, origin="")
                value = judged_value(grader, self._task, check.measured, item.subject, answer)
            return judge(check, value, judging, expect, computed=True).credit == 1
        except (FaultError, UnfitError):
            return False


_CONSTANT = "returns for every subject what is right for the task's own"
_BY_NAME = "chooses layers by how their names end in the task's own subject"
_ONE_SIZE = "takes every input to be as large as the task's own"
_ONE_ARGUMENT = "takes its arguments to be the task's own"
_ALL_ALIKE_ON_ONE_SUBJECT = (_CONSTANT, _BY_NAME, _ONE_SIZE, _ONE_ARGUMENT)


def _with_arguments(subject: SubjectSpec | None, other: SubjectSpec) -> SubjectSpec | None:
    return replace(subject, arguments=other.arguments) if subject is not None else None


def _with_inputs(subject: SubjectSpec | None, other: SubjectSpec) -> SubjectSpec | None:
    """Return a subject with the inputs of another one."""
    return replace(subject, input=other.input, further=other.further, passing=True) if subject is not None else None


_OTHER_SIZES: tuple[Callable[[InputSpec], InputSpec], ...] = (  # of the batch, and within it where that can be
    lambda own: replace(own, shape=(*(2 * size for size in own.shape[:1]), *own.shape[1:])),
    lambda own: replace(own, shape=(*own.shape[:-1], *(2 * size for size in own.shape[-1:]))),
)
_OTHER_INPUTS: dict[str, Callable[[InputSpec], InputSpec]] = {
    "zeros": lambda own: replace(own, fill="zeros"),
    "ones": lambda own: replace(own, fill="ones"),
    "one that it draws itself": lambda own: replace(own, seed=own.seed + 1),
}


def _all_alike(table: Value | None) -> Value | None:
    if not isinstance(table, Table) or not table.rows:
        return None
    return replace(table, rows=tuple(replace(row, cells=table.rows[0].cells) for row in table.rows))


def _by_ending(table: Value | None, endings: set[str]) -> Value | None:
    if not isinstance(table, Table):
        return None
    return replace(table, rows=tuple(row for row in table.rows if _ending(row.name) in endings))


def _ending(name: str) -> str:
    return name.rpartition(".")[2]
