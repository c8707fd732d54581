"""Computes in six children, so that no single one of them uses much time.

stopped by: meter
outcome: timeout, waited
"""

import os
import time


def attack():
    for _ in range(6):
        if os.fork() == 0:
            start = time.process_time()
            while time.process_time() - start < 0.6:
                pass
            os._exit(0)
    for _ in range(6):
        os.wait()
    return True
