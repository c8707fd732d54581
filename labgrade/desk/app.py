"""The desk as a web application: its pages and what their forms do. `Door` stands before all of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from labgrade.core.errors import UsageError
from labgrade.desk import access
from labgrade.desk.form_decisions import FormMarks, OutdatedError
from labgrade.desk.next_answer import TOP, NotHereError, link, question_of
from labgrade.desk.page_fields import static_files
from labgrade.desk.queue import QuestionId
from labgrade.ledger.database import LedgerError
from labgrade.reports.html.render import own_script, policy
from labgrade.review.marking import NoPointsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from labgrade.desk.class_pages import ClassPages
    from labgrade.desk.pages import Pages

_STATIC = {"desk.js": "text/javascript", "desk.css": "text/css", "icon.svg": "image/svg+xml"}
_KEPT = {"cache-control": "private, max-age=31536000, immutable"}  # their addresses name what is in them
_CONFLICT, _WRONG, _FAILED = 409, 422, 503


def application(pages: Pages, whole: ClassPages, *, port: int, keys: access.Keys) -> Starlette:
    """The application; `port` is where it will be reached, `keys` open it."""
    forms = _Forms(pages, keys.form)
    reading: dict[str, Callable[[Mapping[str, str]], str]] = {
        "/": pages.queue,
        "/question": pages.question,
        "/answer": pages.answer,
        "/all": pages.all_suggested,
        "/differ": pages.differ,
        "/comments": pages.comments,
        "/pictures": pages.pictures,
    }
    routes = [Route(path, _page(made), methods=["GET"]) for path, made in reading.items()]
    routes += [
        Route("/class", _page(whole.class_page, own_script("class.js")), methods=["GET"]),
        Route("/student", _page(whole.student_page, ""), methods=["GET"]),
        Route("/alike", _page(whole.side_by_side), methods=["GET"]),
        Route("/picture", _picture(pages.picture), methods=["GET"]),
        Route("/decide", forms.decide, methods=["POST"]),
        Route("/reword", forms.reword, methods=["POST"]),
        Route("/undo", forms.undo, methods=["POST"]),
        *(Route(f"/static/{name}", _static(name), methods=["GET"]) for name in _STATIC),
    ]
    return Starlette(routes=routes, middleware=[Middleware(access.Door, port=port, keys=keys)])


def _page(made: Callable[[Mapping[str, str]], str], script: str | None = None) -> Callable[[Request], Any]:
    """Return a page as a response. `script`: the script of a self-contained report, or ""."""
    headers = {} if script is None else {"content-security-policy": f"{policy(script)}; frame-ancestors 'none'"}

    async def answer(request: Request) -> Response:
        try:
            return HTMLResponse(await run_in_threadpool(made, dict(request.query_params)), headers=headers)
        except NotHereError as gone:
            return RedirectResponse(str(gone), status_code=303)
        except UsageError as error:
            return PlainTextResponse(str(error), status_code=_FAILED)

    return answer


def _picture(made: Callable[[Mapping[str, str]], bytes | str]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            found = await run_in_threadpool(made, dict(request.query_params))
        except (NotHereError, UsageError):
            return PlainTextResponse("not here", status_code=404)
        if isinstance(found, str):
            return PlainTextResponse(found, status_code=404)
        return Response(found, media_type="image/png")

    return answer


def _static(name: str) -> Callable[[Request], Response]:
    def answer(_: Request) -> Response:
        return Response(static_files()[name], media_type=_STATIC[name], headers=_KEPT)

    return answer


class _Forms:
    """Handles forms: each is decided as a whole and kept before the next page is sent."""

    def __init__(self, pages: Pages, key: str) -> None:
        self._pages, self._key = pages, key

    async def decide(self, request: Request) -> Response:
        return await self._handled(request, self._decide)

    async def undo(self, request: Request) -> Response:
        return await self._handled(request, self._undo)

    async def reword(self, request: Request) -> Response:
        return await self._handled(request, self._reword)

    async def _handled(self, request: Request, done: Callable[[Mapping[str, list[str]]], Response]) -> Response:
        try:
            return await run_in_threadpool(done, await access.sent(request, self._key))
        except access.RefusedFormError as refused:
            return PlainTextResponse(str(refused), status_code=refused.status)
        except UsageError as error:  # nor can the page be shown again
            return PlainTextResponse(str(error), status_code=_FAILED)

    def _decide(self, sent: Mapping[str, list[str]]) -> Response:
        question = question_of({name: values[0] for name, values in sent.items()})
        who, second = sent["who"][0], "second" in sent
        marks = [_mark(sent)] if "comment" in sent else [FormMarks.from_json(row) for row in sent.get("row", ())]
        _refuse_contradiction(question, who, marks)
        try:
            if second:
                self._pages.decider.decide_second(marks[0])
            else:
                self._pages.decider.decide(marks)
        except (OutdatedError, NoPointsError, UsageError) as error:
            return self._again(question, who, error, marks, second=second)
        pages = self._pages
        return self._next(pages.following_second(question) if second else pages.following(question, who), sent)

    def _next(self, address: str, sent: Mapping[str, list[str]]) -> Response:
        """Answer a form with the next page for the script, or else with a redirect to it."""
        path, _, query = address.partition("?")
        pages: dict[str, Callable[[Mapping[str, str]], str]]
        pages = {"/answer": self._pages.answer, TOP: self._pages.queue}
        made = pages.get(path)
        if "in_place" in sent and made is not None:
            with contextlib.suppress(NotHereError, UsageError):  # the form is kept already: the page says the rest
                return HTMLResponse(made(dict(parse_qsl(query))), headers={"content-location": address})
        return RedirectResponse(address, status_code=303)

    def _again(
        self, question: QuestionId, who: str, error: Exception, marks: list[FormMarks], *, second: bool
    ) -> Response:
        status = (
            _CONFLICT if isinstance(error, OutdatedError) else _WRONG if isinstance(error, NoPointsError) else _FAILED
        )
        typed = marks[0] if len(marks) == 1 and not isinstance(error, OutdatedError) else None
        lost = marks[0].comment if marks and isinstance(error, OutdatedError) else ""
        more = f". Your comment was: {lost}" if lost else ""
        query = {"lab": question.lab, "task": question.task, "check": question.check, "who": who}
        query |= {"second": "1"} if second else {}
        try:
            page = self._pages.answer(query, problem=f"{error}{more}", typed=typed)
        except NotHereError:
            page = self._pages.queue({}, problem=f"{error}{more}")
        return HTMLResponse(page, status_code=status)

    def _reword(self, sent: Mapping[str, list[str]]) -> Response:
        query = {name: values[0] for name, values in sent.items()}
        question = question_of(query)
        row = access.parse_fields(query["row"], {"old": str, "numbers": list})
        try:
            self._pages.decider.reword(question, row["old"], query["new"], row["numbers"])
        except (OutdatedError, UsageError) as error:
            return HTMLResponse(self._pages.comments(query, problem=str(error)), status_code=_status(error))
        return RedirectResponse(link("/comments", question), status_code=303)

    def _undo(self, sent: Mapping[str, list[str]]) -> Response:
        try:
            taken = self._pages.decider.undo(access.numbers(sent["number"]))
        except (OutdatedError, UsageError) as error:
            return HTMLResponse(self._pages.queue({}, problem=str(error)), status_code=_status(error))
        place = taken[0].place
        question = QuestionId(place.lab, place.task, place.check)
        return self._next(link("/answer", question, who=self._pages.called(place)), sent)


def _status(error: Exception) -> int:
    return _FAILED if isinstance(error, LedgerError) else _CONFLICT


def _mark(sent: Mapping[str, list[str]]) -> FormMarks:
    """The mark of the form of one page.

    Raises:
        RefusedFormError: it is no such form.
    """
    question = question_of({name: values[0] for name, values in sent.items()})
    who, seen, given = (tuple(sent.get(name, ())) for name in ("answer", "seen", "points"))
    return FormMarks(question=question, who=who, seen=seen, points=given, comment=sent["comment"][0])


def _refuse_contradiction(question: QuestionId, who: str, marks: list[FormMarks]) -> None:
    """Refuse a form whose fields contradict its address about the question or the answer.

    Raises:
        RefusedFormError: they differ.
    """
    named = question != QuestionId("", "", "")
    if (who and not named) or any(
        (named and each.question != question) or who not in ("", each.who[0]) for each in marks
    ):
        message = "This form names one answer and its address another"
        raise access.RefusedFormError(message)
