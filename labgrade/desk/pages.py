"""What the desk shows: the queue, one answer, all answers with a suggestion. Each is made of a snapshot."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labgrade.desk import page_fields, queue
from labgrade.desk.form_decisions import FormMarks, place_of, version
from labgrade.desk.next_answer import TOP, NotHereError, SecondMarking, Walk, link, question_of, second_marking, waits
from labgrade.desk.sanitise import with_pictures
from labgrade.desk.wording import PICTURE
from labgrade.review import markers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from labgrade.desk.form_decisions import Decider
    from labgrade.desk.pictures import Pictures
    from labgrade.desk.queue import AnswerGroup, QuestionAnswers, QuestionId, SuggestedShares
    from labgrade.desk.sanitise import Renderer, ShownPassage
    from labgrade.desk.snapshot import LiveResults, Snapshot
    from labgrade.review.decisions import Place, Ruling
    from labgrade.review.marking import ToDecide

_AHEAD = 3  # answers that are rendered before somebody asks for them
_NOTHING: dict[str, Any] = dict.fromkeys(("given", "suggestion", "accept", "ruling"))
_SECOND = _NOTHING | {"beside": "", "earlier": "", "offered": (), "near": 0, "following": "", "before": "", "held": ()}
_SECOND |= {"second": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRow:
    """A question in the queue. `minutes`: how long what is left takes at the pace so far; None before it is known."""

    question: QuestionAnswers
    left: int
    of: int
    suggested: int
    minutes: float | None
    href: str
    twice: SecondMarking
    second_href: str

    @property
    def to_think_about(self) -> int:
        """How many of those left have no suggestion."""
        return self.left - self.suggested


class Pages:
    """The pages for one person."""

    def __init__(
        self, live: LiveResults, renderer: Renderer, decider: Decider, pictures: Pictures, *, key: str
    ) -> None:
        self._live, self._renderer, self.decider, self._pictures = live, renderer, decider, pictures
        self._key = key
        self._lock = threading.Lock()
        self._known: tuple[dict[Place, ToDecide], dict[QuestionId, QuestionAnswers]] | None = None

    # ---- pages -------------------------------------------------------------------------------------------------

    def queue(self, _: Mapping[str, str], problem: str = "") -> str:
        """The questions with how many answers are left, those with the most suggestions first."""
        now = self._live.snapshot()
        found = self._rows(now)
        left, suggested = sum(row.left for row in found), sum(row.suggested for row in found)
        markers.lease(self._live.folder, (), self.decider.by)  # lets go of the answer that was open
        return self._render("queue.html", now, rows=found, left=left, suggested=suggested, problem=problem)

    def question(self, query: Mapping[str, str]) -> str:
        """The first answer to a question that waits.

        Raises:
            NotHereError: always; the page is the answer's.
        """
        now = self._live.snapshot()
        question = self._questions(now).get(question_of(query))
        raise NotHereError(self._walk(question, now).first() if question is not None else TOP)

    def answer(self, query: Mapping[str, str], problem: str = "", typed: FormMarks | None = None) -> str:
        """One answer, or equal ones, with all that it takes to mark it.

        Raises:
            NotHereError: it is not to be marked here.
        """
        now = self._live.snapshot()
        question, group, place = self._found(query, now)
        if query.get("second"):
            return self._second(question, place, now, problem, typed)
        held = markers.lease(self._live.folder, [each.place for each in group.answers], self.decider.by)
        walk, ruling = self._walk(question, now), now.in_force(place)
        suggested = queue.suggestion(question, group, now)
        self._render_ahead(question, group, now)
        return self._answer_page(
            now,
            question,
            group.answers,
            typed,
            problem=problem,
            given=_given(ruling, group.first),
            suggestion=suggested,
            beside=queue.beside(question, group, now) if suggested is None else "",
            accept=self._accepted(group, suggested, now) if suggested is not None else None,
            ruling=ruling,
            earlier=group.first.earlier if place in now.waiting else "",
            offered=queue.offered(question.id, place.submission, now),
            near=self._near(question, group, now),
            following=walk.after(place),
            before=walk.before(place),
            held=sorted(set(held.values())),
            second=False,
        )

    def _second(
        self, question: QuestionAnswers, place: Place, now: Snapshot, problem: str, typed: FormMarks | None
    ) -> str:
        """An answer that another person marked, without what they gave."""
        if place not in self._twice(question, now).open:
            raise NotHereError(self.following_second(question.id))
        return self._answer_page(now, question, (now.checks[place],), typed, problem=problem, **_SECOND)

    def _answer_page(
        self,
        now: Snapshot,
        question: QuestionAnswers,
        answers: Sequence[ToDecide],
        typed: FormMarks | None,
        *,
        given: Sequence[Fraction] | None,
        ruling: Ruling | None,
        **values: Any,
    ) -> str:
        """The page of an answer, or of equal ones. `given`: what the rubric's lines have got."""
        names = [now.names.of(each.place.submission) for each in answers]
        return self._render(
            "answer.html",
            now,
            question=question,
            row=self._row(question, now, self._walk(question, now)),
            names=names,
            who=names[0],
            seen=[version(each, now.decisions.last(each.place)) for each in answers],
            worth=answers[0].graded.points,
            passages=self._passages(answers[0], now),
            guessed=page_fields.read_at(answers[0])[1],
            verdict=answers[0].graded.verdict,
            lines=page_fields.lines(answers[0], given, typed),
            ruling=ruling,
            comment=_comment(typed, ruling),
            **values,
        )

    def differ(self, query: Mapping[str, str]) -> str:
        """What two people gave other points for, side by side.

        Raises:
            NotHereError: there is no such question.
        """
        now = self._live.snapshot()
        question = self._questions(now).get(question_of(query))
        if question is None:
            raise NotHereError(TOP)
        twice, walk = self._twice(question, now), self._walk(question, now)
        return self._render("differ.html", now, problem="", question=question, twice=twice, walk=walk)

    def comments(self, query: Mapping[str, str], problem: str = "") -> str:
        """The comments of a question with all that they stand at, to be worded anew."""
        now, question = self._live.snapshot(), question_of(query)
        found = [
            {
                "text": text,
                "names": [now.names.of(place.submission) for place in places],
                "numbers": [ruling.number for place in places if (ruling := now.in_force(place)) is not None],
            }
            for text, places in queue.comments(question, now).items()
        ]
        return self._render("comments.html", now, problem=problem, question=question, found=found)

    def pictures(self, query: Mapping[str, str]) -> str:
        """The pictures of a hand-in.

        Raises:
            NotHereError: it is not to be marked here.
        """
        now = self._live.snapshot()
        question, group, place = self._found(query, now)
        found = self._pictures.of(place.submission, group.first.graded.basis)
        who, back = now.names.of(place.submission), self._walk(question, now).to_place(place)
        return self._render("pictures.html", now, problem="", question=question, who=who, found=found, back=back)

    def picture(self, query: Mapping[str, str]) -> bytes | str:
        """One of them as a PNG; or why not.

        Raises:
            NotHereError: it is not to be marked here.
        """
        _, _, place = self._found(query, self._live.snapshot())
        number = query.get("number", "")
        return self._pictures.png(place.submission, int(number) if number.isdecimal() else -1)

    def all_suggested(self, query: Mapping[str, str]) -> str:
        """Every answer to a question, or to all, that labgrade suggests a mark for, to be accepted at once.

        Raises:
            NotHereError: there is none.
        """
        now, named = self._live.snapshot(), question_of(query)
        chosen = [each for name, each in self._questions(now).items() if name == named or not named.task]
        found = [(question, *row) for question in chosen for row in self._suggested(question, now)]
        if not found:
            raise NotHereError(link("/question", named) if named.task else TOP)
        sections = [
            {
                "question": question,
                "sure": sure,
                "causes": page_fields.by_cause(self._row_of_all(group, made, now) for _, group, made in rows),
            }
            for sure in (True, False)
            for question, own in itertools.groupby(found, key=lambda row: row[0])
            if (rows := [row for row in own if row[2].sure == sure])
        ]
        count = sum(len(group.answers) for _, group, _ in found)
        title = chosen[0] if named.task else None
        return self._render("all.html", now, problem="", named=named, question=title, sections=sections, count=count)

    def _row_of_all(self, group: AnswerGroup, made: SuggestedShares, now: Snapshot) -> dict[str, Any]:
        return {
            "names": [now.names.of(each.place.submission) for each in group.answers],
            "suggestion": made,
            "worth": page_fields.worth_of(group.first, made),
            "passages": self._passages(group.first, now, typed=True),
            "verdict": group.first.graded.verdict,
            "mark": self._accepted(group, made, now).as_json(),
        }

    # ---- where to go -------------------------------------------------------------------------------------------

    def following(self, question: QuestionId, who: str) -> str:
        """Where to go when this answer is decided: the next of its question, or of the next question; else the top."""
        now = self._live.snapshot()
        known = self._questions(now)
        found = known.get(question)
        after = self._walk(found, now).after(place_of(now, question, who)) if found is not None else ""
        if after:
            return after
        return next((row.href for row in self._rows(now) if row.left and row.href != TOP), TOP)

    def following_second(self, question: QuestionId) -> str:
        """Where to go when an answer was marked a second time."""
        now = self._live.snapshot()
        found = self._questions(now).get(question)
        left = self._twice(found, now).open if found is not None else ()
        return self._walk(found, now).to_place(left[0], second="1") if found is not None and left else TOP

    def called(self, place: Place) -> str:
        """How staff call who handed in an answer."""
        return self._live.snapshot().names.of(place.submission)

    def _walk(self, question: QuestionAnswers, now: Snapshot) -> Walk:
        held = markers.held_by_others(self._live.folder, self.decider.by)
        return Walk(question=question, now=now, by=self.decider.by, held=held)

    def _twice(self, question: QuestionAnswers, now: Snapshot) -> SecondMarking:
        return second_marking(question, now, markers.seconds(self._live.folder), self.decider.by)

    # ---- what is found -----------------------------------------------------------------------------------------

    def _questions(self, now: Snapshot) -> dict[QuestionId, QuestionAnswers]:
        """Sorted once for the answers that there are: deciding changes neither their order nor which are equal."""
        with self._lock:
            if self._known is None or self._known[0] != now.checks:
                self._known = (now.checks, queue.questions(now))
            return self._known[1]

    def _found(self, query: Mapping[str, str], now: Snapshot) -> tuple[QuestionAnswers, AnswerGroup, Place]:
        name = question_of(query)
        question = self._questions(now).get(name)
        if question is None:
            raise NotHereError(TOP)
        place = place_of(now, name, query.get("who", ""))
        group = question.group_of(place)
        if group is None:
            raise NotHereError(self._walk(question, now).first())
        waits = tuple(each for each in group.answers if each.place in now.waiting)
        own = tuple(each for each in group.answers if each.place == place)
        chosen = waits if place in now.waiting else own  # what was marked is marked anew alone
        return (
            question,
            replace(group, answers=(*own, *(e for e in chosen if e not in own))),
            place,
        )

    def _rows(self, now: Snapshot) -> list[QuestionRow]:
        """All questions, those with the most suggestions first, those that are done last."""
        found = [self._row(each, now, self._walk(each, now)) for each in self._questions(now).values()]
        return sorted(found, key=lambda row: (row.left == 0, -row.suggested, -row.left, row.question.id))

    def _row(self, question: QuestionAnswers, now: Snapshot, walk: Walk) -> QuestionRow:
        places = [each.place for group in question.groups for each in group.answers]
        left = sum(place in now.waiting for place in places)
        marked = [ruling for place in places if (ruling := now.in_force(place)) is not None]
        pace = queue.seconds_each(marked)
        waiting = sum(waits(group, now) for group in question.groups)
        return QuestionRow(
            question=question,
            left=left,
            of=len(places),
            suggested=sum(len(group.answers) for group, _ in self._suggested(question, now)),
            twice=(twice := self._twice(question, now)),
            second_href=walk.to_place(twice.open[0], second="1") if twice.open else "",
            minutes=pace * waiting / 60 if pace is not None else None,
            href=walk.first() if left else walk.to(question.groups[0]),
        )

    def _suggested(self, question: QuestionAnswers, now: Snapshot) -> list[tuple[AnswerGroup, SuggestedShares]]:
        found = []
        for group in question.groups:
            open_answers = tuple(each for each in group.answers if each.place in now.waiting)
            made = queue.suggestion(question, group, now) if open_answers else None
            if made is not None:
                found.append((replace(group, answers=open_answers), made))
        return found

    def _passages(self, each: ToDecide, now: Snapshot, *, typed: bool = False) -> Sequence[ShownPassage]:
        text = each.graded.to_mark.text if each.graded.to_mark is not None else ""
        if not text.strip():
            return ()
        found = self._renderer.passages(text, page_fields.read_at(each)[0], typed=typed)
        if not PICTURE.search(text):
            return found
        place = each.place
        names = self._pictures.of(place.submission, each.graded.basis).names
        question, who = queue.QuestionId(place.lab, place.task, place.check), now.names.of(place.submission)

        def address(number: int) -> str:
            return link("/picture", question, who=who, number=str(number))

        return [with_pictures(passage, names, address) for passage in found]

    def _near(self, question: QuestionAnswers, group: AnswerGroup, now: Snapshot) -> int:
        return sum(
            len(other.answers)
            for other in question.groups
            if other.cluster == group.cluster and other.first.place != group.first.place and waits(other, now)
        )

    def _accepted(self, group: AnswerGroup, made: SuggestedShares, now: Snapshot) -> FormMarks:
        place = group.first.place
        return FormMarks(
            question=queue.QuestionId(place.lab, place.task, place.check),
            who=tuple(now.names.of(each.place.submission) for each in group.answers),
            seen=tuple(version(each, now.decisions.last(each.place)) for each in group.answers),
            points=tuple(
                page_fields.typed(w, share) for (w, _), share in zip(group.first.rubric, made.shares, strict=True)
            ),
            comment=made.comment,
        )

    def _render_ahead(self, question: QuestionAnswers, group: AnswerGroup, now: Snapshot) -> None:
        """Have the next answers ready when they are asked for."""
        places = [each.place for each in group.answers]
        at = next((n for n, own in enumerate(question.groups) if own.answers[0].place in places), 0)
        coming = [own.first for own in question.groups[at + 1 :] if waits(own, now)][:_AHEAD]
        texts = [(e.graded.to_mark.text, page_fields.read_at(e)[0]) for e in coming if e.graded.to_mark is not None]
        self._renderer.ahead(texts)

    def _render(self, template: str, now: Snapshot, **values: Any) -> str:
        last = self.decider.last()
        return (
            page_fields.environment()
            .get_template(template)
            .render(
                key=self._key,
                by=self.decider.by,
                anonymous=now.anonymous,
                people=now.people,
                folder=str(self._live.folder),
                last=last,
                last_who=[now.names.of(each.place.submission) for each in last],
                link=link,
                **values,
            )
        )


def _comment(typed: FormMarks | None, ruling: Ruling | None) -> str:
    """What stands in the field for a comment: what was typed, else what is decided."""
    if typed is not None:
        return typed.comment
    return ruling.reason if ruling is not None else ""


def _given(ruling: Ruling | None, answer: ToDecide) -> Sequence[Fraction] | None:
    """What a decision gave for each line of the rubric; None where nothing is decided."""
    return queue.shares_of(ruling, answer) if ruling is not None else None
