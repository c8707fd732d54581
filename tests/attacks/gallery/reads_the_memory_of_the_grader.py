"""Reads another process's memory by the kernel's call for that.

stopped by: namespaces, landlock, seccomp
"""

import ctypes
import json
import re


def attack():
    victim = json.load(open("world.json"))["victim"]
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(16)
    place = 0x400000
    try:
        place = int(re.match("[0-9a-f]+", open(f"/proc/{victim}/maps").readline()).group(), 16)
    except OSError:
        pass
    mine = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 16)
    theirs = (ctypes.c_size_t * 2)(place, 16)
    return libc.process_vm_readv(victim, mine, 1, theirs, 1, 0) > 0
