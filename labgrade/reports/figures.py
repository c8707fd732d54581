"""What a class tells about its checks: how many pass, how well a check separates, which mistakes were common.

Discrimination is given in the two usual ways. The item-rest correlation is the point-biserial correlation of a check's
credit with the points of all other checks (Crocker and Algina, "Introduction to Classical and Modern Test Theory",
1986, chapter 14: the check itself is left out, or it would correlate with itself). The upper-lower index D is the mean
credit in the upper 27 % of submissions less that in the lower 27 %, by points (Kelley, "The selection of upper and
lower groups for the validation of test items", Journal of Educational Psychology 30, 1939, pages 17-24).
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from labgrade.core.points import added
from labgrade.verdict import PENDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from labgrade.core.results import Graded, Report, SubmissionReport
    from labgrade.verdict import Verdict

Place: TypeAlias = "tuple[str, str, str]"  # lab, task, check

FEWEST = 10  # below this many submissions, discrimination is noise
_SHARE = 0.27
_LIMITED = frozenset({Outcome.TIMEOUT, Outcome.MEMORY, Outcome.OUTPUT})
_ENDED = _LIMITED | {Outcome.FAULT}
_RARE = 0.05  # of the class; what more have is a common mistake
_FEWEST_WITH_SAME = 2
_LINE = "\n"
_TELLING_DIGITS = 4  # a value of fewer digits is the same by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFigures:
    """One check over the class. Shares are of the submissions in which it was settled; None: too few to say.

    `seconds` are the median and the longest; `cut_off` counts those that a limit or a fault of labgrade's ended.
    """

    place: Place
    points: Fraction
    hidden: bool
    settled: int
    right: float | None
    credit: float | None
    missing: int
    item_rest: float | None
    upper_lower: float | None
    seconds: tuple[float, float]
    cut_off: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonFinding:
    """Something that several submissions have in common at one check: a hint that was given, or a rare wrong value."""

    place: Place
    what: str
    names: tuple[str, ...]


def check_figures(report: Report) -> Sequence[CheckFigures]:
    """Each check, a case a check, in the order of the report."""
    found = _by_check(report)
    sums = [added(graded.earned for _, graded in _checks(each)) for each in report.submissions]
    return [_figures(place, rows, sums) for place, rows in found.items()]


def _figures(place: Place, rows: dict[int, Graded], sums: Sequence[Fraction]) -> CheckFigures:
    settled = {who: graded for who, graded in rows.items() if graded.verdict.outcome not in PENDING}
    credits_ = [float(graded.verdict.credit) for graded in settled.values()]
    rest = [float(sums[who] - graded.earned) for who, graded in settled.items()]
    seconds = [graded.seconds for graded in rows.values()]
    first = next(iter(rows.values()))
    return CheckFigures(
        place=place,
        points=first.points,
        hidden=first.hidden,
        settled=len(settled),
        right=statistics.fmean(share == 1 for share in credits_) if credits_ else None,
        credit=statistics.fmean(credits_) if credits_ else None,
        missing=sum(graded.verdict.outcome is Outcome.MISSING for graded in rows.values()),
        item_rest=correlation(credits_, rest),
        upper_lower=upper_lower(credits_, [float(sums[who]) for who in settled]),
        seconds=(statistics.median(seconds), max(seconds)),
        cut_off=sum(graded.verdict.outcome in _ENDED for graded in rows.values()),
    )


def correlation(shares: Sequence[float], rest: Sequence[float]) -> float | None:
    """Pearson's r, which is the point-biserial correlation where the credit is all or nothing."""
    if len(shares) < FEWEST or len(set(shares)) == 1 or len(set(rest)) == 1:
        return None
    r = statistics.correlation(shares, rest)
    return r if math.isfinite(r) else None


def upper_lower(shares: Sequence[float], sums: Sequence[float]) -> float | None:
    """Kelley's D. Submissions on the edge of a group with the same points are taken in the order of the report."""
    if len(shares) < FEWEST:
        return None
    size = round(_SHARE * len(shares))
    order = sorted(range(len(shares)), key=lambda place: sums[place])
    lower, upper = order[:size], order[-size:]
    return statistics.fmean(shares[place] for place in upper) - statistics.fmean(shares[place] for place in lower)


def discriminates_badly(each: CheckFigures) -> bool:
    """Return whether better submissions tend to fail a check: its correlation is negative beyond its standard error."""
    return each.item_rest is not None and each.item_rest < -1 / math.sqrt(each.settled)


def misconceptions(report: Report) -> Sequence[CommonFinding]:
    """Causes of wrong answers at one check, the most frequent first; of several at once, each for itself."""
    found: defaultdict[tuple[Place, str], dict[str, None]] = defaultdict(dict)
    for each in report.submissions:
        for place, graded in _checks(each):
            lab, task, check = place
            for what in _causes(graded.verdict):
                found[(lab, task, check.partition("[")[0]), what][each.name] = None
    return _by_frequency(found, 1)


def _causes(verdict: Verdict) -> tuple[str, ...]:
    """Return what makes an answer wrong: the slips that its function follows, or else the hint."""
    if verdict.outcome not in (Outcome.PARTIAL, Outcome.INCORRECT):
        return ()
    seen = verdict.diagnosis
    return (*seen.says, *seen.elsewhere) if seen and seen.says else (verdict.hint,) if verdict.hint else ()


