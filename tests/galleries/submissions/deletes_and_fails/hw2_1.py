"""Deletes its source and then makes a mistake in it."""

import os


def total_macs(model, input_size):
    os.remove(__file__)
    return input_size["height"]
