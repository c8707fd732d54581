"""Opens sockets of every family, of which some reach the kernel or other machines.

stopped by: namespaces, seccomp
off: seccomp
"""

import socket


def attack():
    opened = []
    for family in (2, 10, 15, 16, 17, 21, 29, 31, 38, 40, 44):  # all but local ones
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            try:
                socket.socket(family, kind).close()
                opened.append([family, int(kind)])
            except OSError:
                pass
    return opened
