"""What labgrade talks about: tasks, checks, what is analysed and what is right. Frozen data, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from labgrade.core.execution import Environment as Environment  # noqa: PLC0414 - words of a task's, which commands
from labgrade.core.execution import Limits as Limits  # noqa: PLC0414, TC001 - and the sandbox use without all others
from labgrade.core.subject import CONFIG as CONFIG  # noqa: PLC0414
from labgrade.core.subject import InputSpec as InputSpec  # noqa: PLC0414
from labgrade.core.subject import Plain as Plain  # noqa: PLC0414
from labgrade.core.subject import QuantityCall as QuantityCall  # noqa: PLC0414
from labgrade.core.subject import Schema as Schema  # noqa: PLC0414
from labgrade.core.subject import SubjectSpec as SubjectSpec  # noqa: PLC0414

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from labgrade.core.errors import Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class TableType:
    """A table: what a row is called, and the type of each column. `sparse`: a row may leave columns out."""

    row: str
    columns: Mapping[str, str]
    sparse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOfType:
    """One value of `kind` (a tensor) for each name."""

    kind: str


AnswerType: TypeAlias = "str | TableType | TableOfType"
SCALAR_KINDS = ("count", "bytes", "number", "time", "text", "shape")
ARTIFACT_KINDS = ("onnx", "file", "files", "module", "image")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallForm:
    """A Python function of the student's, called in a sandboxed child with arguments from the closed list.

    `saved_as`: where the answer is a file, its name; `module`: it is the network that the function returns. `notebook`:
    one of that name, or the only one, does as well where there is no such file. `written`: values that the spec writes
    into the call itself, by the names that they have in `given`.
    """

    file: str
    function: str
    given: tuple[str, ...]
    written: Mapping[str, Plain] = field(default_factory=dict)
    saved_as: str = ""
    module: bool = False
    notebook: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryForm:
    """A value in answers.yaml or answers.json under a dotted path such as `2-1-4.total_macs`."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextForm:
    """The next value of the answer's type after some words (or matched by an expert's pattern) in a text.

    The text is a `file` of the submission, or the part of its report under a path of headings; `report=()` is the
    whole report. A table is looked for after `after`, or anywhere in the text where both are None.
    """

    after: str | None = None
    find: str | None = None
    file: str | None = None
    report: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileForm:
    """A file (`.csv`, `.npy`, `.npz`, `.txt`), or files by a pattern with one `*` that names the rows.

    `groups`: patterns by name, of files that are measured together; then `pattern` is what messages say. `dtype` and
    `shape` say what the bytes of a `.bin` file are.
    """

    pattern: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunForm:
    """A Python program of the student's, run in a writable copy of the submission, and what is read of its results.

    `file` is the program, relative to `folder`, in which it runs. `provide` says what is placed where in that folder
    beforehand: `{"models/alexnet.onnx": "torchvision/alexnet.onnx"}`. A file beside the spec is an absolute path.
    `varies`: something provided changes with the subject, so that the form can answer cases. `reads` is looked for in
    the files that the program wrote, or in what it printed where it is a TextForm without a file. An EntryForm is
    looked for in what it printed, a JSON object or lines `name: value`. `given` are arguments behind the others, as for
    a `BuildForm`.
    """

    file: str
    arguments: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    folder: str = ""
    provide: Mapping[str, str | Path] = field(default_factory=dict)
    varies: bool = False
    reads: TextForm | FileForm | EntryForm

    @property
    def command(self) -> str:
        """As one would type it."""
        return " ".join(("python", self.file, *self.arguments))


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildForm:
    """A C++ program of the student's: built from a folder of sources, run there, and read like any other program.

    `given` are its arguments, from the closed list of `programs.GIVEN`; an argument of the subject's makes the form
    answer cases (`varies`). `provide` and `reads` as for a `RunForm`. `program` is the name of what the build makes.
    """

    program: str
    folder: str = ""
    given: tuple[str, ...] = ()
    provide: Mapping[str, str | Path] = field(default_factory=dict)
    varies: bool = False
    reads: TextForm | FileForm | EntryForm

    @property
    def file(self) -> str:
        """What it is called in messages about it."""
        return self.program

    @property
    def command(self) -> str:
        """What it is called where one says what came of it; the arguments are always the same."""
        return self.file


