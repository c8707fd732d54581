"""Outcome, Verdict, and how to make one. All that a checker needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Outcome(StrEnum):
    """How a check ended. FAULT is ours and costs no points; MANUAL waits for a person; SKIPPED had unmet needs."""

    CORRECT = "CORRECT"
    PARTIAL = "PARTIAL"
    INCORRECT = "INCORRECT"
    MISSING = "MISSING"
    CRASHED = "CRASHED"
    TIMEOUT = "TIMEOUT"
    MEMORY = "MEMORY"
    OUTPUT = "OUTPUT"
    SKIPPED = "SKIPPED"
    MANUAL = "MANUAL"
    FAULT = "FAULT"


PENDING = frozenset({Outcome.FAULT, Outcome.MANUAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A cell of a table that was handed in, beside the expected one.

    None and no text: there is none, or it stays untold. `name` is the row's, `column` that of the cell. Numbers are as
    they are; a shape counts its elements, and the texts say what a number can't. `right` is what the checker found.
    """

    name: str
    got: float | None
    expected: float | None
    right: bool
    column: str = ""
    got_text: str = ""
    expected_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TileGrid:
    """The tiles of one row block of a layer that was cut up: `lines` run along k, their signs along n, `#` is wrong.

    A sign stands for `scale` tiles (k, n); the layer has `tiles` of them (m, k, n). `picture` is the same in the few
    characters that a reason has room for.
    """

    layer: str
    block: int
    tiles: tuple[int, int, int]
    scale: tuple[int, int]
    lines: tuple[str, ...]
    picture: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedNumber:
    """A number of a submission beside the expected one, for a person who marks; `name` says what it is."""

    name: str
    got: str
    expected: str


FEW_DIGITS = "digits"  # the fact that a number has fewer than are asked for: `2 of 4`
OF_TOOL = "of_tool"  # the fact that a tool gives it: which, and what it does otherwise
DOUBTFUL, OTHER_ROWS = "doubtful value", "other rows"  # kinds of suggestions that are to be looked at one by one
ALL_NUMBERS = "all numbers"  # a kind of suggestion: they stand there, beside others perhaps


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What labgrade would say of a check that waits for a person, who may accept it; by itself it never counts.

    `why` is for staff, `place` where it stands in the hand-in, `kind` how it was read: one of a kind may be accepted
    together.
    """

    outcome: Outcome
    credit: Fraction
    why: str
    place: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a student's function does, found out by calling it on `tried` small networks, or what else `on` says.

    `causes` are the names of the slips that it follows on all of them, `says` a sentence for each that makes the answer
    wrong: cause and remedy; those `elsewhere` make it wrong for other networks. `convention` is what it counts
    otherwise, and may; `but` are the networks on which it is wrong in another way, and those `spared` the ones on which
    it is right all the same; neither are among those `tried`. Without a cause: on how many it is `wrong`, and the
    features that tell these from the others (`wrong_on`).

    For staff alone: hypotheses that were `refuted`, and those that fit (`fits`) where nothing says which of them holds.
    """

    tried: int
    causes: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    convention: str = ""
    but: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    right_on: tuple[str, ...] = ()  # of results that were written before `wrong` was
    wrong_on: tuple[str, ...] = ()
    refuted: tuple[str, ...] = ()
    fits: tuple[str, ...] = ()
    on: str = "networks"
    wrong: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a check came to, and why.

    `credit` is in [0, 1]. `agrees`: the answer agrees with the expected value as far as it was printed, even where too
    few digits keep it from full credit. Each note stands in a field of its own; reports make the sentences.

    For the student: `reason` is what was found, `lines` what stands below it line by line (a program, a table), and
    `picture` what may be drawn better; `hint` and `suggestions` say what may help, `looked_for` in which places an
    answer was looked for, `rubric` what a person gives points for, `waits_for` which checks come first, `notes` what
    holds beside the verdict, such as weights that stood in for others. `rows` and `grids` can be drawn. `diagnosis`
    is what the function behind a wrong answer does.

    For staff alone: `facts` (got, expected, off, ...), `fits`, the misconceptions that fit the value equally well,
    `comparisons`, `remarks` on how the answer was found, and the `suggestion` where a person decides. What is
    `unsteady` may be a busy machine's doing: it is tried once more, alone, before it is believed.
    """

    outcome: Outcome
    credit: Fraction
    reason: str
    hint: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    agrees: bool = False
    notes: tuple[str, ...] = ()
    rows: tuple[ComparedRow, ...] = ()
    grids: tuple[TileGrid, ...] = ()
    lines: tuple[str, ...] = ()
    picture: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    looked_for: tuple[str, ...] = ()
    rubric: tuple[tuple[Fraction, str], ...] = ()
    waits_for: tuple[str, ...] = ()
    fits: tuple[str, ...] = ()
    comparisons: tuple[ComparedNumber, ...] = ()
    remarks: tuple[str, ...] = ()
    suggestion: Suggestion | None = None
    diagnosis: Diagnosis | None = None
    unsteady: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.credit.numerator <= self.credit.denominator:  # as fractions it takes ten times as long
            message = f"credit {self.credit} is not between 0 and 1"
            raise ValueError(message)


def correct(reason: str = "", **facts: str) -> Verdict:
    """Full credit."""
    if not (reason or facts):
        return _CORRECT
    return Verdict(outcome=Outcome.CORRECT, credit=_ALL, reason=reason, facts=facts, agrees=True)


_ALL, _NONE = Fraction(1), Fraction(0)
_CORRECT = Verdict(outcome=Outcome.CORRECT, credit=_ALL, reason="", agrees=True)  # each cell of a table has one


def partial(credit: Fraction | float, reason: str, *, hint: str = "", agrees: bool = False, **facts: str) -> Verdict:
    """Some credit: right rows of a table, a value with too few digits. Credit 0 is INCORRECT, 1 is CORRECT."""
    share = as_credit(credit)
    outcome = Outcome.CORRECT if share == 1 else Outcome.PARTIAL if share else Outcome.INCORRECT
    return Verdict(outcome=outcome, credit=share, reason=reason, hint=hint, facts=facts, agrees=agrees or share == 1)


def incorrect(reason: str, *, hint: str = "", **facts: str) -> Verdict:
    """No credit."""
    return Verdict(outcome=Outcome.INCORRECT, credit=_NONE, reason=reason, hint=hint, facts=facts)


def without_value(outcome: Outcome, reason: str, *, hint: str = "", **facts: str) -> Verdict:
    """No credit because there is no value to judge: MISSING, CRASHED, TIMEOUT, SKIPPED, FAULT, ..."""
    return Verdict(outcome=outcome, credit=_NONE, reason=reason, hint=hint, facts=facts)


def as_credit(credit: Fraction | float) -> Fraction:
    """The exact share that a decimal literal means: 0.6 is 3/5, not its nearest binary fraction."""
    return credit if isinstance(credit, Fraction) else Fraction(repr(credit))
