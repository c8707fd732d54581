"""What a wrong function does, found out by calling it: the slip, or the product of slips, that it follows everywhere.

A hypothesis is a slip of the quantity's library (`<quantity>_slips` in reference/), a product of up to three, or a
misconception of the spec. It is said only if it gives the function's value on every network on which the function was
called, and on the task's own subject; if no simpler one does; and if no other one as simple does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import FaultError
from labgrade.core.task import CallForm, QuantityCall
from labgrade.diagnosis.bases import Base, bases_of, slipped
from labgrade.diagnosis.fitting import OTHER_INPUTS, explains, fits, is_of_input, leaves_open
from labgrade.diagnosis.networks.called import Called, further
from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from labgrade.core.task import Alternative, Plain, SubjectSpec
    from labgrade.diagnosis.networks.small_networks import SmallNetwork
    from labgrade.diagnosis.probe import Trial, Trials
    from labgrade.values import Row

_MOST_ALIKE = 3  # ways of saying what a function does: nobody reads more
ENOUGH_WRONG = 2  # networks on which a function has to be wrong before anything is said of it
_MOST_SLIPS, _MOST_IN_TABLES = 3, 2
_MOST_REFUTED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """Slips upon a base, or a known misconception (`says` is then its sentence)."""

    base: Base
    slips: tuple[str, ...]
    says: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, bool]:
        """Return how simple the hypothesis is: fewer slips first, then the expected value before other conventions."""
        return len(self.slips), bool(self.base.says)


@dataclass(slots=True, kw_only=True)
class Behaviour:
    """What was found out about a function: the hypothesis that holds, if one does, and where it is right.

    `but`: the words of the `others`, networks on which the function is wrong in another way; `spared`: the words of
    those on which it is right all the same. `alike`: hypotheses with other words that give the same wherever that was
    tried. `same`: those with the same words, or beside a misconception, one of which may give the value of the task's
    own subject.
    """

    called: Sequence[Called]
    holds: Hypothesis | None = None
    but: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    others: Sequence[Called] = ()
    alike: Sequence[Hypothesis] = ()
    same: Sequence[Hypothesis] = ()
    rivals: Sequence[Hypothesis] = ()
    refuted: Sequence[str] = ()
    says: dict[str, str] = field(default_factory=dict)

    @property
    def is_zero(self) -> bool:
        """Return whether a function gives 0 for each small network: it may round, or leave much out."""
        return all(isinstance(each.trial.value, Number) and each.trial.value.value == 0 for each in self.called)


def applies(trials: Trials) -> bool:
    """Return whether a check has a function to call, and known slips."""
    check = trials.check
    forms = [each for each in trials.task.answers[check.answer].forms if isinstance(each, CallForm)]
    return bool(forms) and check.measured is None and bool(_bases(trials))


def _bases(trials: Trials) -> list[Base]:
    return bases_of(trials.check, trials.quantities)


def explore(trials: Trials, called: Sequence[Called]) -> Behaviour:
    """Look for the hypothesis that a function follows, by its values on the small networks.

    A function may make another mistake besides where nodes are nested, where a network attends, or where a file is out
    of the ordinary. Then, and where it takes as many slips as are looked for, the search goes on without such networks.

    Raises:
        FaultError: a failure of labgrade's.
    """
    found = Behaviour(called=called)
    best: Behaviour | None = None
    tried = 0
    for rare in (2, 1, 0):
        some = [each for each in called if each.network.rare <= rare]
        if len(some) == tried or sum(not each.right for each in some) < ENOUGH_WRONG:
            continue
        tried = len(some)
        there = Behaviour(called=some)
        _Search(trials, there, some).run()
        found.says |= there.says
        found.rivals = found.rivals or there.rivals
        if there.holds is None:
            found.refuted = found.refuted or there.refuted
            continue
        if best is None or best.holds is None or len(there.holds.slips) < len(best.holds.slips):
            best = there
            there.others = [each for each in called if each.network.rare > rare]
            not_so = [each for each in there.others if not _gives(trials, there.holds, each)]
            there.but = _words(each for each in not_so if not each.right)
            there.spared = tuple(words for words in _words(not_so) if words not in there.but)
        # A third slip may fit by chance nodes that a function does not look into: fewer that hold elsewhere are surer.
        if len(there.holds.slips) < _MOST_SLIPS or all(each.network.rare < rare for each in some):
            break
    return best or found


def _words(called: Iterable[Called]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.network.words for each in called if each.network.words))


def _gives(trials: Trials, holds: Hypothesis, called: Called) -> bool:
    return gives(trials, holds, called.trial, called.network.subject, where_absent=called.right)


def gives(trials: Trials, holds: Hypothesis, trial: Trial, subject: SubjectSpec, *, where_absent: bool = False) -> bool:
    """Return whether a hypothesis gives the value on a subject; `where_absent` if it can't be made there."""
    try:
        return matters_on(trials, holds, trial, subject) is not None
    except FaultError:
        return where_absent


