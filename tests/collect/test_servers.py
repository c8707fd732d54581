"""Real servers: who is let in, where secrets go, what a hostile or a dead server costs, and how a run goes on."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import pytest
from helpers import small_course
from helpers.git_class import ago, bare, commit, git
from helpers.git_servers import TOKEN, http_server, ssh_server, why_no_http, why_no_ssh

from labgrade.collect import mirror
from labgrade.collect.collect import Collecting
from labgrade.collect.mirror import Mirror
from labgrade.collect.repositories import Patience, Repository
from labgrade.core.errors import UsageError
from labgrade.review.roster import Student
from labgrade.submissions import collected, git_run
from labgrade.submissions.git_run import Access, Bounds, GitError

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_no_http()), reason=why_no_http())]


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_GIT_TOKEN", TOKEN)
    (tmp_path / "server").mkdir()
    with http_server(tmp_path / "server") as found:
        for name in ("ann", "bob"):
            commit(bare(found.root / f"{name}.git"), {"answers.yaml": f"task: {{total: 1}}  # {name}"}, ago(hours=1))
        yield found


def one(name, address):
    who = (Student(id=name),)
    return Repository(name=name, address=address, owners=who, group=who)


def collect(tmp_path, *wanted, access=None, pauses=(), **how):
    run = Collecting(
        lab="lab",
        rules={},
        deadline=None,
        mirror=tmp_path / "mirror",
        folder=tmp_path / "collected",
        access=access or Access(),
        patience=Patience(pauses=pauses),
        **how,
    )
    return run.run(wanted, lambda _: None).entries


def let_in(server):
    return git_run.access_to(server.url)


def test_unchanged_ones_cost_one_request_each(tmp_path, server):
    wanted = [one(name, f"{server.url}/{name}.git") for name in ("ann", "bob")]
    collect(tmp_path, *wanted, access=let_in(server))
    server.requests.clear()
    assert {each["state"] for each in collect(tmp_path, *wanted, access=let_in(server)).values()} == {"taken"}
    assert sorted(path for _, path, _ in server.requests) == ["/ann.git/info/refs", "/bob.git/info/refs"]


def test_only_what_is_new_is_fetched(tmp_path, server):
    collect(tmp_path, one("ann", f"{server.url}/ann.git"), access=let_in(server))
    sent = server.bytes_sent
    new = commit(server.root / "ann.git", {"more.md": "x"}, ago(hours=0))
    entries = collect(tmp_path, one("ann", f"{server.url}/ann.git"), access=let_in(server))
    assert entries["ann"]["commit"] == new
    assert server.bytes_sent - sent < 5_000


def test_no_secret_is_among_the_arguments_of_a_process(tmp_path, server, monkeypatch):
    log, tools = tmp_path / "said", tmp_path / "bin"
    tools.mkdir()
    (tools / "git").write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {shutil.which("git")} "$@"\n')
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    entries = collect(tmp_path, one("ann", f"{server.url}/ann.git"), access=let_in(server))
    assert entries["ann"]["state"] == "taken"
    secret = server.secret
    assert "fetch" in log.read_text()
    assert not any(word in log.read_text() for word in (TOKEN, secret))
    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file() and "server" not in file.parts]
    assert not any(word.encode() in text for text in files for word in (TOKEN, secret))


def test_a_token_goes_to_its_own_server_alone(tmp_path, server):
    (tmp_path / "other").mkdir()
    with http_server(tmp_path / "other") as other:
        bare(other.root / "eve.git")
        server.answers["/moved.git"] = (302, {"Location": f"{other.url}/eve.git/info/refs"}, b"")
        wanted = [one("eve", f"{other.url}/eve.git"), one("moved", f"{server.url}/moved.git")]
        entries = collect(tmp_path, *wanted, access=let_in(server))
        assert [head for _, _, head in other.requests] == [""]
        assert entries["eve"]["state"] == "closed"
        assert entries["moved"]["state"] == "unreachable"


def test_a_token_in_a_file_and_none_in_plain_text_to_others(tmp_path, monkeypatch):
    monkeypatch.delenv("LABGRADE_GIT_TOKEN", raising=False)
    monkeypatch.setenv("LABGRADE_GIT_TOKEN_FILE", str(tmp_path / "token"))
    with pytest.raises(UsageError, match="can't be read"):
        git_run.access_to("https://gitlab.example.edu/x.git")
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    found = git_run.access_to("https://gitlab.example.edu:8443/x/{login}.git")
    assert (found.site, found.token) == ("https://gitlab.example.edu:8443", TOKEN)
    assert TOKEN not in repr(found)
    assert git_run.access_to("ssh://git@gitlab.example.edu/x.git") == Access()
    with pytest.raises(UsageError, match="in plain text"):
        git_run.access_to("http://gitlab.example.edu/x.git")


def test_a_credential_helper_of_the_users(tmp_path, server, monkeypatch):
    helper = f"!f() {{ echo username=oauth2; echo password={TOKEN}; }}; f"
    git("config", "--file", str(tmp_path / "config"), "credential.helper", helper)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    assert collect(tmp_path, one("ann", f"{server.url}/ann.git"))["ann"]["state"] == "taken"


def test_without_any_nobody_is_asked_for_a_password(tmp_path, server):
    entry = collect(tmp_path, one("ann", f"{server.url}/ann.git"))["ann"]
    assert (entry["state"], "could not read Username" in entry["said"]) == ("closed", True)


def test_a_server_that_is_gone_costs_nothing_that_was_fetched(tmp_path, server):
    wanted = one("ann", f"{server.url}/ann.git")
    before = collect(tmp_path, wanted, access=let_in(server))["ann"]
    server.answers["/ann.git"] = (503, {}, b"")
    after = collect(tmp_path, wanted, one("bob", f"{server.url}/bob.git"), access=let_in(server))
    assert {**before, "trouble": after["ann"]["trouble"]} == after["ann"]
    assert "what was fetched before stands" in after["ann"]["trouble"]
    assert after["bob"]["state"] == "taken"
    server.answers.clear()
    assert collect(tmp_path, wanted, access=let_in(server))["ann"] == before


def test_a_server_that_never_answers_is_not_waited_for(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/x.git"
        with pytest.raises(GitError) as error:
            git_run.git(["ls-remote", address], bounds=Bounds(seconds=1))
        assert error.value.kind == git_run.TOO_SLOW
        assert time.monotonic() - began < 10


@pytest.mark.parametrize("many", [6_000, 60_000])
def test_a_server_with_no_end_of_branches(tmp_path, server, many):
    rows = [f"{'1' * 40} refs/heads/b{n}\n" for n in range(many)]
    rows[0] = f"{'1' * 40} refs/heads/b0\0agent=x\n"
    lines = ["# service=git-upload-pack\n", "", *rows, ""]
    text = "".join(f"{len(line) + 4:04x}{line}" if line else "0000" for line in lines).encode()
    kind = {"Content-Type": "application/x-git-upload-pack-advertisement"}
    server.answers["/ann.git"] = (200, kind, text)
    entry = collect(tmp_path, one("ann", f"{server.url}/ann.git"), access=let_in(server))["ann"]
    assert entry["state"] == "too large", entry


def test_pauses_grow_and_a_dead_server_is_asked_once_for_each_of_the_others():
    class Event(threading.Event):
        waited = ()

        def wait(self, timeout=None):
            self.waited = (*self.waited, timeout)
            return False

    patience = Patience(pauses=(1, 4, 16), stopped=Event())
    asked = []

    def fail():
        asked.append(1)
        raise GitError(git_run.UNREACHABLE, "no")

    for _ in range(2):
        with pytest.raises(GitError):
            patience.ask("https://host/a.git", fail)
    assert len(asked) == 5
    assert [round(a / b) for a, b in zip(patience.stopped.waited, (1, 4, 16), strict=True)] == [1, 1, 1]
    assert patience.ask("https://host/b.git", lambda: 7) == 7
    with pytest.raises(GitError):
        patience.ask("https://host/c.git", fail)
    assert len(asked) == 9


def test_what_is_refused_is_not_asked_again():
    asked = []

    def fail():
        asked.append(1)
        raise GitError(git_run.CLOSED, "no")

    with pytest.raises(GitError):
        Patience(pauses=(9, 9)).ask("https://host/a.git", fail)
    assert asked == [1]


def test_a_line_that_a_kill_cut_off_is_none(tmp_path, server):
    wanted = one("ann", f"{server.url}/ann.git")
    before = collect(tmp_path, wanted, access=let_in(server))["ann"]
    journal = Mirror(tmp_path / "mirror", wanted.address).path / "labgrade-fetches.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"began": "2026-')
    assert collect(tmp_path, wanted, access=let_in(server))["ann"] == before
    lines = [line for line in journal.read_bytes().splitlines() if line.endswith(b"}")]
    assert [sorted(json.loads(line)) for line in lines] == [["began", "ended", "refs"], ["got"], ["began", "ended"]]


def test_over_ssh_with_the_users_key(tmp_path, server, monkeypatch):
    if why_no_ssh():
        pytest.skip(why_no_ssh())
    with ssh_server(tmp_path / "ssh") as (url, command):
        monkeypatch.setenv("GIT_SSH_COMMAND", command)
        entries = collect(
            tmp_path, one("ann", f"{url}{server.root}/ann.git"), one("none", f"{url}{server.root}/none.git")
        )
        assert entries["ann"]["commit"] == git("rev-parse", "main", at=server.root / "ann.git")
        assert entries["none"]["state"] == "closed"
        host = url.removeprefix("ssh://").rsplit(":", 1)
        shell = [*command.split(), "-p", host[1], host[0], "id"]
        done = subprocess.run(shell, capture_output=True, text=True, check=False)
        assert (done.returncode != 0, "uid" in done.stdout) == (True, False)  # it is git's shell, and no other
        monkeypatch.setenv("GIT_SSH_COMMAND", command.replace("/user ", "/host "))  # a key that nobody let in
        entry = collect(tmp_path / "again", one("ann", f"{url}{server.root}/ann.git"))["ann"]
        assert (entry["state"], "Permission denied" in entry["said"]) == ("closed", True)


class Course:
    def __init__(self, folder, server):
        self.folder = folder
        small_course.write(folder)
        lab = f"title: A lab\ncollect: {{repository: '{server.url}/{{login}}.git'}}\n"
        (folder / "specs/lab/lab.yaml").write_text(lab)
        (folder / "roster.csv").write_text("id\nann\nbob\n")

    def start(self, *arguments):
        command = [sys.executable, "-m", "labgrade.cli", *arguments]
        return subprocess.Popen(command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def say(self):
        with self.start("collect") as process:
            return process.communicate(timeout=60)[0], process.returncode


def test_ctrl_c_ends_what_runs_and_the_next_run_goes_on(tmp_path, server):
    course = Course(tmp_path / "course", server)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/bob.git"
        (course.folder / "roster.csv").write_text(f"id,repository\nann,\nbob,{address}\n")
        process = course.start("collect")
        silent.settimeout(60)
        connection, _ = silent.accept()  # git asks, and gets no answer
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        said = "stopped; what was fetched is kept: run the same command again to go on\n"
        assert (process.returncode, out) == (130, said)
        connection.settimeout(10)
        while connection.recv(1000):  # the end of what it said: its process is gone
            pass
        connection.close()
    (course.folder / "roster.csv").write_text("id\nann\nbob\n")
    process = course.start("collect")
    assert process.communicate(timeout=60)[0].startswith(
        "2 of 2 taken in (0 late)\nnext: labgrade grade results/collected"
    )
    assert process.returncode == 0


def test_two_at_once_and_another_lab_are_refused(tmp_path, server):
    course = Course(tmp_path / "course", server)
    with git_run_held(course.folder / "results/mirror"):
        out, code = course.say()
        assert "is at work in 'results/mirror': wait for its end, or name another --mirror" in out
        assert code == 2
    entry = {"state": "empty", "said": "", "address": "", "members": []}
    folder = course.folder / "results/collected"
    collected.write(collected.Collection(folder=folder, lab="lab9", mirror=folder, entries={"x": entry}))
    assert "holds what was collected for 'lab9': name another folder of results" in course.say()[0]


def git_run_held(folder):
    from labgrade.ledger import database

    return database.locked_folder(folder)


def test_an_extension_counts_without_another_fetch(tmp_path, server):
    course = Course(tmp_path / "course", server)
    lab = course.folder / "specs/lab/lab.yaml"
    due = ago(hours=2).replace(microsecond=0).isoformat()
    lab.write_text(f"{lab.read_text()}due: {due}\nlate: {{per_day: 10 %}}\n")
    old = git("rev-parse", "main", at=server.root / "ann.git")
    new = commit(server.root / "ann.git", {"a": "b"}, ago(minutes=5))
    commit(server.root / "bob.git", {"a": "b"}, ago(hours=9), on=None)
    assert course.say()[1] == 0
    first = collected.read(course.folder / "results/collected").entries["ann"]
    assert (first["commit"], first["days_late"]) == (new, 1), old  # both are late
    (course.folder / "roster.csv").write_text("id,extension\nann,90 min\nbob,\n")
    assert course.say()[1] == 0
    entry = collected.read(course.folder / "results/collected").entries["ann"]
    assert (entry["commit"], entry["days_late"]) == (old, 0)


def test_addresses_that_git_rewrites_are_rewritten(tmp_path, server, monkeypatch):
    git("config", "--file", str(tmp_path / "config"), f"url.{server.url}/.insteadOf", "https://elsewhere.invalid/")
    git_run._helper.cache_clear()
    with monkeypatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
        entry = collect(tmp_path, one("ann", "https://elsewhere.invalid/ann.git"), access=let_in(server))["ann"]
    git_run._helper.cache_clear()
    assert entry["state"] == "taken"


@pytest.mark.parametrize("name", ["ann", "none", "gone", "../x", "closed"])
def test_what_gits_helper_says_is_what_git_says(server, monkeypatch, name):
    git("-c", "user.name=a", "-c", "user.email=a@b", "tag", "-a", "-m", "x", "v1", "main", at=server.root / "ann.git")
    git("update-ref", "refs/keep/me", "main", at=server.root / "ann.git")
    bare(server.root / "none.git")
    server.closed.add("/closed.git")
    said, now = [], datetime.now(UTC)
    for helper in (git_run._helper, lambda _: ""):  # the second has git asked
        monkeypatch.setattr(git_run, "_helper", helper)
        try:
            text = git_run.ls_remote(f"{server.url}/{name}.git", let_in(server), Bounds())
            said.append(mirror._answer(text, now, now))
        except GitError as error:
            said.append((error.kind, str(error)))
    assert said[0] == said[1]
    assert (name == "ann") == ("v1" in getattr(said[0], "tags", ()))
