"""Leaves a child that holds the result's channel open.

stopped by: keeper
"""

import os
import time


def attack():
    if os.fork() == 0:
        time.sleep(120)
        os._exit(0)
    return False
