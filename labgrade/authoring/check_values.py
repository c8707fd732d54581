"""What only values can tell of a spec: literals of another type, what can't be computed, what coincides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.core.errors import FaultError, Mark, NoSuchSlipError, SpecFinding
from labgrade.core.task import AnswerValue, BuildForm, CallForm, LiteralValue, QuantityCall, RunForm, TableType
from labgrade.files.cache import missing
from labgrade.spec.data import NUMBERS
from labgrade.values import Number, Table, show
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from labgrade.core.task import AnswerSpec, AnswerType, Check, InputSpec, Source, SubjectSpec, Task
    from labgrade.judging.judge import Expect, Judging
    from labgrade.run.grader import Grader
    from labgrade.values import Value


def literals(task: Task) -> Iterator[SpecFinding]:
    """Yield the literal values that do not fit the answer's type. Computes nothing."""
    for check in task.checks:
        yield from _literals(task, check)


def findings(task: Task, grader: Grader) -> Iterator[SpecFinding]:
    """Compute all values and compare them with published figures and with each other.

    What can't be computed is a finding at its place, and the rest goes on. Nothing is where packages are missing.
    """
    from labgrade.judging.items import depends_on_input  # `validate` without --compute needs nothing that judges

    for check in task.checks if not missing(task.packages) else ():
        if check.checker is None or (task.subject is not None and task.subject.handed_in):
            continue
        subjects = check.cases or (task.subject,)
        found = [finding for subject in subjects for finding in _uncomputable(task, check, grader, subject)]
        yield from found
        if not found and not any(_literals(task, check)):
            if not check.cases and task.subject is not None:
                yield from _published(task, check, grader, task.subject)
            if not check.counterexample:  # it is judged on other networks than this
                yield from _judged(task, check, grader)
            for subject in subjects if depends_on_input(task, check) else ():
                if subject is not None:
                    yield from _insensitive_inputs(task, check, grader, subject)


def _insensitive_inputs(task: Task, check: Check, grader: Grader, subject: SubjectSpec) -> Iterator[SpecFinding]:
    """Find expected tensors that a wrong input hardly changes, so that any answer would be right."""
    judging, expect = grader.judging_of(task, check, subject)
    source = check.expected
    if source is None:
        return
    right = expect(source)
    for says, changed in _WRONG_INPUTS.items():
        first, *further = (replace(each, **changed(each)) for each in (subject.input, *subject.further))
        other = replace(subject, input=first, further=tuple(further), passing=True)
        wrong = grader.judging_of(task, check, other)[1](source)
        pairs: list[tuple[Any, Any]] = [(wrong, right)]
        if isinstance(right, Mapping) and isinstance(wrong, Mapping):
            pairs = [({name: wrong[name]}, {name: right[name]}) for name in right if name in wrong]
        same = sum(judging(one, other).outcome is Outcome.CORRECT for one, other in pairs)
        if len(pairs) - same < _CHANGED * len(pairs):
            message = (
                f"with {says} in place of the input, {same} of {len(pairs)} values stay within the tolerance, so a "
                f"wrong input would earn points; {_CHANGED:.0%} have to change: choose another model or input, or a "
                "smaller tolerance"
            )
            yield SpecFinding(subject.mark or check.mark or _start(task), message)


_CHANGED = 0.9  # of the tensors, for every wrong input
_OTHER_FILL = {"normal": {"fill": "uniform"}, "uniform": {"fill": "normal"}}
_WRONG_INPUTS: dict[str, Callable[[InputSpec], dict[str, Any]]] = {
    "zeros": lambda _: {"fill": "zeros"},
    "ones": lambda _: {"fill": "ones"},
    "an input drawn from another seed": lambda own: {"seed": own.seed + 1},
    "an input of another distribution": lambda own: _OTHER_FILL.get(own.fill, {"seed": own.seed + 2}),
}


def _start(task: Task) -> Mark:
    return Mark(str(task.path), 1, 1)


def _literals(task: Task, check: Check) -> Iterator[SpecFinding]:
    kind = task.answers[check.answer].type
    for source in check.sources() if check.measured is None else ():
        if isinstance(source, LiteralValue):
            try:
                value = as_value(source.value, kind, trusted=True)
            except WrongTypeError as error:
                yield SpecFinding(source.mark or _start(task), f"this does not fit the answer's type: {error}")
                continue
            right = source is check.expected or any(source is each.source for each in check.also_right)
            if problem := _impossible(value, kind, check) if right else "":
                yield SpecFinding(source.mark or _start(task), problem)


