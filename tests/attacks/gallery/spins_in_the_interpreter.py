"""Computes in one call that no signal of Python's interrupts.

stopped by: meter, limits
outcome: timeout, waited
"""

import signal
import time


def attack():
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    start = time.process_time()
    while time.process_time() - start < 5:
        sum(range(1 << 20))
    return True
