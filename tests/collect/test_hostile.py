"""What repositories and servers may do to whoever fetches: each has its own line, and costs nobody else anything."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from helpers.git_class import ago, bare, commit, git
from helpers.git_servers import TOKEN, http_server, why_no_http
from helpers.opened import here

from labgrade.collect import mirror
from labgrade.collect.collect import Collecting
from labgrade.collect.repositories import Patience, Repository
from labgrade.review.roster import Student
from labgrade.submissions import find, git_run
from labgrade.submissions.git_run import Bounds

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_no_http()), reason=why_no_http())]
WORK = {"answers.yaml": "task: {total: 1}\n"}
SUBMODULE = '[submodule "s"]\n\tpath = s\n\turl = {}\n'


class _Endless(BaseHTTPRequestHandler):
    """Answers that have no end: at once, or a byte a second."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
        self.end_headers()
        self.wfile.write(b"001e# service=git-upload-pack\n0000")
        piece = b"003d" + b"1" * 40 + b" refs/heads/x1234567\n"
        fast = "fast" in self.path
        piece = piece * 1000 if fast else b"0"
        while not self.server.over.is_set():
            self.wfile.write(piece)
            self.wfile.flush()
            if not fast:
                time.sleep(0.2)

    def log_message(self, *_):
        pass


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


@pytest.fixture
def endless():
    found = _Quiet(("127.0.0.1", 0), _Endless)
    found.over = threading.Event()
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{found.server_port}"
    found.over.set()
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_GIT_TOKEN", TOKEN)
    (tmp_path / "server").mkdir()
    with http_server(tmp_path / "server") as found:
        commit(bare(found.root / "good.git"), WORK, ago(hours=1))
        yield found


def one(name, address):
    who = (Student(id=name),)
    return Repository(name=name, address=address, owners=who, group=who)


def collect(tmp_path, server, *wanted, rules=None):
    """What becomes of these; the good one among them is always taken in."""
    run = Collecting(
        lab="lab",
        rules=rules or {},
        deadline=None,
        mirror=tmp_path / "mirror",
        folder=tmp_path / "collected",
        access=git_run.access_to(server.url),
        patience=Patience(pauses=()),
        bounds=Bounds(seconds=60, file_bytes=64 << 20),
    )
    found = run.run([*wanted, one("good", f"{server.url}/good.git")], lambda _: None)
    assert found.entries["good"]["state"] == "taken"
    return found


def files(found, name, tmp_path):
    there = find.offer(found.folder, [name], tmp_path / "unused", opening=here)
    return there.take(name, tmp_path / f"taken-{name}", here)


def pushed(server, name, content):
    commit(bare(server.root / f"{name}.git"), {**WORK, **content}, ago(hours=1))
    return one(name, f"{server.url}/{name}.git")


@pytest.mark.parametrize("url", ["file:///etc", "ext::sh -c id", "../../x", "https://127.0.0.1:1/x.git"])
def test_a_submodule_is_named_and_never_asked_for(tmp_path, server, url):
    wanted = pushed(server, "sub", {".gitmodules": SUBMODULE.format(url), "s": ("160000", "1" * 40)})
    found = collect(tmp_path, server, wanted)
    assert found.entries["sub"]["left_out"] == ["s (a submodule, which is not fetched)"]
    assert "answers.yaml" in files(found, "sub", tmp_path).files
    assert not [path for _, path, _ in server.requests if path.startswith(("/x", "/etc"))]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({".gitmodules": SUBMODULE.format("-u./x")}, "disallowed submodule url"),
        ({".gitmodules": ("120000", "answers.yaml")}, ".gitmodules is a symbolic link"),
    ],
)
def test_what_git_itself_refuses_is_said(tmp_path, server, content, said):
    entry = collect(tmp_path, server, pushed(server, "evil", content)).entries["evil"]
    assert (entry["state"], said in entry["said"]) == ("damaged", True), entry


def test_hooks_and_configuration_of_a_repository_are_files_and_no_more(tmp_path, server):
    ran = tmp_path / "ran"
    line = f'[core]\n\tfsmonitor = touch {ran}\n\thooksPath = hooks\n[filter "x"]\n\tsmudge = touch {ran}\n'
    script = ("100755", f"#!/bin/sh\ntouch {ran}\n")
    content = {"config": line, ".gitconfig": line, "hooks/post-checkout": script, "hooks/post-index-change": script,
               ".gitattributes": "* filter=x\n*.bin filter=lfs diff=lfs merge=lfs -text\n", "net.bin": "x"}  # fmt: skip
    wanted = pushed(server, "hooks", content)
    with (server.root / "hooks.git/config").open("a") as file:
        file.write(line)
    found = collect(tmp_path, server, wanted)
    assert sorted(files(found, "hooks", tmp_path).files) == sorted({*WORK, *content})
    assert not ran.exists()


