"""Who may come in, from where, and what a browser may do with the pages."""

from __future__ import annotations

import re
import socket

import pytest
from desk.opened import HOME, QUESTION, Opened, encoded, form_of, rulings
from starlette.testclient import TestClient

from labgrade.desk import access
from labgrade.desk.serve import bound


def stranger(desk, **more):
    return TestClient(desk.app, base_url=more.pop("base_url", HOME), **more)


@pytest.mark.parametrize(
    "path", ["/", "/answer", "/static/desk.js", "/static/", "/static/../app.py", "/nothing", "/?token=x"]
)
def test_without_the_token_there_is_nothing(desk, path):
    found = stranger(desk).get(path)
    assert found.status_code == 403
    assert "because" not in found.text


def test_the_link_becomes_a_cookie_that_no_script_and_no_other_site_has(desk):
    found = stranger(desk, follow_redirects=False).get(f"/?token={desk.token}")
    assert (found.status_code, found.headers["location"]) == (303, "/")
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:80", "10.0.0.1:8765", "[::1]:8765", ""]
)
def test_another_host_is_refused_even_with_the_token(desk, host):
    found = desk.client.get("/", headers={"host": host})
    assert found.status_code == 403


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "http://127.0.0.1:80", "https://127.0.0.1:8765", "http://localhost:8765"],
)
def test_a_form_of_another_page_decides_nothing(desk, folder, origin):
    found = desk.send(desk.page("ann"), origin=origin, points=["3", "1"])
    assert found.status_code == 403
    assert rulings(folder) == ()


def test_a_form_without_the_pages_key_decides_nothing(desk, folder):
    page = desk.page("ann")
    other = Opened(folder)
    body = encoded([row for row in form_of(page.text, "mark") if row[0] != "key"], {"points": ["3", "1"]})
    for content in (body, f"{body}&key={access.form_key(other.token)}", f"{body}&key="):
        found = desk.client.post("/decide", content=content, headers={"origin": HOME})
        assert found.status_code == 403
        assert "nothing was saved" in found.text
    assert rulings(folder) == ()


def test_a_cross_site_request_is_refused_whatever_origin_it_says(desk, folder):
    body = encoded(form_of(desk.page("ann").text, "mark"), {"points": ["3", "1"]})
    found = desk.client.post("/decide", content=body, headers={"origin": HOME, "sec-fetch-site": "cross-site"})
    assert found.status_code == 403
    assert rulings(folder) == ()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(desk, method):
    assert desk.client.request(method, "/").status_code == 405


def test_reading_decides_nothing(desk, folder):
    for path in ("/decide", "/undo"):
        assert desk.client.get(path, params=QUESTION).status_code == 405
    assert rulings(folder) == ()


def test_every_reply_has_a_strict_policy_and_no_page_is_kept(desk):
    own = re.findall(r'"(/static/[^"]*)"', desk.client.get("/").text)
    assert len(own) == 3
    for found in map(desk.client.get, own):  # a page is drawn without asking for them again
        assert "immutable" in found.headers["cache-control"]
        assert "default-src 'none'" in found.headers["content-security-policy"]
    closed = stranger(desk).get(own[0])
    for found in (desk.client.get("/"), desk.page("ann"), closed, stranger(desk).get("/")):
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert found.headers["cache-control"] == "no-store"
        assert found.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    ["/static", "/static/", "/static/base.html", "/static/../desk/app.py", "/static/%2e%2e/app.py", "/results.sqlite"],
)
def test_nothing_is_listed_and_no_other_file_is_served(desk, path):
    assert desk.client.get(path).status_code == 404


@pytest.mark.parametrize("content", [b"\xff", b"row=5&key=", b"a=1&" * 30_000, b"x" * (5 << 20), b"%ff=%ff"])
def test_what_is_no_form_is_refused(desk, folder, content):
    found = desk.client.post("/decide", content=content, headers={"origin": HOME})
    assert found.status_code == 403
    assert rulings(folder) == ()


@pytest.mark.parametrize("row", ["", "[]", "5", "{}", '{"who": 1, "seen": [], "points": [], "comment": ""}', "x" * 100])
def test_a_row_that_is_none_of_the_desks_is_refused(desk, folder, row):
    key = dict(form_of(desk.page("ann").text, "mark"))["key"]
    found = desk.client.post(
        "/decide", data={**QUESTION, "key": key, "who": "ann", "row": row}, headers={"origin": HOME}
    )
    assert found.status_code in {409, 422}
    assert rulings(folder) == ()


def test_questions_and_answers_that_are_not_there_lead_back(desk):
    for query in ({}, {**QUESTION, "who": "nobody"}, {**QUESTION, "check": "x", "who": "ann"}):
        found = desk.client.get("/answer", params=query)
        assert found.status_code == 200


def test_the_class_and_its_students_have_pages_with_a_policy_of_their_own(desk):
    found = desk.client.get("/class")
    assert found.status_code == 200
    assert '<a href="/student?who=ann">ann</a>' in found.text
    policy = found.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    assert "frame-ancestors 'none'" in policy
    student = desk.client.get("/student", params={"who": "ann"})
    assert "script-src" not in student.headers["content-security-policy"]
    assert "a secret subject fails" not in student.text
    assert desk.client.get("/student", params={"who": "nobody"}).url.path == "/class"


def test_a_page_is_sent_without_waiting_for_the_browser_to_acknowledge_its_header():
    with bound(0) as listening:
        listening.listen()
        with socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
