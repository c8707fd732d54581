"""What a wrong function does, found out by calling it: the slip, or the product of slips, that it follows everywhere.

A hypothesis is a slip of the quantity's library (`<quantity>_slips` in reference/), a product of up to three, or a
misconception of the spec. It is said only if it gives the function's value on every network on which the function was
called, and on the task's own subject; if no simpler one does; and if no other one as simple does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import FaultError
from labgrade.core.task import CallForm, InputSpec, QuantityCall
from labgrade.diagnosis.bases import Base, bases_of, slipped
from labgrade.diagnosis.own_values import typed
from labgrade.diagnosis.small_networks import Called, called_on, more
from labgrade.judging.judge import explains_all, refuted
from labgrade.values import Number, Table
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labgrade.core.task import AnswerType, Plain, SubjectSpec
    from labgrade.diagnosis.probe import Trial, Trials
    from labgrade.diagnosis.small_networks import SmallNetwork
    from labgrade.values import Value

_MOST_ALIKE = 3  # ways of saying what a function does: nobody reads more
ENOUGH_WRONG = 2  # networks on which a function has to be wrong before anything is said of it
_MOST_SLIPS, _MOST_IN_TABLES = 3, 2
_MOST_REFUTED = 6
_USUAL = (1, 3, 224, 224)
_FIXED = (
    "The input size that is given is not used: the value is that of one image of 3x224x224. Build the input from "
    "input_size."
)
_NOISE = Fraction(1, 10**9)  # between two ways of computing the same in floating point


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """Slips upon a base, or a known misconception (`says` is then its sentence)."""

    base: Base
    slips: tuple[str, ...]
    says: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, bool]:
        """How simple it is; what is right without more ado is simpler than another convention."""
        return len(self.slips), bool(self.base.says)


@dataclass(slots=True, kw_only=True)
class Behaviour:
    """What was found out about a function: the hypothesis that holds, if one does, and where it is right.

    `but`: the words of the networks on which the function does something else besides. `alike`: hypotheses of other
    words that come to the same wherever that was tried. `same`: those of the same words, of which another may give the
    value of the task's own subject.
    """

    called: Sequence[Called]
    holds: Hypothesis | None = None
    but: tuple[str, ...] = ()
    alike: Sequence[Hypothesis] = ()
    same: Sequence[Hypothesis] = ()
    rivals: Sequence[Hypothesis] = ()
    refuted: Sequence[str] = ()
    says: dict[str, str] = field(default_factory=dict)


def applies(trials: Trials) -> bool:
    """Whether there are slips for what a check expects, and a function to call."""
    check = trials.check
    forms = [each for each in trials.task.answers[check.answer].forms if isinstance(each, CallForm)]
    return bool(forms) and check.measured is None and bool(_bases(trials))


def _bases(trials: Trials) -> list[Base]:
    return bases_of(trials.check, trials.quantities)


def explore(trials: Trials) -> Behaviour:
    """Call the function on the small networks, and look for the hypothesis that it follows.

    Raises:
        FaultError: a failure of labgrade's.
    """
    called = called_on(trials)
    found = Behaviour(called=called)
    if sum(not each.right for each in called) >= ENOUGH_WRONG:
        _Search(trials, found, called).run()
        usual = [each for each in called if not each.network.rare]
        if found.holds is None and sum(not each.right for each in usual) >= ENOUGH_WRONG and len(usual) < len(called):
            _without_rare(trials, found, usual)
    return found


def _without_rare(trials: Trials, found: Behaviour, usual: Sequence[Called]) -> None:
    """Look for what a function does on networks of convolutions and linear layers alone, where it does more besides."""
    rare = [each for each in found.called if each.network.rare]
    there = Behaviour(called=usual)
    _Search(trials, there, usual).run()
    if there.holds is not None:
        found.holds, found.called = there.holds, there.called
        found.says, found.refuted = found.says | there.says, there.refuted
        found.alike, found.same = there.alike, there.same
        other = [each for each in rare if not _gives(trials, there.holds, each)]
        found.but = tuple(dict.fromkeys(each.network.words for each in other if each.network.words))


def _gives(trials: Trials, holds: Hypothesis, called: Called) -> bool:
    try:
        return matters_on(trials, holds, called.trial, called.network.subject) is not None
    except FaultError:  # no occasion
        return called.right


class _Search:
    """Which hypotheses the values of one function leave standing."""

    def __init__(self, trials: Trials, found: Behaviour, called: Sequence[Called]) -> None:
        self._trials, self._found = trials, found
        # The network that tells most comes first, so that few hypotheses are tried on the others.
        self._order = sorted(called, key=lambda each: (each.right, -each.network.rank))
        self._same: dict[str, list[Hypothesis]] = {}

    def run(self) -> None:
        """Fill in what holds, or the rivals, or nothing."""
        known = list(self._known())
        simplest = self._in_other_words(_simplest(self._standing()))
        if len(known) == 1 and all(each.size[0] >= 1 for each in simplest):
            self._found.holds = known[0]
        elif simplest and all(each.slips for each in simplest) and (apart := self._told_apart(simplest)):
            self._found.holds = apart
            self._found.same = self._same.get(self._worded(apart), ())
        elif not simplest and (fixed := self._fixed_input()):
            self._found.holds = fixed
        else:
            self._found.rivals = [each for each in (*known, *simplest) if each.slips]

    def _in_other_words(self, rivals: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The hypotheses that tell a student different things: what says the same need not be told apart."""
        words: dict[str, list[Hypothesis]] = {}
        for each in rivals:
            words.setdefault(self._worded(each), []).append(each)
        self._same = words
        return [first for first, *_ in words.values()]

    def _worded(self, hypothesis: Hypothesis) -> str:
        return repr((hypothesis.base, sorted(self._found.says.get(slip, slip) for slip in hypothesis.slips)))

    def _told_apart(self, rivals: Sequence[Hypothesis]) -> Hypothesis | None:
        """The hypothesis that holds where several fit; the first where no network tells them apart.

        Slips may make up for each other: both of two images left out is the same as each of them left out.
        """
        left = list(rivals)
        subject = self._trials.task.subject
        for network in more(as_files=subject is not None and subject.is_onnx):
            if len(left) == 1:
                break
            said = [self._said(each, network) for each in left]
            if any(each is None for each in said) or len(set(said)) == 1:
                continue
            trials = self._trials.ahead([network.subject])
            if trials:
                called = Called(network=network, trial=trials[0])
                self._found.called = [*self._found.called, called]
                left = [each for each in left if matters_on(self._trials, each, called.trial, network.subject)]
        if not left or len(left) > _MOST_ALIKE or any(each.base != left[0].base for each in left):
            return None
        self._found.alike = left[1:]
        return left[0]

    def _said(self, hypothesis: Hypothesis, network: SmallNetwork) -> str | None:
        answer = _slipped(self._trials, hypothesis.base, network.subject, {"among": ["+".join(hypothesis.slips)]})
        return next((str(value) for _, value in answer["values"]), None)

    def _fixed_input(self) -> Hypothesis | None:
        """That the function takes an input of its own in place of the size that it is given."""
        form = next(
            each for each in self._trials.task.answers[self._trials.check.answer].forms if isinstance(each, CallForm)
        )
        if "input_size" not in form.given:
            return None
        for base in _bases(self._trials):
            if all(self._is_of(base, called) for called in self._order):
                return Hypothesis(base=base, slips=("fixed_input",), says=(_FIXED,))
        return None

    def _is_of(self, base: Base, called: Called) -> bool:
        subject = replace(called.network.subject, input=InputSpec(shape=_USUAL))
        trial = called.trial
        try:
            value = self._trials.value_of(base.call, subject)
        except FaultError:
            return False
        return fits(self._trials.kind, trial, value)

    def _known(self) -> Iterator[Hypothesis]:
        """The misconceptions of the spec that the function follows."""
        for each in self._trials.check.misconceptions:
            source = each.source
            if isinstance(source, QuantityCall) and self._holds(source):
                yield Hypothesis(base=Base(call=source), slips=(source.quantity,), says=(each.says,))

    def _holds(self, source: QuantityCall) -> bool:
        occasions = 0
        for called in self._order:
            try:
                if not _follows(called.trial, source):
                    return False
                occasions += not called.right
            except FaultError:  # no occasion
                continue
        return occasions >= ENOUGH_WRONG

    def _standing(self) -> list[Hypothesis]:
        """What is left of the hypotheses; products of more slips only where nothing simpler is, of no base."""
        table = not isinstance(self._order[0].trial.value, Number)
        for most in range(1, (_MOST_IN_TABLES if table else _MOST_SLIPS) + 1):
            left = [each for base in _bases(self._trials) for each in self._tested(base, most)]
            if left:
                return left
        return []

    def _tested(self, base: Base, most: int) -> list[Hypothesis]:
        first, *others = self._order
        names = [name for name, _ in self._values(base, first, {"most": most})]
        occasions = dict.fromkeys(names, 1)
        for called in others:
            if not names:
                break
            values = dict(self._values(base, called, {"among": list(names)}))
            # A network that gives no occasion for a slip says nothing against it.
            left = [name for name in names if name not in values or values[name]]
            self._note([name for name in names if name not in left])
            for name in values:
                occasions[name] += not called.right
            names = left
        names = [name for name in names if occasions[name] >= ENOUGH_WRONG]
        return [Hypothesis(base=base, slips=tuple(filter(None, name.split("+")))) for name in names]

    def _note(self, gone: Sequence[str]) -> None:
        self._found.refuted = [*self._found.refuted, *gone][-_MOST_REFUTED:]

    def _values(self, base: Base, called: Called, asked: Mapping[str, Plain]) -> list[tuple[str, bool]]:
        """The hypotheses, each with whether it gives the function's value on a network; of many, those that do."""
        answer = _slipped(self._trials, base, called.network.subject, {**asked, **_bounds(called.trial, asked)})
        self._found.says |= answer["says"]
        known: dict[str, bool] = {}  # most slips change nothing on a network: of thousands of tables few are different
        fitting = []
        for name, value in answer["values"]:
            said = repr(value)
            if said not in known:
                known[said] = fits(self._trials.kind, called.trial, value)
            fitting.append((name, known[said]))
        return [each for each in fitting if each[1] or "among" in asked]


