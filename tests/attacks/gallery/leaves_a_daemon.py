"""Leaves a process behind that has left its session and ignores all signals.

stopped by: keeper
"""

import json
import os
import signal
import time


def attack():
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)
            os.write(writer, b"1")
            os.execv("/bin/sleep", ["sleep", json.load(open("world.json"))["daemon"]])
        os._exit(0)
    os.read(reader, 1)
    return False
