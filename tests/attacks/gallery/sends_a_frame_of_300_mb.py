"""Sends more on the result's channel than any result may hold.

stopped by: design
outcome: refused, crashed
"""

import os


def attack():
    chunk = b"x" * (1 << 20)
    for descriptor in range(3, 50):
        try:
            for _ in range(300):
                os.write(descriptor, chunk)
        except OSError:
            pass
    os._exit(0)
