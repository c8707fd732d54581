"""What a form decides: checked against what holds now, kept as rows of the decisions, taken back."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import asdict, astuple, dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from labgrade.core.errors import UsageError
from labgrade.core.text import escaped
from labgrade.desk.access import RefusedFormError, parse_fields
from labgrade.desk.queue import QuestionId, comments
from labgrade.review import decisions, markers
from labgrade.review.decisions import Place, in_words, points
from labgrade.review.marking import NoPointsError, accept_suggestion, mark, parse_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from labgrade.desk.snapshot import LiveResults, Snapshot
    from labgrade.review.decisions import Ruling
    from labgrade.review.markers import SecondMark
    from labgrade.review.marking import ToDecide

TAKEN_BACK = "taken back at the desk"


class OutdatedError(Exception):
    """A page was outdated; nothing was saved. The message says what holds now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormMarks:
    """A form's marks: the answers' names and versions as the page showed them, the points, a comment."""

    question: QuestionId
    who: tuple[str, ...]
    seen: tuple[str, ...]
    points: tuple[str, ...]
    comment: str

    def __post_init__(self) -> None:
        if not self.who or len(self.who) != len(self.seen):
            message = f"This form has {len(self.who)} names and {len(self.seen)} versions"
            raise RefusedFormError(message)

    @classmethod
    def from_json(cls, text: str) -> FormMarks:
        """Read what `as_json` wrote.

        Raises:
            RefusedFormError: it is something else.
        """
        found = parse_fields(text, {"who": tuple, "seen": tuple, "points": tuple, "question": tuple, "comment": str})
        who, seen, given_points, question = (tuple(found[name]) for name in ("who", "seen", "points", "question"))
        if len(question) != len(fields(QuestionId)):
            message = "This row names no question"
            raise RefusedFormError(message)
        return cls(question=QuestionId(*question), who=who, seen=seen, points=given_points, comment=found["comment"])

    def as_json(self) -> str:
        """The mark as the value of a field."""
        return json.dumps(asdict(self) | {"question": astuple(self.question)}, ensure_ascii=True)


def version(each: ToDecide, last: int) -> str:
    """Return a digest of an answer and its last decision; if it changes, the page is outdated."""
    about = repr((each.graded.basis, str(each.graded.points), each.rubric))
    return f"{hashlib.sha256(about.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.{last}"


