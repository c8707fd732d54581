"""Git as a process that a hostile repository can neither steer nor hold up: its own switches, and limits around it.

What is said to git by configuration goes through its environment, so that no secret is among a process's arguments.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from labgrade.core.errors import UsageError
from labgrade.core.text import encodable, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOKEN, TOKEN_FILE, TOKEN_USER = "LABGRADE_GIT_TOKEN", "LABGRADE_GIT_TOKEN_FILE", "LABGRADE_GIT_USER"
CLOSED, DAMAGED, TOO_LARGE, TOO_SLOW, UNREACHABLE = "closed", "damaged", "too large", "too slow", "unreachable"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SWITCHES = {
    "protocol.allow": "never",
    "protocol.https.allow": "always",
    "protocol.http.allow": "always",
    "protocol.ssh.allow": "always",
    "transfer.fsckObjects": "true",
    "fetch.fsckObjects": "true",
    "transfer.bundleURI": "false",
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "core.bigFileThreshold": "16m",  # larger files are copied through, and never held in memory
    "core.packedGitLimit": "256m",
    "core.packedGitWindowSize": "32m",
    "pack.threads": "1",
    "fetch.recurseSubmodules": "false",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "http.followRedirects": "false",
    "credential.interactive": "never",
    "core.askPass": "",
    "user.name": "labgrade",
    "user.email": "labgrade@localhost",
    "commit.gpgSign": "false",
    "push.gpgSign": "false",
}
_LOCAL = {"protocol.file.allow": "always"}
# What would make git read another repository, run another program, or write down what it says.
_NOT_OURS = re.compile(
    r"GIT_(?!SSH|SSL|HTTP_|PROXY|EXEC_PATH|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM))|SSH_ASKPASS|LABGRADE_GIT_"
)
_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_LIMITED = 'ulimit -f "$1" 2>/dev/null; ulimit -v "$2" 2>/dev/null; shift 2; exec "$@"'  # blocks of 512 bytes
_REF = re.compile(rb"(?m)^(@refs/heads/\S+|[0-9a-f]{40,64}) (HEAD|refs/(?:heads|tags)/\S+)$")
_SAID_BYTES = 8192
_SAID_CHARS = 300
_WHY = (
    (TOO_LARGE, r"(?i)signal 25|file size limit|out of memory"),
    (DAMAGED, r"fsck error|error in (packed )?object|object [0-9a-f]{40,}: \w+:|bad tree|inflate:|invalid path"),
    (
        CLOSED,
        (
            r"(?i)authentication failed|could not read (username|password)|permission denied|access denied|not found|"
            r"error: 40[134]\b|could ?n.t be found|does not (exist|appear to be a git repository)|not allowed|forbidden"
        ),
    ),
)


class GitError(Exception):
    """Git failed: `kind` classifies the failure, and the message is git's."""

    def __init__(self, kind: str, said: str) -> None:
        super().__init__(said)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long one git may take, how many bytes a file that it writes may have, and how much memory it may ask for."""

    seconds: float = 600.0
    file_bytes: int = 1 << 30
    memory_bytes: int = 4 << 30


@dataclass(frozen=True, slots=True)
class Access:
    """Access to servers: a token for one site, sent to no other and hidden from `repr`."""

    site: str = ""
    user: str = ""
    token: str = field(default="", repr=False)

    def switches(self) -> dict[str, str]:
        """Return git's configuration for the token."""
        if not self.token:
            return {}
        pair = base64.b64encode(f"{self.user}:{self.token}".encode()).decode()
        return {f"http.{self.site}/.extraHeader": f"Authorization: Basic {pair}"}

    def without_secret(self, said: str) -> str:
        """Return git's output with the token removed."""
        return said.replace(self.token, "***") if self.token else said


def token() -> str:
    """Return the environment's token, or "".

    Raises:
        UsageError: the file that holds it can't be read.
    """
    given, file = os.environ.get(TOKEN, ""), os.environ.get(TOKEN_FILE, "")
    if not given and file:
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            message = f"${TOKEN_FILE}: '{file}' can't be read: {error}"
            raise UsageError(message) from error
    return given


def access_to(address: str) -> Access:
    """Return the access for an address; the token is only sent encrypted, or to this machine.

    Raises:
        UsageError: the file that holds it can't be read, or it would be sent where all can read it.
    """
    secret = token()
    place = urlsplit(address)
    if not secret or place.scheme not in {"http", "https"}:
        return Access()
    if place.scheme == "http" and place.hostname not in LOOPBACK:
        message = f"the token would be sent to '{place.hostname}' in plain text: say https:// in lab.yaml"
        raise UsageError(message)
    host = place.netloc.rpartition("@")[2]
    return Access(f"{place.scheme}://{host}", os.environ.get(TOKEN_USER, "oauth2"), secret)


_RUNNING: set[int] = set()
_stopped = threading.Event()


def stop_all() -> None:
    """End every running git, and start none until `go_on`."""
    _stopped.set()
    for group in tuple(_RUNNING):
        _kill(group)


def go_on() -> None:
    """Let git be started again."""
    _stopped.clear()


