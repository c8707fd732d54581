"""The calls to the Linux kernel that a jail is made of, through the C library: nothing needs to be installed.

Numbers are those of the kernel's headers. Every function raises OSError with what was asked where the kernel refuses.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

NEW_MOUNTS = 0x0002_0000
NEW_CGROUP = 0x0200_0000
NEW_HOST = 0x0400_0000
NEW_IPC = 0x0800_0000
NEW_USER = 0x1000_0000
NEW_PIDS = 0x2000_0000
NEW_NETWORK = 0x4000_0000

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC = 1, 2, 4, 8
_REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 32, 4096, 16384, 1 << 18
_NO_ATIME, _NO_DIR_ATIME, _REL_ATIME = 1024, 2048, 1 << 21
_DETACH = 2
# A user namespace may not clear flags that a mount came with: (as statvfs tells them, as mount takes them).
_LOCKED = (
    (os.ST_NOSUID if hasattr(os, "ST_NOSUID") else 2, NO_SUID),
    (4, NO_DEVICES),
    (8, NO_EXEC),
    (_NO_ATIME, _NO_ATIME),
    (_NO_DIR_ATIME, _NO_DIR_ATIME),
    (4096, _REL_ATIME),
)

DEATH_SIGNAL, SET_DUMPABLE, SECCOMP, DROP_FROM_BOUND, SUBREAPER, NO_NEW_PRIVILEGES, AMBIENT = 1, 4, 22, 24, 36, 38, 47
_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION = 0x2008_0522
_MOST_CAPABILITIES = 64
_COLLAPSE = 25
_HUGE_PAGE = 2 << 20
_ARENA_MAX = -8

MACHINE = os.uname().machine if hasattr(os, "uname") else ""
INTEL = MACHINE == "x86_64"
LIBC = ctypes.CDLL(None, use_errno=True)
_PIVOT_ROOT, _CAPSET = (155, 126) if INTEL else (41, 91)


def checked(result: int, what: str) -> int:
    """Return the result of a call of the C library.

    Raises:
        OSError: it is negative; says `what`.
    """
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    """Give this process namespaces of its own."""
    checked(LIBC.unshare(flags), "unshare")


def set_tree_of_children(descriptor: int) -> None:
    """Have the children that are forked from now on be in that process tree (`/proc/PID/ns/pid`)."""
    checked(LIBC.setns(descriptor, NEW_PIDS), "setns")


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    """Mount a file system, such as a tmpfs with `size=64m`."""
    texts = (os.fsencode(source), os.fsencode(target), kind.encode())
    checked(LIBC.mount(*texts, ctypes.c_ulong(flags), options.encode() or None), f"mount {kind} on {target}")


def bind(source: str, target: str, *, writable: bool = False, devices: bool = False) -> None:
    """Show a folder or file at a second place; read-only there with everything below it, unless `writable`."""
    checked(
        LIBC.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(_BIND | _RECURSIVE), None),
        f"bind {source} to {target}",
    )
    if not writable:
        _remount(target, READ_ONLY | NO_SUID | (0 if devices else NO_DEVICES))


def seal(target: str) -> None:
    """Make a mount read-only as it stands."""
    _remount(target, READ_ONLY | NO_SUID)


def _remount(target: str, flags: int) -> None:
    have = os.statvfs(target).f_flag
    keep = sum(flag for told, flag in _LOCKED if have & told)
    everything = ctypes.c_ulong(_REMOUNT | _BIND | flags | keep)
    checked(LIBC.mount(None, os.fsencode(target), None, everything, None), f"make {target} read-only")


def keep_mounts_to_oneself() -> None:
    """Keep mounts of this namespace from reaching any other."""
    checked(LIBC.mount(None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None), "make mounts private")


def pivot_root(new: str, old: str) -> None:
    """Make the mount at `new` the root, and show the old one at `old`, which lies below `new`."""
    checked(LIBC.syscall(ctypes.c_long(_PIVOT_ROOT), os.fsencode(new), os.fsencode(old)), "pivot_root")


def change_root(new: str) -> None:
    """Make the mount at `new` the root, and detach the old one."""
    os.chdir(new)
    pivot_root(".", ".")
    checked(LIBC.umount2(b".", _DETACH), "unmount the old root")
    os.chdir("/")


def set_host_name(name: str) -> None:
    """Name the machine, as this namespace sees it."""
    text = name.encode()
    checked(LIBC.sethostname(text, ctypes.c_size_t(len(text))), "sethostname")


def prctl(option: int, value: int = 0, third: int = 0) -> None:
    """Set a property of this process."""
    long = ctypes.c_ulong
    checked(LIBC.prctl(option, long(value), long(third), long(0), long(0)), f"prctl {option}")


def map_user(inside: int, user: int, group: int) -> None:
    """Be `inside` in a new user namespace, which is `user` and `group` outside."""
    own = Path("/proc/self")
    (own / "setgroups").write_bytes(b"deny")
    (own / "uid_map").write_bytes(f"{inside} {user} 1".encode())
    (own / "gid_map").write_bytes(f"{inside} {group} 1".encode())


def drop_capabilities() -> None:
    """Give up all privileges, and every way to get one."""
    for capability in range(_MOST_CAPABILITIES):
        if LIBC.prctl(DROP_FROM_BOUND, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break
    LIBC.prctl(AMBIENT, ctypes.c_ulong(_AMBIENT_CLEAR_ALL), 0, 0, 0)
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    checked(LIBC.syscall(ctypes.c_long(_CAPSET), header, none), "capset")


def keep_arenas_few() -> None:
    """Have threads share two arenas: each would else reserve 64 MB of addresses for its allocations."""
    LIBC.mallopt(_ARENA_MAX, 2)


def give_back_memory() -> None:
    """Return freed memory to the kernel."""
    LIBC.malloc_trim(ctypes.c_size_t(0))


def collapse_heap() -> int:
    """Ask for huge pages under this process's private memory, so that forks are cheap; return the bytes asked for.

    Of what a fork shares with others, only written pages take room anew. Needs Linux 6.1 and no privilege. Where it is
    refused nothing is lost.
    """
    asked = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        name = fields[5] if len(fields) > 5 else ""  # noqa: PLR2004 - of the six columns the last may be absent
        if fields[1].startswith("rw-p") and fields[4] == "0" and not name.startswith(("[stack", "[v")):
            start, end = (int(part, 16) for part in fields[0].split("-"))
            if end - start < _HUGE_PAGE:
                continue
            if LIBC.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _COLLAPSE) == 0:
                asked += end - start
    return asked
