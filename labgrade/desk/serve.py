"""Serves the desk on this machine until Ctrl-C: the socket, the link, the process that renders."""

from __future__ import annotations

import contextlib
import errno
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from labgrade.core.errors import UsageError
from labgrade.desk import access
from labgrade.desk.alike import AlikeSearch
from labgrade.desk.app import application
from labgrade.desk.class_pages import ClassPages
from labgrade.desk.form_decisions import Decider
from labgrade.desk.pages import Pages
from labgrade.desk.pictures import Pictures
from labgrade.desk.sanitise import Renderer
from labgrade.desk.snapshot import LiveResults
from labgrade.ledger.database import Ledger
from labgrade.sandbox.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.applications import Starlette

HOST, HOST_6 = "127.0.0.1", "::1"
_NO_IPV6 = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
_TRIES = 20


def serve(
    results: Path,
    roster: Path | None,
    by: str,
    tell: Callable[[str, int, int], None],
    *,
    port: int = 0,
    handed_out: Path | None = None,
) -> None:
    """Serve the results of a class to one person. `tell` is given the link, the port, and how many answers wait.

    `handed_out`: the folder of what students were given, which is no student's own.

    Raises:
        UsageError: there are no results, or the port is taken.
    """
    live = LiveResults(results, roster)
    left = len(live.snapshot().waiting)
    keys = access.Keys()
    with bound(port) as listening, Runner() as runner, tempfile.TemporaryDirectory() as scratch:
        port = listening[0].getsockname()[1]
        (empty := Path(scratch) / "empty").mkdir()
        renderer = Renderer(runner, empty)
        pictures = Pictures(results, runner, Path(scratch) / "taken")
        pages = Pages(live, renderer, Decider(live, by), pictures, key=keys.form)
        looks = AlikeSearch(results, runner, Path(scratch) / "class", handed_out)
        server = _server(application(pages, ClassPages(live, by, looks), port=port, keys=keys))
        renderer.ahead([("*ready*", "")])  # starts the reader while the person opens the link
        tell(keys.address(port), port, left)
        try:
            with Ledger(results):  # the last one to close the file tidies it up, which takes longer than a page
                server.run(sockets=listening)
        finally:
            looks.close()
            renderer.close()


def _server(app: Starlette) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,  # the token stands in an address
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=2,
        )
    )


@contextlib.contextmanager
def bound(port: int) -> Iterator[list[socket.socket]]:
    """Bind a port at every loopback address of this machine; 0 is any free port.

    A browser tries `::1` first for the desk's name, so that nobody else may listen there.

    Raises:
        UsageError: it is taken, or is no port.
    """
    with contextlib.ExitStack() as stack:
        for tries_left in reversed(range(_TRIES)):
            try:
                first = stack.enter_context(_listening(socket.AF_INET, HOST, port))
                second = _second(first.getsockname()[1])
            except (OSError, OverflowError) as error:
                if not port and tries_left:  # the port is free for one of the two alone
                    stack.close()
                    continue
                why = getattr(error, "strerror", None) or error
                message = f"port {port} can't be used ({why}); leave --port out, or name another"
                raise UsageError(message) from error
            yield [first, *([stack.enter_context(second)] if second is not None else [])]
            return


def _second(port: int) -> socket.socket | None:
    """The same port of the other loopback address; None where the machine has none, so that nobody can listen there."""
    try:
        return _listening(socket.AF_INET6, HOST_6, port)
    except OSError as error:
        if error.errno in _NO_IPV6:
            return None
        raise


def _listening(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a page's body waits 40 ms for its header
        listening.bind((host, port))
        listening.listen()  # so that nobody else can, from now on
    except BaseException:
        listening.close()
        raise
    return listening
