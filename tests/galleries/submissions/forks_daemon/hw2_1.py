"""Leaves a process behind that has left its session, ignores signals, and holds every pipe open."""

import os
import signal
import time


def total_macs(model, input_size):
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)
            os.write(write, str(os.getpid()).encode())
            while True:
                time.sleep(1)
        os._exit(0)
    return int(os.read(read, 20))
