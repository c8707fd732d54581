"""Who may come in: this machine's browser with the token of the link, from the desk's own pages alone."""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "labgrade_desk"
TOKEN = "token"  # noqa: S105 - the name of the field, not its value
KEY = "key"
_LARGEST_FORM = 4 << 20
_MOST_FIELDS = 20_000
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


class RefusedFormError(Exception):
    """A form that is none of the desk's own; the message is for the person."""


class Door:
    """Lets a request through that names this host, carries the token, and on writes comes from the desk's own page."""

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"{COOKIE}_{port}"  # a browser keeps cookies by host, whatever the port
        self._token = token

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
        host = headers.get("host", "")
        if host not in self._hosts:
            port = next(iter(self._hosts)).rpartition(":")[2]
            return _refusal(f"This desk is at 127.0.0.1:{port} alone; through ssh, forward the same port.")
        if method not in {"GET", "HEAD", "POST"}:
            return PlainTextResponse("not here", status_code=405)
        site = headers.get("sec-fetch-site", "none")
        if method == "POST" and (headers.get("origin", "") != f"http://{host}" or site not in {"none", "same-origin"}):
            return _refusal("This came from another page than the desk's own; nothing was saved.")
        given = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN, [""])[0]
        if method == "GET" and scope["path"] == "/" and given and _same(given, self._token):
            response = RedirectResponse("/", status_code=303)
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
            return response
        return None if _same(self._of_cookie(headers), self._token) else _refusal(_CLOSED)

    def _of_cookie(self, headers: Headers) -> str:
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return morsel.value if morsel is not None else ""


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(32)


def form_key(token: str) -> str:
    """What every form of the desk carries: who can read the cookie alone can't make one."""
    return hmac.new(token.encode(), b"forms of the desk", "sha256").hexdigest()


async def fields(request: Request, token: str) -> dict[str, list[str]]:
    """The fields of a form that one of the desk's own pages sent.

    Raises:
        RefusedFormError: it is none.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_FORM:
            message = "That is more than a form of the desk holds; nothing was saved."
            raise RefusedFormError(message)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except (ValueError, UnicodeDecodeError) as error:
        message = "This is no form of the desk's; nothing was saved."
        raise RefusedFormError(message) from error
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value.replace("\r\n", "\n"))  # a script sends a text's lines as they are
    if not _same(found.get(KEY, [""])[0], form_key(token)):
        message = "This page is of a desk that was closed since; nothing was saved: open it by its new link."
        raise RefusedFormError(message)
    return found


def _refusal(message: str) -> Response:
    return PlainTextResponse(message, status_code=403)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())