Form: TypeAlias = CallForm | EntryForm | TextForm | FileForm | RunForm | BuildForm


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSpec:
    """An answer that a task asks for, and the forms in which it may be handed in, best first.

    `constant_is_fine`: why no check has it computed of another subject than the task's own.
    """

    name: str
    type: AnswerType
    forms: tuple[Form, ...]
    constant_is_fine: str = ""
    mark: Mark | None = field(default=None, repr=False, compare=False)


# ---- expected values and checks --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralValue:
    """An expected value that the spec's author wrote down."""

    value: Plain
    mark: Mark | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerValue:
    """An expected value that the submission gives itself: another answer, or what is `take`n of its column `of`.

    `take`: sum, mean, max, min, count; or argmax, argmin: the cell of the column `by`, or the row's name, where the
    mean of `of` is best.
    """

    answer: str
    take: str = ""
    of: str = ""
    by: str = ""
    mark: Mark | None = field(default=None, compare=False)


Source: TypeAlias = LiteralValue | QuantityCall | AnswerValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another value that has something to say: a convention (credit 1) or a misconception.

    `known`: it comes of a library of slips, so that a subject may give no occasion for it. `by_share`: its credit falls
    with how much of the work is right. `implied`: a convention that is right in any task, which no author named.
    `of`: the files, other than the task's own, that it is right of.
    """

    source: Source
    says: str
    credit: Fraction
    of: tuple[str, ...] = ()
    known: bool = field(default=False, compare=False)
    by_share: bool = False
    implied: bool = False
    mark: Mark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeCredit:
    """Credit for a value within bounds, for what a single value can't say."""

    above: Fraction | None = None
    below: Fraction | None = None
    at_least: Fraction | None = None
    at_most: Fraction | None = None
    credit: Fraction
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckerCall:
    """The function of `checkers/` that judges, with the parameters that the spec sets."""

    name: str
    parameters: Mapping[str, Plain] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One line of a rubric that a TA marks by hand."""

    points: Fraction
    what: str


FAMILIES = ("cnn", "linear", "attention", "sizes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """A search for the smallest subject on which an answer is wrong: among which of `FAMILIES`, in how many tries."""

    among: str
    tries: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """An answer that is shown to the person who marks by hand, next to what is right; of `subject`, or the task's."""

    says: str
    answer: str
    expected: Source
    subject: SubjectSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What pages draw of an answer: two columns of its rows as points, or how many of its numbers lie where.

    `slopes` and `peak` are roofs over the points: `slope * x` for each name, and what no `y` exceeds. The rows are
    `measured` of a file, else those of the answer. With `step` it is a histogram on a grid; 0 is no grid.
    """

    x: str = ""
    y: str = ""
    peak: float | None = None
    slopes: tuple[tuple[str, float], ...] = ()
    step: float | None = None
    measured: QuantityCall | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One graded point of a task. With `cases` it stands for one sub-check a subject, and its points are shared.

    `reveal`: a student sees the expected value beside their own.
    """

    id: str
    points: Fraction
    answer: str
    checker: CheckerCall | None = None
    measured: QuantityCall | None = None
    expected: Source | None = None
    also_right: tuple[Alternative, ...] = ()
    misconceptions: tuple[Alternative, ...] = ()
    partly: tuple[RangeCredit, ...] = ()
    by_hand: tuple[Criterion, ...] = ()
    beside: tuple[Comparison, ...] = ()
    hidden: bool = False
    bonus: bool = False
    reveal: bool = False
    needs: tuple[str, ...] = ()
    cases: tuple[SubjectSpec, ...] = ()
    counterexample: Counterexample | None = None
    picture: Picture | None = None
    mark: Mark | None = None

    def sources(self) -> Iterator[Source]:
        """What an answer is compared with: the expected value, other right ones, known wrong ones."""
        if self.expected is not None:
            yield self.expected
        for other in (*self.also_right, *self.misconceptions):
            yield other.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a student is asked. `packages`: without these it is not graded. `hidden_points`: None where kept secret.

    `variants`: the task as students have it, where its subject differs from one to the next; each says in `variant`
    what is its own.
    """

    lab: str
    id: str
    title: str
    statement: str
    points: Fraction
    subject: SubjectSpec | None
    answers: Mapping[str, AnswerSpec]
    checks: tuple[Check, ...]
    limits: Limits
    path: Path
    self_check: str = ""
    packages: tuple[str, ...] = ()
    hidden_points: Fraction | None = Fraction(0)
    variant: str = ""
    variants: tuple[Task, ...] = field(default=(), repr=False)
