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
        time.sleep(30)
        os._exit(0)
    os.set_blocking(reader, False)
    count = 0
    for _ in range(200):
        time.sleep(0.1)
        try:
            count += len(os.read(reader, 4096))
        except BlockingIOError:
            pass
        if count > 400:
            return True
    return False
