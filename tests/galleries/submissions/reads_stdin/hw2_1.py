"""Asks somebody who is not there."""


def total_macs(model, input_size):
    return int(input("Total MACs? "))
