"""The private root of a server, made by hand: what `places` shows, read-only, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.sandbox.jail import linux
from labgrade.sandbox.jail.places import trusted_place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.sandbox.jail.places import Places

HANDIN, SCRATCH, JOBS = "/handin", "/scratch", "/jobs"
DEVICES = ("null", "zero", "full", "random", "urandom")
SERVER_SCRATCH = "size=64m,nr_inodes=4k,mode=1777"
FILES: Mapping[str, str] = {
    "/etc/passwd": "student:x:1000:1000::/scratch:/bin/sh\n",
    "/etc/group": "student:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
LINKS: Mapping[str, str] = {
    "/tmp": f"{SCRATCH}/tmp",  # noqa: S108 - the name of a link
    "/var/tmp": f"{SCRATCH}/tmp",  # noqa: S108
    "/dev/shm": f"{SCRATCH}/tmp",  # noqa: S108
    "/dev/fd": "/proc/self/fd",
}
_STAGE = "/tmp"  # noqa: S108 - only covered, for this namespace alone
_OLD, _NEW = "/old", "/new"
_FLAGS = linux.NO_SUID | linux.NO_DEVICES


def build(places: Places, jobs: str) -> None:
    """Make the root in this process's own mount namespace, and enter it. `jobs` appears at `/jobs`, read-only.

    Raises:
        OSError: the kernel refuses a part of it; the process must end then.
    """
    linux.keep_mounts_to_oneself()
    linux.mount("tmpfs", _STAGE, "tmpfs", _FLAGS, "size=4m,mode=755")
    for folder in ("old", "new"):
        os.mkdir(f"{_STAGE}/{folder}")  # noqa: PTH102 - text, as mounts take it
    linux.pivot_root(_STAGE, f"{_STAGE}/old")
    os.chdir("/")
    linux.bind(_NEW, _NEW, writable=True)
    for place in places.shown:
        _show(place)
    for place in places.covered:
        if os.path.isdir(_NEW + place):  # noqa: PTH112 - text, as mounts take it
            linux.mount("tmpfs", _NEW + place, "tmpfs", _FLAGS | linux.READ_ONLY, "size=4k,mode=755")
        else:
            linux.bind(f"{_OLD}/dev/null", _NEW + place)  # which no job may open: it is a device on a mount without
    _furnish()
    linux.bind(_OLD + jobs, _NEW + JOBS)
    for folder in places.trusted:
        own = _NEW + trusted_place(folder)
        os.makedirs(own)  # noqa: PTH103
        linux.bind(_OLD + folder, own)
    # A fresh /proc can only be mounted where a whole one is still in sight: the server's own replaces it.
    linux.bind(f"{_OLD}/proc", f"{_NEW}/proc", writable=True)
    linux.mount("tmpfs", _NEW + SCRATCH, "tmpfs", _FLAGS, SERVER_SCRATCH)
    linux.seal(_NEW)
    linux.change_root(_NEW)


def _furnish() -> None:
    """Make the folders, devices, settings and links of the new root."""
    for folder in (HANDIN, SCRATCH, JOBS, "/proc", "/dev", "/etc", "/var"):
        os.makedirs(_NEW + folder, exist_ok=True)  # noqa: PTH103
    for name in DEVICES:
        Path(f"{_NEW}/dev/{name}").touch()
        linux.bind(f"{_OLD}/dev/{name}", f"{_NEW}/dev/{name}", writable=True)
    for path, text in FILES.items():
        Path(_NEW + path).write_bytes(text.encode())
    for path, target in LINKS.items():
        if not os.path.lexists(_NEW + path):
            os.symlink(target, _NEW + path)  # noqa: PTH211


def _show(place: str) -> None:
    """Bind a folder or file to the same name in the new root; make a link anew."""
    target, source = Path(_NEW + place), _OLD + place
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.islink(source):  # noqa: PTH114
        target.symlink_to(os.readlink(source))  # noqa: PTH115
        return
    if os.path.isdir(source):  # noqa: PTH112
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    linux.bind(source, str(target))
