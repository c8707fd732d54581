"""The display of a class run: progress, time left, the slowest check, the verdicts so far."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from labgrade.core.errors import FaultError
from labgrade.core.text import excerpt
from labgrade.ledger.verdict_memory import Recorded
from labgrade.run.events import Finished, Judging, Started, SubmissionDone

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Self

    from rich.console import Console, RenderableType

    from labgrade.run.events import Event

_LONGEST = 400
_REFRESH_SECONDS = 0.2
_LINE_SECONDS = 30.0
_MINUTE = 60
_LONG = 5.0  # seconds after which a check is named
_NAMED = 2
_SPREAD = 2  # standard deviations of what is left
_SETTLED = 3  # submissions that were run, before the time that others take is guessed


class _Bar(Progress):
    """A progress bar with lines below it, which are cut where they do not fit."""

    said: tuple[str, ...] = ()

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the bar and the lines."""
        yield self.make_tasks_table(self.tasks)
        for line in self.said:
            yield Text(line, no_wrap=True, overflow="ellipsis")


class RunProgress:
    """Shows the events of a run: a bar on a terminal, elsewhere a line now and then. Use as a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = _Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[done]}", markup=False),
            console=console,
            auto_refresh=False,  # no thread: processes are forked while it shows
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("grading", total=None, done="")
        self._outcomes: Counter[str] = Counter()
        self._slowest = (0.0, "")
        self._submissions = self._checks = 0
        self._done = 0
        self._running: dict[str, _Running] = {}
        self._took: list[float] = []
        self._shown = self._lined = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._show()
        self._bar.refresh()
        self._bar.stop()

    def follow(self, events: Iterable[Event]) -> Finished:
        """Show a run until it ends."""
        for event in events:
            self.hear(event)
            if isinstance(event, Finished):
                return event
        message = "the run broke off"
        raise FaultError(message)

    def hear(self, event: Event) -> None:
        """Take in an event, or None for a second that went by."""
        match event:
            case Started(submissions=number, checks=checks):
                self._submissions, self._checks = number, checks
                self._bar.update(self._task, total=checks, done=self._of())
            case Judging(who=who, what=what):
                now = time.monotonic()
                self._running[who] = _Running(self._running[who].began if who in self._running else now, what, now)
            case Recorded():
                self._enter(event)
            case SubmissionDone(who=who):
                self._done += 1
                if who in self._running:
                    self._took.append(time.monotonic() - self._running.pop(who).began)
                self._bar.update(self._task, done=self._of())
            case str():
                self._bar.update(self._task, description=event)
                self._bar.refresh()
        self._now_and_then()

    def _enter(self, entered: Recorded) -> None:
        self._outcomes[str(entered.outcome)] += 1
        self._bar.update(self._task, completed=min(self._outcomes.total(), self._checks))
        if entered.ran and entered.seconds > self._slowest[0]:
            self._slowest = (entered.seconds, f"{entered.place[1]} {entered.place[2]} of {entered.who}")

    def _now_and_then(self) -> None:
        now = time.monotonic()
        if self._console.is_terminal:
            if now - self._shown >= _REFRESH_SECONDS:
                self._shown = now
                self._show()
                self._bar.refresh()
        elif now - self._lined >= _LINE_SECONDS:
            self._lined = now
            said = "; ".join((f"{self._of()} submissions", *self.said()))
            self._console.print(excerpt(said, _LONGEST), markup=False)

    def _show(self) -> None:
        self._bar.said = tuple(excerpt(line, _LONGEST) for line in self.said())

    def _of(self) -> str:
        return f"{min(self._done, self._submissions):,} of {self._submissions:,}"

    def said(self) -> tuple[str, ...]:
        """Return lines with the time left, what runs, the verdicts and the slowest check, as far as they are known."""
        counts = ", ".join(f"{number:,} {outcome.lower()}" for outcome, number in self._outcomes.most_common())
        seconds, where = self._slowest
        slowest = f"slowest {seconds:.1f} s: {where}" if where else ""
        return tuple(filter(None, (self._left(), self._runs(), counts, slowest)))

    def _runs(self) -> str:
        """Return the checks that have run for longest, and since when."""
        now = time.monotonic()
        longest = sorted(self._running.items(), key=lambda row: row[1].since)
        long = [(who, each.what, now - each.since) for who, each in longest if now - each.since >= _LONG]
        named = [f"{what} of {who} for {_time(seconds)}" for who, what, seconds in long[:_NAMED]]
        more = [f"{len(long) - _NAMED} more"] if len(long) > _NAMED else []
        return f"running {', '.join((*named, *more))}" if named else ""

    def _left(self) -> str:
        """Return the time left as a range, from the median submission's to a slow one's; remembered ones take none.

        Nobody knows how long those take that run already: no less than the slowest that ended, or as long again.
        """
        if len(self._took) < _SETTLED or self._done >= self._submissions:
            return ""
        now, side = time.monotonic(), max(1, len(self._running))
        most = max(self._took)
        begun = [max(most - (now - each.began), now - each.began) for each in self._running.values()]
        waiting = max(0, self._submissions - self._done - len(self._running))
        least = waiting * statistics.median(self._took) / side
        spread = statistics.stdev(self._took) * math.sqrt(waiting)
        longest = max((waiting * statistics.fmean(self._took) + _SPREAD * spread + sum(begun)) / side, *begun, least)
        low, high = _time(least), _time(longest)
        return f"about {high} left" if low == high else f"{low} to {high} left"


@dataclass(frozen=True, slots=True)
class _Running:
    """A submission that is being graded: since when, and which check since when."""

    began: float
    what: str
    since: float


def _time(seconds: float) -> str:
    return f"{seconds / _MINUTE:.0f} min" if seconds >= _MINUTE else f"{seconds:.0f} s"