def git(
    arguments: Sequence[str],
    *,
    at: Path | None = None,
    given: bytes = b"",
    bounds: Bounds = Bounds(),
    access: Access = Access(),
    local: bool = False,
    more: Mapping[str, str] | None = None,
) -> bytes:
    """Run git and return its output. `local`: it may read our repositories by path; `more`: more environment.

    Raises:
        GitError: it failed, took too long, or wrote too much.
    """
    if shutil.which("git") is None:
        raise GitError(UNREACHABLE, "git is not installed here")
    place = ["-C", str(at)] if at is not None else []
    environment = _environment({**_SWITCHES, **(_LOCAL if local else {}), **access.switches()}, more or {})
    return _output(["git", *place, *arguments], environment, given, bounds, access)


def _output(command: list[str], environment: dict[str, str], given: bytes, bounds: Bounds, access: Access) -> bytes:
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as errors:
        code = _run(command, environment, given, bounds, (told, errors))
        if code == 0:
            told.seek(0)
            return told.read()
        end = errors.seek(0, os.SEEK_END)
        errors.seek(max(0, end - _SAID_BYTES))
        said = access.without_secret(errors.read().decode("utf-8", "replace"))
    raise GitError(*_why(code, said))


def ls_remote(address: str, access: Access, bounds: Bounds) -> bytes:
    """Return a server's branches and tags as `git ls-remote --symref` prints them.

    Most repositories did not change, and a third of what asking for one costs is that git starts git that starts its
    helper for the web. So the helper is started itself.

    Raises:
        GitError: there is no answer.
    """
    # The first version of the protocol answers in one message, and the second takes two.
    switches = {**_SWITCHES, "protocol.version": "0", **access.switches()}
    if helper := _helper(urlsplit(address).scheme):
        try:
            said = _output([helper, address, address], _environment(switches, {}), b"list\n\n", bounds, access)
        except GitError as error:
            if error.kind != TOO_LARGE:  # it names all that there is, and git only what it was asked for
                raise
        else:
            rows = _REF.finditer(said)
            return b"".join(b"%s\t%s\n" % (row[1].replace(b"@", b"ref: "), row[2]) for row in rows)
    asking = ["git", "ls-remote", "--symref", "--", address, "HEAD", "refs/heads/*", "refs/tags/*"]
    return _output(asking, _environment(switches, {}), b"", bounds, access)


@functools.cache
def _helper(scheme: str) -> str:
    """Return git's helper program for a protocol; "" if there is none or git rewrites addresses."""
    if scheme not in {"http", "https"} or b".insteadof" in git(["config", "--list", "--name-only"]).lower():
        return ""
    path = Path(git(["--exec-path"]).decode().strip(), f"git-remote-{scheme}")
    return str(path) if path.is_file() else ""


def _run(
    arguments: list[str], environment: dict[str, str], given: bytes, bounds: Bounds, out: tuple[IO[bytes], IO[bytes]]
) -> int:
    limited = os.name == "posix"
    blocks = [str(max(1, bounds.file_bytes // 512)), str(bounds.memory_bytes >> 10)]
    command = ["/bin/sh", "-c", _LIMITED, "git", *blocks, *arguments] if limited else arguments
    if _stopped.is_set():
        raise GitError(UNREACHABLE, "stopped")
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=out[0], stderr=out[1], start_new_session=True
    ) as process:
        _RUNNING.add(process.pid)
        late = threading.Event()
        # A wait with a time limit of subprocess's own looks every 50 ms, which is longer than most of what git does.
        timer = threading.Timer(bounds.seconds, _end, (process, late))
        timer.daemon = True
        timer.start()
        try:
            process.communicate(given)
        finally:
            timer.cancel()
            if process.poll() is None:
                _kill(process.pid)  # what it started ends with it
            _RUNNING.discard(process.pid)
    if late.is_set() and process.returncode < 0:
        raise GitError(TOO_SLOW, f"it was not done after {bounds.seconds:g} s")
    return process.returncode


def _end(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    if process.poll() is None:
        late.set()
        _kill(process.pid)


def _kill(group: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL) if hasattr(os, "killpg") else os.kill(group, signal.SIGTERM)


def _environment(switches: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not _NOT_OURS.match(name)}
    pairs = {"GIT_CONFIG_COUNT": str(len(switches))}
    for number, (key, value) in enumerate(switches.items()):
        pairs |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**kept, **_QUIET, **pairs, **more}


def _why(code: int, said: str) -> tuple[str, str]:
    """Classify a failure, and pick git's most telling line."""
    if code in {-signal.SIGXFSZ, 128 + signal.SIGXFSZ} if hasattr(signal, "SIGXFSZ") else ():
        return TOO_LARGE, "it writes more than is allowed"
    kind, pattern = next((row for row in _WHY if re.search(row[1], said)), (UNREACHABLE, r"^(fatal|error)"))
    lines = [line.strip() for line in encodable(said).splitlines() if line.strip()]
    shown = next((line for line in lines if re.search(pattern, line)), lines[0] if lines else f"git ended with {code}")
    return kind, one_line(shown.removeprefix("fatal: ").removeprefix("error: "))[:_SAID_CHARS]
