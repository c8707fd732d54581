"""Takes events of asynchronous input and output, of which the whole machine has one number.

stopped by: seccomp
"""

import ctypes
import os


def attack():
    context = ctypes.c_ulong(0)
    number = 206 if os.uname().machine == "x86_64" else 0
    return ctypes.CDLL(None, use_errno=True).syscall(number, ctypes.c_uint(8), ctypes.byref(context)) == 0
