"""Starts threads as fast as it can.

stopped by: limits
"""

import threading
import time


def attack():
    started = 0
    threading.stack_size(1 << 16)
    try:
        for started in range(1, 601):
            threading.Thread(target=time.sleep, args=(2,), daemon=True).start()
    except RuntimeError:
        return False
    return started >= 600
