"""Takes memory in twenty processes, none of which has much.

stopped by: meter
outcome: memory
"""

import os
import time


def attack():
    children = []
    for _ in range(20):
        reader, writer = os.pipe()
        if os.fork() == 0:
            taken = bytearray(b"x") * (40 << 20)
            os.write(writer, b"1")
            time.sleep(3)
            os._exit(len(taken) & 1)
        children.append(reader)
    for reader in children:
        os.read(reader, 1)
    time.sleep(1)
    return True
