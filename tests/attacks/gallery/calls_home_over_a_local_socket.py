"""Connects to a socket that has a path.

stopped by: namespaces, seccomp
"""

import json
import socket


def attack():
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(json.load(open("world.json"))["path_socket"])
        line.sendall(b"answers, please")
    return True
