"""Landlock: a process gives up its rights on files, TCP ports and other processes' signals, for good.

It needs no privilege and no namespace. What it leaves: looking at names and sizes (stat), and changing modes and times,
which seccomp takes over where no private root is there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from typing import TYPE_CHECKING

from labgrade.sandbox.jail.linux import LIBC, checked

if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_EXECUTE, _WRITE, _READ, LIST = 1, 2, 4, 8
_MAKE_CHARACTER_DEVICE, _MAKE_BLOCK_DEVICE = 1 << 6, 1 << 11
_BY_VERSION = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_TCP_SINCE, _SCOPES_SINCE = 4, 6
_LOOK = _EXECUTE | _READ | LIST


def version() -> int:
    """Return the version of landlock that the kernel offers; 0 for none."""
    found: int = LIBC.syscall(ctypes.c_long(_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(found, 0)


def restrict(
    readable: Iterable[str], writable: Iterable[str], *, listed: Iterable[str] = (), devices: Iterable[str] = ()
) -> None:
    """Allow reading and running below `readable`, everything below `writable`, listing below `listed`; nothing else.

    `devices` are files that are read and written. TCP is refused (version 4), and so are signals and abstract sockets
    to processes outside (version 6).

    Raises:
        OSError: there is no landlock here, or it refuses.
    """
    offered = version()
    rights = sum(bits for since, bits in _BY_VERSION.items() if offered >= since)
    parts = [rights, 3 if offered >= _TCP_SINCE else 0, 3 if offered >= _SCOPES_SINCE else 0]
    size = 8 if offered < _TCP_SINCE else 16 if offered < _SCOPES_SINCE else 24
    wanted = struct.pack("<QQQ", *parts)[:size]
    call = LIBC.syscall
    rules = checked(call(ctypes.c_long(_CREATE), wanted, ctypes.c_size_t(size), ctypes.c_uint32(0)), "landlock")
    try:
        for paths, allowed in (
            (readable, _LOOK),
            (listed, LIST),
            (writable, rights & ~(_MAKE_CHARACTER_DEVICE | _MAKE_BLOCK_DEVICE)),
            (devices, _READ | _WRITE),
        ):
            for path in paths:
                _allow(rules, path, allowed & rights)
        checked(call(ctypes.c_long(_RESTRICT), rules, ctypes.c_uint32(0)), "landlock")
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    """Add a rule for a path; a path that does not exist needs none."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not os.path.isdir(path):  # noqa: PTH112 - the paths are text here
                rights &= _EXECUTE | _READ | _WRITE
            rule = struct.pack("<Qi", rights, place)
            call = LIBC.syscall
            checked(call(ctypes.c_long(_ADD), rules, 1, rule, ctypes.c_uint32(0)), f"landlock {path}")
        finally:
            os.close(place)
