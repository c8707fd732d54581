"""What labgrade talks about: tasks, checks, what is analysed and what is right. Frozen data, no behaviour."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction
    from pathlib import Path

    from labgrade.errors import Mark
    from labgrade.forms import AnswerSpec

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
CONFIG = "config"  # in place of a model of the zoo: plain data that says how a model is built


# ---- what is analysed ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """The input of a subject: its shape, how values are drawn (`normal`, `uniform`, `ones`, `zeros`), and the seed."""

    shape: tuple[int, ...]
    fill: str = "normal"
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectSpec:
    """What is analysed, with its input: a model of the zoo with its options (`seed` draws the weights), or a file.

    One of three is set: `model`, a name of the zoo; `file`, an ONNX file by its path; `handed_in`, a pattern for an
    ONNX file of the student's own. Where `model` is CONFIG, nothing is built: `options` are all there is, and there is
    no input. `passing`: made for one trial, so that nothing of it is kept on disk.
    """

    input: InputSpec
    model: str = ""
    file: str = ""
    handed_in: str = ""
    options: Mapping[str, Plain] = field(default_factory=dict)
    seed: int = 0
    passing: bool = field(default=False, repr=False, compare=False)
    mark: Mark | None = field(default=None, repr=False, compare=False)

    @property
    def short_name(self) -> str:
        """The model without its collection, the file without its folder: `resnet18`, `lenet.onnx`; a config's name."""
        if self.is_config:
            return re.sub(r"[^\w.-]+", "-", str(self.options.get("name", CONFIG)))
        return (self.model or self.file or self.handed_in).rpartition("/")[2]

    @property
    def is_config(self) -> bool:
        """Whether it is plain data, and nothing is built of it."""
        return self.model == CONFIG

    @property
    def is_onnx(self) -> bool:
        """Whether it is an ONNX file, and not a model in memory."""
        return not self.model or self.model.endswith(".onnx")


# ---- expected values and checks --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralValue:
    """An expected value that the spec's author wrote down."""

    value: Plain
    mark: Mark | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityCall:
    """An expected value that a function of `reference/` computes for the subject."""

    quantity: str
    parameters: Mapping[str, Plain] = field(default_factory=dict)
    published: Plain = None
    mark: Mark | None = None


Source: TypeAlias = LiteralValue | QuantityCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another value that has something to say: a convention (credit 1) or a misconception."""

    source: Source
    says: str
    credit: Fraction
    mark: Mark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Partly:
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
class Beside:
    """An answer that is shown to the person who marks by hand, next to what is right; of `subject`, or the task's."""

    says: str
    answer: str
    expected: Source
    subject: SubjectSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One graded point of a task. With `cases` it stands for one sub-check a subject, and its points are shared.

    `reveal`: a student sees the expected table beside their own.
    """

    id: str
    points: Fraction
    answer: str
    checker: CheckerCall | None = None
    measured: QuantityCall | None = None
    expected: Source | None = None
    also_right: tuple[Alternative, ...] = ()
    misconceptions: tuple[Alternative, ...] = ()
    partly: tuple[Partly, ...] = ()
    by_hand: tuple[Criterion, ...] = ()
    beside: tuple[Beside, ...] = ()
    hidden: bool = False
    bonus: bool = False
    reveal: bool = False
    needs: tuple[str, ...] = ()
    cases: tuple[SubjectSpec, ...] = ()
    counterexample: Counterexample | None = None
    mark: Mark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the student's code may use: CPU seconds, bytes of memory, bytes of printed output."""

    seconds: float = 60.0
    memory: int = 4 << 30
    output: int = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One spec file: what a student is asked."""

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
