"""One function of a student's on one subject: called as for a case, and judged as a case is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from labgrade.answers import obtain
from labgrade.answers.artifacts import writes
from labgrade.answers.call import obtain_each, obtain_some, present, returns, write_each
from labgrade.answers.python_source import code_file
from labgrade.answers.question import Question, Running
from labgrade.answers.reading.documents import read_bytes
from labgrade.core.by_identity import ByIdentity
from labgrade.core.results import NoAnswer
from labgrade.core.task import CallForm, QuantityCall
from labgrade.diagnosis.fitting import typed
from labgrade.judging.judge import judge
from labgrade.spec import load
from labgrade.truth.measure import UnfitError, files_given, original_file
from labgrade.values import Artifact, Number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from labgrade.core.results import Answer, Answered, Submission
    from labgrade.core.task import AnswerSpec, AnswerType, Check, SubjectSpec, Task
    from labgrade.judging.judge import Expect, Judging
    from labgrade.judging.other_answer import OtherAnswer
    from labgrade.spec.course import Course
    from labgrade.spec.registry import Registry
    from labgrade.truth.measure import Measurer
    from labgrade.truth.oracle import Oracle
    from labgrade.values import Value
    from labgrade.verdict import Verdict

_LARGEST_SOURCE = 2 << 20
_CHECKS = 256
_MOST_SECONDS = 10.0  # of one call: a random network is tiny
_LARGEST_EDITED, _MOST_FILES, _MOST_SECONDS_EDITED = 1 << 16, 30, 3.0


class ProbeGrader(Running, Protocol):
    """The part of `run.grader.Grader` that a trial needs."""

    course: Course
    oracle: Oracle
    measurer: Measurer

    def judging_of(
        self,
        task: Task,
        check: Check,
        subject: SubjectSpec | None,
        submission: Submission | None = None,
        answers: OtherAnswer | None = None,
    ) -> tuple[Judging, Expect]:
        """Return the checker of a check with its parameters, and the function for expected values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The outcome of a function on one subject. Without a `value` there is only a verdict: it crashed, or hung."""

    verdict: Verdict
    origin: str = ""
    value: Value | None = None
    expected: Value | None = None
    judging: Judging | None = None
    expect: Expect | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A function with its Python file and the text of that."""

    function: str
    file: str
    text: str


_without_slips = ByIdentity(lambda check: replace(check, misconceptions=()), _CHECKS)


