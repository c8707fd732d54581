"""Starts processes as fast as it can.

stopped by: meter, limits
outcome: crashed
"""

import os
import time


def attack():
    for _ in range(300):
        if os.fork() == 0:
            time.sleep(4)
            os._exit(0)
    time.sleep(1)
    return True
