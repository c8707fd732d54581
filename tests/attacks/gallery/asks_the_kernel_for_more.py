"""Tries the calls that kernels were broken by: io_uring, bpf, perf, userfaultfd, and what is not known yet.

stopped by: seccomp
"""

import ctypes
import os


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    memory = ctypes.create_string_buffer(4096)
    intel = os.uname().machine == "x86_64"
    done = {
        "io_uring": libc.syscall(425, 4, memory),
        "bpf": libc.syscall(321 if intel else 280, 0, memory, 128),
        "userfaultfd": libc.syscall(323 if intel else 282, 1),
        "perf": libc.syscall(298 if intel else 241, memory, 0, -1, -1, 0),
        "landlock": libc.syscall(444, None, ctypes.c_size_t(0), 1),
    }
    return [name for name, result in done.items() if result >= 0]
