"""Starts processes that cannot import this file."""

import multiprocessing


def double(number):
    return 2 * number


def total_macs(model, input_size):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(double, [1])[0]
