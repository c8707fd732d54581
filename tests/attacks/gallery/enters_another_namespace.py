"""Enters the namespaces of a process of the grader's.

stopped by: namespaces, landlock, seccomp
off: none
"""

import ctypes
import json
import os


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    victim = json.load(open("world.json"))["victim"]
    return libc.setns(os.pidfd_open(victim), 0x20000000) == 0 or libc.setns(os.pidfd_open(victim), 0x00020000) == 0