class Trials:
    """Tries the functions of one submission that a check is about, or that belong to another answer of its task."""

    def __init__(self, grader: ProbeGrader, task: Task, check: Check, submission: Submission) -> None:
        self._grader, self.task, self.check, self._submission = grader, task, check, submission
        self._whole = submission  # with what its Python files are judged by, such as a model that was handed in
        self._limits = replace(task.limits, seconds=min(task.limits.seconds, _MOST_SECONDS))

    def __call__(self, subject: SubjectSpec) -> Trial:
        """Judge the check on this subject, without its misconceptions: not every network allows each of them.

        Raises:
            FaultError: a failure of labgrade's.
        """
        answer = self._answer(self.task.answers[self.check.answer], subject)
        if isinstance(answer, NoAnswer):
            return Trial(verdict=answer.verdict, origin=answer.origin)
        judging, expect = self._grader.judging_of(self.task, self.check, self._own(subject), self._whole)
        try:
            call = self.check.measured
            value = judged_value(self._grader, self.task, call, self._own(subject), answer) if call else answer.value
        except UnfitError as error:
            return Trial(verdict=error.verdict, origin=answer.origin)
        return self._judged(value, answer.origin, judging, expect)

    def ahead(self, subjects: Sequence[SubjectSpec]) -> list[Trial]:
        """Return several trials from one process, up to the first failure; calls may have affected later ones.

        Raises:
            FaultError: a failure of labgrade's.
        """
        return list(self.coming(subjects))

    def coming(self, subjects: Sequence[SubjectSpec]) -> Iterator[Trial]:
        """Yield the same, each judged when it is asked for, for callers that stop at the first wrong one."""
        wanted = _called(self.task.answers[self.check.answer])
        (form, *others) = [each for each in wanted.forms if isinstance(each, CallForm)]
        if others or not subjects:
            return
        questions = [self._question(wanted, each) for each in subjects]
        origin, values = values_of_each(self._grader, form, self.check, questions)
        for value, subject in zip(values, subjects, strict=False):
            yield self._judged(
                value, origin, *self._grader.judging_of(self.task, self.check, self._own(subject), self._whole)
            )

    def past(self, subjects: Sequence[SubjectSpec]) -> list[Trial | None]:
        """Return trials as `ahead`, with None where the function raises or gives no value.

        Raises:
            FaultError: a failure of labgrade's.
        """
        wanted = _called(self.task.answers[self.check.answer])
        (form, *others) = [each for each in wanted.forms if isinstance(each, CallForm)]
        if others or not subjects or self.check.measured is not None:
            return list(self.ahead(subjects))
        questions = [self._question(wanted, each) for each in subjects]
        origin, values = obtain_some(questions, form, self._grader, past=True)
        means = (self._grader.judging_of(self.task, self.check, self._own(each), self._whole) for each in subjects)
        return [
            None if value is None else self._judged(value, origin, *own)
            for value, own in zip(values, means, strict=False)
        ]

    def again(self, subject: SubjectSpec, count: int) -> list[Trial | None]:
        """Return so many values for one subject, from one process; None for a call without a value.

        Raises:
            FaultError: a failure of labgrade's.
        """
        wanted = _called(self.task.answers[self.check.answer])
        (form, *_) = [each for each in wanted.forms if isinstance(each, CallForm)]
        means = self._grader.judging_of(self.task, self.check, self._own(subject), self._whole)
        origin, values = obtain_some([self._question(wanted, subject)] * count, form, self._grader)
        known: dict[Value, Trial] = {}  # most changes of a function make no difference, or one that others make
        trials: list[Trial | None] = []
        for value in values:
            if isinstance(value, Number) and value not in known:
                known[value] = self._judged(value, origin, *means)
            judged = known.get(value) if isinstance(value, Number) else None
            trials.append(judged or (None if value is None else self._judged(value, origin, *means)))
        return trials

    def source(self) -> Source | None:
        """Return the only function of the answer, with its file; None if it is not one of a Python file."""
        forms = [each for each in self.task.answers[self.check.answer].forms if isinstance(each, CallForm)]
        file = code_file(forms[0], self._submission) if len(forms) == 1 else None
        if not isinstance(file, str) or not file.endswith(".py") or not returns(forms[0]):
            return None
        text = read_bytes(self._submission, file, _LARGEST_EDITED)
        try:
            return (
                Source(function=forms[0].function, file=file, text=text.decode()) if isinstance(text, bytes) else None
            )
        except UnicodeDecodeError:
            return None

    def rewritten(self, folder: Path, source: Source) -> Trials:
        """Return trials of the submission's Python files in a folder, one of them with another text."""
        texts = {name: read_bytes(self._submission, name, _LARGEST_EDITED) for name in self._python_files()}
        texts[source.file] = source.text.encode()
        for name, text in texts.items():
            if isinstance(text, bytes):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(text)
        limits = replace(self._limits, seconds=min(self._limits.seconds, _MOST_SECONDS_EDITED))
        done = Trials(self._grader, self.task, self.check, replace(self._submission, folder=folder, files=tuple(texts)))
        done._limits, done._whole = limits, self._whole
        return done

    def _python_files(self) -> list[str]:
        return [name for name in self._submission.files if name.endswith(".py")][:_MOST_FILES]

    def _judged(self, value: Value, origin: str, judging: Judging, expect: Expect) -> Trial:
        return Trial(
            verdict=judge(_without_slips(self.check), value, judging, expect),
            origin=origin,
            value=value,
            expected=expect(self.check.expected) if self.check.expected is not None else None,
            judging=judging,
            expect=expect,
        )

    def absent(self) -> Verdict | None:
        """Return why there is nothing to try, if no file has the function. Nothing runs for this."""
        called = _called(self.task.answers[self.check.answer])
        for form in called.forms:
            if not isinstance(form, CallForm):
                continue
            file = code_file(form, self._submission)
            if file is not None and (not isinstance(file, str) or present(form, self._submission, self._grader.reader)):
                return None
        answer = obtain.obtain(replace(self._question(called, None), subject=self.task.subject), self._grader)
        return answer.verdict if isinstance(answer, NoAnswer) else None

    @property
    def others(self) -> list[Trials]:
        """Return the trials of other checks of the same answer."""
        wanted = [each for each in self.task.checks if each.answer == self.check.answer and each.measured is None]
        different = [each for each in wanted if each.expected is not None and each.expected != self.check.expected]
        return [Trials(self._grader, self.task, each, self._submission) for each in different]

    def beside(self, source: Source, names: Collection[str]) -> list[Trials]:
        """Return the trials of other functions of these names in the same file, for any task of the lab."""
        asked = {name for name in names if name != source.function}
        found = self._of_functions(self.task, source.file, asked)
        if asked := asked - {name for name, _ in found}:
            paths = [path for path in load.files(self._grader.course.specs) if path.parent.name == self.task.lab]
            for read in load.read_all([path for path in paths if path.stem != self.task.id], self._grader.course):
                found += self._of_functions(read.task, source.file, asked) if read.task is not None else []
        return [trials for _, trials in found]

    def _of_functions(self, task: Task, file: str, names: Collection[str]) -> list[tuple[str, Trials]]:
        """Return the first check of each answer of a task that is one of these functions of a file."""
        found: dict[str, tuple[str, Trials]] = {}
        for check in task.checks:
            forms = [each for each in task.answers[check.answer].forms if isinstance(each, CallForm)]
            if len(forms) != 1 or forms[0].function not in names or code_file(forms[0], self._submission) != file:
                continue
            if isinstance(check.expected, QuantityCall) and check.measured is None and returns(forms[0]):
                found.setdefault(check.answer, (forms[0].function, Trials(self._grader, task, check, self._submission)))
        return list(found.values())

    def judged(self, value: Value, subject: SubjectSpec) -> Trial:
        """Return the check's verdict on a value of the function.

        Raises:
            FaultError: a failure of labgrade's.
        """
        return self._judged(value, "", *self._grader.judging_of(self.task, self.check, self._own(subject), self._whole))

    def other(self, name: str, subject: SubjectSpec) -> Value | None:
        """Return what the function of another answer returns for this subject; None if nothing fits."""
        answer = self._answer(self.task.answers[name], subject)
        return None if isinstance(answer, NoAnswer) else answer.value

    def value_of(self, source: QuantityCall, subject: SubjectSpec) -> object:
        """Return a quantity of this subject.

        Raises:
            FaultError: it can't be computed.
        """
        return self._grader.oracle.value_if_any(source, self._own(subject))

    def content(self) -> str:
        """Return a digest of the files that the check's function may lie in."""
        forms = self.task.answers[self.check.answer].forms
        named = [code_file(form, self._submission) for form in forms if isinstance(form, CallForm)]
        texts = [read_bytes(self._submission, name, _LARGEST_SOURCE) for name in named if isinstance(name, str)]
        return hashlib.sha256(b"\0".join(text for text in texts if isinstance(text, bytes))).hexdigest()

    @property
    def kind(self) -> AnswerType:
        """Return the type of the answer."""
        return self.task.answers[self.check.answer].type

    @property
    def quantities(self) -> Registry:
        """Return the quantities that can be computed."""
        return self._grader.course.quantities

    def _answer(self, wanted: AnswerSpec, subject: SubjectSpec) -> Answered:
        return obtain.obtain(self._question(_called(wanted), subject), self._grader)

    def _own(self, subject: SubjectSpec) -> SubjectSpec:
        """Return the subject with the task's own arguments, which a random network does not have."""
        about = self.task.subject
        lacks = about is not None and about.arguments and not subject.arguments
        return replace(subject, arguments=about.arguments) if about is not None and lacks else subject

    def _question(self, called: AnswerSpec, subject: SubjectSpec | None) -> Question:
        return Question(
            wanted=called,
            submission=self._submission,
            subject=None if subject is None else self._own(subject),
            model=files_given(self._grader.oracle, called, subject, self._whole),
            live_only=True,
            limits=self._limits,
        )


