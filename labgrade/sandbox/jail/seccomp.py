"""Seccomp: which calls of the kernel a job may make, as the small program that the kernel runs before each of them.

A list of what is refused, with a ceiling: a number above what was looked at does not exist. The programs are made for
x86-64 and aarch64; on anything else there is no such layer.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from typing import TYPE_CHECKING

from labgrade.sandbox.jail import syscalls
from labgrade.sandbox.jail.linux import INTEL, LIBC, MACHINE, SECCOMP, checked

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ANSWER = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _FOURTH = 0, 4, 16, 24, 40  # places in what the kernel shows of a call
_OURS = 0xC000_003E if INTEL else 0xC000_00B7
_ANY_NAMESPACE = 0x7E02_0080
_LOCAL_SOCKET = 1
_TYPE_INTO_TERMINAL = (0x5412, 0x541C)
_LEASES = (1024, 1026)
_HINTS = (1036, 1038)  # how long a file's data will live: a number that others can read, on a file opened for reading
_LOCK, _LOOK_FOR_LOCK = (6, 7, 37, 38), (5, 36)
_HUGE_PAGES = 0x40000
_OWNER_OF_A_FILE = (8, 15)  # whom the kernel sends a signal of one's choice, as soon as the file can be read
_OWNER_OF_A_SOCKET = (0x8901, 0x8902)
_FILTER = 2


def program(*, namespaces: bool, shared_memory: bool, apart: bool = False, group: int = 0) -> bytes:
    """Return the filter of one job.

    `namespaces`: the job has a private root, network and process tree; without them, what they keep out is refused
    here, and `group` is the only process group that it may signal. `shared_memory`: memory without a name is counted.
    `apart`: the job has a user id that no other job has.

    Raises:
        OSError: nobody wrote down the numbers of this machine's calls.
    """
    if MACHINE not in {"x86_64", "aarch64"}:
        message = f"there is no list of calls for {MACHINE}"
        raise OSError(message)
    make = _Maker()
    make.unless(_ARCHITECTURE, _OURS, _KILL)
    make.load(_NUMBER)
    make.add(_AT_LEAST, 0, 1, syscalls.HIGHEST + 1)  # also all of x32
    make.answer(errno.ENOSYS)
    make.refuse([syscalls.CLONE3], errno.ENOSYS)  # its flags cannot be seen here; the C library falls back to clone
    refused = [syscalls.REFUSED, *([] if shared_memory else [syscalls.NAMELESS_MEMORY])]
    refused += [] if namespaces else [syscalls.SOCKETS, syscalls.OTHERS_SCHEDULING, syscalls.QUEUED_SIGNALS]
    refused += [] if apart else [syscalls.IN_FLIGHT]
    make.refuse([number for names in refused for number in syscalls.numbers(names)], errno.EPERM)
    make.refuse(syscalls.numbers(syscalls.TAKEN_FROM_ALL), errno.ENOSYS)
    _keep_locks_apart(make)
    # The machine has one pool of huge pages that are asked for by name.
    make.refuse_argument(syscalls.number("mmap"), _FOURTH, [_HUGE_PAGES], _ANY_BIT, code=errno.ENOMEM)
    make.refuse_argument(syscalls.number("clone"), _FIRST, [_ANY_NAMESPACE], _ANY_BIT)
    make.refuse_argument(syscalls.number("ioctl"), _SECOND, (*_TYPE_INTO_TERMINAL, *_OWNER_OF_A_SOCKET))
    make.refuse_argument(syscalls.number("fcntl"), _SECOND, (*_LEASES, *_HINTS, *_OWNER_OF_A_FILE))
    if namespaces:
        make.allow_arguments(syscalls.number("socket"), [_LOCAL_SOCKET], errno.EPERM)
    else:
        make.refuse(syscalls.numbers(syscalls.METADATA), 0)
        for name in syscalls.OWN_SCHEDULING:
            make.allow_arguments(syscalls.number(name), [0], 0)
        for name in syscalls.TO_OTHERS:
            make.allow_arguments(syscalls.number(name), [0, group], errno.EPERM)
    make.add(_RETURN, 0, 0, _ALLOW)
    return b"".join(make.steps)


def _keep_locks_apart(make: _Maker) -> None:
    """Make locks on files do nothing: through those on shared files one job could pass numbers to another.

    A lock seems to be had at once, because programs such as sqlite fail without one. Nobody learns of another's.
    """
    make.refuse(syscalls.numbers(syscalls.LOCKS), 0)
    make.refuse_argument(syscalls.number("fcntl"), _SECOND, _LOCK, code=0)
    make.refuse_argument(syscalls.number("fcntl"), _SECOND, _LOOK_FOR_LOCK, code=errno.ENOLCK)


def install(steps: bytes) -> None:
    """Put the filter on this process and all its children. NO_NEW_PRIVILEGES must be set.

    Raises:
        OSError: the kernel has no seccomp, or refuses.
    """
    memory = ctypes.create_string_buffer(steps, len(steps))
    description = struct.pack("<HxxxxxxQ", len(steps) // 8, ctypes.addressof(memory))
    place = ctypes.create_string_buffer(description, len(description))
    checked(LIBC.prctl(SECCOMP, ctypes.c_ulong(_FILTER), place, 0, 0), "seccomp")


class _Maker:
    """Collects the steps of a filter; each test jumps over a number of the next ones."""

    def __init__(self) -> None:
        self.steps: list[bytes] = []

    def add(self, code: int, if_so: int, if_not: int, value: int) -> None:
        self.steps.append(struct.pack("<HBBI", code, if_so, if_not, value))

    def load(self, place: int) -> None:
        self.add(_LOAD, 0, 0, place)

    def answer(self, code: int) -> None:
        """Refuse the call: it seems to have failed with `code`, or to have worked for 0."""
        self.add(_RETURN, 0, 0, _ANSWER | code)

    def unless(self, place: int, value: int, action: int) -> None:
        self.load(place)
        self.add(_EQUAL, 1, 0, value)
        self.add(_RETURN, 0, 0, action)

    def refuse(self, numbers: Iterable[int], code: int) -> None:
        self.load(_NUMBER)
        for number in sorted(set(numbers)):
            self.add(_EQUAL, 0, 1, number)
            self.answer(code)

    def refuse_argument(
        self, number: int, place: int, values: Iterable[int], test: int = _EQUAL, *, code: int = errno.EPERM
    ) -> None:
        """Answer `code` where an argument of a call is one of `values` (or has one of their bits)."""
        for value in values:
            self.load(_NUMBER)
            self.add(_EQUAL, 0, 3, number)
            self.load(place)
            self.add(test, 0, 1, value)
            self.answer(code)

    def allow_arguments(self, number: int, values: list[int], code: int) -> None:
        """Answer `code` where the first argument of a call is none of `values`."""
        self.load(_NUMBER)
        self.add(_EQUAL, 0, len(values) + 2, number)
        self.load(_FIRST)
        for index, value in enumerate(values):
            self.add(_EQUAL, len(values) - index, 0, value)
        self.answer(code)