def _impossible(value: Value, kind: AnswerType, check: Check) -> str:
    """Say why nobody, or everybody, could hand in the literal right value; "" if it is possible."""
    parts = value.rows if isinstance(value, Table) else value
    if getattr(parts, "size", 1) == 0 or (isinstance(value, Mapping | Table) and not parts):
        return "this is empty, so that a hand-in without anything in it would be right; write what is expected"
    names = [row.name for row in value.rows] if isinstance(value, Table) else []
    twice = next((name for at, name in enumerate(names) if name in names[:at]), "")
    if twice and not (check.checker and check.checker.parameters.get("order")):
        return (
            f"the row '{twice}' stands twice, and nobody can tell which is meant; take one out, or give it another name"
        )
    counts: Mapping[str, Any] = {"": value} if kind in _COUNTS else value if isinstance(value, Mapping) else {}
    if isinstance(value, Table) and isinstance(kind, TableType):
        cells = ((f"{row.name}, {name}", cell) for row in value.rows for name, cell in row.cells.items())
        counts = {name: cell for name, cell in cells if kind.columns.get(name.rpartition(", ")[2]) in _COUNTS}
    for name, number in counts.items():
        if isinstance(number, Number) and (number.value < 0 or (number.value.denominator > 1 and not number.half_unit)):
            where = f" ({name})" if name else ""
            return f"{show(number.value)}{where} is no count: a whole number, not below 0; else the type is 'number'"
    return ""


_COUNTS = ("count", "bytes")


def _uncomputable(task: Task, check: Check, grader: Grader, subject: SubjectSpec | None) -> Iterator[SpecFinding]:
    """Yield each quantity that fails on the subject; at the subject if that can't be built or run."""
    _, expect = grader.judging_of(task, check, subject)
    library = [each.source for each in check.misconceptions if each.known]
    failed = False
    for source in check.sources():
        if not isinstance(source, QuantityCall) or subject is None or any(source is each for each in library):
            continue
        try:
            expect(source)
        except FaultError as error:
            if isinstance(error, NoSuchSlipError) and source is not check.expected:
                continue
            failed = True
            broken = _build_problem(grader, subject)
            if broken and broken in str(error):
                yield _not_running(task, subject, broken)
            else:
                yield SpecFinding(source.mark or _start(task), str(error))
    handed = any(isinstance(form, CallForm) and "model" in form.given for form in task.answers[check.answer].forms)
    if subject is not None and handed and not failed and (broken := _build_problem(grader, subject)):
        yield _not_running(task, subject, broken)


def _build_problem(grader: Grader, subject: SubjectSpec) -> str:
    from labgrade.truth.named import why_broken  # `validate` without --compute needs nothing that computes

    return why_broken(grader.oracle.value, subject)


def _not_running(task: Task, subject: SubjectSpec, why: str) -> SpecFinding:
    from labgrade.truth.named import not_running

    return SpecFinding(subject.mark or _start(task), not_running(subject, why))


def _published(task: Task, check: Check, grader: Grader, subject: SubjectSpec) -> Iterator[SpecFinding]:
    source = check.expected
    if isinstance(source, QuantityCall) and source.published is not None:
        value = grader.oracle.value(source, subject)
        if value != source.published:
            message = f"the published value is {source.published}, but {source.quantity} computes {value}"
            yield SpecFinding(source.mark or _start(task), message)


def _judged(task: Task, check: Check, grader: Grader) -> Iterator[SpecFinding]:
    """Run the checker; if it raises, that is a finding, and the other checks go on."""
    name, mark = check.checker.name if check.checker else "", check.mark or _start(task)
    try:
        yield from _right_is_right(task, check, grader)
        yield from _coinciding_values(task, check, grader)
    except Exception as error:  # noqa: BLE001 - a course's own checker may raise anything
        yield SpecFinding(mark, f"the checker '{name}' failed: {type(error).__name__}: {error}")


