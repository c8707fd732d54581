"""Who may come in: the one browser that came by the link, from the desk's own pages alone.

A browser sends a host's cookies to every port of it, and keeps what a port once gave it (service workers, files) for
whoever listens there next. So each desk is a host of its own, of a name that nobody can guess: browsers know that
`localhost` and all names below it are this machine. No other server is sent the cookie, and none was there before.
What opens the desk, what keeps it open and what its forms carry are made each by itself.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
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
    """What one desk is reached and opened by. `spent`: a browser came by the link."""

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
        if not same(headers.get("host", ""), self._host):  # nor is a stranger told the name
            return _refusal(f"{_CLOSED} Nothing was saved." if method == "POST" else _CLOSED)
        if method not in {"GET", "HEAD", "POST"}:
            return PlainTextResponse("not here", status_code=405)
        site = headers.get("sec-fetch-site", "none")
        own = headers.get("origin", "") == f"http://{self._host}" and site in {"none", "same-origin"}
        if method == "POST" and not own:
            return _refusal("This came from another page than the desk's own; nothing was saved.")
        known = same(self._of_cookie(headers), self._keys.session)
        given = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN, [""])[0]
        if method == "GET" and scope["path"] == "/" and same(given, self._keys.link):
            return self._by_link(known=known)
        return None if known else _refusal(_CLOSED)

    def _by_link(self, *, known: bool) -> Response:
        """The first browser that comes by the link is the one that is let in; it may come by it again."""
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


def same(one: str, other: str) -> bool:
    """Whether two secrets are one, in a time that tells nothing of either."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
