"""Written parts that a link names: downloaded with limits, from the web alone, and kept with digest and moment."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from labgrade.files import output

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

_MOST_BYTES = 4 << 20
_SECONDS = 30.0
_MOST_REDIRECTS = 5
_MOVED = frozenset({301, 302, 303, 307, 308})
_OK = 200
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # stands for an address of IPv4
_LINK = re.compile(r"https?://[^\s<>()\[\]\"'`]+")
_LARGEST_FILE = 1 << 16


class NoDocumentError(Exception):
    """It could not be downloaded; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What links may name: `hosts`, where only these; `local`: also what lies in the local network."""

    hosts: Collection[str] = ()
    local: bool = False
    seconds: float = _SECONDS
    most_bytes: int = _MOST_BYTES


def link_in(text: bytes) -> str:
    """Return the first link of a text, or ""."""
    found = _LINK.search(text[:_LARGEST_FILE].decode("utf-8", "replace"))
    return found[0].rstrip(".,;:") if found else ""


def keep(text: bytes, folder: Path) -> str:
    """Keep a document under its digest, and return that."""
    digest = hashlib.sha256(text).hexdigest()
    target = folder / f"{digest}.md"
    if not target.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        output.replace(target, text)
    return digest


def download(link: str, rules: Rules) -> bytes:
    """Download the Markdown that a link names.

    Raises:
        NoDocumentError: it can't be had, or must not be asked for.
    """
    until = time.monotonic() + rules.seconds
    first: str | None = None
    for _ in range(_MOST_REDIRECTS + 1):
        place = _place(link, rules, first)
        first = first or place.hostname
        try:
            moved, text = _get(place, rules, until)
        except (OSError, http.client.HTTPException, ValueError) as error:
            late = isinstance(error, TimeoutError) or time.monotonic() >= until
            said = f"it was not there after {rules.seconds:g} s" if late else f"{error}"
            raise NoDocumentError(said) from error
        if not moved:
            return text
        link = urljoin(link, moved)
    message = f"it redirects more than {_MOST_REDIRECTS} times"
    raise NoDocumentError(message)


def _place(link: str, rules: Rules, first: str | None) -> SplitResult:
    """Parse a link, if it may be followed.

    Raises:
        NoDocumentError: it must not lead there.
    """
    try:
        place = urlsplit(link)
        _ = place.port
    except ValueError as error:
        message = f"'{link}' is no address"
        raise NoDocumentError(message) from error
    host = place.hostname
    if place.scheme not in {"http", "https"} or not host or not link.isprintable() or " " in link:
        message = f"'{link}' is no address of the web (https://...)"
        raise NoDocumentError(message)
    if place.username is not None or place.password is not None:
        message = "the link holds a name or a password"
        raise NoDocumentError(message)
    if rules.hosts and host not in rules.hosts:
        message = f"'{host}' is none of the hosts that lab.yaml allows: {', '.join(rules.hosts)}"
        raise NoDocumentError(message)
    if first not in (None, host) and host not in rules.hosts:
        message = f"it redirects to another host, '{host}'; lab.yaml can allow it: collect.hosts"
        raise NoDocumentError(message)
    return place


def _get(place: SplitResult, rules: Rules, until: float) -> tuple[str, bytes]:
    """Return the text, or where the server redirects. It connects to the address that was checked."""
    host = place.hostname or ""
    port = place.port or (443 if place.scheme == "https" else 80)
    plain = _connected(_addresses(host, port, rules), port, until)
    timer = threading.Timer(
        _seconds_left(until), _shut_down, [plain]
    )  # also where every byte comes in time, one by one
    timer.daemon = True
    timer.start()
    connection = http.client.HTTPConnection(host, port)
    try:
        connection.sock = plain
        if place.scheme == "https":
            connection.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        path = (place.path or "/") + (f"?{place.query}" if place.query else "")
        name = f"[{host}]" if ":" in host else host
        heads = {"Host": name if place.port is None else f"{name}:{port}", "Accept": "text/markdown, text/plain, */*"}
        connection.request("GET", path, headers={**heads, "User-Agent": "labgrade"})
        answer = connection.getresponse()
        if answer.status in _MOVED and (where := answer.headers.get("Location")):
            return where, b""
        if answer.status != _OK:
            message = f"the server answers {answer.status} {answer.reason}"
            raise NoDocumentError(message)
        return "", _text(answer, rules)
    finally:
        timer.cancel()
        connection.close()
        plain.close()


def _shut_down(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _text(answer: http.client.HTTPResponse, rules: Rules) -> bytes:
    kind = (answer.headers.get_content_type() or "").lower()
    if kind == "text/html" or not (kind.startswith("text/") or kind == "application/octet-stream"):
        message = f"it is no Markdown but {kind}; give the link by which it is downloaded as Markdown"
        raise NoDocumentError(message)
    data = b""
    while more := answer.read1(1 << 16):
        data += more
        if len(data) > rules.most_bytes:
            message = f"it is larger than {rules.most_bytes >> 20} MiB"
            raise NoDocumentError(message)
    length = answer.headers.get("Content-Length", "")
    if length.isdigit() and int(length) != len(data):
        raise OSError("it was cut off")  # noqa: EM101, TRY003 - caught where it is said
    return data


def _connected(addresses: Sequence[str], port: int, until: float) -> socket.socket:
    """Connect to the first address that answers."""
    for address in addresses[:-1]:
        with contextlib.suppress(OSError):
            return socket.create_connection((address, port), timeout=_seconds_left(until))
    return socket.create_connection((addresses[-1], port), timeout=_seconds_left(until))


def _addresses(host: str, port: int, rules: Rules) -> list[str]:
    """Resolve a host; every address must be allowed.

    Raises:
        NoDocumentError: one of its addresses lies in the local network.
    """
    found = {each[4][0] for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    for each in sorted(map(str, found)):
        if not rules.local and not _is_public(each):
            message = f"'{host}' lies in the local network; lab.yaml can allow it: collect.local"
            raise NoDocumentError(message)
    return sorted(map(str, found))


def _is_public(address: str) -> bool:
    """Return whether an address is public; an embedded IPv4 address is checked, too."""
    number = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(number, ipaddress.IPv6Address):
        other = number.ipv4_mapped or number.sixtofour or (number.teredo or [None])[0]
        if other is None and number in _TRANSLATED:
            other = ipaddress.IPv4Address(int(number) & 0xFFFFFFFF)
        number = other or number
    return number.is_global and not number.is_multicast


def _seconds_left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
