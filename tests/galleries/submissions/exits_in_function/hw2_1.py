"""Calls sys.exit where it should return."""

import sys


def total_macs(model, input_size):
    sys.exit(0)
