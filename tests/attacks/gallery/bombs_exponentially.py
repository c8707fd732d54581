"""Starts processes that start processes.

stopped by: meter, limits
outcome: crashed, returned
"""

import os
import time


def attack():
    own = os.getpid()
    reader, writer = os.pipe()
    for _ in range(9):
        try:
            os.fork()
        except OSError:
            break
    os.write(writer, b"1")
    if os.getpid() != own:
        time.sleep(4)
        os._exit(0)
    time.sleep(2)
    os.set_blocking(reader, False)
    return len(os.read(reader, 4096)) > 400