def _called(wanted: AnswerSpec) -> AnswerSpec:
    """Return the answer with only its forms that are functions."""
    return replace(wanted, forms=tuple(form for form in wanted.forms if isinstance(form, CallForm)))


def judged_value(
    grader: ProbeGrader, task: Task, call: QuantityCall, subject: SubjectSpec | None, answer: Answer
) -> Value:
    """Return the measured value of an answer that is a file; any other answer is judged as it is.

    Raises:
        FaultError: it can't be measured, through a fault of labgrade's.
        UnfitError: it can't be measured, through one of the student's.
    """
    if not isinstance(answer.value, Artifact):
        return answer.value
    return typed(measured(grader, task, call, subject, answer.value), None)


def values_of_each(
    grader: ProbeGrader, form: CallForm, check: Check, questions: Sequence[Question]
) -> tuple[str, list[Value]]:
    """Return where the answers come from, and the value to judge for each subject, up to the first without one.

    One process calls the function for all, another measures the files: the limits are for all together.

    Raises:
        FaultError: it can't be measured, through a fault of labgrade's.
    """
    if check.measured is None:
        return obtain_each(questions, form, grader)
    if not writes(form):
        return "", []
    origin, files = write_each(questions, form, grader)
    entry = grader.course.quantities.get(check.measured.quantity)
    several = [
        (file, each.subject, original_file(grader.oracle, entry, each.subject))
        for file, each in zip(files, questions, strict=False)
    ]
    measured = grader.measurer.values(check.measured, several, questions[0].limits)
    return origin, [typed(plain, None) for plain in measured]


def measured(
    grader: ProbeGrader, task: Task, call: QuantityCall, subject: SubjectSpec | None, artifact: Artifact
) -> object:
    """Return a quantity of the student's file, as plain data.

    Raises:
        FaultError: it can't be measured, through a fault of labgrade's.
        UnfitError: it can't be measured, through one of the student's.
    """
    original = original_file(grader.oracle, grader.course.quantities.get(call.quantity), subject)
    return grader.measurer.value(call, artifact, subject, task.limits, original=original)
