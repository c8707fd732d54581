"""Makes shared memory that outlives its process.

stopped by: namespaces, seccomp
off: seccomp
"""

import ctypes
import os


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.shmget(0, ctypes.c_size_t(4096), 0o1600)
    if made >= 0:
        libc.shmctl(made, 0, None)
    return made >= 0
