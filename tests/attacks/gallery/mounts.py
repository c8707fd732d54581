"""Mounts, unmounts and remounts file systems, changes its root.

stopped by: privileges, seccomp, namespaces
off: none
"""

import ctypes
import os


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    os.makedirs("mine", exist_ok=True)
    done = [
        libc.mount(b"tmpfs", b"mine", b"tmpfs", 0, None) == 0,
        libc.mount(b"/", b"mine", None, 4096, None) == 0,
        libc.mount(None, b"/", None, 32 | 4096, None) == 0,
        libc.mount(None, b"/handin", None, 32 | 4096, None) == 0,
        libc.umount2(b"/jobs", 2) == 0,
        libc.umount2(b"/proc", 2) == 0,
        libc.chroot(b"mine") == 0,
    ]
    return any(done)
