"""Which small change of a wrong function's source makes it right on the small networks: then that was the mistake.

All changes are tried in one process, on the network that tells most of those on which the function is wrong; those that
are right there on all networks. The process knows no expected value.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from labgrade.diagnosis.counterexample import wrong
from labgrade.diagnosis.repair.edits import edits
from labgrade.diagnosis.small_networks import Called, SmallNetwork
from labgrade.subjects.networks import GENERATED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labgrade.core.task import SubjectSpec
    from labgrade.diagnosis.probe import Source, Trial, Trials
    from labgrade.diagnosis.repair.places import Edit

    Edits: TypeAlias = tuple[Edit, ...]

_MOST_EDITS, _MOST_CONFIRMED, _MOST_PAIRED = 400, 4, 36
_SECONDS = 0.3  # of CPU, for all changes of one kind
_SMALL, _MOST_SEARCHES = (GENERATED, "micro/", "jsc/"), 2
# Calls each changed function once, in the order in which it is called itself.
_TRIER = """
import sys
from time import process_time

_SOURCE, _EDITS = {source!r}, {edits!r}
_begun, _at = process_time(), -1


def _is_plain(value, depth=4):
    if isinstance(value, dict):
        return depth > 0 and all(isinstance(k, str) and _is_plain(v, depth - 1) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return depth > 0 and all(_is_plain(each, depth - 1) for each in value)
    return value is None or isinstance(value, (bool, int, float, str)) or hasattr(value, "dtype")


def {function}(*given):
    global _at
    _at += 1
    if process_time() - _begun > {seconds!r}:
        return None
    source, there = _SOURCE, {{"__name__": __name__, "__file__": __file__}}
    for start, end, text in _EDITS[_at]:
        source = source[:start] + text + source[end:]
    try:
        exec(compile(source, __file__, "exec"), there)
        value = there[{function!r}](*given)
        return value if _is_plain(value) else None
    except Exception:
        return None
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Changes, and slips (`says`) besides, that account for a function on all networks but those of the words `but`."""

    edits: tuple[Edit, ...]
    tried: int
    but: tuple[str, ...] = ()
    slip: str = ""

    def says(self) -> str:
        """It in words for the student."""
        said = ", and ".join(each.says() for each in self.edits)
        besides = f"; what it does with {', '.join(self.but)} is another matter" if self.but else ""
        on = f"on all {self.tried} small networks on which it was called{besides}."
        if self.slip:
            return f"Two things at once: (1) {self.slip} (2) {said[:1].upper()}{said[1:]} nothing else is wrong {on}"
        return f"{said[:1].upper()}{said[1:]} your function is right {on}"


class Repairs:
    """What makes one function right: found once for the small networks, and for a few subjects of the task's own."""

    def __init__(self, trials: Trials, called: Sequence[Called]) -> None:
        self._trials, self._called, self._source = trials, called, trials.source()
        self._found: list[Repair | None] = []
        self._searches = 0

    def of_all(self) -> str:
        """What makes it right on the small networks; nothing where there is no such thing, or it is right there."""
        bad = [each for each in self._called if not each.right]
        if not self._found:
            search = _Search(self._trials, self._source, self._called, bad) if self._source and bad else None
            self._found = [search.found() if search else None]
        return self._found[0].says() if self._found[0] is not None else ""

    def says(self, subject: SubjectSpec, own: Trial) -> str:
        """What makes it right on the small networks, or else on a subject, and changes nothing that is right.

        Raises:
            FaultError: a failure of labgrade's.
        """
        if says := self.of_all():
            return says
        if self._source is None or not subject.model.startswith(_SMALL) or self._searches == _MOST_SEARCHES:
            return ""
        self._searches += 1
        network = SmallNetwork(subject=subject, words="", rank=0)
        called = [*self._called, Called(network=network, trial=own)]
        repair = _Search(self._trials, self._source, called, called[-1:]).found()
        return repair.says() if repair is not None else ""


class _Search:
    """Which changes of a source make it right."""

    def __init__(self, trials: Trials, source: Source, called: Sequence[Called], bad: Sequence[Called]) -> None:
        self._trials, self._source, self._called, self._bad = trials, source, called, bad
        self._rare = min(each.network.rare for each in bad)
        usual = sorted((each for each in bad if each.network.rare == self._rare), key=lambda each: each.network.rank)
        self._usual = usual

    def found(self) -> Repair | None:
        """One change; two of those that change something; or one beside a slip."""
        telling = self._usual[-1]
        single = [(each,) for each in edits(self._source.text, self._source.function)[:_MOST_EDITS]]
        tried = self._tried(single, telling)
        repair = self._confirmed([some for some, trial in tried if not wrong(trial)])
        if repair is not None:
            return repair
        values: dict[str, Edits] = {repr(telling.trial.value): ()}
        for some, trial in tried:
            values.setdefault(repr(trial.value), some)
        left = [some for some in values.values() if some][:_MOST_PAIRED]
        likely = sorted(combinations(range(len(left)), 2), key=sum)
        pairs = [(*left[one], *left[other]) for one, other in likely if _apart(*left[one], *left[other])]
        return self._confirmed([some for some, trial in self._tried(pairs, telling) if not wrong(trial)])

    def _tried(self, several: Sequence[Edits], on: Called) -> list[tuple[Edits, Trial]]:
        """What each changed function gives on one network, where it gives something."""
        if not several:
            return []
        text = _TRIER.format(
            source=self._source.text,
            edits=[sorted(((e.start, e.end, e.text) for e in some), reverse=True) for some in several],
            function=self._source.function,
            seconds=_SECONDS,
        )
        with self._written(text) as changed:
            done = changed.again(on.network.subject, len(several))
        return [(some, trial) for some, trial in zip(several, done, strict=False) if trial is not None]

    def _confirmed(self, several: Sequence[Edits]) -> Repair | None:
        """The first change that is right wherever the function was called, but for rarer networks than are wrong."""
        for some in several[:_MOST_CONFIRMED]:
            text = self._source.text
            for each in sorted(some, key=lambda each: -each.start):
                text = each.applied(text)
            with self._written(text) as changed:
                done = changed.ahead([each.network.subject for each in self._called])
            if len(done) < len(self._called):
                continue
            still = [each for each, trial in zip(self._called, done, strict=True) if wrong(trial)]
            if not any(each.right or each in self._usual for each in still):
                but = dict.fromkeys(each.network.words for each in still)
                return Repair(edits=some, tried=len(done) - len(still), but=tuple(but))
        return None

    @contextmanager
    def _written(self, text: str) -> Iterator[Trials]:
        with tempfile.TemporaryDirectory(prefix="labgrade-repair-") as folder:
            yield self._trials.rewritten(Path(folder), replace(self._source, text=text))


def _apart(one: Edit, other: Edit) -> bool:
    return one.end <= other.start or other.end <= one.start
