"""What is taken in with a commit: the report that a link names, one lab of several, and what standing says."""

import http.server
import json
import re
import threading
from datetime import UTC

import pytest
from helpers import small_course
from helpers.git_class import ago, bare, commit, git, now
from helpers.git_servers import TOKEN, http_server, why_no_http
from helpers.opened import here

from labgrade import cli
from labgrade.commands.by_git import collect as command
from labgrade.submissions import collected, find, handed_in_at

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_no_http()), reason=why_no_http())]


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(200 if self.path.endswith("/download") else 404)
        self.send_header("Content-Type", "text/markdown")
        self.end_headers()
        self.wfile.write(self.server.text)

    def log_message(self, *_):
        pass


@pytest.fixture
def pages():
    found = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    found.daemon_threads, found.text, found.asked = True, b"# Report\nTotal: 1234\n", []
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.fixture
def course(tmp_path, monkeypatch, capsys):
    """A course in the working folder with a server; `say` collects, and returns what is printed and the record."""
    monkeypatch.setenv("LABGRADE_GIT_TOKEN", TOKEN)
    (tmp_path / "server").mkdir()
    small_course.write(tmp_path / "course")
    monkeypatch.chdir(tmp_path / "course")
    with http_server(tmp_path / "server") as server:

        class Course:
            root = server.root

            def lab(self, more="", due=None, lab="lab"):
                rules = f"title: A lab\ncollect:\n  repository: {server.url}/{{login}}.git\n{more}"
                folder = tmp_path / "course/specs" / lab
                folder.mkdir(exist_ok=True)
                text = rules + (f"due: {due.isoformat(timespec='seconds')}\n" if due else "")
                (folder / "lab.yaml").write_text(text)

            def roster(self, text):
                (tmp_path / "course/roster.csv").write_text(text)

            def say(self, *arguments):
                from labgrade import cli

                code = cli.main(["collect", *arguments])
                results = tmp_path / "course" / next((each for each in arguments if each[0] != "-"), "results")
                record = collected.read(results / "collected")
                return code, re.sub(r"\s+", " ", capsys.readouterr().out), record

        yield Course()


def taken(record, tmp_path, name="ann"):
    """The files of a submission, and its report."""
    there = find.offer(record.folder, ["all"], tmp_path / "unused", opening=here)
    own = there.take(name, tmp_path / f"taken-{now().timestamp()}", here)
    report = own.folder / "report.md"
    return list(own.files), report.read_text() if report.is_file() else ""


def test_a_report_by_a_link_in_a_file(course, pages, tmp_path):
    link = f"http://127.0.0.1:{pages.server_port}/abc"
    commit(bare(course.root / "ann.git"), {"REPORT.md": f"Here: <{link}>\n", "a.py": "1"}, ago(hours=1))
    course.roster("id\nann\n")
    course.lab("  document: REPORT.md\n  download: /download\n")
    code, out, record = course.say()
    assert "reports by link ann: '127.0.0.1' lies in the local network; lab.yaml can allow it: collect.local" in out
    assert (code, pages.asked) == (0, [])
    course.lab("  document: REPORT.md\n  download: /download\n  local: true\n")
    record = course.say()[2]
    assert taken(record, tmp_path) == (["REPORT.md", "a.py", "report.md"], "# Report\nTotal: 1234\n")
    kept = record.entries["ann"]["document"]
    assert (kept["link"], len(kept["digest"]), kept["trouble"]) == (link, 64, "")
    assert (record.folder / "documents" / f"{kept['digest']}.md").is_file()


def test_the_report_of_the_deadline_counts(course, pages, tmp_path):
    commit(bare(course.root / "ann.git"), {"a.py": "1"}, ago(hours=9))
    course.roster(f"id,document\nann,http://127.0.0.1:{pages.server_port}/abc/download\n")
    course.lab("  local: true\n")
    first = course.say()[2]
    course.lab("  local: true\n", due=ago(seconds=-2))
    pages.text = b"changed after all"
    for text in (b"once more, within the hour", b"and never asked for"):
        threading.Event().wait(3)
        pages.text = text
        record = course.say()[2]
    assert taken(record, tmp_path)[1] == "once more, within the hour"
    assert len(pages.asked) == 2
    assert len(list((record.folder / "documents").iterdir())) == 2, first
    course.lab("  local: true\n", due=ago(hours=5))
    assert "the report was first downloaded at" in course.say()[1]


def test_who_has_no_repository_hands_in_a_report_by_its_link(course, pages, tmp_path):
    link = f"http://127.0.0.1:{pages.server_port}"
    course.lab("  local: true\n", due=ago(seconds=-60))
    course.roster(f"id,document,repository\nann,{link}/a/download,none\neve,{link}/gone,none\nfay,,none\n")
    for _ in range(2):
        code, out, record = course.say()
        assert (code, {name: each["state"] for name, each in record.entries.items()}) == (
            1, {"ann": "taken", "eve": "no report", "fay": "no address"}
        )  # fmt: skip
        assert "1 repository not collected: the report by its link can't be had 'eve': the server answers 404" in out
        assert "'fay': the roster says that there is no repository, and names no report (document), either" in out
    assert taken(record, tmp_path) == (["report.md"], "# Report\nTotal: 1234\n")
    ann = record.entries["ann"]
    assert (ann["by"].startswith("the download of its report at "), ann["days_late"], ann["staff"]) == (True, 0, [])
    (moment,) = handed_in_at.moments(record.folder, ["ann"], opening=here, zone=UTC).values()
    assert abs((now() - moment.at).total_seconds()) < 120


