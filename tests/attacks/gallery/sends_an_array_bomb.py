"""Sends a frame that announces an array of terabytes.

stopped by: design
outcome: refused
"""

import os


def attack():
    header = b'{"value":{"map":{"event":"returned","value":{"array":0}}},"arrays":[["<f8",[200000000,200000000]]]}'
    frame = (12 + len(header)).to_bytes(8, "little") + len(header).to_bytes(4, "little") + header
    for descriptor in range(3, 50):
        try:
            os.write(descriptor, frame)
        except OSError:
            pass
    os._exit(0)
