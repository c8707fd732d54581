"""Without a network a student's code should fail in words, at once, not after a minute of retries.

This is help, not protection: what keeps a child from the network is not written in Python.
"""

from __future__ import annotations

import errno
import functools
import ipaddress
import os
import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SENTENCE = (
    "there is no network while your work is graded: {} can't be reached; hand in the file itself, beside your program"
)


def install() -> None:
    """Make every way to another host in Python end with the sentence. Sockets within the machine stay as they are."""
    os.environ.update(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1", HF_HUB_OFFLINE="1")
    socket.socket.__init__ = _guarded_making(socket.socket.__init__)  # type: ignore[method-assign]
    socket.create_connection = _guarded_connection(socket.create_connection)
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, _guarded_connect(getattr(socket.socket, name)))
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        setattr(socket, name, _guarded_look_up(getattr(socket, name)))


def _guarded_making(make: Callable[..., None]) -> Callable[..., None]:
    """In a jail no socket of the network can be made at all, of which the kernel says as little as it can."""

    @functools.wraps(make)
    def guarded(self: socket.socket, *arguments: Any, **options: Any) -> None:
        try:
            make(self, *arguments, **options)
        except PermissionError as error:
            raise OSError(errno.ENETUNREACH, SENTENCE.format("another machine")) from error

    return guarded


def _guarded_connection(connect: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(connect)
    def guarded(address: Any, *rest: Any, **options: Any) -> Any:
        if not _is_here(address[0]):
            raise OSError(errno.ENETUNREACH, SENTENCE.format(f"'{address[0]}'"))
        return connect(address, *rest, **options)

    return guarded


def _guarded_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(connect)
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_here(address[0]):
            raise OSError(errno.ENETUNREACH, SENTENCE.format(f"'{address[0]}'"))
        return connect(self, address)

    return guarded


def _guarded_look_up(look_up: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(look_up)
    def guarded(host: Any, *rest: Any, **options: Any) -> Any:
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        if name and not _is_number(name) and name not in ("localhost", socket.gethostname()):
            raise socket.gaierror(socket.EAI_NONAME, SENTENCE.format(f"'{name}'"))
        return look_up(host, *rest, **options)

    return guarded


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_here(host: str) -> bool:
    return not _is_number(host) or ipaddress.ip_address(host.partition("%")[0]).is_loopback or host in ("0.0.0.0", "::")  # noqa: S104 - nothing is bound
