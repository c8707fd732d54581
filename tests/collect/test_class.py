"""A class of 40 on a real server: collected twice, graded, released, returned, and killed five times on the way."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from helpers import forty, small_course
from helpers.forty import CLASS, GROUP, LIMIT
from helpers.git_class import git, now
from helpers.git_servers import TOKEN, http_server, why_no_http

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_no_http()), reason=why_no_http())]
ALONE = [who for who in CLASS if who.name not in GROUP["A1"]]
NAMES = sorted(["A1", *(who.name for who in ALONE)])


class Course:
    """A course with a results folder, and what is said to labgrade in it."""

    def __init__(self, folder, server):
        self.folder, self.server, self.results = folder, server, folder / "results"
        small_course.write(folder)
        shutil.rmtree(folder / "submissions")
        self.said = ""
        self.environment = {
            **os.environ,
            "LABGRADE_GIT_TOKEN": TOKEN,
            "LABGRADE_CACHE": str(folder / "cache"),
            "COLUMNS": "200",
        }

    def lab(self, due):
        (self.folder / "specs/lab/lab.yaml").write_text(
            f"title: A lab\ndue: {due.isoformat()}\nlate: {{per_day: 10 %}}\ncollect:\n"
            f"  repository: {self.server.url}/{{login}}.git\n  template: {self.server.url}/template.git\n"
            "  branch: main\n  folder: lab\n"
        )

    def start(self, *arguments):
        command = [sys.executable, "-m", "labgrade.cli", *map(str, arguments)]
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def say(self, *arguments, code=0):
        process = self.start(*arguments)
        out, _ = process.communicate(timeout=400)
        self.said += out
        assert process.returncode == code, out
        return out

    def kill(self, *arguments, once):
        """Kill a command by a signal that it can't catch, as soon as `once()` is more than it was at the start."""
        before, process = once(), self.start(*arguments)
        while once() <= before and process.poll() is None:
            time.sleep(0.005)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGKILL)
        process.communicate()

    def fetches(self):
        """The lines of all journals."""
        return sum(file.read_bytes().count(b"\n") for file in self.results.glob("mirror/*/labgrade-fetches.jsonl"))

    def returned(self):
        return len(list(self.results.glob("mirror/*/refs/returned/lab")))

    def record(self):
        return json.loads((self.results / "collected/collected.json").read_text())


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """Both collections, each killed twice, with what everybody pushed in between."""
    folder = tmp_path_factory.mktemp("class")
    (folder / "server").mkdir()
    with http_server(folder / "server") as server:
        server.closed.add("/closed.git")
        made, roster = forty.make(folder / "server", server.url)
        course = Course(folder / "course", server)
        (course.folder / "roster.csv").write_text(roster)
        course.lab(now().replace(microsecond=0))  # due: at the second at which the first fetch begins, or just before
        time.sleep(1)
        asked = ("collect", "results", "--repository-size", LIMIT)
        for more in (2, 30):
            course.kill(*asked, once=lambda more=more: course.fetches() // more)
        course.say(*asked, code=1)
        first = course.record()
        for name, commits in forty.after(folder / "server").items():
            made.setdefault(name, {}).update(commits)
        for more in (4, 24):
            course.kill(*asked, once=lambda more=more: course.fetches() // more)
        course.say(*asked, code=1)
        course.first, course.made = first, made
        yield course


@pytest.mark.parametrize("who", [each for each in CLASS if each.name != "bob"], ids=lambda who: who.name)
def test_the_right_commit_is_taken(collected, who):
    entry = collected.record()["students"]["A1" if who.name in GROUP["A1"] else who.name]
    assert entry["state"] == who.state, (who.why, entry)
    right = collected.made[who.name][who.right] if who.right else None
    assert entry.get("commit") == right, (who.why, entry)
    assert entry.get("days_late", 0) == who.late, who.why
    assert all(said in " | ".join(entry.get("staff", ())) for said in who.staff), (who.why, entry)
    assert len(entry.get("staff", ())) == len(who.staff), (who.why, entry)
    assert [each.startswith(said) for each, said in zip(entry.get("left_out", ()), who.left_out, strict=True)] == [
        True for _ in who.left_out
    ]


def test_nobody_is_lost_or_doubled(collected):
    assert sorted(collected.record()["students"]) == NAMES
    assert collected.record()["students"]["A1"]["members"] == ["ann", "bob"]
    mirrors = [each for each in (collected.results / "mirror").glob("*.git") if each.name != "base.git"]
    assert len(mirrors) == len(NAMES) - len(["absent", "closed"]) + len(["template"])
    for mirror in mirrors:
        lines = [json.loads(line) for line in (mirror / "labgrade-fetches.jsonl").read_bytes().splitlines() if line]
        got = [each for line in lines for each in line.get("got", ())]
        assert len(got) == len(set(got)), mirror
        assert all(line["began"] <= line["ended"] for line in lines if "began" in line)
        assert "missing" not in git("fsck", "--connectivity-only", at=mirror)


def test_every_commit_ever_seen_is_kept(collected):
    students = collected.record()["students"]
    for name, commits in collected.made.items():
        entry = students.get(name)
        for commit in commits.values() if entry is not None and entry["state"] == "taken" else ():
            assert git("cat-file", "-t", commit, at=collected.results / "mirror" / entry["repository"]) == "commit"


def test_the_first_collection_had_what_was_there_at_the_deadline(collected):
    for who in CLASS:
        entry = collected.first["students"].get(who.name)
        if entry is not None and who.right == "mine":
            assert entry["commit"] == collected.made[who.name]["mine"], who


def test_what_they_have_in_common_takes_room_once(collected):
    sizes = {
        each.parent.parent.parent.name: each.stat().st_size
        for each in collected.results.glob("mirror/*/objects/pack/*.pack")
    }
    own = [size for name, size in sizes.items() if name != "base.git" and not name.startswith("127-0-0-1-" + "junk")]
    assert sizes["base.git"] > 2 << 20
    assert sum(own) < 5 << 20, sizes  # the junk of 3 MB, and hardly anything else


def test_it_is_graded_released_and_returned(collected, tmp_path):
    source = collected.results / "collected"
    collected.say("grade", source, "--lab", "lab", "--out", "results")
    standing = collected.say("standing", "results", code=1)
    assert "2 repositories not collected: nobody let us in" in " ".join(standing.split())
    assert "1 repository without work: nothing was pushed" in standing
    assert "backonly: " in standing
    assert "claims to be of" in standing
    handed_in = json.loads((collected.results / "handed_in.json").read_text())
    assert sorted(handed_in) == sorted(n for n, e in collected.record()["students"].items() if e["state"] == "taken")
    decided = ("task", "total", "--points", "5", "--reason", "looked", "--by", "prof")
    collected.say("override", "results", "on11", *decided)
    collected.say("release", "results", "--by", "prof")
    before = {each.name: forty.refs(each) for each in collected.server.root.glob("*.git")}
    dry = collected.say("return", "results", "--dry-run")
    assert dry.startswith(f"{len(handed_in)} would be pushed")
    assert {each.name: forty.refs(each) for each in collected.server.root.glob("*.git")} == before
    collected.kill("return", "results", once=collected.returned)
    collected.say("return", "results")
    _check_returned(collected, handed_in, before)
    _check_shown(collected, tmp_path)
    assert collected.say("return", "results").startswith(f"{len(handed_in)} there already")
    _check_correction(collected)
    assert not _found(collected.folder, TOKEN)
    assert TOKEN not in collected.said


def _check_returned(course, handed_in, before):
    """A branch of its own, one commit, and nothing else touched."""
    entries = course.record()["students"]
    for name in handed_in:
        repository = course.server.root / entries[name]["address"].rsplit("/", 1)[1]
        now_there = forty.refs(repository)
        assert [each for each in now_there if not each.endswith("refs/heads/labgrade/lab")] == before[repository.name]
        assert git("rev-list", "--count", "labgrade/lab", at=repository) == "1"
        assert git("ls-tree", "--name-only", "labgrade/lab", at=repository).split() == [
            "points.csv",
            "results.html",
            "results.md",
        ]


def _check_shown(course, folder):
    """It is what release shows: the page that `export` makes of it, and of nobody else's."""
    course.say("export", "--results", "results", "--format", "html", "--out", folder)
    entries, reports = course.record()["students"], {}
    for name, entry in entries.items():
        if entry["state"] == "taken":
            repository = course.server.root / entry["address"].rsplit("/", 1)[1]
            texts = [
                git("show", f"labgrade/lab:{file}", at=repository)
                for file in ("results.html", "results.md", "points.csv")
            ]
            exported = (folder / f"students/{name}.html").read_text().strip()
            assert _plain(texts[0]) == _plain(exported)
            reports[name] = "\n".join(texts)
    others = {name for name in [*NAMES, "ann", "bob"] if len(name) > 3 and name not in ("late0", "more0", "master")}
    for name, text in reports.items():
        words = set(re.findall(r"\w+", re.sub(r"(?s)<(style|script).*?</\1>", "", text)))
        mine = {name, *entries[name]["members"]}
        assert not (words & others) - mine - _WORDS, name
        assert not words & {"secret", "prof"}, name  # the hidden check; who decided
        assert not any(note in text for note in entries[name]["staff"]), name
        assert "claims to be of" not in text
    for text in reports["on12"].split():  # whoever is wrong is not told what is right
        assert "1234" not in text.replace(",", ""), text
    assert "looked" in reports["on11"]  # why somebody decided


_WORDS = {
    "extended",
    "deleted",
    "empty",
    "absent",
    "broken",
    "closed",
    "side",
    "forced",
    "branches",
    "tags",
    "tricks",
    "junk",
}


def _plain(page):
    """A page without the notes of the run, and the moment at which it was made."""
    return re.sub(r"(?s)<(footer|style)\b.*?</\1>", "", page).split("<main", 1)[-1].split("</main>", 1)[0]


def _check_correction(course):
    """A correction adds a commit that says what changed and why; whoever was not corrected gets none."""
    course.say("override", "results", "on00", "task", "total", "--points", "2", "--reason", "copied", "--by", "prof")
    course.say("release", "results", "--by", "prof", "--lower", "--reason", "it was copied")
    course.say("return", "results")
    repository = course.server.root / "on00.git"
    assert git("rev-list", "--count", "labgrade/lab", at=repository) == "2"
    said = git("log", "-1", "--format=%B", "labgrade/lab", at=repository)
    assert "task total: 6 -> 2" in said
    assert "Why: it was copied" in said
    assert git("rev-list", "--count", "labgrade/lab", at=course.server.root / "on01.git") == "1"


def _found(folder, word):
    """Files that hold a secret, as it is or as HTTP sends it."""
    import base64

    sent = base64.b64encode(f"oauth2:{word}".encode())
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file for file in files if word.encode() in (text := file.read_bytes()) or sent in text]
