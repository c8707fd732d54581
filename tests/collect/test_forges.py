"""What the APIs of GitLab and GitHub tell, by two libraries, from servers that answer as published documents say."""

import http.server
import json
import re
import threading
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest
from helpers.git_class import ago, bare, commit, git
from helpers.git_servers import TOKEN, http_server, why_no_http

from labgrade.collect import forges
from labgrade.collect.collect import Collecting
from labgrade.collect.forges import NotToldError, Push
from labgrade.collect.repositories import Patience, Repository
from labgrade.core.errors import UsageError
from labgrade.review.roster import Student
from labgrade.spec.lab import Deadline
from labgrade.submissions import git_run

pytest.importorskip("gitlab")
pytest.importorskip("github")
PAGE = 2  # rows of an answer
ONE, TWO = "1" * 40, "2" * 40


class _Api(http.server.BaseHTTPRequestHandler):
    """Rows by path, a few at a time, with the heads by which each system says where the next ones are."""

    def do_GET(self):
        place, server = urlsplit(self.path), self.server
        server.asked.append((place.path, {key: value[0] for key, value in parse_qs(place.query).items()}))
        if self.headers.get("Authorization") not in (f"Bearer {TOKEN}", f"token {TOKEN}"):
            return self._say(401, {"message": "401 Unauthorized"})
        if place.path in server.moved:
            return self._say(302, {}, Location=server.moved[place.path])
        if place.path not in server.rows:
            return self._say(404, {"message": "404 Project Not Found"})
        page = int(server.asked[-1][1].get("page", 1))
        rows = server.rows[place.path]
        heads = {"X-Page": page, "X-Per-Page": PAGE}
        if len(rows) > page * PAGE:
            heads |= {"X-Next-Page": page + 1, "Link": f'<{server.url}{place.path}?page={page + 1}>; rel="next"'}
        return self._say(200, rows[(page - 1) * PAGE : page * PAGE], **heads)

    def _say(self, status, plain, **heads):
        text = json.dumps(plain).encode()
        self.send_response(status)
        for name, value in {**heads, "Content-Type": "application/json", "Content-Length": len(text)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@pytest.fixture
def api(monkeypatch):
    monkeypatch.setenv("LABGRADE_GIT_TOKEN", TOKEN)
    found = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Api)
    found.rows, found.moved, found.asked, found.daemon_threads = {}, {}, [], True
    found.url = f"http://127.0.0.1:{found.server_port}"
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


def event(at, before, after, ref="main", kind="branch"):
    """An event of GitLab's as `GET /projects/:id/events` has it."""
    data = {"commit_count": 1, "action": "pushed", "ref_type": kind, "commit_from": before, "commit_to": after}
    data |= {"ref": ref, "commit_title": "work", "ref_count": None}
    return {"id": 1, "project_id": 15, "action_name": "pushed to", "target_id": None, "target_type": None,
            "created_at": at, "author": {"username": "ann"}, "push_data": data, "author_username": "ann"}  # fmt: skip


def activity(at, before, after, ref="refs/heads/main"):
    """An activity of GitHub's as `GET /repos/{owner}/{repo}/activity` has it."""
    return {"id": 1, "node_id": "x", "before": before, "after": after, "ref": ref, "timestamp": at,
            "activity_type": "push", "actor": {"login": "ann", "id": 1}}  # fmt: skip


FIRST, SECOND = datetime(2026, 11, 20, 10, tzinfo=UTC), datetime(2026, 11, 20, 11, 30, tzinfo=UTC)
TOLD = [
    Push(at=FIRST, branch="main", after=ONE),
    Push(at=SECOND, branch="main", before=ONE, after=TWO),
    Push(at=SECOND, branch="main", before=TWO),
]


