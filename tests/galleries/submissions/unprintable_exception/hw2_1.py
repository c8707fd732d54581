"""Raises an exception that cannot be printed."""


class Shy(Exception):
    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


def total_macs(model, input_size):
    raise Shy