class _Search:
    """The search for the hypotheses that agree with the values of one function."""

    def __init__(self, trials: Trials, found: Behaviour, called: Sequence[Called]) -> None:
        self._trials, self._found = trials, found
        # The network that tells most comes first, so that few hypotheses are tried on the others.
        self._order = sorted(called, key=lambda each: (each.right, -each.network.rank))
        self._same: dict[str, list[Hypothesis]] = {}

    def run(self) -> None:
        """Fill in the hypothesis that holds, or those that were refuted, or nothing."""
        known = list(self._known())
        simplest = self._in_other_words(_simplest(self._standing()))
        fuller = len(known) == 1 and [each for each in simplest if self._says_more(each, known[0])]
        if len(known) == 1 and not fuller and all(each.size[0] >= 1 for each in simplest):
            self._found.holds, self._found.same = known[0], simplest
        elif simplest and all(each.slips for each in simplest) and (apart := self._told_apart(fuller or simplest)):
            self._found.holds = apart
            self._found.same = self._same.get(self._worded(apart), ())
        elif not simplest and (fixed := self._other_input()):
            self._found.holds = fixed
        else:
            self._found.rivals = [each for each in (*known, *simplest) if each.slips]

    def _says_more(self, hypothesis: Hypothesis, known: Hypothesis) -> bool:
        """Return whether a product of slips holds what a misconception does: then there is another mistake, too.

        Its sentence is not compared: while a class is graded, a placeholder stands for it.
        """
        alone = [replace(hypothesis, slips=(slip,)) for slip in hypothesis.slips]
        source = known.base.call
        return len(alone) > 1 and any(
            all(_comes_to(self._trials, slip, each, source) for each in self._order) for slip in alone
        )

    def _in_other_words(self, rivals: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return those hypotheses that tell a student different things; the others need not be told apart."""
        words: dict[str, list[Hypothesis]] = {}
        for each in rivals:
            words.setdefault(self._worded(each), []).append(each)
        self._same = words
        return [first for first, *_ in words.values()]

    def _worded(self, hypothesis: Hypothesis) -> str:
        return repr((hypothesis.base, sorted(self._found.says.get(slip, slip) for slip in hypothesis.slips)))

    def _told_apart(self, rivals: Sequence[Hypothesis]) -> Hypothesis | None:
        """Return the hypothesis that holds where several fit; the first if no network tells them apart.

        Slips may cancel out: to leave out both of two images is to leave out each of them.
        """
        left = list(rivals)
        for network in further(self._trials):
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
        if not left or any(each.base != left[0].base for each in left):
            return None
        left = _likeliest(left) if left[0].base.formula is not None else left
        if not 0 < len(left) <= _MOST_ALIKE:
            return None
        self._found.alike = left[1:]
        return left[0]

    def _said(self, hypothesis: Hypothesis, network: SmallNetwork) -> str | None:
        answer = _slipped(self._trials, hypothesis.base, network.subject, {"among": ["+".join(hypothesis.slips)]})
        return next((str(value) for _, value in answer["values"]), None)

    def _other_input(self) -> Hypothesis | None:
        """Return the hypothesis that the function uses an input of another size than the one it is given."""
        form = next(
            each for each in self._trials.task.answers[self._trials.check.answer].forms if isinstance(each, CallForm)
        )
        if "input_size" not in form.given:
            return None
        for slip, base in product(OTHER_INPUTS, _bases(self._trials)):
            # One network refutes most; what can't be computed of another input is asked for anew each time.
            if all(is_of_input(self._trials, base, each.trial, each.network.subject, slip) for each in self._order):
                return Hypothesis(base=base, slips=(slip,), says=(OTHER_INPUTS[slip][1],))
        return None

    def _known(self) -> Iterator[Hypothesis]:
        """Yield the misconceptions of the spec that the function follows."""
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
            except FaultError:  # no occasion: what is wrong there is something else
                if not called.right:
                    return False
        return occasions >= ENOUGH_WRONG

    def _standing(self) -> list[Hypothesis]:
        """Return the hypotheses that are not refuted, as far as none is simpler."""
        table = not isinstance(self._order[0].trial.value, Number)
        for most in range(1, (_MOST_IN_TABLES if table else _MOST_SLIPS) + 1):
            left: list[Hypothesis] = []
            for base in _bases(self._trials):
                # By another convention it would take as many slips, and so be less simple.
                if most <= base.most and not (left and base.says):
                    left += self._tested(base, most)
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
        """Return each hypothesis with whether it gives the function's value on a network; of many, those that do."""
        answer = _slipped(self._trials, base, called.network.subject, {**asked, **_bounds(called.trial, asked)})
        self._found.says |= answer["says"]
        known: dict[str, bool] = {}  # most slips change nothing on a network: of thousands of tables few are different
        rows: dict[str, tuple[Row, ...]] = {}
        fitting = []
        for name, value in answer["values"]:
            said = repr(value)
            if said not in known:
                known[said] = fits(self._trials.kind, called.trial, value, rows)
            fitting.append((name, known[said]))
        return [each for each in fitting if each[1] or "among" in asked]


def _bounds(trial: Trial, asked: Mapping[str, Plain]) -> dict[str, Plain]:
    """Return the numbers between which a hypothesis is looked for, where there are many of them."""
    if "among" in asked or not isinstance(trial.value, Number):
        return {}
    value, off = trial.value.value, trial.value.half_unit
    return {"between": [str(value - off), str(value + off)]}


def _slipped(trials: Trials, base: Base, subject: SubjectSpec, asked: Mapping[str, Plain]) -> dict[str, Any]:
    return slipped(base, subject, asked, trials.value_of)


def matters_on(trials: Trials, hypothesis: Hypothesis, trial: Trial, subject: SubjectSpec) -> tuple[str, ...] | None:
    """Return the slips of a hypothesis that make a difference on a subject; None where it does not give the value."""
    if hypothesis.says:
        if (slip := hypothesis.slips[0]) in OTHER_INPUTS:
            follows = slip == "fixed_input" or is_of_input(trials, hypothesis.base, trial, subject, slip)
        else:
            follows = _follows(trial, hypothesis.base.call)
        return hypothesis.slips if follows else None
    count = len(hypothesis.slips)
    sets = [each for size in range(1, count + 1) for each in combinations(hypothesis.slips, size)]
    answer = _slipped(trials, hypothesis.base, subject, {"among": ["+".join(each) for each in sets]})
    fitting = {name for name, value in answer["values"] if fits(trials.kind, trial, value)}
    whole = "+".join(hypothesis.slips)
    return next((each for each in sets if "+".join(each) in fitting), None) if whole in fitting else None


def contradicted(own: Trial, called: Sequence[Called], known: Sequence[Alternative]) -> bool:
    """Return whether a function makes none of these misconceptions, though its value on its `own` subject equals one.

    It makes one only if it follows it where it is right, where it is wrong somewhere, and on every usual network with
    one peculiarity on which the misconception differs from what is expected: on a network with one linear layer,
    "linear layers are missing" is also the result of leaving out the last one. Elsewhere it may make another mistake
    besides. Where a misconception can't be made, or the function crashes, nothing speaks against it.
    """
    usual = [each for each in called if not each.network.rare and each.trial.value is not None]
    sources = [each.source for each in known if isinstance(each.source, QuantityCall)]
    right = [each.trial for each in called if each.right and not each.convention and each.trial.value is not None]
    if sources and not any(all(_may_follow(trial, source) for trial in right) for source in sources):
        return True  # where each of these would be wrong it is right
    if sum(not each.right for each in usual) < ENOUGH_WRONG:
        return False
    return not any(_may_make(own, usual, source) for source in sources)


def _may_make(own: Trial, usual: Sequence[Called], source: QuantityCall) -> bool:
    wrong = [each for each in usual if not each.right]
    bound = [each for each in usual if each.right or (each.network.words and _differs(each.trial, source))]
    follows = all(_may_follow(trial, source) for trial in (own, *(each.trial for each in bound)))
    return follows and any(_may_follow(each.trial, source) for each in wrong)


def _differs(trial: Trial, source: QuantityCall) -> bool:
    """Return whether a misconception gives another value than the expected one."""
    try:
        return trial.expect is not None and trial.expect(source) != trial.expected
    except FaultError:  # no occasion
        return False


def same_as(trials: Trials, slips: Hypothesis, called: Sequence[Called], known: Sequence[Alternative]) -> bool:
    """Return whether slips equal one of these misconceptions on all networks, so that they say the same."""
    sources = [each.source for each in known if isinstance(each.source, QuantityCall)]
    return any(all(_comes_to(trials, slips, each, source) for each in called) for source in sources)


def _comes_to(trials: Trials, slips: Hypothesis, called: Called, source: QuantityCall) -> bool:
    trial, name = called.trial, "+".join(slips.slips)
    try:
        made = replace(trial, value=trial.expect(source) if trial.expect is not None else None)
        answer = _slipped(trials, slips.base, called.network.subject, {"among": [name]})
    except FaultError:  # no occasion
        return True
    return all(fits(trials.kind, made, plain) for _, plain in answer["values"])


def _may_follow(trial: Trial, source: QuantityCall) -> bool:
    try:
        return _follows(trial, source)
    except FaultError:
        return True


def _follows(trial: Trial, source: QuantityCall) -> bool:
    if trial.expect is None:
        return False
    table = trial.expect(source)
    return explains(trial, table) and not (leaves_open(trial, table))


def _likeliest(left: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Return the hypotheses with most known slips of the quantity; none if they have no slip in common.

    A formula goes wrong in hundreds of ways, and two of them may give the same as two others.
    """
    known = (left[0].base.formula or {}).get("known")
    counts = [sum(slip in known for slip in each.slips) if isinstance(known, dict) else 0 for each in left]
    found = [each for each, count in zip(left, counts, strict=True) if count == max(counts)]
    in_one = all(len(set(each.slips) - set(found[0].slips)) <= 1 for each in found)
    return found if in_one else []


def _simplest(standing: Sequence[Hypothesis]) -> list[Hypothesis]:
    least = min((each.size for each in standing), default=None)
    return [each for each in standing if each.size == least]
