"""Runs the programs that give rights: su, mount, passwd, sudo.

stopped by: privileges
off: none
"""

import os
import subprocess


def attack():
    got = []
    for command in (["su", "-c", "id -u"], ["sudo", "-n", "id", "-u"], ["newgrp"], ["mount", "-t", "tmpfs", "x", "."]):
        try:
            done = subprocess.run(command, capture_output=True, timeout=2, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.SubprocessError):
            continue
        if command[0] != "newgrp" and done.returncode == 0:
            got.append(command[0])
    for change in (lambda: os.setuid(0), lambda: os.setgroups([0])):
        try:
            change()
            got.append("setuid")
        except OSError:
            pass
    return got
