"""Makes a user namespace, in which it would have every right.

stopped by: seccomp
"""

import ctypes


def attack():
    return ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == 0
