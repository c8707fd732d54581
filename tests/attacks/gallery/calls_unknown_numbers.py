"""Makes calls above the highest number that was looked at, and calls of the other interface of the same machine.

stopped by: seccomp
off: none
"""

import ctypes
import errno


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    answers = []
    for number in (470, 500, 0x40000000 + 39, 0x40000000 + 101):
        result = libc.syscall(ctypes.c_long(number), 0, 0, 0, 0)
        answers.append((number, result, ctypes.get_errno()))
    return [answer for answer in answers if answer[1] >= 0 or answer[2] != errno.ENOSYS]