def test_a_report_by_its_link_is_taken_where_the_repository_is_not(course, pages, tmp_path):
    for name, branches in {"bob": ["main"], "dan": ["dev", "try"], "eve": ["dev", "try"]}.items():
        repository = bare(course.root / f"{name}.git", "none")
        for branch in branches:
            commit(repository, {"a.py": "1"}, ago(hours=9), branch=branch)
    course.lab("  local: true\n  branch: main\n")
    link = f"http://127.0.0.1:{pages.server_port}"
    rows = [f"{name},{link}/{name}/{page}" for name, page in {
        "bob": "download", "cec": "download", "dan": "download", "eve": "gone", "fay": "download"}.items()]  # fmt: skip
    bare(course.root / "fay.git")
    course.roster("\n".join(["id,document", *rows]) + "\n")
    for _ in range(2):
        code, out, record = course.say()
        states = {name: each["state"] for name, each in record.entries.items()}
        assert (code, states.pop("eve"), set(states.values())) == (1, "no branch", {"taken"})
        assert "'eve': there is no branch 'main'; there is 'dev', 'try'; the report by its link: the server" in out
        alone = "fay: the report by its link is all that was taken in; of the repository: nothing was pushed"
        assert out.count(alone) == 1
        for said in ("cec: nobody let us in", "dan: there is no branch 'main'"):
            assert re.search(f"could not be fetched this time.*{said}.*the report by its link was taken in alone", out)
        assert "have the same commit" not in out
    assert [taken(record, tmp_path, name)[0] for name in ("bob", "cec")] == [["a.py", "report.md"], ["report.md"]]
    commit(bare(course.root / "cec.git"), {"b.py": "1"}, ago(hours=1))  # and now they let us in
    assert taken(course.say()[2], tmp_path, "cec")[0] == ["b.py", "report.md"]


def test_two_reports_of_one_group_are_named(course, pages):
    link = f"http://127.0.0.1:{pages.server_port}"
    commit(bare(course.root / "A1.git"), {"a.py": "1"}, ago(hours=9))
    course.lab("  local: true\n")
    lab = course.root.parent / "course/specs/lab/lab.yaml"
    lab.write_text(lab.read_text().replace("{login}", "{group}"))
    course.roster(f"id,group,document\nann,A1,{link}/a/download\nbob,A1,{link}/b/download\n")
    assert f"the report at {link}/a/download was taken; the roster names another, {link}/b/download" in course.say()[1]


def test_a_report_without_a_repository_is_graded_and_nothing_is_pushed(course, pages, capsys):
    pages.text = b"# A task\nTotal: 1234\n"
    course.lab("  local: true\n")
    course.roster(f"id,document,repository\nann,http://127.0.0.1:{pages.server_port}/a/download,none\n")
    course.say()
    for words in ("grade results/collected --lab lab --out results", "release results --unfinished", "return results"):
        capsys.readouterr()
        assert cli.main(words.split()) == 0, capsys.readouterr()
    assert capsys.readouterr().out == "nothing to push\nwithout a repository, so nothing is pushed: 'ann'\n"
    assert cli.main(["export", "--results", "results", "--format", "csv"]) == 0
    assert "ann,ann,7,7,0,7,7,0,10" in capsys.readouterr().out


def test_when_a_report_without_a_repository_was_handed_in(course, pages):
    course.roster(f"id,document\nann,http://127.0.0.1:{pages.server_port}/abc/download\n")

    def said(due):
        course.lab("  local: true\n", due=due)
        lab = course.root.parent / "course/specs/lab/lab.yaml"
        lab.write_text("".join(row for row in lab.read_text().splitlines(keepends=True) if "repository:" not in row))
        _, out, record = course.say()
        return record.entries["ann"], out

    due = ago(minutes=30).replace(microsecond=0)
    soon, _ = said(due)  # within the hour it is what was there at the deadline
    assert (soon["handed_in"], soon["days_late"]) == (due.isoformat(), 0)
    late, out = said(ago(hours=3))
    assert (late["handed_in"], late["by"]) == (None, "")
    assert "the report was first downloaded at" in out


