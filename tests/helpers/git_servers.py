"""Real git servers on loopback: `git http-backend` behind a small web server with basic auth, and sshd with git-shell.

Both come from Debian's packages (`make test-tools`). What is missing is said by `why_no_http` and `why_no_ssh`.
"""

import base64
import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

TOKEN = "t0ken-of-the-course"  # noqa: S105 - of a test
SSHD = shutil.which("sshd") or shutil.which("/usr/sbin/sshd")


def _http_backend():
    if shutil.which("git") is None:
        return None
    path = Path(subprocess.check_output(["git", "--exec-path"], text=True).strip(), "git-http-backend")
    return path if path.is_file() else None


def why_no_http():
    return "" if _http_backend() else "git with http-backend is not here: apt install git"


def why_no_ssh():
    missing = [name for name in ("ssh", "ssh-keygen", "git-shell") if shutil.which(name) is None]
    missing += [] if SSHD else ["sshd"]
    return f"not here: {', '.join(missing)}: apt install openssh-server git" if missing else ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _serve(self):
        server, place = self.server, urlsplit(self.path)
        path = unquote(place.path)
        server.requests.append((self.command, path, self.headers.get("Authorization", "")))
        body = self._body()
        for start, answer in server.answers.items():
            if path.startswith(start):
                return self._say(*answer)
        head = self.headers.get("Authorization", "")
        if head.removeprefix("Basic ") != server.secret:
            return self._say(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"")
        if any(path.startswith(each) for each in server.closed):
            return self._say(403, {}, b"")
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": str(server.root),
            "REMOTE_USER": "tester",
            "PATH_INFO": path,
            "QUERY_STRING": place.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        with tempfile.TemporaryFile() as given:
            given.write(body)
            given.seek(0)
            command = {"stdin": given, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            with subprocess.Popen([server.backend], env=env, **command) as process:
                self._pass_on(process.stdout)
        return None

    def _pass_on(self, out):
        """What git says, while it says it."""
        heads = {}
        while line := out.readline().decode().strip():
            name, _, value = line.partition(": ")
            heads[name] = value
        self.send_response(int(heads.pop("Status", "200").split()[0]))
        for name, value in {**heads, "Transfer-Encoding": "chunked"}.items():
            self.send_header(name, value)
        self.end_headers()
        while piece := out.read1(1 << 16):
            self.server.bytes_sent += len(piece)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = _serve  # noqa: N815 - as http.server calls them

    def _body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _say(self, status, heads, content):
        self.send_response(status)
        for name, value in {**heads, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):  # who asks was killed meanwhile
        pass


@contextlib.contextmanager
def http_server(root, *, secret=TOKEN, user="oauth2"):
    """A server of the bare repositories below `root`. `closed`: paths that are forbidden; `answers`: fixed ones."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.root, server.backend, server.closed, server.answers = Path(root), _http_backend(), set(), {}
    server.requests, server.bytes_sent = [], 0
    server.secret = base64.b64encode(f"{user}:{secret}".encode()).decode()
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def ssh_server(folder):
    """sshd that lets this user do nothing but git-shell's commands; the address, and what GIT_SSH_COMMAND has to be."""
    folder.mkdir(parents=True)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    shell = folder / "shell"
    shell.write_text(f'#!/bin/sh\nexec {shutil.which("git-shell")} -c "$SSH_ORIGINAL_COMMAND"\n')
    shell.chmod(0o755)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / "sshd_config"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder / 'host'}\nPidFile {folder / 'pid'}\nUsePAM no\n"
        f"AuthorizedKeysFile {folder / 'user.pub'}\nStrictModes no\nPasswordAuthentication no\nMaxStartups 100\n"
        f"KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nForceCommand {shell}\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(parents=True, exist_ok=True)  # sshd's own folder for unprivileged work
    log = (folder / "log").open("wb")
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", config], stderr=log, stdin=subprocess.DEVNULL)
    try:
        _wait_for(port, process, folder / "log")
        host = (folder / "host.pub").read_text().split()
        (folder / "known").write_text(f"[127.0.0.1]:{port} {host[0]} {host[1]}\n")
        command = f"ssh -F none -i {folder / 'user'} -o UserKnownHostsFile={folder / 'known'} -o IdentitiesOnly=yes"
        yield f"ssh://{getpass.getuser()}@127.0.0.1:{port}", command
    finally:
        process.terminate()
        process.wait()
        log.close()


def _wait_for(port, process, log):
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    message = f"sshd did not start: {log.read_text()}"
    raise RuntimeError(message)


def main():
    """Serve the bare repositories of a folder for an hour: `python tests/helpers/git_servers.py FOLDER TOKEN`.

    The address is written to FOLDER.url.
    """
    folder = Path(sys.argv[1])
    if why := why_no_http():
        sys.exit(why)
    with http_server(folder, secret=sys.argv[2]) as server:
        folder.with_suffix(".url").write_text(server.url)
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(3600)


if __name__ == "__main__":
    main()