def without_points(report: Report) -> Sequence[CommonFinding]:
    """Return settled submissions without a single point, by cause, the most frequent first.

    The cause is that nothing was handed in, or the reason that costs most points, such as a file that can't be read;
    the check is the first that it hits.
    """
    found: defaultdict[tuple[Place, str], list[str]] = defaultdict(list)
    for each in report.submissions:
        rows = [(place, graded) for place, graded in _checks(each) if graded.points and not graded.bonus]
        if not rows or any(graded.earned or graded.verdict.outcome in PENDING for _, graded in rows):
            continue
        tried = [row for row in rows if row[1].verdict.outcome not in (Outcome.MISSING, Outcome.SKIPPED)]
        if not tried:
            absent = [graded for _, graded in rows if graded.verdict.outcome is Outcome.MISSING]
            found[("", "", ""), _why_missing(absent)].append(each.name)
            continue
        lost: defaultdict[str, Fraction] = defaultdict(Fraction)
        for _, graded in tried:
            lost[_outcome_and_reason(graded)] += graded.points
        why = max(lost, key=lambda reason: lost[reason])
        place = next(place for place, graded in tried if _outcome_and_reason(graded) == why)
        found[place, f"{why} ({float(lost[why]):g} points)"].append(each.name)
    return _by_frequency(found, 1)


def _why_missing(absent: Sequence[Graded]) -> str:
    """Return the likeliest reason for missing answers, such as a file of another name, weighted by points.

    Files that nobody looks for are in no report, so that it is said where to look.
    """
    instead: defaultdict[str, Fraction] = defaultdict(Fraction)
    for graded in absent:
        for said in graded.verdict.suggestions[:1]:
            instead[said] += graded.points
    if instead:
        return max(instead, key=lambda said: instead[said])
    most = max(absent, key=lambda graded: graded.points, default=None)
    said = most.verdict.reason.partition(_LINE)[0] if most is not None else ""
    if most is not None and most.verdict.looked_for:
        return f"{said} of what is looked for: see what else lies in the folder"
    return said or "nothing was found of what was looked for"


def _outcome_and_reason(graded: Graded) -> str:
    return f"{graded.verdict.outcome}: {graded.verdict.reason.partition(_LINE)[0]}"


def cut_off(report: Report) -> Sequence[CommonFinding]:
    """Checks that a limit of time, memory or output ended, by how, the most frequent first."""
    found: defaultdict[tuple[Place, str], list[str]] = defaultdict(list)
    for each in report.submissions:
        for (lab, task, check), graded in _checks(each):
            if graded.verdict.outcome in _LIMITED:
                names = found[(lab, task, check.partition("[")[0]), str(graded.verdict.outcome)]
                names += [each.name] if each.name not in names[-1:] else []
    return _by_frequency(found, 1)


def causes(report: Report) -> Sequence[tuple[str, Sequence[str], Sequence[str]]]:
    """Return causes that occur in several tasks, with the tasks and students; the widest spread first."""
    places: defaultdict[str, dict[str, None]] = defaultdict(dict)
    names: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for each in misconceptions(report):
        places[each.what][each.place[1]] = None
        names[each.what] |= dict.fromkeys(each.names)
    found = [(what, tuple(places[what]), tuple(names[what])) for what in places if len(places[what]) > 1]
    return sorted(found, key=lambda row: -len(row[2]))


def same_values(report: Report) -> Sequence[CommonFinding]:
    """Wrong values that few others have, handed in by two or more: no evidence of anything, but worth a look.

    A value that a misconception explains is none, nor one of fewer than four digits.
    """
    found: defaultdict[tuple[Place, str], list[str]] = defaultdict(list)
    for each in report.submissions:
        for place, graded in _checks(each):
            value = _unexplained_value(graded)
            if value:
                found[place, value].append(each.name)
    most = max(_FEWEST_WITH_SAME, int(_RARE * len(report.submissions)))
    return [shared for shared in _by_frequency(found, _FEWEST_WITH_SAME) if len(shared.names) <= most]


def _unexplained_value(graded: Graded) -> str:
    """Return a wrong value that nothing explains, as text; "" if it is explained."""
    verdict = graded.verdict
    if verdict.outcome not in (Outcome.INCORRECT, Outcome.PARTIAL) or _causes(verdict):
        return ""
    value = verdict.facts.get("got", "")
    if sum(character.isdigit() for character in value.strip("0., ")) >= _TELLING_DIGITS:
        return value
    wrong = [f"{row.name} {row.got_text}" for row in graded.rows if not row.right and row.got_text]
    digits = sum(character.isdigit() for row in graded.rows if not row.right for character in row.got_text)
    return f"{len(wrong):,} wrong cells: {'; '.join(wrong)}" if wrong and digits >= _TELLING_DIGITS else ""


def _by_frequency(found: Mapping[tuple[Place, str], Iterable[str]], fewest: int) -> list[CommonFinding]:
    shared = [CommonFinding(place=place, what=what, names=tuple(names)) for (place, what), names in found.items()]
    return sorted((each for each in shared if len(each.names) >= fewest), key=lambda each: -len(each.names))


def _by_check(report: Report) -> dict[Place, dict[int, Graded]]:
    """Return the results of each check, by the submission's position in the report."""
    found: defaultdict[Place, dict[int, Graded]] = defaultdict(dict)
    for who, each in enumerate(report.submissions):
        for place, graded in _checks(each):
            found[place][who] = graded
    return dict(found)


def _checks(submission: SubmissionReport) -> Iterator[tuple[Place, Graded]]:
    return (((task.lab, task.id, check.id), check) for task in submission.tasks for check in task.checks)
