"""The checker for what a study shows: how the mean of a column changes along another one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

from labgrade.values import Table, show
from labgrade.verdict import Outcome, Suggestion, Verdict, correct, incorrect, without_value

from ._runs import diverged, groups, judged_without_gaps, no_share, number, to_look_at
from ._wording import listed, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.values import Findings, Row, Value

_LEAST_FOR_A_PEAK = 3


def trend(  # noqa: PLR0913 - each is one thing that a spec may set
    answer: Table | Findings,
    expected: Value | None,
    *,
    column: Annotated[str, {"format": "column"}],
    along: Annotated[str, {"format": "column"}],
    goes: Literal["falls", "rises", "peaks_inside"],
    seed: Annotated[str, {"format": "column"}] | None = None,
    least: Annotated[int, {"minimum": 1}] = 1,
    slack: Annotated[float, {"minimum": 0}] = 0.0,
    share: bool = False,
) -> Verdict:
    """The mean of `column` over the runs of each value of `along` falls, rises, or has its peak between the ends.

    `least` runs are needed of each value, with different values in the column `seed` where one is named. `slack` is
    how far a step may go the other way, as a share of the largest mean: shares and percents are judged alike. Runs
    that went astray (nan, inf) wait for a person: it may be what the study shows. So do means that go another way,
    which honest runs with other settings may do, and of a `share` values that are none, in percent neither.
    """
    del expected  # what it should do is said by `goes`
    if along == column or seed in (column, along):
        message = "'column', 'along' and 'seed' are three different columns; two of them are the same"
        raise ValueError(message)
    if not isinstance(answer, Table):
        return incorrect(f"got {shown(answer)}, which is no table of runs")
    shows = partial(_shown, column=column, along=along, goes=goes, seed=seed, least=least, slack=slack, share=share)
    columns = [along, column, *([seed] if seed else [])]
    if astray := diverged(answer, column):
        rest = Table(rows=tuple(row for row in answer.rows if row not in astray))
        named = listed([f"{row.name}: {row.cells[column]}" for row in astray])
        said = f"{len(astray)} run{'s have' if len(astray) > 1 else ' has'} no finite {column} ({named})"
        return to_look_at(said, len(astray), judged_without_gaps(rest, columns, shows))
    return judged_without_gaps(answer, columns, shows)


def _shown(  # noqa: PLR0913 - what `trend` is given
    answer: Table, *, column: str, along: str, goes: str, seed: str | None, least: int, slack: float, share: bool
) -> Verdict:
    """The verdict on runs that all have their numbers."""
    if share and (beyond := no_share(answer, column)) is not None:
        return beyond
    runs = groups(answer, along)
    if reason := _too_few(runs, along, seed, least, _LEAST_FOR_A_PEAK if goes == "peaks_inside" else 2):
        return incorrect(reason)
    means = {value: sum((number(row, column) for row in rows), Fraction(0)) / len(rows) for value, rows in runs.items()}
    said = ", ".join(f"{show(mean)} at {show(value)}" for value, mean in means.items())
    allowed = Fraction(repr(slack)) * max(map(abs, means.values()))
    wrong = _against(list(means.items()), goes, allowed)
    facts = {"got": said, "allowed": f"{column} {goes.replace('_', ' ')} along {along}"}
    return _to_read(f"the mean of {column} {wrong}: {said}", facts) if wrong else correct(**facts)


def _to_read(reason: str, facts: dict[str, str]) -> Verdict:
    """MANUAL with INCORRECT as a suggestion."""
    waits = without_value(
        Outcome.MANUAL,
        reason,
        hint="check that each row has its own result. If your runs do show this, explain it in the report for a person",
        **facts,
    )
    return replace(waits, suggestion=Suggestion(outcome=Outcome.INCORRECT, credit=Fraction(0), why=reason))


def _too_few(runs: dict[Fraction, list[Row]], along: str, seed: str | None, least: int, values: int) -> str:
    """Why so few runs show nothing."""
    if len(runs) < values:
        return f"the table has {len(runs)} value{'s' * (len(runs) != 1)} of {along}; at least {values} show a trend"
    for value, rows in runs.items():
        different = len({number(row, seed) for row in rows}) if seed else len(rows)
        if different < len(rows):
            return f"at {along} {show(value)} a {seed} stands twice: runs with the same one are the same run"
        if different < least:
            return f"at {along} {show(value)} there are {different} runs; at least {least} are asked for"
    return ""


def _against(means: Sequence[tuple[Fraction, Fraction]], goes: str, slack: Fraction) -> str:
    """The first step that goes the other way, in words."""
    if goes == "peaks_inside":
        best = max(range(len(means)), key=lambda place: means[place][1])
        at_end = best in (0, len(means) - 1)
        return f"is largest at {show(means[best][0])}, which is an end of what was tried" if at_end else ""
    for (before, first), (after, second) in pairwise(means):
        up = second - first
        against = up if goes == "falls" else -up
        if against > slack or (against == 0 and not slack):
            word = "does not change" if not up else "rises" if up > 0 else "falls"
            return f"{word} from {show(before)} to {show(after)}"
    return ""