def test_gitlab(api):
    api.rows["/api/v4/projects/nn26%2Fann%2Flab/events"] = [
        event("2026-11-20T10:00:00.000Z", None, ONE),
        event("2026-11-20T10:30:00.000Z", None, None, ref=None),  # of many branches at once
        event("2026-11-20T11:00:00.000Z", None, TWO, ref="v1", kind="tag"),
        event("2026-11-20T12:30:00.000+01:00", ONE, TWO),
        event("2026-11-20T11:30:00.000Z", TWO, None),
    ]
    api.rows["/api/v4/projects/nn26%2Fann%2Flab/members/all"] = [
        {"id": 1, "username": "Ann", "state": "active", "access_level": 40},
        {"id": 2, "username": "guest", "state": "active", "access_level": 10},
        {"id": 3, "username": "bob", "state": "active", "access_level": 20},
    ]
    forge, address = forges.forge_of({"forge": "gitlab", "repository": f"{api.url}/nn26/{{login}}/lab.git"})
    path = forges.path_of(f"{api.url}/nn26/ann/lab.git", address)
    pushes, members = forges.ask_forge(forge, path)
    assert pushes == TOLD
    assert members == ["ann", "bob"]
    assert api.asked[0][1] == {"action": "pushed", "sort": "asc", "per_page": "100"}
    assert len(api.asked) == 5  # by pages


def test_github(api):
    none = "0" * 40
    api.rows["/api/v3/repos/nn26/lab-ann/activity"] = [
        activity("2026-11-20T10:00:00Z", none, ONE),
        activity("2026-11-20T11:00:00Z", none, ONE, ref="refs/tags/v1"),
        activity("2026-11-20T11:30:00Z", ONE, TWO),
        activity("2026-11-20T11:30:00Z", TWO, none),
    ]
    api.rows["/api/v3/repos/nn26/lab-ann/collaborators"] = [{"login": each, "id": 1} for each in ("Ann", "bob", "ta")]
    rules = {"forge": "github", "repository": "git@127.0.0.1:nn26/lab-{login}.git", "api": f"{api.url}/api/v3"}
    forge, address = forges.forge_of(rules)
    pushes, members = forges.ask_forge(forge, forges.path_of("git@127.0.0.1:nn26/lab-ann.git", address))
    assert pushes == TOLD
    assert members == ["ann", "bob", "ta"]
    assert api.asked[0][1] == {"direction": "asc", "per_page": "100"}
    assert len(api.asked) == 4


@pytest.mark.parametrize(("kind", "around"), [("gitlab", "/api/v4/projects/"), ("github", "/repos/")])
def test_what_is_not_told_is_said(api, kind, around):
    forge, _ = forges.forge_of({"forge": kind, "api": api.url})
    with pytest.raises(NotToldError, match="404"):
        forges.ask_forge(forge, "gone")
    api.rows["/elsewhere"] = []
    rest = "events" if kind == "gitlab" else "activity"
    api.moved[f"{around}moved/{rest}"] = f"{api.url.replace('127.0.0.1', 'localhost')}/elsewhere"
    api.asked.clear()
    with pytest.raises(NotToldError):
        forges.ask_forge(forge, "moved")
    assert len(api.asked) == 1  # the token went nowhere else
    api.rows[f"{around}odd/{rest}"] = [{"push_data": 7}, 8]
    with pytest.raises(NotToldError):
        forges.ask_forge(forge, "odd")


@pytest.mark.parametrize(
    ("rules", "address"),
    [
        ({"forge": "gitlab", "repository": "ssh://git@git.example.edu:2222/{login}.git"}, "https://git.example.edu"),
        ({"forge": "gitlab", "repository": "https://git.example.edu:8443/{login}.git"}, "https://git.example.edu:8443"),
        ({"forge": "github", "repository": "git@github.com:nn26/{login}.git"}, "https://api.github.com"),
        ({"forge": "github", "repository": "https://ghe.example.edu/{login}"}, "https://ghe.example.edu/api/v3"),
    ],
)
def test_where_the_api_is(monkeypatch, rules, address):
    monkeypatch.setenv("LABGRADE_GIT_TOKEN", TOKEN)
    assert forges.forge_of(rules)[1] == address
    assert forges.forge_of({}) is None


def test_paths():
    assert forges.path_of("ssh://git@host:22/a/b.git", "https://host") == "a/b"
    assert forges.path_of("https://host/gitlab/a/b.git", "https://host/gitlab") == "a/b"
    assert forges.path_of("git@host:a/b.git", "https://host/gitlab") == "a/b"


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.delenv("LABGRADE_GIT_TOKEN", raising=False)
    rules = {"forge": "gitlab", "repository": "http://git.example.edu/{login}.git"}
    with pytest.raises(UsageError, match="needs a token that may read the API"):
        forges.forge_of(rules)
    monkeypatch.setenv("LABGRADE_GIT_TOKEN", TOKEN)
    with pytest.raises(UsageError, match=r"'http://git\.example\.edu', which is no https"):
        forges.forge_of(rules)
    monkeypatch.setattr(forges, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=re.escape("pip install 'labgrade[forges]'")):
        forges.forge_of(rules)


