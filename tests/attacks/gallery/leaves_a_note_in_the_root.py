"""Changes modes and times of files of its root, which a later job might read.

stopped by: namespaces, seccomp
off: none
"""

import os


def attack():
    changed = []
    for path in ("/etc/hosts", "/etc/passwd", "/handin", "/handin/hw.py", "/", "/dev/null", "/jobs"):
        try:
            before = os.stat(path)
            os.utime(path, (1, 1))
            os.chmod(path, 0o777)
            after = os.stat(path)
        except OSError:
            continue
        if (before.st_mode, before.st_mtime_ns) != (after.st_mode, after.st_mtime_ns) and path != "/handin/hw.py":
            changed.append(path)
    return changed