def _bounds(trial: Trial, asked: Mapping[str, Plain]) -> dict[str, Plain]:
    """Between which numbers a hypothesis is looked for, where there are many of them."""
    if "among" in asked or not isinstance(trial.value, Number):
        return {}
    value, off = trial.value.value, trial.value.half_unit
    return {"between": [str(value - off), str(value + off)]}


def _slipped(trials: Trials, base: Base, subject: SubjectSpec, asked: Mapping[str, Plain]) -> dict[str, Any]:
    return slipped(base, subject, asked, trials.value_of)


def fits(kind: AnswerType, trial: Trial, plain: Any) -> bool:
    """Whether what came out is a value of slips, as plain data: of a table, one that explains each wrong cell."""
    if isinstance(trial.value, Number):
        value = Fraction(repr(plain))
        off = trial.value.half_unit + (0 if value.denominator == 1 else abs(value) * _NOISE)
        return abs(trial.value.value - value) <= off
    table = typed(plain, kind)
    return _explains(trial, table) and not (_more_rows(trial, table) or _more_cells(trial, table))


def _more_rows(trial: Trial, hypothesis: Value) -> bool:
    """Whether a table has a row that is expected, and that a hypothesis leaves out: a checker may allow others.

    A row of the same cells that nobody expects is that row under another name.
    """
    tables = (trial.value, trial.expected, hypothesis)
    given, expected, left = (each.rows if isinstance(each, Table) else () for each in tables)
    there, kept = {row.name for row in given}, {row.name for row in left}
    known = {name for row in expected for name in (row.name, *row.also_named)}
    strange = [row.cells for row in given if row.name not in known]
    gone = [row for row in expected if row.name not in kept]
    return any(there & {row.name, *row.also_named} or _alike(row.cells, strange) for row in gone)


