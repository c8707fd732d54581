"""Makes a device node for the disk.

stopped by: privileges, seccomp
off: none
"""

import os
import stat


def attack():
    os.mknod("disk", stat.S_IFBLK | 0o666, os.makedev(8, 0))
    return True
