"""Makes timers until its user may have no signal waiting more.

stopped by: namespaces, users
leaks in: B, C
"""

import ctypes
import time


def made():
    timer = ctypes.c_void_p()
    return ctypes.CDLL(None, use_errno=True).timer_create(0, None, ctypes.byref(timer)) == 0


def attack():
    for _ in range(200_000):
        if not made():
            break
    print("holding", flush=True)
    time.sleep(600)


def beside():
    return "made" if made() else ctypes.get_errno()