def _alike(cells: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> bool:
    def bare(row: Mapping[str, Any]) -> list[Any]:
        return [cell.value if isinstance(cell, Number) else cell for cell in map(row.get, cells)]

    return any(bare(other) == bare(cells) for other in others)


def _more_cells(trial: Trial, hypothesis: Value) -> bool:
    """Whether a row has a cell that is expected, and that a hypothesis leaves open."""
    tables = (trial.value, trial.expected, hypothesis)
    given, expected, left = ({row.name: row for row in each.rows} if isinstance(each, Table) else {} for each in tables)
    return any(
        cell is not None and left[name].cells.get(column) is None and given[name].cells.get(column) is not None
        for name in left.keys() & expected.keys() & given.keys()
        for column, cell in expected[name].cells.items()
    )


def matters_on(trials: Trials, hypothesis: Hypothesis, trial: Trial, subject: SubjectSpec) -> tuple[str, ...] | None:
    """The slips of a hypothesis that make the value on another subject; None where it does not give that value."""
    if hypothesis.says:
        return hypothesis.slips if hypothesis.says == (_FIXED,) or _follows(trial, hypothesis.base.call) else None
    count = len(hypothesis.slips)
    sets = [each for size in range(1, count + 1) for each in combinations(hypothesis.slips, size)]
    answer = _slipped(trials, hypothesis.base, subject, {"among": ["+".join(each) for each in sets]})
    fitting = {name for name, value in answer["values"] if fits(trials.kind, trial, value)}
    whole = "+".join(hypothesis.slips)
    return next((each for each in sets if "+".join(each) in fitting), None) if whole in fitting else None


def _follows(trial: Trial, source: QuantityCall) -> bool:
    return trial.expect is not None and _explains(trial, trial.expect(source))


def _explains(trial: Trial, known: Value) -> bool:
    """Whether a slip's value is what came out, and explains every cell of a table that is wrong."""
    judging, value = trial.judging, trial.value
    if judging is None or value is None or refuted(judging, value, known):
        return False
    if judging(value, known).outcome is not Outcome.CORRECT:
        return False
    return explains_all(value, known, trial.expected, judging)


def _simplest(standing: Sequence[Hypothesis]) -> list[Hypothesis]:
    least = min((each.size for each in standing), default=None)
    return [each for each in standing if each.size == least]
