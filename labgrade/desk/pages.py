"""What the desk shows: the queue, one answer, all answers with a suggestion. Each is made of a snapshot."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import UsageError
from labgrade.desk import page_fields, queue
from labgrade.desk.form_decisions import FormMarks, place_of, version
from labgrade.desk.next_answer import TOP, MarkerQueue, NotHereError, link, question_of
from labgrade.desk.sanitise import with_pictures
from labgrade.desk.wording import PICTURE
from labgrade.reports.html import pictures
from labgrade.review import markers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from fractions import Fraction

    from labgrade.desk.form_decisions import Decider
    from labgrade.desk.next_answer import OpenQuestions, QuestionWalk
    from labgrade.desk.pictures import Pictures
    from labgrade.desk.queue import AnswerGroup, QuestionAnswers, QuestionId, SuggestedShares
    from labgrade.desk.sanitise import Renderer, ShownPassage
    from labgrade.desk.snapshot import LiveResults, Snapshot
    from labgrade.review.decisions import Place, Ruling
    from labgrade.review.marking import ToDecide

_AHEAD = 6  # answers that are rendered before somebody asks for them
_NOTHING: dict[str, Any] = dict.fromkeys(("given", "suggestion", "accept", "ruling"))
_SECOND = _NOTHING | {"beside": "", "earlier": "", "offered": (), "near": 0, "following": "", "before": ""}
_SECOND |= {"second": True, "wordless": False}


class Pages:
    """The pages for one person."""

    def __init__(
        self, live: LiveResults, renderer: Renderer, decider: Decider, pictures: Pictures, *, key: str
    ) -> None:
        self._live, self._renderer, self.decider, self._pictures = live, renderer, decider, pictures
        self._questions = MarkerQueue(live, decider.by)
        self._key = key

    # ---- pages -------------------------------------------------------------------------------------------------

    def queue(self, _: Mapping[str, str], problem: str = "") -> str:
        """Show the questions with how many answers are left, those with the most suggestions first."""
        here = self._questions.now()
        found = here.rows()
        left, suggested = sum(row.left for row in found), sum(row.suggested for row in found)
        self._lease(())  # lets go of the answer that was open
        page = self._render("queue.html", here.now, rows=found, left=left, suggested=suggested, problem=problem)
        self._render_ahead(here.coming(None, None))
        return page

    def question(self, query: Mapping[str, str]) -> str:
        """The first answer to a question that waits, or the next one `after` an answer, or to mark a `second` time.

        Raises:
            NotHereError: always; the page is the answer's.
        """
        here, name = self._questions.now(), question_of(query)
        question = here.questions.get(name)
        if question is None:
            raise NotHereError(TOP)
        if query.get("second"):
            raise NotHereError(self.following_second(name))
        walk, after = here.walk(question), query.get("after", "")
        found = walk.coming(place_of(here.now, name, after)) if after else filter(walk.is_free, question.groups)
        raise NotHereError(self._leased(here, ((walk, group) for group in found)))

    def answer(self, query: Mapping[str, str], problem: str = "", typed: FormMarks | None = None) -> str:
        """One answer, or equal ones, with all that it takes to mark it.

        Raises:
            NotHereError: it is not to be marked here.
        """
        here = self._questions.now()
        question, group, place = here.found(query)
        if query.get("second"):
            return self._second(here, question, place, problem, typed)
        held = self._lease([each.place for each in group.answers])
        now, walk, ruling = here.now, here.walk(question), here.now.in_force(place)
        suggested = queue.suggestion(question, group, now)
        page = self._answer_page(
            here,
            question,
            group.answers,
            typed,
            problem=problem,
            given=_given_shares(ruling, group.first),
            suggestion=suggested,
            wordless=queue.nothing_written(group, now) is not None,
            beside=queue.nearest_difference(question, group, now) if suggested is None else "",
            accept=self._accepted(group, suggested, now) if suggested is not None else None,
            ruling=ruling,
            earlier=group.first.earlier if place in now.waiting else "",
            offered=queue.comment_suggestions(question.id, place.submission, now),
            near=here.near(question, group),
            following=link("/question", question.id, after=now.names.of(place.submission))
            if walk.coming(place)
            else "",
            before=walk.before(place),
            held=sorted(set(held.values())),
            second=False,
        )
        self._render_ahead(here.coming(question, place))
        return page

    def _second(
        self, here: OpenQuestions, question: QuestionAnswers, place: Place, problem: str, typed: FormMarks | None
    ) -> str:
        """Show an answer that another person marked, without their points."""
        if place not in here.twice(question).open:
            raise NotHereError(self.following_second(question.id))
        held = sorted(self._lease([place]).values())
        answers = (here.now.checks[place],)
        return self._answer_page(here, question, answers, typed, problem=problem, held=held, **_SECOND)

    def _answer_page(
        self,
        here: OpenQuestions,
        question: QuestionAnswers,
        answers: Sequence[ToDecide],
        typed: FormMarks | None,
        *,
        given: Sequence[Fraction] | None,
        ruling: Ruling | None,
        **values: Any,
    ) -> str:
        """The page of an answer, or of equal ones. `given`: what the rubric's lines have got."""
        now = here.now
        names = [now.names.of(each.place.submission) for each in answers]
        return self._render(
            "answer.html",
            now,
            question=question,
            row=here.row(question),
            names=names,
            who=names[0],
            seen=[version(each, now.decisions.last(each.place)) for each in answers],
            worth=answers[0].graded.points,
            passages=self._passages(answers[0], now),
            guessed=page_fields.read_at(answers[0])[1],
            verdict=answers[0].graded.verdict,
            drawn=pictures.check_pictures(answers[0].graded, "drawn"),
            lines=page_fields.lines(answers[0], given, typed),
            ruling=ruling,
            comment=_comment(typed, ruling),
            **values,
        )

    def differ(self, query: Mapping[str, str]) -> str:
        """Show answers whose two marks differ, side by side.

        Raises:
            NotHereError: there is no such question.
        """
        here = self._questions.now()
        question = here.questions.get(question_of(query))
        if question is None:
            raise NotHereError(TOP)
        twice, walk = here.twice(question), here.walk(question)
        return self._render("differ.html", here.now, problem="", question=question, twice=twice, walk=walk)

    def comments(self, query: Mapping[str, str], problem: str = "") -> str:
        """Show a question's comments with their answers, to be reworded."""
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
        here = self._questions.now()
        question, group, place = here.found(query)
        found = self._pictures.of(place.submission, group.first.graded.basis)
        who, back = here.now.names.of(place.submission), here.walk(question).to_place(place)
        return self._render("pictures.html", here.now, problem="", question=question, who=who, found=found, back=back)

    def picture(self, query: Mapping[str, str]) -> bytes | str:
        """One of them as a PNG; or why not.

        Raises:
            NotHereError: it is not to be marked here.
        """
        _, _, place = self._questions.now().found(query)
        number = query.get("number", "")
        return self._pictures.png(place.submission, int(number) if re.fullmatch(r"\d{1,6}", number) else -1)

    def all_suggested(self, query: Mapping[str, str]) -> str:
        """Every answer to a question, or to all, that labgrade suggests a mark for, to be accepted at once.

        With `nothing`, every answer in which nothing is written.

        Raises:
            NotHereError: there is none.
        """
        here, named = self._questions.now(), question_of(query)
        now = here.now
        chosen = [each for name, each in here.questions.items() if name == named or not named.task]
        nothing = "nothing" in query
        found = [(question, *row) for question in chosen for row in here.suggested(question, wordless=nothing)]
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
        shown = {"named": named, "question": title, "sections": sections, "count": count, "nothing": nothing}
        return self._render("all.html", now, problem="", **shown)

    def _row_of_all(self, group: AnswerGroup, made: SuggestedShares, now: Snapshot) -> dict[str, Any]:
        return {
            "names": [now.names.of(each.place.submission) for each in group.answers],
            "suggestion": made,
            "worth": page_fields.worth_of(group.first, made),
            "passages": self._passages(group.first, now, typed=True),
            "verdict": group.first.graded.verdict,
            "mark": self._accepted(group, made, now).as_json(),
        }

    # ---- where to go, and what pages are made of ------------------------------------------------------------------

    def following(self, question: QuestionId, who: str) -> str:
        """Return the address after an answer: the next of its question, of the next question, or the top."""
        here = self._questions.now()
        return self._leased(here, here.coming(here.questions.get(question), place_of(here.now, question, who)))

    def following_second(self, question: QuestionId) -> str:
        """Return the address of an answer to mark a second time, or the top."""
        here = self._questions.now()
        found = here.questions.get(question)
        for place in here.open_second(found) if found is not None else ():
            if not self._lease([place]):
                return link("/answer", question, who=here.now.names.of(place.submission), second="1")
        return TOP

    def called(self, place: Place) -> str:
        """Return staff's name for the student behind an answer."""
        return self._live.snapshot().names.of(place.submission)

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

    def _leased(self, here: OpenQuestions, coming: Iterable[tuple[QuestionWalk, AnswerGroup]]) -> str:
        """Show the first of these that nobody else is looking at, or the top."""
        for walk, group in coming:
            places = [each.place for each in group.answers if each.place in here.now.waiting]
            if not self._lease(places):
                return walk.to(group)
        return TOP

    def _lease(self, places: Collection[Place]) -> Mapping[Place, str]:
        """Reserve answers for this person; return who looks at which. A full disk does not hold up the page."""
        try:
            return markers.lease(self._live.folder, places, self.decider.by)
        except UsageError:
            return {}

    def _render_ahead(self, coming: Iterable[tuple[QuestionWalk, AnswerGroup]]) -> None:
        """Render the next answers ahead of time."""
        own = (group.first for _, group in coming)
        texts = ((e.graded.to_mark.text, page_fields.read_at(e)[0]) for e in own if e.graded.to_mark is not None)
        self._renderer.ahead(itertools.islice(texts, _AHEAD))

    def _render(self, template: str, now: Snapshot, **values: Any) -> str:
        last = self.decider.last(now)
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
    """Return the content of the comment field: what was typed, else the decision's comment."""
    if typed is not None:
        return typed.comment
    return ruling.reason if ruling is not None else ""


def _given_shares(ruling: Ruling | None, answer: ToDecide) -> Sequence[Fraction] | None:
    """Return a decision's share of each rubric line; None where nothing is decided."""
    return queue.shares_of(ruling, answer) if ruling is not None else None