def test_several_labs_in_one_repository_share_a_mirror(course, tmp_path):
    repo = bare(course.root / "ann.git")
    first = commit(repo, {"lab/answers.yaml": "task: {total: 1}"}, ago(hours=9))
    last = commit(repo, {"lab2/answers.yaml": "task: {total: 2}"}, ago(hours=1))
    course.roster("id\nann\n")
    course.lab("  folder: lab\n", due=ago(hours=5))
    course.lab("  folder: lab2\n", due=ago(minutes=5), lab="lab2")
    one = course.say("r1", "--lab", "lab", "--mirror", "m")[2]
    two = course.say("r2", "--lab", "lab2", "--mirror", "m")[2]
    assert [each.entries["ann"]["commit"] for each in (one, two)] == [first, last]
    assert [taken(each, tmp_path)[0] for each in (one, two)] == [["answers.yaml"], ["answers.yaml"]]
    assert len(list((tmp_path / "course/m").glob("*ann*"))) == 1
    assert course.say("r1", "--lab", "lab2", "--mirror", "m")[0:1] == (2,)
    assert course.say("r3")[0] == 2  # which lab?


@pytest.mark.promise("collected-repositories-run-nothing")
def test_what_is_committed_is_what_is_graded_and_no_filter_runs(course, tmp_path):
    files = {
        ".gitattributes": "* text=auto eol=crlf ident filter=evil\nkept.md export-ignore\nsaid.md export-subst\n",
        "kept.md": "here\n",
        "said.md": "$Format:%an$ $Id$\n",
        "up": ("120000", "../../.."),
        "Case.md": "1\n",
        "case.md": "2\n",
    }
    commit(bare(course.root / "ann.git"), files, ago(hours=1))
    course.roster("id\nann\n")
    course.lab()
    record = course.say()[2]
    there = find.offer(record.folder, ["ann"], tmp_path / "unused", opening=here).take("ann", tmp_path / "t", here)
    assert sorted(there.files) == [".gitattributes", "Case.md", "case.md", "kept.md", "said.md"]
    assert (there.folder / "said.md").read_bytes() == b"$Format:%an$ $Id$\n"
    assert ["up" in each for each in there.refused] == [True]


def test_the_moment_is_that_of_the_record(course):
    at = ago(hours=3).replace(microsecond=0)
    commit(bare(course.root / "ann.git"), {"a": "b"}, at)
    course.roster("id\nann\n")
    course.lab()
    record = course.say()[2]
    (moment,) = handed_in_at.moments(record.folder, ["ann"], opening=here, zone=at.tzinfo).values()
    assert moment.at == at
    assert moment.by.startswith("its committer date, which the student's machine wrote; first seen in the fetch of")
    assert find.names_in(record.folder, opening=here) == ["ann"]
    assert find.find(record.folder, ["all"], record.folder.parent / "x", opening=here).submissions[0].files == ("a",)


def test_whoever_is_called_otherwise_by_now_is_there_once(course):
    commit(bare(course.root / "ann.git"), {"a": "b"}, ago(hours=3))
    course.lab()
    course.roster("id\nann\n")
    before = course.say()[2].entries["ann"]
    course.roster("id,login,submission\nann,,the-one\n")
    entries = course.say()[2].entries
    assert list(entries) == ["the-one"]
    assert entries["the-one"]["commit"] == before["commit"]


def test_the_same_commit_in_two_repositories_is_named(course):
    at = ago(hours=3)
    for name in ("ann", "bob"):
        commit(bare(course.root / f"{name}.git"), {"a": "b"}, at)
    course.roster("id\nann\nbob\n")
    course.lab()
    assert (
        "have the same commit, as where it is a template's (collect.template) or copied 'ann', 'bob': "
        in course.say()[1]
    )


@pytest.mark.parametrize("text", ["{", "[]", '{"labgrade_collected": 9}'])
def test_a_broken_record_is_said_and_made_anew(course, text, capsys):
    commit(bare(course.root / "ann.git"), {"a": "b"}, ago(hours=3))
    course.roster("id\nann\n")
    course.lab()
    before = course.say()[2]
    file = before.folder / collected.RECORD
    file.write_text(text)
    from labgrade import cli

    assert cli.main(["collect"]) == 2
    assert re.search(r"can't be read|of another version", capsys.readouterr().err)
    file.unlink()
    assert course.say()[2].entries == before.entries


def test_amounts():
    size = command._amount_parser({"MB": 1 << 20})
    assert size("5MB") == 5 << 20
    for wrong in ("5", "0MB", "-5MB", "5 GB", "MB"):
        with pytest.raises(Exception, match="needs a number and a unit"):
            size(wrong)


def test_only_who_is_named_is_collected(course):
    for name in ("ann", "bob"):
        commit(bare(course.root / f"{name}.git"), {"a": name}, ago(hours=3))
    course.roster("id\nann\nbob\n")
    course.lab()
    assert list(course.say("--student=bob")[2].entries) == ["bob"]
    assert sorted(course.say()[2].entries) == ["ann", "bob"]
    new = commit(course.root / "ann.git", {"c": "d"}, ago(hours=1))
    record = json.loads(json.dumps(dict(course.say("--student=bob")[2].entries)))
    assert (sorted(record), record["ann"]["commit"] != new) == (["ann", "bob"], True)
    assert git("rev-parse", "main", at=course.root / "ann.git") == new
