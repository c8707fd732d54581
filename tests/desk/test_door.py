"""Who may come in, from where, and what a browser may do with the pages."""

from __future__ import annotations

import errno
import hmac
import re
import socket

import pytest
from desk.opened import HOME, HOST, QUESTION, Opened, encoded, form_of, rulings, write_class
from starlette.testclient import TestClient

from labgrade.core.errors import UsageError
from labgrade.desk import serve
from labgrade.desk.serve import bound

FORM = {"origin": HOME, "content-type": "application/x-www-form-urlencoded"}


def stranger(desk, **more):
    return TestClient(desk.app, base_url=more.pop("base_url", HOME), **more)


@pytest.mark.parametrize(
    "path", ["/", "/answer", "/static/desk.js", "/static/", "/static/../app.py", "/nothing", "/?token=x"]
)
def test_without_the_token_there_is_nothing(desk, path):
    found = stranger(desk).get(path)
    assert found.status_code == 403
    assert "because" not in found.text


def test_the_link_becomes_a_cookie_that_no_script_and_no_other_site_has(folder):
    desk = Opened(folder, enter=False)
    found = stranger(desk, follow_redirects=False).get(f"/?token={desk.keys.link}")
    assert (found.status_code, found.headers["location"]) == (303, "/")
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert "domain" not in cookie.lower()  # of this name alone, and no other below `localhost`


def test_the_link_is_spent_by_the_first_browser_that_comes_by_it(desk):
    assert desk.client.get(f"/?token={desk.keys.link}").url.path == "/"  # which may come by it again
    found = stranger(desk).get(f"/?token={desk.keys.link}")
    assert (found.status_code, "set-cookie" in found.headers) == (403, False)
    assert "has opened the desk before" in found.text


def test_a_look_at_the_link_that_opens_nothing_does_not_spend_it(folder):
    desk = Opened(folder, enter=False)
    for path in ("/?token=", "/?token=x", f"/class?token={desk.keys.link}"):
        assert stranger(desk).get(path).status_code == 403
    assert stranger(desk).head(f"/?token={desk.keys.link}").status_code == 403
    other = stranger(desk, base_url=f"http://127.0.0.1:{desk.port}")
    assert other.get(f"/?token={desk.keys.link}").status_code == 403
    assert desk.client.get(f"/?token={desk.keys.link}").status_code == 200


def test_no_key_of_a_desk_opens_another_door_or_follows_from_one(desk):
    keys = desk.keys
    assert len({keys.host, keys.link, keys.session, keys.form}) == 4
    for cookie in (keys.link, keys.form, "", keys.session[:-1], f"{keys.session}x"):
        assert stranger(desk, cookies={"labgrade_desk": cookie}).get("/").status_code == 403
    assert keys.session not in desk.page("ann").text
    assert keys.link not in desk.page("ann").text
    for forged in keys.link, keys.session, hmac.digest(keys.session.encode(), b"forms of the desk", "sha256").hex():
        found = desk.client.post("/undo", data={"key": forged, "number": "1"}, headers={"origin": HOME})
        assert found.status_code == 403


@pytest.mark.promise("courses-keep-apart")
def test_what_opens_the_desk_of_one_course_opens_no_other(course):
    desks = []
    for name in ("first", "second"):
        write_class(course / name, [f"words of the {name} course"])
        desks.append(Opened(course / name))
    for own, other, words in zip(desks, reversed(desks), ("first", "second"), strict=True):
        page = own.page("s00").text
        for each in ("first", "second"):
            assert (f"words of the {each} course" in page) == (each == words)
        stolen = {"labgrade_desk": other.keys.session}  # a browser that has both sends each its own alone
        assert stranger(own, cookies=stolen).get("/").status_code == 403
        assert stranger(own).get(f"/?token={other.keys.link}").status_code == 403
        for key, status in ((other.keys.form, 403), (own.keys.form, 200)):
            form = encoded(form_of(page, "mark"), {"points": ["3", "1"], "comment": "", "key": key})
            assert own.client.post("/decide", content=form, headers=FORM).status_code == status
            assert bool(rulings(own.folder)) == (status == 200)
        assert not rulings(other.folder) or own is desks[1]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1",
        "127.0.0.1:8765",
        "localhost:8765",
        "other.localhost:8765",
        HOST,
        f"{HOST}:80",
        f"{HOST.upper()}:8765",
        f"{HOST}.:8765",
        f"x.{HOST}:8765",
        "10.0.0.1:8765",
        "[::1]:8765",
        "",
        "\xff",
    ],
)
def test_another_host_is_refused_even_with_the_cookie_and_told_nothing(desk, host):
    for path in ("/", f"/?token={desk.keys.link}", "/static/desk.js"):
        found = desk.client.get(path, headers={"host": host.encode("latin-1")})
        assert found.status_code == 403
        assert HOST not in found.text + str(found.headers)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "http://127.0.0.1:8765",
        "http://localhost:8765",
        f"http://{HOST}",
        f"http://{HOST}:80",
        f"https://{HOST}:8765",
        f"http://x.{HOST}:8765",
    ],
)
def test_a_form_of_another_page_decides_nothing(desk, folder, origin):
    found = desk.send(desk.page("ann"), origin=origin, points=["3", "1"])
    assert found.status_code == 403
    assert rulings(folder) == ()


def test_a_form_without_the_pages_key_decides_nothing(desk, folder):
    page = desk.page("ann")
    other = Opened(folder)
    body = encoded([row for row in form_of(page.text, "mark") if row[0] != "key"], {"points": ["3", "1"]})
    for content in (body, f"{body}&key={other.keys.form}", f"{body}&key="):
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
    assert found.status_code in {403, 413}
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
    with (
        bound(0) as (listening, *_),
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_nobody_else_can_listen_where_a_browser_looks_for_the_desk():
    with bound(0) as sockets:
        port = sockets[0].getsockname()[1]
        for host, family in {"127.0.0.1": socket.AF_INET, "::1": socket.AF_INET6}.items():
            with pytest.raises(OSError, match=r"in use|assign"):
                socket.create_server((host, port), family=family)


@pytest.fixture
def only_ipv6_taken():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as other:
            yield other.getsockname()[1]
    except OSError:
        pytest.skip("this machine has no ::1")


def test_a_port_that_somebody_has_of_the_other_loopback_is_none_for_a_desk(only_ipv6_taken, monkeypatch):
    with pytest.raises(UsageError, match="can't be used"), bound(only_ipv6_taken):
        pass
    free, taken = serve._listening, iter([only_ipv6_taken])
    monkeypatch.setattr(serve, "_listening", lambda *where: free(*where[:2], where[2] or next(taken, 0)))
    with bound(0) as sockets:
        assert len({each.getsockname()[1] for each in sockets} - {only_ipv6_taken}) == 1


def test_a_machine_without_ipv6_has_one_address(monkeypatch):
    def none(_):
        raise OSError(errno.EAFNOSUPPORT, "none")

    free = serve._listening
    monkeypatch.setattr(serve, "_listening", lambda *w: none(w) if w[0] == socket.AF_INET6 else free(*w))
    with bound(0) as sockets:
        assert len(sockets) == 1
