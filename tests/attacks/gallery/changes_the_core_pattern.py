"""Has the kernel run a program of its own at the next crash.

stopped by: namespaces, landlock, privileges
off: none
"""


def attack():
    open("/proc/sys/kernel/core_pattern", "w").write("|/tmp/mine")
    return True
