"""Which small change of a wrong function's source makes it right on the small networks: then that was the mistake.

All changes are tried in one process, on the network that tells most of those on which the function is wrong; those that
are right there on all networks. The process knows no expected value.
"""

from __future__ import annotations
import __future__

import tempfile
from bisect import bisect_right
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from labgrade.core.errors import FaultError
from labgrade.diagnosis.bases import bases_of, slipped
from labgrade.diagnosis.behaviour import ENOUGH_WRONG, Hypothesis, gives
from labgrade.diagnosis.counterexample import wrong
from labgrade.diagnosis.fitting import fits
from labgrade.diagnosis.networks.called import Called, networks_for, noun
from labgrade.diagnosis.networks.small_networks import SmallNetwork
from labgrade.diagnosis.repair.causes import cause
from labgrade.diagnosis.repair.edits import edits, leading_to
from labgrade.diagnosis.repair.expressions import KEPT_EACH, WIDE
from labgrade.diagnosis.repair.places import statements
from labgrade.diagnosis.repair.trier import TRIER
from labgrade.subjects.networks import GENERATED
from labgrade.values import Number, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from labgrade.core.task import SubjectSpec
    from labgrade.diagnosis.probe import Source, Trial, Trials
    from labgrade.diagnosis.repair.places import Edit

    Edits: TypeAlias = tuple[Edit, ...]

