"""Locks a byte of a file that every job can see; which byte it is, is a number that another job can read.

stopped by: seccomp
"""

import fcntl
import os
import struct
import time

LOOK, LOCK, LOOK_BY_FILE, LOCK_BY_FILE = 5, 6, 36, 37
SECRET = 4711


def lock(kind, start, length):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, 0)


def attack():
    with open(os.path.realpath("/bin/sh")) as file:
        for command in (LOCK, LOCK_BY_FILE):
            fcntl.fcntl(file, command, lock(fcntl.F_RDLCK, SECRET, 1))
        print("holding", flush=True)
        time.sleep(600)


def beside():
    found = []
    with open(os.path.realpath("/bin/sh")) as file:
        for command in (LOOK, LOOK_BY_FILE):
            try:
                kind, _, start, *_ = struct.unpack("hhqqi4x", fcntl.fcntl(file, command, lock(fcntl.F_WRLCK, 0, 0)))
                found.append((kind, start))
            except OSError as error:
                found.append(error.errno)
    return found