def _right_is_right(task: Task, check: Check, grader: Grader) -> Iterator[SpecFinding]:
    """Try the checker on the right value, which must earn full credit, or on a value of the type.

    Of a table that is right, what is asked for may be one row.
    """
    for subject in check.cases or (task.subject,):
        judging, expect = grader.judging_of(task, check, subject)
        kind = task.answers[check.answer].type
        if check.expected is None:
            sample = Table() if isinstance(kind, TableType) else Number(value=Fraction(0)) if kind in NUMBERS else None
            if sample is not None and check.measured is None:
                judging(sample, None)
        elif not isinstance(check.expected, AnswerValue):
            right = expect(check.expected)
            rows = (Table(rows=(row,)) for row in right.rows) if isinstance(right, Table) else ()
            verdict = judging(right, right)
            if verdict.outcome in _WRONG and all(judging(row, right).outcome in _WRONG for row in rows):
                message = f"what is right is {verdict.outcome.value} itself, so that nobody could earn this"
                yield SpecFinding(
                    check.mark or _start(task), f"{message}: {verdict.reason}; mend 'checker' or 'expected'"
                )
                return


_WRONG = (Outcome.INCORRECT, Outcome.PARTIAL)


def _have_same_value(one: Source, other: Source, judging: Judging, expect: Expect) -> bool | None:
    """Return whether two sources have the same value; None if one is a slip that the subject does not allow."""
    try:
        return judging(expect(one), expect(other)).outcome is Outcome.CORRECT
    except NoSuchSlipError:
        return None


def _coinciding_values(task: Task, check: Check, grader: Grader) -> Iterator[SpecFinding]:
    """Find misconceptions that are right, and pairs that no subject tells apart, so that neither is ever named."""
    means = [grader.judging_of(task, check, subject) for subject in check.cases or (task.subject,)]
    if check.expected is None:
        return

    def same(one: Source, other: Source) -> bool:
        """On all subjects on which both can be."""
        found = [_have_same_value(one, other, *each) for each in means]
        return any(found) and False not in found

    where = "in every case" if check.cases else "on the task's own subject"
    for known in (each for each in check.misconceptions if not each.known):  # a library's slip is left out there
        if same(known.source, check.expected):
            yield SpecFinding(known.mark or _start(task), f"this misconception gives the right value {where}")
        if all(_have_same_value(known.source, known.source, *each) is None for each in means):
            yield SpecFinding(known.mark or _start(task), f"this misconception has no value {where}")
        for other in (each for each in check.also_right if same(known.source, each.source)):
            message = f"this misconception gives {where} what line {other.mark.line if other.mark else '?'} calls right"
            yield SpecFinding(known.mark or _start(task), message)
    for index, known in enumerate(check.misconceptions):
        for other in check.misconceptions[:index]:
            told = known.says != other.says and not (known.known and other.known)
            if told and same(known.source, other.source):
                line = other.mark.line if other.mark else "?"
                value = f"the same value as the one on line {line}{' in every case' if check.cases else ''}"
                message = f"this misconception gives {value}, so neither is ever claimed"
                yield SpecFinding(known.mark or _start(task), message)


def never_called_again(task: Task) -> list[SpecFinding]:
    """Find answers that are only computed for the task's own subject, so that a constant would pass."""
    found = []
    for wanted in task.answers.values():
        checks = [check for check in task.checks if check.answer == wanted.name and check.checker is not None]
        elsewhere = any(check.cases or check.counterexample for check in checks)
        if checks and is_computed(wanted) and not (elsewhere or wanted.constant_is_fine) and wanted.mark is not None:
            message = (
                f"'{wanted.name}' is computed of the task's own subject alone, so a constant passes: give a check of "
                "it 'cases', or say why not with 'constant_is_fine'"
            )
            found.append(SpecFinding(wanted.mark, message))
    return found


def programs_without_cases(task: Task) -> list[SpecFinding]:
    """Find answers with cases that may come from a program, which is always called in the same way."""
    found = []
    for wanted in task.answers.values():
        asked = [check for check in task.checks if check.answer == wanted.name and check.cases]
        fixed = [form for form in wanted.forms if isinstance(form, RunForm | BuildForm) and not form.varies]
        functions = any(isinstance(form, CallForm) for form in wanted.forms)  # then it is one way of several
        if asked and fixed and not functions and wanted.mark is not None:
            message = (
                f"'{wanted.name}' may come from '{fixed[0].command}', which is called in the same way each time: for "
                f"the cases of '{asked[0].id}' it counts as not handed in. `given: [config]` gives it each case"
            )
            found.append(SpecFinding(wanted.mark, message))
    return found


def is_computed(wanted: AnswerSpec) -> bool:
    """Return whether a student's function or program computes the answer."""
    return any(
        isinstance(form, CallForm) or (isinstance(form, RunForm | BuildForm) and form.varies) for form in wanted.forms
    )
