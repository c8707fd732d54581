"""Who may come in, and what may be sent: by the browser that came by the link, from the desk's own pages alone.

A browser sends a host's cookies to every port of it, and keeps what a port once gave it (service workers, files) for
the server that listens there next. So each desk is a host of its own, of a name that nobody can guess: browsers know
that `localhost` and all names below it are this machine. No other server is sent the cookie, and none was there before.
What opens the desk, what keeps it open and what its forms carry are made each by itself.
"""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "labgrade_desk"
TOKEN = "token"  # noqa: S105 - the name of the field, not its value
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # without any, a browser hides the origin of our own forms
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",  # the back button and a reopened tab show what holds now
}
_CLOSED = "This desk opens by the link that 'labgrade desk' printed. Start it again for a new one."
_SPENT = (
    "This link has opened the desk before, in another browser. If that was not you, stop the desk. "
    "Start it again for a new link."
)


@dataclass(slots=True, kw_only=True)
class Keys:
    """The secrets of one desk: its host name, link and cookie. `spent`: a browser came by the link."""

    host: str = field(default_factory=lambda: f"{secrets.token_hex(16)}.localhost")
    link: str = field(default_factory=lambda: secrets.token_hex(32))
    session: str = field(default_factory=lambda: secrets.token_hex(32))
    form: str = field(default_factory=lambda: secrets.token_hex(32))
    spent: bool = False

    def address(self, port: int) -> str:
        """The link."""
        return f"http://{self.host}:{port}/?{TOKEN}={self.link}"


class Door:
    """Lets a request through that names this desk, carries its cookie, and on writes comes from the desk's own page."""

    def __init__(self, app: ASGIApp, *, port: int, keys: Keys) -> None:
        self._app = app
        self._host = f"{keys.host}:{port}"
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer it, or hand it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        refused = self._refused(scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("content-security-policy", POLICY)
            await send(message)

        await (refused or self._app)(scope, receive, guarded)

    def _refused(self, scope: Scope) -> Response | None:
        headers, method = Headers(scope=scope), scope["method"]
        if not _equal_secrets(headers.get("host", ""), self._host):  # the reply doesn't say it, either
            return _refusal(f"{_CLOSED} Nothing was saved." if method == "POST" else _CLOSED)
        if method not in {"GET", "HEAD", "POST"}:
            return PlainTextResponse("not here", status_code=405)
        site = headers.get("sec-fetch-site", "none")
        own = headers.get("origin", "") == f"http://{self._host}" and site in {"none", "same-origin"}
        if method == "POST" and not own:
            return _refusal("This came from another page than the desk's own; nothing was saved.")
        known = _equal_secrets(self._of_cookie(headers), self._keys.session)
        given = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN, [""])[0]
        if method == "GET" and scope["path"] == "/" and _equal_secrets(given, self._keys.link):
            return self._by_link(known=known)
        return None if known else _refusal(_CLOSED)

    def _by_link(self, *, known: bool) -> Response:
        """Let in the first browser that comes by the link, also when it comes again."""
        if self._keys.spent and not known:
            return _refusal(_SPENT)
        self._keys.spent = True
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(COOKIE, self._keys.session, httponly=True, samesite="strict", path="/")
        return response

    def _of_cookie(self, headers: Headers) -> str:
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return ""
        return morsel.value if morsel is not None else ""


def _refusal(message: str) -> Response:
    return PlainTextResponse(message, status_code=403)


