"""A desk as a browser sees it, in this process and without a jail; and classes whose answers wait to be marked."""

from __future__ import annotations

import contextlib
import html
import re
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import uvicorn
from helpers import ledger_of
from helpers.class_sample import essay, report, submission
from starlette.testclient import TestClient

from labgrade.answers import rendering as in_the_jail
from labgrade.desk import access
from labgrade.desk.alike import AlikeSearch
from labgrade.desk.app import application
from labgrade.desk.class_pages import ClassPages
from labgrade.desk.form_decisions import Decider
from labgrade.desk.pages import Pages
from labgrade.desk.pictures import HandInPictures, Pictures
from labgrade.desk.sanitise import Renderer, sanitised
from labgrade.desk.serve import bound
from labgrade.desk.snapshot import LiveResults
from labgrade.review import decisions, results

PORT = 8765
HOST = "desk-of-the-tests.localhost"
HOME = f"http://{HOST}:{PORT}"
QUESTION = {"lab": "lab2", "task": "macs", "check": "essay"}


class NoPictures(Pictures):
    """None were handed in."""

    def of(self, name, basis):
        return HandInPictures()


NOT_LOOKING = AlikeSearch(Path("nowhere"), None, Path("nowhere"))
NO_PICTURES = NoPictures(Path("nowhere"), None, Path("nowhere"))


class Direct(Renderer):
    """Renders as the jail does, in this process."""

    def _render(self, text, line):
        return sanitised(in_the_jail.as_html(text, line))

    def ahead(self, texts):
        pass


class Opened:
    """A desk of one person, as their browser sees it."""

    def __init__(self, folder, by="ann", looks=None, *, enter=True):
        self.port, self.folder, self.keys = PORT, folder, access.Keys(host=HOST)
        self.live = LiveResults(folder)
        self.pages = Pages(self.live, Direct(None, folder), Decider(self.live, by), NO_PICTURES, key=self.keys.form)
        self.app = application(self.pages, ClassPages(self.live, by, looks or NOT_LOOKING), port=PORT, keys=self.keys)
        self.client = TestClient(self.app, base_url=HOME, follow_redirects=True)
        if enter:
            self.client.get(f"/?token={self.keys.link}")

    def page(self, who, **more):
        return self.client.get("/answer", params={**QUESTION, "who": who, **more})

    def send(self, page, form="mark", origin=HOME, **fields):
        """Send a form of a page with these fields filled in."""
        return self.client.post(
            "/undo" if form == "undo" else "/decide",
            content=encoded(form_of(page.text, form), fields),
            headers={"origin": origin, "content-type": "application/x-www-form-urlencoded"},
        )


class Served:
    """A desk that a browser reaches: its link, and the keys that open it."""

    def __init__(self, folder, by="ann", looks=NOT_LOOKING, pictures=NO_PICTURES, port=0):
        self.stack, self.keys = contextlib.ExitStack(), access.Keys()
        listening = self.stack.enter_context(bound(port))
        port = listening[0].getsockname()[1]
        live = LiveResults(folder)
        pages = Pages(live, Direct(None, folder), Decider(live, by), pictures, key=self.keys.form)
        app = application(pages, ClassPages(live, by, looks), port=port, keys=self.keys)
        self.server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": listening}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.link = self.keys.address(port)

    def close(self):
        if self.server.should_exit:
            return
        self.server.should_exit = True
        self.thread.join()
        self.stack.close()


def form_of(page, name):
    """The fields of a form as a browser sends them."""
    found = re.search(rf'<form[^>]* id="{name}".*?</form>', page, re.DOTALL)
    assert found, page
    pairs = []
    for tag in re.findall(r"<input[^>]*>", found[0]):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        pairs.append((attributes["name"], html.unescape(attributes.get("value", ""))))
    return [*pairs, ("comment", "")] if name == "mark" else pairs


def encoded(pairs, fields):
    left = {name: list(value) if isinstance(value, list | tuple) else [value] for name, value in fields.items()}
    made = []
    for name, value in pairs:
        own = left.get(name)
        made.append((name, own.pop(0) if own else value))
    return urlencode(made)


def write_class(folder, texts, **more):
    """A class of students s00, s01, ... with these texts."""
    rows = [submission(f"s{n:02}", essay(text=text, **more)) for n, text in enumerate(texts)]
    ledger_of.write(folder, report(*rows))


def points(folder):
    """What everybody has for the essay, as reports show it; None while it waits."""
    found = results.read(folder).staff.submissions
    rows = {each.name: check for each in found for task in each.tasks for check in task.checks if check.id == "essay"}
    return {name: float(check.earned) if check.decision else None for name, check in rows.items()}


def rulings(folder):
    return decisions.since(folder, 0)
