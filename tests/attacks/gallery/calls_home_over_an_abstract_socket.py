"""Connects to a socket that has a name without a path.

stopped by: namespaces, landlock, seccomp
"""

import json
import socket


def attack():
    with socket.socket(socket.AF_UNIX) as line:
        line.connect("\0" + json.load(open("world.json"))["abstract_socket"])
        line.sendall(b"answers, please")
    return True