_MOST_EDITS, _MOST_PAIRS, _MOST_CONFIRMED, _MOST_PAIRED, _MOST_BETTER, _MOST_PLACES = 120, 60, 4, 24, 2, 4
_MOST_NAMED, _FEW = 3, 3
_SECONDS, _SECONDS_OF_PAIRS = 0.25, 0.12  # of CPU, for all changes that are tried on one network
_SMALL, _MOST_SEARCHES = (GENERATED, "micro/", "jsc/"), 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Changes, and a `slip` besides, that make a function right on all networks but those of the words `but`."""

    edits: tuple[Edit, ...]
    tried: int
    but: tuple[str, ...] = ()
    slip: str = ""
    beside: Hypothesis | None = None
    on: str = "networks"
    cause: str = ""

    def says(self) -> str:
        """Return the repair in words for the student."""
        said = ", and ".join(each.says() for each in self.edits)
        said += "," if said.endswith(" holds") else ""
        more = f" and {len(self.but) - _MOST_NAMED} more" if len(self.but) > _MOST_NAMED else ""
        *first, last = self.but[:_MOST_NAMED] or ("",)
        named = f"{', '.join([*first, last])}{more}" if more or not first else f"{', '.join(first)} and {last}"
        besides = f"; what it does with {named} is another matter" if self.but else ""
        small = "small networks" if self.on == "networks" else self.on
        on = f"on all {self.tried} {small} on which it was called{besides}."
        why = f"{self.cause} " if self.cause else ""
        if self.slip:
            return f"Two things at once: (1) {self.slip} (2) {said[:1].upper()}{said[1:]} that alone is wrong {on}"
        return f"{why}{said[:1].upper()}{said[1:]} your function is right {on}"


class Repairs:
    """Finds the change that makes one function right: once for the small networks, and for a few subjects of the task.

    With `known` a slip accounts for most of them: what is left is little, and two changes fit by chance. Of a `failing`
    function, values elsewhere tell nothing.
    """

    def __init__(self, trials: Trials, called: Sequence[Called], *, known: bool = False, failing: bool = False) -> None:
        self._trials, self._called, self._source = trials, called, trials.source()
        self._known, self._failing = known, failing
        self._found: list[Repair | None] = []
        self._searches = 0

    def of_all(self) -> str:
        """Return the repair for the small networks in words; an empty text if there is none, or they are right."""
        bad = [each for each in self._called if not (each.right or (self._failing and each.trial.value is not None))]
        if not self._found:
            search = (
                _Search(self._trials, self._source, self._called, bad, known=self._known)
                if self._source and bad
                else None
            )
            self._found = [search.found() if search else None]
        return self._found[0].says() if self._found[0] is not None else ""

    def says(self, subject: SubjectSpec, own: Trial) -> str:
        """Return the repair for the small networks in words, or else one for a subject that changes nothing right.

        Of a large subject only types that hold too little are looked at.

        Raises:
            FaultError: a failure of labgrade's.
        """
        if says := self.of_all():
            return says if self._holds_on(subject, own) else ""
        known = any(not each.right and not each.network.rare for each in self._called)  # and nothing mends these
        if self._source is None or known or self._searches == _MOST_SEARCHES:
            return ""
        self._searches += 1
        called = [*self._called, Called(network=SmallNetwork(subject=subject, words="", rank=0), trial=own)]
        texts = () if subject.model.startswith(_SMALL) else WIDE
        repair = _Search(self._trials, self._source, called, called[-1:], texts).alone()
        return repair.says() if repair is not None else ""

    def _holds_on(self, subject: SubjectSpec, own: Trial) -> bool:
        """Return whether the repair for the small networks is right here, too: else it fits by chance, or not alone."""
        (repair,) = self._found
        if repair is None or self._source is None:
            return False
        called = [Called(network=SmallNetwork(subject=subject, words="", rank=0), trial=own)]
        return _Search(self._trials, self._source, called, called).holds(repair)


class _Search:
    """Searches for changes of a source that make it right, only of those to one of the `texts` if there are some."""

    def __init__(
        self,
        trials: Trials,
        source: Source,
        called: Sequence[Called],
        bad: Sequence[Called],
        texts: Sequence[str] = (),
        *,
        known: bool = False,
    ) -> None:
        self._trials, self._source, self._texts = trials, source, texts
        self._called = sorted(called, key=lambda each: each.network.rare)  # what fails there leaves nothing behind it
        rare = min(each.network.rare for each in bad)
        self._asked = sum(each.network.rare <= rare for each in called)
        self._usual = sorted((each for each in bad if each.network.rare == rare), key=lambda each: each.network.rank)
        self._known = known
        self._values: dict[str, tuple[Edits, Trial]] = {}
        self._single: Sequence[Edits] = ()
        self._better: Sequence[Edits] = ()

    def found(self) -> Repair | None:
        """Return one change; two changes that each make a difference; or one beside a slip."""
        return self.alone() or (None if self._known else self._in_pairs() or self._beside_a_slip())

    def alone(self) -> Repair | None:
        """Return one change."""
        wanted = edits(self._source.text, self._source.function)
        single: list[Edits] = [tuple(each for each in wanted if each.text == text) for text in WIDE]
        single.append(tuple(each for each in wanted if (each.was.rpartition(".")[2], each.text) in KEPT_EACH))
        single = [some for some in single if some]
        if not self._texts:
            more = [*((each,) for each in wanted), *_everywhere(wanted)]
            single += sorted(more, key=lambda some: some[0].likely)[:_MOST_EDITS]
        tried = self._tried(single, self._usual[-1])
        self._single, before = single, self._usual[-1].trial
        wrong_ones = [(some, trial) for some, trial in tried if wrong(trial)]
        for some, trial in wrong_ones:
            if repr(trial.value) != repr(before.value):
                known, _ = self._values.get(repr(trial.value), (some, trial))
                first = some if some[0].less and not known[0].less else known
                self._values[repr(trial.value)] = (first, trial)
        better = [each for each in wrong_ones if before.value is None or each[1].verdict.credit > before.verdict.credit]
        self._better = [some for some, _ in sorted(better, key=lambda each: -each[1].verdict.credit)[:_MOST_BETTER]]
        right = [some for some, trial in tried if not wrong(trial)]
        # Where it is right without something, another name there makes it right by chance.
        # What stands in several places is to be changed in all: one of them may not matter on these networks.
        order = sorted(right, key=lambda some: (len(some) > 1 or not some[0].less, some[0].rank))
        return self._confirmed(sorted(order, key=lambda some: not (len(some) > 1 and some[0].kind)))

    def holds(self, repair: Repair) -> bool:
        """Return whether changes make the function right wherever it was called, as far as a slip does not."""
        done = self._changed(repair.edits)
        pairs = zip(self._called, done, strict=False)
        return len(done) == len(self._called) and all(self._accounted(*each, repair.beside) for each in pairs)

    def _in_pairs(self) -> Repair | None:
        """Return two changes: one that makes more of a table right with any other, or two that each matter."""
        left = [some for some, _ in self._values.values()][:_MOST_PAIRED]
        likely = [(left[one], left[other]) for one, other in sorted(combinations(range(len(left)), 2), key=sum)]
        both = [*product(self._better, self._single), *likely]
        pairs = [(*one, *other) for one, other in both if _apart(one, other)][:_MOST_PAIRS]
        tried = self._tried(pairs, self._usual[-1], _SECONDS_OF_PAIRS)
        return self._confirmed([some for some, trial in tried if not wrong(trial)])

    def _beside_a_slip(self) -> Repair | None:
        """Return a change after which only a slip is left."""
        if self._usual[-1].trial.value is None:  # what is left of a function that fails may be nothing at all
            return None
        bases = bases_of(self._trials.check, self._trials.quantities)[:1]
        subject, left = self._usual[-1].network.subject, _MOST_CONFIRMED
        for base in bases:
            answer = slipped(base, subject, {"most": 1}, self._trials.value_of)
            for some, trial in list(self._values.values())[:_MOST_PAIRED]:
                values = answer["values"] if _is_something(trial.value) else ()
                names = [name for name, plain in values if name and fits(self._trials.kind, trial, plain)]
                if len(names) == 1 and left:
                    left -= 1
                    holds = Hypothesis(base=base, slips=(names[0],))
                    repair = self._confirmed([some], holds, answer["says"][names[0]])
                    if repair is not None:
                        return repair
        return None

    def _tried(self, several: Sequence[Edits], on: Called, seconds: float = _SECONDS) -> list[tuple[Edits, Trial]]:
        """Return what each changed function gives on one network, if it gives something."""
        if not several:
            return []
        parts = statements(self._source.text)
        text = TRIER.format(
            parts=parts,
            edits=[sorted((_within(parts, each) for each in some), reverse=True) for some in several],
            flags=__future__.annotations.compiler_flag
            if "from __future__ import annotations" in self._source.text
            else 0,
            function=self._source.function,
            seconds=seconds,
        )
        with self._written(text) as changed:
            done = changed.again(on.network.subject, len(several))
        return [(some, trial) for some, trial in zip(several, done, strict=False) if trial is not None]

    def _confirmed(self, several: Sequence[Edits], slip: Hypothesis | None = None, says: str = "") -> Repair | None:
        """Return the change that is right wherever the function was called, but for the fewest rare networks.

        With a `slip`, right is what the slip gives, and the slip makes a difference on some.
        """
        found: Repair | None = None
        for some in several[:_MOST_CONFIRMED]:
            if slip is not None and not self._leaves(some, slip):
                continue
            done = self._changed(some)
            if len(done) < self._asked:
                continue
            pairs, failed = list(zip(self._called, done, strict=False)), self._called[len(done) :]
            still = [*(each for each, trial in pairs if not self._accounted(each, trial, slip)), *failed]
            # A change may make the very slip; it has to make right what was wrong, and nothing wrong.
            worse = any(each.right and wrong(trial) for each, trial in pairs) or any(each.right for each in failed)
            # A network that stands there twice, with a layer frozen, tells no more than once.
            better = {repr(trial.value) for each, trial in pairs if not each.right and not wrong(trial)}
            if worse or (slip is not None and len(better) < ENOUGH_WRONG) or any(each in self._usual for each in still):
                continue
            if self._spoils(pairs) or self._spoils_others(some):
                continue
            right = len(self._called) - len(still)
            if found is None or right > found.tried:
                but = dict.fromkeys(each.network.words for each in still if each.network.words)
                found = Repair(
                    edits=some,
                    tried=right,
                    but=tuple(but),
                    slip=says,
                    beside=slip,
                    on=noun(self._trials),
                    cause="" if slip else cause(self._source.text, some),
                )
            if not still:
                break
        return found

    def _leaves(self, some: Edits, slip: Hypothesis) -> bool:
        """Return whether a change leaves only a slip on a few networks: on most of them slips fit by chance."""
        few = self._usual[-1 - _FEW : -1]
        with self._written(self._with(some)) as changed:
            done = changed.ahead([each.network.subject for each in few])
        return len(done) == len(few) and all(self._accounted(*each, slip) for each in zip(few, done, strict=True))

    def _spoils(self, pairs: Sequence[tuple[Called, Trial]]) -> bool:
        """Return whether a change makes something wrong for which other checks call the same function."""
        return any(
            self._is_right(other, each, each.trial) and not self._is_right(other, each, trial)
            for other in self._trials.others
            for each, trial in pairs
        )

    def _spoils_others(self, some: Edits) -> bool:
        """Return whether a change spoils another function that the task asks for and that uses the changed code."""
        names = leading_to(self._source.text, {each.line for each in some})
        return any(self._spoils_function(other, some) for other in self._trials.beside(self._source, names))

    def _spoils_function(self, other: Trials, some: Edits) -> bool:
        alike = other.task.id == self._trials.task.id
        subjects = [each.network.subject for each in self._called] if alike else []
        subjects = subjects or [each.subject for each in networks_for(other)]
        try:
            before = other.past(subjects)
            with self._written_for(other, self._with(some)) as changed:
                after = changed.past(subjects)
            lost = [*after, *[None] * (len(before) - len(after))]
            return any(
                one is not None and not wrong(one) and (each is None or bool(wrong(each)))
                for one, each in zip(before, lost, strict=False)
            )
        except FaultError:  # what becomes of the other is not known
            return True

    def _is_right(self, other: Trials, called: Called, trial: Trial) -> bool:
        try:
            return trial.value is not None and not wrong(other.judged(trial.value, called.network.subject))
        except FaultError:  # nothing is asked there
            return False

    def _changed(self, some: Edits) -> list[Trial]:
        """Return what the changed function gives on all networks, up to the first failure."""
        subjects = [each.network.subject for each in self._called]
        with self._written(self._with(some)) as changed:
            # What is no plain data leaves nothing of all: of files out of the ordinary that is another matter.
            return changed.ahead(subjects) or changed.ahead(subjects[: self._asked % len(subjects)])

    def _with(self, some: Edits) -> str:
        """Return the source with changes."""
        text = self._source.text
        for each in sorted(some, key=lambda each: -each.start):
            text = each.applied(text)
        return text

    def _accounted(self, called: Called, trial: Trial, slip: Hypothesis | None) -> bool:
        if slip is None:  # what waits for a person is not made right
            return not wrong(trial) and (called.right or trial.verdict.credit == 1)
        return gives(self._trials, slip, trial, called.network.subject, where_absent=not wrong(trial))

    def _written(self, text: str) -> AbstractContextManager[Trials]:
        return self._written_for(self._trials, text)

    @contextmanager
    def _written_for(self, trials: Trials, text: str) -> Iterator[Trials]:
        with tempfile.TemporaryDirectory(prefix="labgrade-repair-") as folder:
            yield trials.rewritten(Path(folder), replace(self._source, text=text))


def _within(parts: Sequence[str], edit: Edit) -> tuple[int, int, int, str]:
    """Return the part of the source that holds an edit, its range, and its text."""
    begins = [0, *accumulate(len(each) for each in parts)]
    part = bisect_right(begins, edit.start) - 1
    return part, edit.start - begins[part], edit.end - begins[part], edit.text


def _everywhere(some: Sequence[Edit]) -> list[Edits]:
    """Return the changes that can be made in several places, made in all of them."""
    alike: dict[tuple[str, str], list[Edit]] = {}
    for each in some:
        alike.setdefault((each.was, each.text), []).append(each)
        if each.kind:
            alike.setdefault((each.kind, ""), []).append(each)
    return [tuple(each) for each in alike.values() if 1 < len(each) <= _MOST_PLACES]


def _is_something(value: object) -> bool:
    """Return whether a value is neither 0 nor an empty table, which many changes and slips give."""
    return bool(value.value if isinstance(value, Number) else value.rows if isinstance(value, Table) else value)


def _apart(some: Edits, others: Edits) -> bool:
    pairs = [(one.span, other.span) for one in some for other in others]
    return all(one[1] <= other[0] or other[1] <= one[0] for one, other in pairs)
