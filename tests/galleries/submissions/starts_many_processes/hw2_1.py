"""Starts more processes than anybody needs."""

import os
import time


def total_macs(model, input_size):
    for _ in range(150):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    time.sleep(60)
