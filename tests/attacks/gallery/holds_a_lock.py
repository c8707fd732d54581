"""Locks a file that every job can see, and holds it.

stopped by: seccomp
"""

import fcntl
import os


def attack():
    path = os.path.realpath("/bin/sh")
    one, other = open(path), open(path)
    fcntl.flock(one, fcntl.LOCK_EX)
    try:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False