@pytest.mark.slow
@pytest.mark.skipif(bool(why_no_http()), reason=why_no_http())
class TestWithRepositories:
    """A git server, and what stands for GitLab's API on it."""

    @pytest.fixture
    def server(self, tmp_path, monkeypatch):
        monkeypatch.setenv("LABGRADE_GIT_TOKEN", TOKEN)
        (tmp_path / "server").mkdir()
        with http_server(tmp_path / "server") as found:
            bare(found.root / "ann.git")
            git("config", "uploadpack.allowAnySHA1InWant", "true", at=found.root / "ann.git")
            yield found

    def told(self, server, events, members=()):
        kind = {"Content-Type": "application/json", "X-Page": "1"}
        rows = [{"id": n, "username": name, "access_level": 30} for n, name in enumerate(members)]
        server.answers["/api/v4/projects/ann/events"] = (200, kind, json.dumps(events).encode())
        server.answers["/api/v4/projects/ann/members/all"] = (200, kind, json.dumps(rows).encode())

    def collect(self, tmp_path, server, due):
        who = (Student(id="ann"),)
        rules = {"forge": "gitlab", "repository": f"{server.url}/{{login}}.git"}
        run = Collecting(
            lab="lab",
            rules=rules,
            deadline=Deadline(lab="lab", due=due),
            mirror=tmp_path / "mirror",
            folder=tmp_path / "collected",
            access=git_run.access_to(server.url),
            patience=Patience(pauses=()),
            forge=forges.forge_of(rules),
            people={"ann": "ann", "bob": "b2"},
        )
        wanted = Repository(name="ann", address=f"{server.url}/ann.git", owners=who, group=who)
        return run.run([wanted], lambda _: None).entries["ann"]

    def test_what_was_pushed_late_with_an_early_date_is_late(self, tmp_path, server):
        repo, due = server.root / "ann.git", ago(hours=4).replace(microsecond=0)
        first = commit(repo, {"a": "1"}, ago(hours=9))
        second = commit(repo, {"a": "2"}, ago(hours=5))
        rows = [event(ago(hours=1).isoformat(), first, second), event(ago(hours=8).isoformat(), None, first)]
        self.told(server, rows, ["ann", "bob", "ta"])
        entry = self.collect(tmp_path, server, due)
        assert entry["commit"] == first
        assert entry["by"].startswith("the push of ")
        staff = " | ".join(entry["staff"])
        assert re.search(
            rf"{second[:10]} claims to be of .* and was pushed at .*, as the server recorded it: late", staff
        )
        assert "others of the roster can read it: 'b2'" in staff
        asked = len(server.requests)
        assert self.collect(tmp_path, server, due) == entry
        assert len(server.requests) == asked + 1  # what did not change is asked of git alone

    def test_what_a_force_push_took_away_before_any_fetch_is_had_again(self, tmp_path, server):
        repo, due = server.root / "ann.git", ago(hours=4).replace(microsecond=0)
        mine = commit(repo, {"a": "1"}, ago(hours=9))
        other = commit(repo, {"a": "2"}, ago(hours=9), on=None)
        gone = "9" * 40
        self.told(server, [event(ago(hours=8).isoformat(), None, gone), event(ago(hours=7).isoformat(), gone, mine),
                           event(ago(hours=1).isoformat(), mine, other)])  # fmt: skip
        entry = self.collect(tmp_path, server, due)
        assert entry["commit"] == mine
        assert "the branch was rewritten (force-push)" in " ".join(entry["staff"])
        assert f"the server recorded a push of {gone[:10]} at" in " ".join(entry["staff"])

    def test_an_api_that_does_not_tell_costs_nothing_and_is_asked_again(self, tmp_path, server):
        repo, due = server.root / "ann.git", ago(hours=4)
        mine = commit(repo, {"a": "1"}, ago(hours=9))
        server.answers["/api/v4"] = (500, {}, b"no")
        entry = self.collect(tmp_path, server, due)
        assert (entry["commit"], entry["trouble"][:29]) == (mine, "its pushes are not known: Git")
        server.answers.clear()
        self.told(server, [event(ago(hours=8).isoformat(), None, mine)])
        entry = self.collect(tmp_path, server, due)
        assert ("trouble" in entry, entry["by"][:12]) == (False, "the push of ")
