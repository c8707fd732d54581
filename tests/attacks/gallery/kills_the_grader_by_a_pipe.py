"""Has the kernel send a signal of its choice to a process of the grader's, as soon as a pipe can be read.

stopped by: namespaces, landlock, seccomp
"""

import fcntl
import json
import os
import time

SET_OWNER, SET_SIGNAL, TELLS = 8, 10, os.O_NONBLOCK | 0o20000


def attack():
    reader, writer = os.pipe()
    fcntl.fcntl(reader, SET_OWNER, json.load(open("world.json"))["victim"])
    fcntl.fcntl(reader, SET_SIGNAL, 9)
    fcntl.fcntl(reader, fcntl.F_SETFL, TELLS)
    os.write(writer, b"x")
    time.sleep(0.2)
    return False
