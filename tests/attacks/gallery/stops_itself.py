"""Stops its process, so that it neither ends nor computes.

stopped by: clock
outcome: waited, returned
"""

import os
import signal


def attack():
    os.kill(os.getpid(), signal.SIGSTOP)
    return False
