"""Starts the server's script with a clean environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

START_SECONDS = 180.0

# Where programs are found; a CMake that `sudo pip install` brought lies in the first.
SEARCHED = os.pathsep.join(["/usr/local/bin", os.defpath]) if sys.platform != "win32" else os.defpath


def start(
    arguments: list[str],
    home: str,
    streams: tuple[int, int, int],
    prefix: tuple[str, ...] = (),
    user: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start it through `prefix`, as `user` where this is root.

    Not `-I`: it would ignore PYTHONHASHSEED. The environment is made here, and -P -s keep out what is left of it.
    """
    script = str(Path(__file__).with_name("server.py"))
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        [*prefix, sys.executable, "-P", "-s", script, *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=home,
        env=_environment(home),
        close_fds=True,
        start_new_session=True,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )


def _environment(home: str) -> dict[str, str]:
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
