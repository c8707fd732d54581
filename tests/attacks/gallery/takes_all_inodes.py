"""Makes more files than a scratch may hold.

stopped by: namespaces
leaks in: B, C
"""

import os


def attack():
    made = 0
    os.mkdir("many")
    try:
        for made in range(12_000):
            os.close(os.open(f"many/{made}", os.O_CREAT | os.O_WRONLY))
    except OSError:
        pass
    return made > 10_000