def _equal_secrets(one: str, other: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


# ---- what a form sends, read strictly: each field as often, as long and of the kind that its page gives -----------

_LARGEST_FORM = 4 << 20
_MOST_FIELDS = 20_000
_LONGEST, _LONGEST_COMMENT, _LONGEST_ROW = 4_000, 20_000, 1 << 20  # characters
_MOST_DIGITS = 18
_KIND = "application/x-www-form-urlencoded"


class RefusedFormError(Exception):
    """A form that no page of the desk sends; nothing was saved. The message is for the person."""

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(f"{message}; nothing was saved.")
        self.status = status


@dataclass(frozen=True, slots=True)
class _Field:
    """How often a field may occur, and how long it may be."""

    fewest: int = 1
    most: int = 1
    longest: int = _LONGEST


_SOME, _PERHAPS = _Field(0, _MOST_FIELDS), _Field(0, 1, 1)
_EVERY = {"key": _Field(), "in_place": _PERHAPS}
_QUESTION = {"lab": _Field(), "task": _Field(), "check": _Field()}
_ROWS = {**_EVERY, **_QUESTION, "who": _Field(), "row": _Field(0, _MOST_FIELDS, _LONGEST_ROW)}
_MARK = {**_EVERY, **_QUESTION, "who": _Field(), "answer": _SOME, "seen": _SOME, "points": _SOME, "second": _PERHAPS}
_MARK |= {"comment": _Field(longest=_LONGEST_COMMENT)}
_UNDO = {**_EVERY, "number": _Field(1, _MOST_FIELDS, _MOST_DIGITS)}
_REWORD = {**_EVERY, **_QUESTION, "row": _Field(longest=_LONGEST_ROW), "new": _Field(longest=_LONGEST_COMMENT)}


async def sent(request: Request, key: str) -> Mapping[str, list[str]]:
    """The fields of a form that a page of the desk sent, which carries its `key`.

    Raises:
        RefusedFormError: it is none.
    """
    kind, _, more = request.headers.get("content-type", _KIND).partition(";")
    if kind.strip().lower() != _KIND or more.strip().lower() not in {"", "charset=utf-8"}:
        message = f"A form of the desk is {_KIND} in UTF-8"
        raise RefusedFormError(message, 415)
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_FORM:
            message = "That is more than a form of the desk holds"
            raise RefusedFormError(message, 413)
    found = _parsed(body)
    if not _equal_secrets(found.get("key", [""])[0], key):
        message = "This page belongs to a desk that was closed: open the new link"
        raise RefusedFormError(message, 403)
    return _as_known(found, request.url.path)


def _parsed(body: bytes) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except (ValueError, UnicodeDecodeError) as error:
        message = "This is no form of the desk's"
        raise RefusedFormError(message, 403) from error
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value.replace("\r\n", "\n"))  # a script sends a text's lines as they are
    return found


def _as_known(found: Mapping[str, list[str]], path: str) -> Mapping[str, list[str]]:
    """Return the fields of a form if a page of the desk can have sent them."""
    decide = _ROWS if "row" in found or not {"answer", "points", "comment"} & found.keys() else _MARK
    known = {"/decide": decide, "/undo": _UNDO, "/reword": _REWORD}[path]
    for name in {**known, **found}:
        values, field = found.get(name, []), known.get(name)
        if field is None:
            message = f"This form has a field '{name[:80]}', which the desk's has not"
        elif not field.fewest <= len(values) <= field.most:
            message = f"This form has the field '{name}' {len(values):,} times" if values else f"It lacks '{name}'"
        elif any(len(value) > field.longest for value in values):
            message = f"'{name}' is longer than {field.longest:,} characters"
        elif name in {"second", "in_place"} and values not in ([], ["1"]):
            message = f"'{name}' holds what no page of the desk sends"
        else:
            continue
        raise RefusedFormError(message)
    return found


# ---- what stands in a field ------------------------------------------------------------------------------------


def parse_fields(text: str, shape: Mapping[str, type]) -> dict[str, Any]:
    """The values of a JSON object with just these names: texts, lists of texts (`tuple`), or of numbers (`list`).

    Raises:
        RefusedFormError: it is something else.
    """
    message = "This is no row of the desk's"
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise RefusedFormError(message) from None
    if not isinstance(found, dict) or found.keys() != shape.keys():
        raise RefusedFormError(message)
    for name, kind in shape.items():
        value = found[name]
        if kind is str:
            right = _is_text(value)
        else:
            right = isinstance(value, list) and all(_is_text(e) if kind is tuple else type(e) is int for e in value)
        if not right:
            raise RefusedFormError(message)
    return found


def _is_text(value: object) -> bool:
    """Return whether a value is a text without half characters (lone surrogates)."""
    return isinstance(value, str) and not any("\ud800" <= each <= "\udfff" for each in value)


def numbers(texts: list[str]) -> list[int]:
    """Parse whole numbers as a page writes them.

    Raises:
        RefusedFormError: one of them is something else.
    """
    if not all(text.isascii() and text.isdecimal() for text in texts):
        message = "This form names no mark of the desk's"
        raise RefusedFormError(message)
    return [int(text) for text in texts]
