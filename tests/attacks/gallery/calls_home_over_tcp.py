"""Connects to a server of the machine's.

stopped by: namespaces, landlock, seccomp
"""

import json
import socket


def attack():
    with socket.create_connection(("127.0.0.1", json.load(open("world.json"))["tcp"]), timeout=3) as line:
        line.sendall(b"answers, please")
    return True
