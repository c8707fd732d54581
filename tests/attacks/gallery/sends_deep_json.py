"""Sends a frame whose header is nested deeper than a parser can go.

stopped by: design
outcome: refused
"""

import os


def attack():
    header = b'{"value":' + b"[" * 900_000 + b"]" * 900_000 + b',"arrays":[]}'
    frame = (12 + len(header)).to_bytes(8, "little") + len(header).to_bytes(4, "little") + header
    for descriptor in range(3, 50):
        try:
            while frame:
                frame = frame[os.write(descriptor, frame) :]
        except OSError:
            pass
    os._exit(0)
