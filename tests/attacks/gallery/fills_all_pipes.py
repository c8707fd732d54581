"""Makes pipes as large as they may be, until its user has no page left for another's.

stopped by: users
leaks in: B, C
"""

import fcntl
import os
import time


def attack():
    kept = []
    try:
        while True:
            kept.append(os.pipe())
            fcntl.fcntl(kept[-1][0], fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError:
        pass
    try:
        for _ in range(8):  # what is left, to the last page
            kept.append(os.pipe())
    except OSError:
        pass
    print("holding", flush=True)
    time.sleep(600)


def beside():
    reader, writer = os.pipe()
    try:
        return fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError as error:
        return error.errno
