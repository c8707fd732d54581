"""Numbers of the kernel's calls, by what they are refused for: (x86-64, aarch64), None where there is no such call."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from labgrade.sandbox.jail.linux import INTEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Numbers: TypeAlias = "Mapping[str, tuple[int | None, int | None]]"

HIGHEST = 469  # what came after Linux 6.18 was not looked at
CLONE3 = 435

_OTHER_PROCESSES: Numbers = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
}
_MOUNTS: Numbers = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "unshare": (272, 97),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
}
_KERNEL: Numbers = {
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "ioperm": (173, None),
    "iopl": (172, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "ustat": (136, None),
    "sysfs": (139, None),
    "_sysctl": (156, None),
    "nfsservctl": (180, 42),
    "lookup_dcookie": (212, 18),
    "personality": (135, 92),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "memfd_secret": (447, 447),
    "cachestat": (451, 451),
    "lsm_set_self_attr": (460, 460),
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}
_NAMED_MEMORY: Numbers = {  # System V and POSIX queues: outlive their process
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}
REFUSED: Numbers = MappingProxyType({**_OTHER_PROCESSES, **_MOUNTS, **_KERNEL, **_NAMED_MEMORY})

SOCKETS: Numbers = MappingProxyType(
    {
        "socket": (41, 198),
        "connect": (42, 203),
        "bind": (49, 200),
        "listen": (50, 201),
        "accept": (43, 202),
        "accept4": (288, 242),
    }
)
NAMELESS_MEMORY: Numbers = MappingProxyType({"memfd_create": (319, 279)})
LOCKS: Numbers = MappingProxyType({"flock": (73, 32)})
# Counted for the machine, or for the owner of the server's namespace: one job could take all that there are. Programs
# that find no such call do without.
TAKEN_FROM_ALL: Numbers = MappingProxyType(
    {"inotify_init": (253, None), "inotify_init1": (294, 26), "io_setup": (206, 0)}
)
# Descriptors on their way from one process to another are counted by user, against the limit of who sends.
IN_FLIGHT: Numbers = MappingProxyType({"sendmsg": (46, 211), "sendmmsg": (307, 269)})
METADATA: Numbers = MappingProxyType(
    {
        "chmod": (90, None),
        "fchmod": (91, 52),
        "chown": (92, None),
        "fchown": (93, 55),
        "lchown": (94, None),
        "fchownat": (260, 54),
        "fchmodat": (268, 53),
        "fchmodat2": (452, 452),
        "utime": (132, None),
        "utimes": (235, None),
        "futimesat": (261, None),
        "utimensat": (280, 88),
        "setxattr": (188, 5),
        "lsetxattr": (189, 6),
        "fsetxattr": (190, 7),
        "removexattr": (197, 14),
        "lremovexattr": (198, 15),
        "fremovexattr": (199, 16),
        "setxattrat": (463, 463),
        "removexattrat": (466, 466),
        "file_setattr": (469, 469),
    }
)
OTHERS_SCHEDULING: Numbers = MappingProxyType({"setpriority": (141, 140), "ioprio_set": (251, 30)})
OWN_SCHEDULING = ("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
QUEUED_SIGNALS: Numbers = MappingProxyType(
    {"rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424)}
)
TO_OTHERS = ("kill", "tkill", "tgkill", "prlimit64")
_SINGLE: Numbers = {
    "clone": (56, 220),
    "ioctl": (16, 29),
    "fcntl": (72, 25),
    "mmap": (9, 222),
    "socket": (41, 198),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}


def numbers(calls: Numbers, *, intel: bool = INTEL) -> Iterator[int]:
    """Yield the numbers of these calls on this machine, as far as it has them."""
    for pair in calls.values():
        found = pair[0] if intel else pair[1]
        if found is not None:
            yield found


def number(name: str) -> int:
    """Return the number on this machine of a call whose arguments are checked."""
    (found,) = numbers({name: _SINGLE[name]})
    return found
