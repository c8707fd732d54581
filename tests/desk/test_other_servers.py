"""A marker's browser also opens pages of other people's servers on the same machine: what these get of the desk."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time

import pytest
from desk.browsers import Chromium, Firefox
from desk.opened import QUESTION, Opened, Served, encoded, form_of, points, rulings, write_class

pytestmark = pytest.mark.slow


class OtherServer:
    """Somebody else's: it keeps what it is sent, and serves the pages that it is given."""

    def __init__(self, port=0, pages=None):
        requests, self.pages = [], pages or {}
        self.requests = requests

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):  # noqa: N805 - the library's name; `self` is the server
                requests.append((handler.path, dict(handler.headers)))
                kind, text = self.pages.get(handler.path, ("text/html", "<title>another server</title>"))
                handler.send_response(200)
                handler.send_header("content-type", kind)
                handler.end_headers()
                with contextlib.suppress(ConnectionError):
                    handler.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        """End it, so that its port is free."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def other():
    opened = OtherServer()
    yield opened
    opened.close()


@pytest.fixture(params=[Chromium, Firefox], ids=["chromium", "firefox"], scope="module")
def running(request, tmp_path_factory):
    opened = request.param(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def browser(running):
    running.forget()
    return running


@pytest.fixture
def served(course):
    write_class(course / "results", ["one text", "two texts"])
    opened = Served(course / "results")
    yield opened
    opened.close()


def wait_for(said):
    for _ in range(500):
        if said():
            return
        time.sleep(0.02)
    pytest.fail("it did not come")


def home(served):
    return served.link.partition("/?")[0]


@pytest.mark.promise("the-desks-key-stays-with-the-desk")
def test_no_other_server_of_this_machine_is_sent_a_key_of_the_desk(browser, served, other):
    browser.goto(served.link)
    assert "answers wait" in browser.ask("document.body?.innerText ?? ''")
    for host in ("127.0.0.1", "localhost", "other.localhost"):
        browser.goto(f"http://{host}:{other.port}/from-{host}")
    browser.goto(home(served))
    assert "answers wait" in browser.ask("document.body?.innerText ?? ''")  # the desk is open all the same
    browser.ask(f"void setTimeout(() => location.assign('http://127.0.0.1:{other.port}/left'), 1)")
    wait_for(lambda: "/left" in [path for path, _ in other.requests])
    sent = json.dumps(other.requests).lower()
    for key in (served.keys.host, served.keys.link, served.keys.session, served.keys.form, "cookie"):
        assert key not in sent


def test_the_link_opens_one_browser_and_leads_back_to_the_desk(browser, served):
    browser.goto(served.link)
    assert browser.ask("location.href") == f"{home(served)}/"
    browser.goto(served.link)
    assert "answers wait" in browser.ask("document.body?.innerText ?? ''")
    assert browser.ask("document.cookie") == ""  # no script reads it
    browser.forget()
    browser.goto(served.link)
    assert "has opened the desk before" in browser.ask("document.body?.innerText ?? ''")


WATCHES = """
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", event => event.waitUntil(clients.claim()));
self.addEventListener("fetch", event => event.respondWith(new Response("<title>taken</title>", {
  headers: { "content-type": "text/html" } })));
"""


@pytest.mark.promise("the-desks-key-stays-with-the-desk")
def test_what_was_planted_at_the_port_before_the_desk_began_sees_nothing_of_it(browser, course):
    write_class(course / "results", ["one text"])
    before = OtherServer(pages={"/watches.js": ("text/javascript", WATCHES)})
    browser.goto(f"http://127.0.0.1:{before.port}/")
    browser.ask(
        "navigator.serviceWorker.register('/watches.js').then(() => navigator.serviceWorker.ready).then(() => 1)"
    )
    browser.goto(f"http://127.0.0.1:{before.port}/again")
    assert browser.ask("document.title") == "taken"  # it works, where it was planted
    before.close()
    served = Served(course / "results", port=before.port)
    browser.goto(served.link)
    assert "answer waits" in browser.ask("document.body?.innerText ?? ''")
    served.close()


FRAMED = """new Promise(done => {
  const frame = document.createElement("iframe");
  frame.onload = () => { let text = ""; try { text = frame.contentDocument.body.innerText } catch {} done(text) };
  frame.src = ADDRESS;
  document.body.append(frame);
})"""
LOADED = """new Promise(done => {
  const each = document.createElement(KIND);
  each.onload = () => done("loaded");
  each.onerror = () => done("refused");
  each.src = ADDRESS;
  document.body.append(each);
})"""
FETCHED = 'fetch(ADDRESS, { credentials: "include", MORE }).then(found => found.text()).catch(() => "refused")'


def test_a_page_that_knows_every_key_but_the_cookie_gets_nothing_and_saves_nothing(browser, served, other, course):
    """Even the desk's name, which no other page knows, and the form's key help it to nothing."""
    browser.goto(served.link)
    browser.goto(f"http://127.0.0.1:{other.port}/")

    def tried(script, path, **more):
        for name, value in {"ADDRESS": f"{home(served)}{path}", **more}.items():
            script = script.replace(name, value if name == "MORE" else json.dumps(value))
        return browser.ask(script)

    assert tried(FRAMED, "/") == ""
    assert tried(LOADED, "/static/desk.js", KIND="script") == "refused"
    assert tried(LOADED, "/static/icon.svg", KIND="img") == "refused"
    assert tried(FETCHED, "/", MORE="") == "refused"
    page = Opened(course / "results").page("s00")
    pairs = [(n, served.keys.form if n == "key" else v) for n, v in form_of(page.text, "mark")]
    body = encoded(pairs, {"points": ["3", "1"]})
    kind = '"content-type": "application/x-www-form-urlencoded"'
    sent = f'method: "POST", mode: "no-cors", headers: {{ {kind} }}, body: {json.dumps(body)}'
    tried(FETCHED, "/decide", MORE=sent)
    fields = "".join(f'<input name="{name}" value="{value}">' for name, value in pairs)
    form = (
        f'<form method="post" action="{home(served)}/decide">{fields}</form><script>document.forms[0].submit()</script>'
    )
    other.pages["/form"] = ("text/html", form)
    browser.goto(f"http://127.0.0.1:{other.port}/form")
    wait_for(lambda: "nothing was saved" in browser.ask("document.body?.innerText ?? ''"))
    assert rulings(course / "results") == ()


def test_nothing_that_the_desk_showed_is_kept_by_the_browser(browser, served):
    browser.goto(served.link)
    query = "&".join(f"{name}={value}" for name, value in QUESTION.items())
    for path in ("/", f"/answer?{query}&who=s00", "/class"):
        browser.goto(f"{home(served)}{path}")
        kept = 'fetch(location.href, { cache: "only-if-cached", mode: "same-origin" }).then(f => f.status, () => 0)'
        assert browser.ask(kept) in {0, 504}
        assert browser.ask("Object.keys(localStorage).length + Object.keys(sessionStorage).length") == 0


def test_a_desk_opened_as_a_person_does_saves_a_mark(browser, served, course):
    browser.goto(served.link)
    query = "&".join(f"{name}={value}" for name, value in QUESTION.items())
    browser.goto(f"{home(served)}/answer?{query}&who=s00")
    browser.ask('document.querySelector("[data-all=full]").click()')
    browser.ask(
        "new Promise(done => setTimeout(() => {"
        'document.querySelector("#mark").requestSubmit();'
        "const watch = setInterval(() => {"
        "  if (!location.search.includes('s00')) { clearInterval(watch); done(1) } }, 20)"
        "}, 200))"
    )
    assert points(course / "results")["s00"] == 4
