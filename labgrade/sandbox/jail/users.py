"""User ids for jobs: each job that runs has one of its own, so that it uses up nothing that the kernel counts by user.

Root takes ids that no system gives away; an ordinary user those that the administrator gave them (/etc/subuid). They
are mapped into the server's namespace from outside, by a process that waits there.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from labgrade.sandbox.jail import linux

FIRST = 2000  # of the ids as the server's namespace names them
MOST = 1024
# Behind what containers are given, and before what systemd keeps for foreign images; or in a container's own 65,536.
_OF_ROOT = (0x7000_0000, 64_000 - MOST)
_PROGRAMS = ("newuidmap", "newgidmap")


@dataclass(frozen=True, slots=True)
class Users:
    """A range of ids on the machine: `count` users from `user` on, as many groups from `group` on."""

    user: int
    group: int
    count: int


def of_this_machine() -> Users:
    """Return the user ids that jobs may have on this machine.

    Raises:
        OSError: there are none, with the reason.
    """
    if os.getuid() == 0:
        for first in _OF_ROOT:
            if all(_is_mapped(first, table) for table in ("uid_map", "gid_map")):
                return Users(first, first, MOST)
        message = "this container has too few user ids"
        raise OSError(message)
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        message = f"there is no {missing[0]}"
        raise OSError(message)
    user, users = _range_of("/etc/subuid")
    group, groups = _range_of("/etc/subgid")
    return Users(user, group, min(users, groups, MOST))


def _is_mapped(first: int, table: str) -> bool:
    rows = [[int(word) for word in line.split()] for line in Path("/proc/self", table).read_text().splitlines()]
    return any(inside <= first and first + MOST <= inside + count for inside, _, count in rows)


def _range_of(table: str) -> tuple[int, int]:
    own = {str(os.getuid())}
    with contextlib.suppress(KeyError):
        own.add(pwd.getpwuid(os.getuid()).pw_name)
    lines = []
    with contextlib.suppress(OSError):
        lines = Path(table).read_text().splitlines()
    for line in lines:
        name, _, numbers = line.strip().partition(":")
        first, _, count = numbers.partition(":")
        if name in own and first.isdecimal() and count.isdecimal() and int(count) > 0:
            return int(first), int(count)
    message = f"{table} has no ids for user {os.getuid()}"
    raise OSError(message)


class Mapper:
    """A process that stays outside of the namespace that its parent will make, and maps ids into it.

    `inside` is the parent's own id within.
    """

    def __init__(self, users: Users, inside: int, own_user: int, own_group: int) -> None:
        wait, self._go = os.pipe()
        self._answer, answer = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(wait)
            os.close(answer)
            return
        try:
            os.close(self._go)
            if os.read(wait, 1):
                _map(os.getppid(), "uid_map", [(inside, own_user, 1), (FIRST, users.user, users.count)])
                _map(os.getppid(), "gid_map", [(inside, own_group, 1), (FIRST, users.group, users.count)])
        except BaseException as error:  # noqa: BLE001 - the parent raises it
            os.write(answer, f"user ids could not be mapped: {error}".encode()[:500])
        finally:
            os._exit(0)

    def map(self) -> None:
        """Map the ids, now that the parent is in its own namespace.

        Raises:
            OSError: the kernel, or newuidmap, refuses.
        """
        os.write(self._go, b"1")
        os.close(self._go)
        with open(self._answer, encoding="utf-8", errors="replace") as answer:  # noqa: PTH123 - a descriptor
            problem = answer.read()
        os.waitpid(self._pid, 0)
        if problem:
            raise OSError(problem)


def _map(pid: int, table: str, rows: list[tuple[int, int, int]]) -> None:
    if os.getuid() == 0:
        Path(f"/proc/{pid}/{table}").write_bytes("".join(f"{a} {b} {count}\n" for a, b, count in rows).encode())
        return
    command = ["newuidmap" if table == "uid_map" else "newgidmap", str(pid)]
    done = subprocess.run(
        [*command, *(str(number) for row in rows for number in row)], check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise OSError(done.stderr.strip() or f"{command[0]} refused")


def become(index: int) -> None:
    """Become one of the users, and keep every right over the namespace.

    Raises:
        OSError: there is no such user in this namespace.
    """
    own = FIRST + index
    os.setresgid(own, own, own)
    os.setresuid(own, own, own)
    linux.prctl(linux.SET_DUMPABLE, 1)  # else its own /proc is not its own


def check_reading(offered: tuple[str, ...]) -> None:
    """Check that this user can read what the interpreter imports, and what is offered.

    Raises:
        OSError: something of it is its owner's alone, so that work which is right would fail.
    """
    for place in (sys.executable, os.__file__, *(entry for folder in sys.path for entry in _entries(folder))):
        _check(place)
    for place in offered:
        for base, folders, names in os.walk(place):
            for name in (*folders, *names):
                _check(os.path.join(base, name))  # noqa: PTH118 - text, of which there may be much


def _entries(folder: str) -> list[str]:
    if not os.path.isdir(folder):  # noqa: PTH112
        return []
    return [folder, *(entry.path for entry in os.scandir(folder))]


def _check(path: str) -> None:
    wanted = os.R_OK | (os.X_OK if os.path.isdir(path) else 0)  # noqa: PTH112
    if os.path.exists(path) and not os.access(path, wanted):  # noqa: PTH110
        message = f"other users may not read {path}"
        raise OSError(message)
