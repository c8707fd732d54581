"""Stores a note in a keyring of the kernel's, where a later job of the same user could find it.

stopped by: seccomp
"""

import ctypes
import os


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    number = 248 if os.uname().machine == "x86_64" else 217
    return libc.syscall(number, b"user", b"note", b"answers", ctypes.c_size_t(7), ctypes.c_long(-3)) > 0