def test_names_that_look_like_options_and_that_clash(tmp_path, server):
    content = {"--help": "1", "-rf": "2", "Lab.md": "3", "lab.md": "4", "up": ("120000", "../../.."), "a/-x": "5"}
    wanted = pushed(server, "names", content)
    repository = server.root / "names.git"
    tip = git("rev-parse", "main", at=repository)
    git("update-ref", "refs/heads/--upload-pack=x", tip, at=repository)
    git("update-ref", "refs/tags/-d", tip, at=repository)
    found = collect(tmp_path, server, wanted, rules={"branch": "--upload-pack=x"})
    assert found.entries["names"]["commit"] == tip
    own = files(found, "names", tmp_path)
    assert sorted(own.files) == sorted({*WORK, *content} - {"up"})
    assert ["up" in each for each in own.refused] == [True]


def test_a_folder_that_looks_like_an_option(tmp_path, server):
    commit(server.root / "good.git", {"--all/y": "1"}, ago(hours=1))
    found = collect(tmp_path, server, pushed(server, "f", {"--all/x": "1"}), rules={"folder": "--all"})
    assert files(found, "f", tmp_path).files == ("x",)


@pytest.mark.parametrize("what", ["blob", "tree"])
def test_a_branch_that_is_no_commit(tmp_path, server, what):
    wanted = pushed(server, "odd", {})
    repository = server.root / "odd.git"
    found = git("rev-parse", "main:answers.yaml" if what == "blob" else "main^{tree}", at=repository)
    (repository / "refs/heads/main").write_text(f"{found}\n")
    entry = collect(tmp_path, server, wanted).entries["odd"]
    assert (entry["state"], "no commit" in entry["said"]) == ("damaged", True), entry


def test_a_redirect_is_said(tmp_path, server):
    server.answers["/moved.git"] = (302, {"Location": f"{server.url}/good.git/info/refs?service=git-upload-pack"}, b"")
    entry = collect(tmp_path, server, one("moved", f"{server.url}/moved.git")).entries["moved"]
    assert (entry["state"], "302" in entry["said"]) == ("unreachable", True), entry


@pytest.mark.parametrize(("kind", "state"), [("fast", "too large"), ("slow", "too slow")])
def test_an_answer_that_never_ends(tmp_path, server, endless, kind, state, monkeypatch):
    monkeypatch.setattr(mirror, "_ANSWER", Bounds(seconds=30 if kind == "fast" else 3, file_bytes=4 << 20,
                                                  memory_bytes=mirror._ANSWER.memory_bytes))  # fmt: skip
    entry = collect(tmp_path, server, one("bad", f"{endless}/{kind}.git")).entries["bad"]
    assert entry["state"] == state, entry


def test_many_branches_and_tags(tmp_path, server):
    wanted = pushed(server, "many", {})
    repository = server.root / "many.git"
    tip = git("rev-parse", "main", at=repository)
    rows = "".join(f"create refs/{kind}/x{n} {tip}\n" for n in range(3000) for kind in ("heads", "tags"))
    git("update-ref", "--stdin", at=repository, given=rows.encode())
    entry = collect(tmp_path, server, wanted).entries["many"]
    assert (entry["state"], "branches and tags; 5,000 are the most" in entry["said"]) == ("too large", True), entry


def test_a_server_without_gits_own_service(tmp_path, server):
    """Files as any web server gives them out: git reads them one by one, and does not look for harm in them."""
    repository = server.root / "dumb.git"
    pushed(server, "dumb", {"kept.md": "1"})
    tree = git("ls-tree", "main", at=repository).encode() + b"\n"
    text = b"100644 .git\0" + bytes.fromhex(git("rev-parse", "main:kept.md", at=repository))
    odd = git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", at=repository, given=text)
    made = git("mktree", at=repository, given=tree + f"040000 tree {odd}\tin\n".encode())
    stamp = "a <a@b> 1700000000 +0000"
    text = f"tree {made}\nauthor {stamp}\ncommitter {stamp}\n\nx\n".encode()
    git("update-ref", "refs/heads/main", git("hash-object", "-t", "commit", "-w", "--stdin", at=repository, given=text),
        at=repository)  # fmt: skip
    git("update-server-info", at=repository)
    for path in repository.rglob("*"):
        if path.is_file():
            name = f"/dumb.git/{path.relative_to(repository)}"
            server.answers[name] = (200, {"Content-Type": "text/plain"}, path.read_bytes())
    entry = collect(tmp_path, server, one("dumb", f"{server.url}/dumb.git")).entries["dumb"]
    assert (entry["state"], "invalid path 'in/.git'" in entry["said"]) == ("damaged", True), entry


def test_a_program_is_no_address(tmp_path, server):
    entry = collect(tmp_path, server, one("ext", "ext::sh -c id")).entries["ext"]
    assert (entry["state"], "transport 'ext' not allowed" in entry["said"]) == ("closed", True), entry
