"""Crashes as C code does."""

import ctypes


def total_macs(model, input_size):
    return ctypes.string_at(0)
