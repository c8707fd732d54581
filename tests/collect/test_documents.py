"""Reports by link: what is downloaded, what is refused, and that nothing of the local network is asked for."""

import contextlib
import http.server
import socket
import threading
import time

import pytest

from labgrade.collect import documents
from labgrade.collect.documents import NoDocumentError, Rules, download, link_in

LOCAL = Rules(local=True, seconds=2, most_bytes=1000)


class _Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
            return
        if self.path == "/slow":
            with contextlib.suppress(OSError):
                for _ in range(100):  # a byte now and then
                    self.wfile.write(b"H")
                    time.sleep(0.2)
            return
        status, kind, text = self.server.pages.get(self.path, (404, "text/plain", b"no"))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if self.path != "/cut":
            self.send_header("Content-Length", str(len(text)))
        else:
            self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    found = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    found.daemon_threads, found.asked = True, []
    found.pages = {
        "/r.md": (200, "text/markdown; charset=utf-8", b"# Report\n"),
        "/page": (200, "text/html", b"<html>"),
        "/large": (200, "text/plain", b"x" * 2000),
        "/cut": (200, "text/plain", b"# Rep"),
        "/zip": (200, "application/zip", b"PK"),
    }
    found.url = f"http://127.0.0.1:{found.server_port}"
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


def test_markdown_is_downloaded(server):
    assert download(f"{server.url}/r.md", LOCAL) == b"# Report\n"
    assert download(f"{server.url}/to/{server.url}/r.md", LOCAL) == b"# Report\n"
    assert download(f"{server.url}/to//r.md", LOCAL) == b"# Report\n"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/none", "the server answers 404"),
        ("/page", "it is no Markdown but text/html"),
        ("/zip", "it is no Markdown but application/zip"),
        ("/large", "it is larger than 0 MiB"),
        ("/cut", "cut off|IncompleteRead|5 bytes read"),
        ("/slow", "not there after 2 s"),
        ("/to//to//to//to//to//to//to//r.md", "more than 5 times"),
        ("/to/file:///etc/passwd", "no address of the web"),
        ("/to/http://other.example/r.md", "redirects to another host, 'other.example'"),
    ],
)
def test_what_is_no_report_is_said(server, path, why):
    with pytest.raises(NoDocumentError, match=why):
        download(server.url + path, LOCAL)


@pytest.mark.parametrize(
    "link",
    [
        "file:///etc/passwd",
        "ftp://example.org/x",
        "http:///x",
        "http://me:pw@example.org/x",
        "http://exa mple.org/",
        "http://[::1",
        "http://h:99999/x",
    ],
)
def test_what_is_no_link_is_never_asked_for(link, monkeypatch):
    monkeypatch.setattr(socket, "create_connection", None)
    monkeypatch.setattr(socket, "getaddrinfo", None)
    with pytest.raises(NoDocumentError):
        download(link, LOCAL)


def test_the_local_network_is_not_asked(server):
    with pytest.raises(NoDocumentError, match="lies in the local network"):
        download(f"{server.url}/r.md", Rules())
    assert server.asked == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2001:4860:4860::8888", True),
        ("10.1.2.3", False),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - an address to be refused
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_addresses_of_the_local_network(address, public, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (address, 80))])
    if public:
        assert documents._addresses("host", 80, Rules()) == [address]
    else:
        with pytest.raises(NoDocumentError, match="local network"):
            documents._addresses("host", 80, Rules())


def test_one_inner_address_among_others_is_enough_to_refuse(monkeypatch):
    rows = [(0, 0, 0, "", (each, 80)) for each in ("8.8.8.8", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: rows)
    with pytest.raises(NoDocumentError, match="local network"):
        documents._addresses("host", 80, Rules())


def test_only_the_hosts_of_the_course(server):
    allowed = Rules(hosts=("127.0.0.1", "localhost"), local=True, seconds=2)
    port = server.server_port
    assert download(f"http://127.0.0.1:{port}/to/http://localhost:{port}/r.md", allowed) == b"# Report\n"
    with pytest.raises(NoDocumentError, match=r"none of the hosts that lab\.yaml allows: hackmd\.io"):
        download(f"{server.url}/r.md", Rules(hosts=("hackmd.io",), local=True))


@pytest.mark.parametrize(
    ("text", "link"),
    [
        (b"see [it](https://hackmd.io/abc).", "https://hackmd.io/abc"),
        (b"<https://a.b/c?d=e#f>", "https://a.b/c?d=e#f"),
        (b"https://hackmd.io/@me/x.\n", "https://hackmd.io/@me/x"),
        (b"no link, ftp://x", ""),
        (b"\xff\xfe", ""),
    ],
)
def test_the_link_in_a_file(text, link):
    assert link_in(text) == link


def test_what_was_downloaded_is_kept_by_its_digest(tmp_path):
    first, again = documents.keep(b"x", tmp_path / "d"), documents.keep(b"x", tmp_path / "d")
    assert first == again
    assert [each.name for each in (tmp_path / "d").iterdir()] == [f"{first}.md"]
