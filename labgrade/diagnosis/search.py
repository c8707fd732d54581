"""The search: random subjects, each tried once, shrunk by Hypothesis to the smallest on which something is wrong."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import itertools
import json
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from labgrade.core.by_identity import ByIdentity
from labgrade.core.errors import FaultError
from labgrade.core.subject import as_plain
from labgrade.diagnosis.networks import families

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from labgrade.core.task import SubjectSpec

T = TypeVar("T")
_AT_FIRST = (2, 16)  # subjects that are looked at ahead together: much that is wrong shows itself at once
_AT_ONCE = 41  # afterwards: what was right on those is mostly right on all
_KEYS = 1024  # of subjects: a class is asked about the same few hundred
_PLANS = 64  # whose subjects are kept; a lab has a few
_drawn: dict[str, Asked] = {}
_SHRINKING = 1.0  # times as long as the search itself, that shrinking may take beyond it


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """The plan of a search: what to search, at most `tries` subjects in `seconds`. The `seed` makes it repeatable."""

    among: str
    like: SubjectSpec | None = None
    tries: int = 100
    seconds: float = 180.0
    seed: int = 0


class Asked(NamedTuple):
    """The subjects that a search asks about, in order: while nothing is wrong; while everything is; the smallest."""

    right: Sequence[SubjectSpec]
    wrong: Sequence[SubjectSpec] = ()


@dataclass(slots=True, kw_only=True)
class SearchResult(Generic[T]):
    """The outcome of a search: the smallest wrong subject with its trial, if any, and all that were tried.

    `seconds`: how long it took. `complete`: time was enough for all tries.
    """

    tried: list[tuple[SubjectSpec, T, str]] = field(default_factory=list)
    smallest: tuple[SubjectSpec, T] | None = None
    seconds: float = 0.0
    complete: bool = True


class Foresight(NamedTuple, Generic[T]):
    """What an attempt will probably come to, `coming`, and whether one came to the `same`."""

    coming: Callable[[SubjectSpec], T]
    same: Callable[[T, T], bool]


def available() -> bool:
    """Return whether Hypothesis is installed."""
    return importlib.util.find_spec("hypothesis") is not None


def subjects(plan: SearchPlan) -> list[SubjectSpec]:
    """Return the subjects that a search asks about while nothing is wrong. The same plan gives the same."""
    _shown(plan, lambda _: True)
    return list(_drawn[repr(plan)].right)


def asked(plan: SearchPlan) -> Asked:
    """Return all that is known of a plan ahead; see `subjects`."""
    wrong: list[SubjectSpec] = []

    def note(subject: SubjectSpec) -> bool:
        wrong.append(subject)
        return True

    smallest = _hypothesis(plan, note)
    return Asked(subjects(plan), [*wrong, smallest] if smallest is not None else [])


def is_drawn(plan: SearchPlan) -> bool:
    """Return whether a plan's subjects are known without Hypothesis."""
    return repr(plan) in _drawn


def know(plan: SearchPlan, drawn: Asked) -> None:
    """Use these as a plan's subjects, which another process may have drawn."""
    if len(_drawn) >= _PLANS:
        _drawn.clear()
    _drawn[repr(plan)] = drawn


def _shown(plan: SearchPlan, look: Callable[[Sequence[SubjectSpec]], bool], *, at_once: bool = False) -> bool:
    """Show the `subjects` to a function, some together, as long as it goes on; return whether all were shown.

    Drawing takes longer than most calls, so that all are kept for the other functions of a class. No more are drawn
    than are shown, because drawing takes longer than most else of one student's check.
    """
    key = repr(plan)
    if key in _drawn:
        known = _drawn[key].right
        ends = (0, 0 if at_once else sum(_AT_FIRST), len(known))  # nothing waits to be drawn: few large portions
        return all(look(known[start:end]) for start, end in itertools.pairwise(ends) if start < end)
    found: dict[str, SubjectSpec] = {}
    waiting: list[SubjectSpec] = []

    def note(subject: SubjectSpec) -> bool:
        if _key(subject) not in found:
            found[_key(subject)] = subject
            waiting.append(subject)
            if _ends(len(found)):
                if not look(tuple(waiting)):
                    raise _StopError
                waiting.clear()
        return False

    try:
        _hypothesis(plan, note)
    except _StopError:
        return False
    know(plan, Asked(list(found.values())))
    return not waiting or look(waiting)


