"""The queue: questions, the answers to each with equal ones as one, near ones together, and what to give them."""

from __future__ import annotations

import hashlib
import itertools
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.desk.sanitise import split
from labgrade.desk.wording import PICTURE, Wording, are_near, difference, likeness, wording
from labgrade.review.marking import accept_suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from labgrade.desk.snapshot import Snapshot
    from labgrade.review.decisions import Place, Ruling
    from labgrade.review.marking import ToDecide

_MOST_COMPARED = 400  # answers of one question; more are shown in the order of their length
_LONGEST_PAUSE = 600  # seconds between two marks that are not a break
_FEWEST_PAUSES = 3
_MOST_COMMENTS = 9
_NEAREST = 3  # marked answers of which one may have what is suggested


@dataclass(frozen=True, slots=True, order=True)
class QuestionId:
    """A check of a task, over all submissions."""

    lab: str
    task: str
    check: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGroup:
    """Answers that say the same and are marked at once. Near groups have the same `cluster` number."""

    answers: tuple[ToDecide, ...]
    cluster: int
    said: Wording

    @property
    def first(self) -> ToDecide:
        """The answer that is shown."""
        return self.answers[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedShares:
    """The points that labgrade suggests for each rubric line, and why.

    `own`: by what was read, and not by what people gave; `sure`: that is right, and only doubtful whether it is meant.
    """

    shares: tuple[Fraction, ...]
    comment: str
    why: str
    own: bool = False

    @property
    def sure(self) -> bool:
        """Return whether the suggestion needs little thought."""
        return self.own and all(share == 1 for share in self.shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswers:
    """All answers to one question, in order of display."""

    id: QuestionId
    title: str
    groups: tuple[AnswerGroup, ...]
    clusters: Mapping[int, tuple[AnswerGroup, ...]]

    def group_of(self, place: Place) -> AnswerGroup | None:
        """The group that an answer is in."""
        return next((group for group in self.groups if any(each.place == place for each in group.answers)), None)


def questions(snapshot: Snapshot) -> dict[QuestionId, QuestionAnswers]:
    """Return all answers by question: suggested ones first, near ones together."""
    found: defaultdict[QuestionId, list[ToDecide]] = defaultdict(list)
    for place, each in snapshot.checks.items():
        found[QuestionId(place.lab, place.task, place.check)].append(each)
    return {name: _question(name, rows, snapshot) for name, rows in sorted(found.items())}


def _question(name: QuestionId, rows: Sequence[ToDecide], snapshot: Snapshot) -> QuestionAnswers:
    equal: defaultdict[str, list[ToDecide]] = defaultdict(list)
    for each in sorted(rows, key=lambda row: snapshot.names.of(row.place.submission)):
        equal[_group_key(each)].append(each)
    groups = list(equal.values())
    said = [wording(_answer_words(own[0])) for own in groups]
    clusters = _clusters(said)
    sizes = Counter(number for number, own in zip(clusters, groups, strict=True) for _ in own)
    made = [
        AnswerGroup(answers=tuple(own), cluster=number, said=words)
        for number, own, words in zip(clusters, groups, said, strict=True)
    ]
    likely = {group.cluster for group in made if group.first.graded.verdict.suggestion is not None}
    made.sort(
        key=lambda group: (group.cluster not in likely, -sizes[group.cluster], group.cluster, -len(group.answers))
    )
    near_ones: defaultdict[int, tuple[AnswerGroup, ...]] = defaultdict(tuple)
    for group in made:
        near_ones[group.cluster] += (group,)
    return QuestionAnswers(id=name, title=rows[0].title, groups=tuple(made), clusters=near_ones)


def _group_key(each: ToDecide) -> str:
    """Return the key under which answers say the same; pictures and files can't be compared."""
    said, graded, verdict = _answer_words(each), each.graded, each.graded.verdict
    own = verdict.suggestion
    alone = not said.strip() or PICTURE.search(said) is not None or graded.to_mark is None
    parts = (
        str(each.place) if alone else " ".join(said.split()),
        str(graded.points),
        repr(each.rubric),
        repr([(row.name, row.got.rpartition(" (from ")[0] or row.got, row.expected) for row in verdict.comparisons]),
        repr((verdict.outcome, verdict.facts.get("got"), own and (own.outcome, own.credit, own.kind))),
        each.earlier,
    )
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _answer_words(each: ToDecide) -> str:
    """Return the words of an answer, without their place in the report."""
    text = each.graded.to_mark.text if each.graded.to_mark is not None else ""
    return "\n".join(part for _, _, part in split(text))


def _clusters(said: Sequence[Wording]) -> list[int]:
    """Number the answers so that those that share most of their prose have the same number."""
    root = list(range(len(said)))

    def top(place: int) -> int:
        while root[place] != place:
            place = root[place]
        return place

    if len(said) <= _MOST_COMPARED:
        for one, own in enumerate(said):
            for other in range(one):
                if top(one) != top(other) and are_near(own, said[other]):
                    root[top(one)] = top(other)
    return [top(place) for place in range(len(said))]


# ---- what is suggested -----------------------------------------------------------------------------------------


def suggestion(question: QuestionAnswers, group: AnswerGroup, snapshot: Snapshot) -> SuggestedShares | None:
    """Return a suggestion: what an equal answer got, what this one got before, labgrade's own, or a near answer's."""
    if not any(each.place in snapshot.waiting for each in group.answers):
        return None
    for each in group.answers:
        ruling = snapshot.in_force(each.place)
        if ruling is not None and any(other.place in snapshot.waiting for other in group.answers):
            who = snapshot.names.of(each.place.submission)
            return _as_before(ruling, group.first, f"the same answer of {who} was marked so by {ruling.by}")
    earlier = snapshot.decisions.in_force(group.first.place) if group.first.place in snapshot.waiting else None
    if earlier is not None:
        return _as_before(earlier, group.first, f"{earlier.by} gave this before it changed: compare what is new")
    own = group.first.graded.verdict.suggestion
    if own is not None:
        ruling = accept_suggestion(group.first, "")
        made = _as_before(ruling, group.first, own.why)
        return replace(made, own=True) if made is not None else None
    for other, ruling in _marked_near(question, group, snapshot):
        found = difference(group.said, other.said)
        if not found.why_not:
            who = snapshot.names.of(other.first.place.submission)
            return _as_before(ruling, group.first, f"nearly the same words ({who}) were marked so; {found.shown}")
    return None


def nothing_written(group: AnswerGroup, snapshot: Snapshot) -> SuggestedShares | None:
    """Suggest no points for an answer without any words; None if it has words or a value."""
    each, shown = group.first, group.first.graded.to_mark
    waits = each.place in snapshot.waiting and each.graded.verdict.suggestion is None
    if not waits or shown is None or not shown.rubric or not shown.text.strip() or not group.said.is_wordless:
        return None
    said = "nothing is written here"
    said += " beside tables, code and numbers" if group.said.data else ""
    return SuggestedShares(shares=(Fraction(0),) * len(each.rubric), comment=said, why="no words")


def nearest_difference(question: QuestionAnswers, group: AnswerGroup, snapshot: Snapshot) -> str:
    """Describe the nearest marked answer whose mark is not suggested, why not, and how it differs; else ""."""
    for other, ruling in _marked_near(question, group, snapshot):
        found = difference(group.said, other.said)
        if found.why_not:
            who = snapshot.names.of(other.first.place.submission)
            return f"{who}, who was marked by {ruling.by}, wrote much the same, but {found.why_not}: {found.shown}"
    return ""


def _marked_near(question: QuestionAnswers, group: AnswerGroup, snapshot: Snapshot) -> list[tuple[AnswerGroup, Ruling]]:
    """Return the marked answers that are nearest to a waiting answer, nearest first."""
    own = {each.place for each in group.answers}
    if not own & snapshot.waiting:
        return []
    found = [
        (other, ruling)
        for other in question.clusters[group.cluster]
        if other.first.place not in own
        and other.said is not group.said
        and (ruling := snapshot.in_force(other.first.place)) is not None
    ]
    found.sort(key=lambda row: (-likeness(group.said, row[0].said), group.said.data != row[0].said.data))
    return found[:_NEAREST]


def shares_of(ruling: Ruling, each: ToDecide) -> tuple[Fraction, ...] | None:
    """Return a decision's share of each rubric line; None if the rubric has changed."""
    if not ruling.lines:
        return (ruling.credit,) if len(each.rubric) == 1 else None
    if [(line.worth, line.what) for line in ruling.lines] != list(each.rubric):
        return None
    return tuple(line.points / line.worth if line.worth else ruling.credit for line in ruling.lines)


def _as_before(ruling: Ruling, each: ToDecide, why: str) -> SuggestedShares | None:
    shares = shares_of(ruling, each)
    return SuggestedShares(shares=shares, comment=ruling.reason, why=why) if shares is not None else None


# ---- how long it takes, and what was said ----------------------------------------------------------------------


def seconds_each(rulings: Iterable[Ruling]) -> float | None:
    """Return the median time between marks without breaks; None if there are too few."""
    moments: defaultdict[str, set[datetime]] = defaultdict(set)
    for each in rulings:
        if each.kind == "mark":
            moments[each.by].add(datetime.fromisoformat(each.at))
    pauses = [
        (later - earlier).total_seconds()
        for own in moments.values()
        for earlier, later in itertools.pairwise(sorted(own))
    ]
    pauses = [each for each in pauses if each <= _LONGEST_PAUSE]
    return statistics.median(pauses) if len(pauses) >= _FEWEST_PAUSES else None


def comments(question: QuestionId, snapshot: Snapshot) -> Mapping[str, tuple[Place, ...]]:
    """Return a question's comments in force with their places, the most used first."""
    found: defaultdict[str, list[Place]] = defaultdict(list)
    for place in snapshot.checks:
        if QuestionId(place.lab, place.task, place.check) == question:
            ruling = snapshot.in_force(place)
            if ruling is not None and ruling.reason:
                found[ruling.reason].append(place)
    most = sorted(found.items(), key=lambda row: -len(row[1]))[:_MOST_COMMENTS]
    return {text: tuple(places) for text, places in most}


def comment_suggestions(question: QuestionId, submission: str, snapshot: Snapshot) -> list[str]:
    """Return comments to offer: those given at the question, then those this submission got elsewhere."""
    mine = {place: snapshot.in_force(place) for place in snapshot.checks if place.submission == submission}
    here = {reason: places[0] for reason, places in comments(question, snapshot).items()}
    found = here | {ruling.reason: place for place, ruling in mine.items() if ruling is not None and ruling.reason}
    return [text for text, place in found.items() if not _is_suggestion(text, snapshot.checks[place])][:_MOST_COMMENTS]


def _is_suggestion(comment: str, each: ToDecide) -> bool:
    """Return whether a comment is labgrade's own suggestion, which says nothing about other answers."""
    return each.graded.verdict.suggestion is not None and accept_suggestion(each, "").reason == comment
