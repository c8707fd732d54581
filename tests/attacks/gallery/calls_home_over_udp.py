"""Sends a datagram to a server of the machine's.

stopped by: namespaces, seccomp
"""

import json
import socket


def attack():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.sendto(b"answers, please", ("127.0.0.1", json.load(open("world.json"))["udp"]))
    return False  # that it left says nothing: who listens knows whether it came