def _ends(count: int) -> bool:
    """Return whether a portion ends after so many subjects."""
    first, second = itertools.accumulate(_AT_FIRST)
    return count in (first, second) or (count > second and (count - second) % _AT_ONCE == 0)


def search(
    plan: SearchPlan,
    attempt: Callable[[SubjectSpec], T],
    wrong: Callable[[T], str],
    first: Iterable[Sequence[SubjectSpec]] = (),
    ahead: Callable[[Sequence[SubjectSpec]], Iterable[T]] | None = None,
    *,
    at_once: bool = False,
    foresight: Foresight[T] | None = None,
) -> SearchResult[T]:
    """Look for the smallest subject for which `attempt` gives a `wrong` result, and return it with all trials.

    `wrong` returns a word for the kind of wrong, or an empty text. What went wrong first decides which kind is
    followed. `first` are remembered subjects, each smallest one with others that were tried: where it is still wrong,
    they are tried again and nothing else is. Each subject is attempted once, so that an answer that changes from call
    to call can't confuse the search. `ahead` attempts several at once, as far as it can; a wrong one is attempted again
    by itself, and that counts. `at_once`: all are probably right, so that the search begins with many. `foresight`
    leads the search where it can: what it foresees is then seen `ahead`, all of it together.

    Raises:
        FaultError: what `attempt` or `wrong` raises.
    """
    trials = _Trials(plan, attempt, wrong)
    if not _replayed(trials, first):
        with contextlib.suppress(_StopError):
            smallest = trials.as_foreseen(ahead, foresight) if ahead is not None and foresight is not None else None
            known = smallest is None and ahead is not None and trials.all_right(ahead, at_once=at_once)
            if not known and (smallest := smallest or trials.all_wrong() or _hypothesis(plan, trials.is_wrong)):
                trials.found.smallest = (smallest, trials.known[_key(smallest)][0])
        if trials.fault is not None:
            raise trials.fault
    trials.found.seconds = time.monotonic() - trials.begun
    return trials.found


def _replayed(trials: _Trials[T], first: Iterable[Sequence[SubjectSpec]]) -> bool:
    """Return whether a remembered subject is still wrong."""
    for subject, *others in first:
        with contextlib.suppress(_StopError):
            if trials.is_wrong(subject):
                smallest = trials.found.smallest
                for other in others:
                    trials.is_wrong(other)
                trials.found.smallest = smallest
                return True
        trials.fault = None  # a record that nothing can be made of
    return False


class _StopError(BaseException):
    """Ends the search at once: Hypothesis lets nothing else through."""


