"""Starts the server's script with a clean environment, within bubblewrap where nothing else makes namespaces."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError
from labgrade.sandbox.jail import places, root

if TYPE_CHECKING:
    from collections.abc import Mapping

START_SECONDS = 180.0


class KilledError(FaultError):
    """A process was killed before it could serve. The next one may live."""


# Where programs are found; a CMake that `sudo pip install` brought lies in the first.
SEARCHED = os.pathsep.join(["/usr/local/bin", os.defpath]) if sys.platform != "win32" else os.defpath


def start(
    arguments: list[str],
    home: str,
    streams: tuple[int, int, int],
    prefix: tuple[str, ...] = (),
    user: int | None = None,
    *,
    variables: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start the server's script through `prefix`, as `user` where this is root.

    Not `-I`: it would ignore PYTHONHASHSEED. The environment is made here, and -P -s keep out what is left of it.
    """
    script = str(Path(__file__).parents[1] / "child/server.py")
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        [*prefix, sys.executable, "-P", "-s", script, *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=home,
        env={**environment(home), **(variables or {})},
        close_fds=True,
        start_new_session=True,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )


def environment(home: str) -> dict[str, str]:
    """Return all environment variables that a server starts with."""
    own = {
        "PATH": SEARCHED,
        "HOME": home,
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "ORT_DISABLE_TELEMETRY": "1",
        "PYTHONHASHSEED": "0",
    }
    # Without it Windows starts no process that uses sockets.
    return own if sys.platform != "win32" else {**own, "SYSTEMROOT": os.environ.get("SYSTEMROOT", "")}


_OWN = ("__init__.py", "core/__init__.py", "core/arguments.py", "sandbox", "subjects")
_SCRATCH_BYTES = 512 << 20


def command(
    jobs: str, zoo: str, trusted: tuple[str, ...], secret: tuple[str, ...], offered: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the bubblewrap command that a server is started with; empty where there is no bubblewrap."""
    program = shutil.which("bwrap")
    if program is None:
        return ()
    shown = places.find(secret, trusted, offered)
    package = Path(__file__).resolve().parents[2]
    words = [program, "--unshare-all", "--die-with-parent", "--as-pid-1", "--hostname", "labgrade"]
    for place in shown.shown:
        link = Path(place)
        words += ["--symlink", str(link.readlink()), place] if link.is_symlink() else ["--ro-bind", place, place]
    folders = [place for place in shown.covered if Path(place).is_dir()]
    for place in shown.covered:
        words += ["--tmpfs", place] if place in folders else ["--ro-bind", "/dev/null", place]
    # The server's own code, which is no secret; a job's landlock leaves it out all the same.
    for place in (*(str(package / part) for part in _OWN), zoo, jobs, *trusted):
        words += ["--ro-bind", place, place]
    for place in folders:
        words += ["--remount-ro", place]
    words += ["--proc", "/proc", "--dev", "/dev"]
    words += ["--perms", "1777", "--size", str(_SCRATCH_BYTES), "--tmpfs", root.SCRATCH]
    for path, text in root.LINKS.items():
        if path.startswith("/tmp") and not any(place.startswith("/tmp/") for place in (*shown.shown, zoo, jobs)):  # noqa: S108
            words += ["--symlink", text, path]
    return (*words, "--remount-ro", "/", "--chdir", root.SCRATCH, "--")
