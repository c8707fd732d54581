"""Attaches a debugger to a process of the grader's.

stopped by: namespaces, landlock, seccomp
"""

import ctypes
import json


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.ptrace(16, json.load(open("world.json"))["victim"], 0, 0) == 0