class _Trials(Generic[T]):
    """The attempts so far."""

    def __init__(self, plan: SearchPlan, attempt: Callable[[SubjectSpec], T], wrong: Callable[[T], str]) -> None:
        self._plan, self._attempt, self._wrong = plan, attempt, wrong
        self.begun = time.monotonic()
        self.known: dict[str, tuple[T, str]] = {}
        self.found: SearchResult[T] = SearchResult()
        self.kind = ""
        self.fault: FaultError | None = None
        self._ahead: dict[str, T] = {}

    def all_right(self, ahead: Callable[[Sequence[SubjectSpec]], Iterable[T]], *, at_once: bool) -> bool:
        """Attempt what the search asks about while nothing is wrong, many at once; return whether all are right.

        If they are, the search has nothing left to find.
        """

        def look(some: Sequence[SubjectSpec]) -> bool:
            right = self._right(ahead, some)
            self._ahead |= zip(map(_key, some), right, strict=False)
            return len(right) == len(some) and time.monotonic() - self.begun <= self._plan.seconds

        return _shown(self._plan, look, at_once=at_once) and not any(map(self.is_wrong, subjects(self._plan)))

    def all_wrong(self) -> SubjectSpec | None:
        """Return the smallest subject, if all subjects that the search asks about while everything is wrong are.

        Up to the first right one, Hypothesis would have asked for the same; it goes on from there.
        """
        path = _drawn[key].wrong if (key := repr(self._plan)) in _drawn else ()
        return path[-1] if path and all(map(self.is_wrong, path)) else None

    def as_foreseen(
        self, ahead: Callable[[Sequence[SubjectSpec]], Iterable[T]], foresight: Foresight[T]
    ) -> SubjectSpec | None:
        """Return the smallest subject, if all that the search asks about comes to what was foreseen of it.

        Hypothesis would have asked for the same then, each by itself. The smallest one is attempted so, too.
        """
        coming: dict[str, tuple[SubjectSpec, T]] = {}

        def is_wrong(subject: SubjectSpec) -> bool:
            key = _key(subject)
            try:
                if key not in coming:
                    coming[key] = subject, foresight.coming(subject)
                return bool(self._wrong(coming[key][1]))
            except FaultError as error:
                raise _StopError from error

        try:
            smallest = _hypothesis(self._plan, is_wrong)
            seen = dict(zip(coming, ahead([each for each, _ in coming.values()]), strict=False))
            seen |= {} if smallest is None else {_key(smallest): self._attempt(smallest)}
        except (FaultError, _StopError):  # whatever it is, it comes again
            return None
        if smallest is None or not all(
            key in seen and foresight.same(seen[key], own) for key, (_, own) in coming.items()
        ):
            return None
        self._ahead = seen
        for subject, _ in coming.values():
            self.is_wrong(subject)
        return smallest

    def _right(self, ahead: Callable[[Sequence[SubjectSpec]], Iterable[T]], subjects: Sequence[SubjectSpec]) -> list[T]:
        """Return the right trials up to the first that is not right. What fails here fails again by itself."""
        try:
            return list(itertools.takewhile(lambda trial: not self._wrong(trial), ahead(subjects)))
        except FaultError:
            return []

    def is_wrong(self, subject: SubjectSpec) -> bool:
        """Return whether a subject is wrong in the way that is followed; it is then the smallest so far.

        Raises:
            _StopError: after a fault, or when time is up.
        """
        key = _key(subject)
        if key not in self.known:
            ahead = (self._ahead[key], self._wrong(self._ahead[key])) if key in self._ahead else None
            trial, kind = ahead or self._attempted(subject)
            self.kind = self.kind or kind
            self.known[key] = (trial, kind)
            self.found.tried.append((subject, trial, kind))
        trial, kind = self.known[key]
        if not kind or kind != self.kind:
            return False
        self.found.smallest = (subject, trial)
        return True

    def _attempted(self, subject: SubjectSpec) -> tuple[T, str]:
        self._keep_time()
        try:
            trial = self._attempt(subject)
            return trial, self._wrong(trial)
        except FaultError as error:
            self.fault = error
            raise _StopError from error

    def _keep_time(self) -> None:
        allowed = self._plan.seconds * (1 + _SHRINKING if self.kind else 1)
        if time.monotonic() - self.begun > allowed:
            self.found.complete = bool(self.kind)
            raise _StopError


def _hypothesis(plan: SearchPlan, is_wrong: Callable[[SubjectSpec], bool]) -> SubjectSpec | None:
    """Return the smallest wrong subject that Hypothesis finds; None if it finds none."""
    from hypothesis import HealthCheck, Phase, Verbosity, find, settings
    from hypothesis.errors import NoSuchExample

    _look_at_nothing_around()
    chosen = settings(
        max_examples=plan.tries,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    chance = random.Random(plan.seed)  # noqa: S311 - the same verdict every time is what is wanted
    try:
        return find(families.strategy(plan.among, plan.like), is_wrong, settings=chosen, random=chance)
    except NoSuchExample:
        return None


@functools.cache
def _look_at_nothing_around() -> None:
    """Keep Hypothesis from drawing numbers from the source code of loaded modules.

    Trials may not depend on these, and it would store them in `.hypothesis` in the working folder, a student's.
    """
    from hypothesis.internal.conjecture import providers

    inside: Any = providers
    if hasattr(inside, "_get_local_constants"):
        none = inside.Constants()
        inside._get_local_constants = lambda: none  # noqa: SLF001 - there is no setting for it
        inside.CONSTANTS_CACHE.cache.clear()


def _as_text(subject: SubjectSpec) -> str:
    return json.dumps(as_plain(subject), sort_keys=True)


_key = ByIdentity(_as_text, _KEYS)
