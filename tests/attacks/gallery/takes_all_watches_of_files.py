"""Takes all of the instances of inotify that the owner of its namespace may have.

stopped by: seccomp
"""

import ctypes
import time


def attack():
    init = ctypes.CDLL(None, use_errno=True).inotify_init1
    while init(0) >= 0:
        pass
    print("holding", flush=True)
    time.sleep(600)


def beside():
    libc = ctypes.CDLL(None, use_errno=True)
    return "made" if libc.inotify_init1(0) >= 0 else ctypes.get_errno()
