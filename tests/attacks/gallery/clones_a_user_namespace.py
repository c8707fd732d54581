"""Makes a process in a user namespace by the older and by the newer call.

stopped by: seccomp
"""

import ctypes
import os
import struct


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    machine = os.uname().machine
    pid = libc.syscall(56 if machine == "x86_64" else 220, 0x10000000 | 17, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    arguments = ctypes.create_string_buffer(struct.pack("<8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0))
    newer = libc.syscall(435, arguments, ctypes.c_size_t(64))
    if newer == 0:
        os._exit(0)
    return pid > 0 or newer > 0