class Decider:
    """Keeps the marks of one person."""

    def __init__(self, live: LiveResults, by: str) -> None:
        self._live = live
        self.by = by
        self._lock = threading.Lock()
        self._trail: list[tuple[int, ...]] = []  # the numbers that each form made, for undo

    def decide(self, marks: Sequence[FormMarks]) -> int:
        """Keep marks, all or none; return how many answers they are about.

        Raises:
            OutdatedError: something changed since the page was made.
            NoPointsError: points that can't be given.
            RefusedFormError: an answer is named twice.
            UsageError: nothing could be written.
        """
        now = self._live.snapshot()
        made: list[tuple[Ruling, int]] = []
        for each in marks:
            made += self._rulings(now, each)
        if not made:
            message = "no answer was chosen"
            raise NoPointsError(message)
        if len({ruling.place for ruling, _ in made}) < len(made):
            message = "This form names an answer twice"
            raise RefusedFormError(message)
        try:
            decisions.add(self._live.folder, made)
        except UsageError as error:
            after = self._live.snapshot()
            for ruling, seen in made:
                if after.decisions.last(ruling.place) != seen:
                    raise OutdatedError(_decided_meanwhile(after, ruling.place)) from error
            raise
        after = self._live.snapshot()
        numbers = tuple(after.decisions.last(ruling.place) for ruling, _ in made)
        with self._lock:
            self._trail.append(numbers)
        return len(made)

    def decide_second(self, asked: FormMarks) -> None:
        """Keep a second mark of what another person decided; the points stay as they are.

        Raises:
            RefusedFormError: it is about several.
            OutdatedError: it is decided otherwise by now, or marked a second time.
            NoPointsError: points that can't be given.
            UsageError: nothing could be written.
        """
        if len(asked.who) > 1:
            message = "One answer at a time is marked a second time"
            raise RefusedFormError(message)
        now = self._live.snapshot()
        for ruling, _ in self._rulings(now, asked):
            before = now.in_force(ruling.place)
            if before is None:
                raise OutdatedError(_decided_meanwhile(now, ruling.place))
            if not markers.add_second(self._live.folder, ruling, before.number):
                who = now.names.of(ruling.place.submission)
                message = f"another person marked {who} a second time meanwhile; nothing was saved"
                raise OutdatedError(message)

    def reword(self, question: QuestionId, old: str, new: str, numbers: Sequence[int]) -> int:
        """Replace a comment wherever it stands, without changing points; return how many decisions that made.

        Raises:
            OutdatedError: it stands elsewhere than the page said, which gave the `numbers` of the decisions.
            UsageError: nothing could be written.
        """
        now = self._live.snapshot()
        found = [now.in_force(place) for place in comments(question, now).get(old, ())]
        rulings = [each for each in found if each is not None]
        if not rulings or sorted(each.number for each in rulings) != sorted(numbers):
            message = "the comment has changed; nothing was changed here"
            raise OutdatedError(message)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        made = [replace(each, reason=new.strip(), by=self.by, at=at, number=0) for each in rulings]
        decisions.add(self._live.folder, [(each, now.decisions.last(each.place)) for each in made])
        return len(made)

    def _rulings(self, now: Snapshot, asked: FormMarks) -> Iterable[tuple[Ruling, int]]:
        at, shown_first = "", None
        for shown, seen in zip(asked.who, asked.seen, strict=True):
            place = place_of(now, asked.question, shown)
            each = now.checks.get(place)
            last = now.decisions.last(place)
            if each is None:
                message = f"{shown} no longer waits for a mark here, since it was graded again; nothing was saved"
                raise OutdatedError(message)
            if version(each, last) != seen:
                raise OutdatedError(
                    _decided_meanwhile(now, place) if not seen.endswith(f".{last}") else _changed(shown)
                )
            said = accept_suggestion(each, "").reason if each.graded.verdict.suggestion is not None else ""
            shown_first = said if shown_first is None else shown_first
            # What labgrade says of the one that was shown names where that stands; each other has a place of its own.
            comment = said if said and asked.comment == shown_first else asked.comment
            ruling = mark(place, each.graded, shares(asked.points, each), by=self.by, comment=comment)
            at = at or ruling.at
            yield replace(ruling, at=at), last

    def last(self, now: Snapshot) -> tuple[Ruling, ...]:
        """Return the rows of this person's last form if all are in force; after a restart, those of the last moment."""
        own = {
            ruling.number: ruling
            for place in now.checks
            if (ruling := now.in_force(place)) is not None and ruling.by == self.by and ruling.kind == "mark"
        }
        if not own:
            return ()
        newest = own[max(own)]
        with self._lock:
            while self._trail and not own.keys() >= set(self._trail[-1]):
                self._trail.pop()
            known = self._trail[-1] if self._trail else ()
        if newest.number in known:
            return tuple(own[number] for number in known)
        return (newest,)

    def undo(self, numbers: Sequence[int]) -> tuple[Ruling, ...]:
        """Take back this person's last form, of which the page showed these numbers.

        Raises:
            OutdatedError: it is no longer what holds.
            UsageError: nothing could be written.
        """
        rows = self.last(self._live.snapshot())
        if not rows or tuple(row.number for row in rows) != tuple(numbers):
            message = "your last mark has changed; nothing was taken back"
            raise OutdatedError(message)
        decisions.take_back(self._live.folder, rows, by=self.by, reason=TAKEN_BACK)
        return rows


def place_of(now: Snapshot, question: QuestionId, shown: str) -> Place:
    """Find the answer of a submission by its name as the page shows it, with escapes."""
    place = Place(submission=now.names.name(shown), lab=question.lab, task=question.task, check=question.check)
    if place in now.checks or "\\" not in shown:
        return place
    others = (replace(place, submission=each.submission) for each in now.checks)
    return next((each for each in others if escaped(now.names.of(each.submission)) == shown), place)


def shares(typed: Sequence[str], each: ToDecide) -> tuple[Fraction, ...]:
    """Parse the share of each rubric line; an open line gets nothing if another line has points.

    Raises:
        NoPointsError: nothing was typed, or something that is no number of points.
    """
    if len(typed) != len(each.rubric):
        message = "the rubric has changed; nothing was saved"
        raise OutdatedError(message)
    if not any(text.strip() for text in typed):
        message = "nothing is given yet: press a number for a line, f for all points, 0 for none"
        raise NoPointsError(message)
    return tuple(
        parse_share(text if text.strip() else "0" if worth else "none", worth)
        for text, (worth, _) in zip(typed, each.rubric, strict=True)
    )


def _decided_meanwhile(now: Snapshot, place: Place) -> str:
    """Return what was decided since the page was made, without names that are kept back."""
    history = now.decisions.history(place)
    said = f": {in_words(history[-1])}" if history else ""
    return f"{now.names.of(place.submission)} was decided meanwhile{said}; nothing was saved: this is what holds now"


def _changed(shown: str) -> str:
    return (
        f"what {shown} handed in, or what it is worth, changed since this page was made; nothing was saved: this is "
        "what there is now"
    )


def worth(ruling: Ruling | SecondMark) -> str:
    """Return the points of a decision: `3 of 4`."""
    return f"{points(ruling.worth * ruling.credit)} of {points(ruling.worth)}"
