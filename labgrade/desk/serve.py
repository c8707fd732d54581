"""Serves the desk on this machine until Ctrl-C: the socket, the link, the process that renders."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from labgrade.core.errors import UsageError
from labgrade.desk import access
from labgrade.desk.alike import LooksAlike
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
    from collections.abc import Callable

    from starlette.applications import Starlette

HOST = "127.0.0.1"


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
    token = access.new_token()
    with bound(port) as listening, Runner() as runner, tempfile.TemporaryDirectory() as scratch:
        port = listening.getsockname()[1]
        (empty := Path(scratch) / "empty").mkdir()
        renderer = Renderer(runner, empty)
        pictures = Pictures(results, runner, Path(scratch) / "taken")
        pages = Pages(live, renderer, Decider(live, by), pictures, key=access.form_key(token))
        looks = LooksAlike(results, runner, Path(scratch) / "class", handed_out)
        server = _server(application(pages, ClassPages(live, by, looks), port=port, token=token))
        renderer.ahead([("*ready*", "")])  # starts the reader while the person opens the link
        tell(f"http://{HOST}:{port}/?{access.TOKEN}={token}", port, left)
        try:
            with Ledger(results):  # the last one to close the file tidies it up, which takes longer than a page
                server.run(sockets=[listening])
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
            timeout_graceful_shutdown=2,
        )
    )


def bound(port: int) -> socket.socket:
    """A socket at this port of this machine alone; 0 is any that is free.

    Raises:
        UsageError: it is taken, or is no port.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a page's body waits 40 ms for its header
    try:
        listening.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listening.close()
        why = getattr(error, "strerror", None) or error
        message = f"port {port} can't be used ({why}); leave --port out, or name another"
        raise UsageError(message) from error
    return listening
