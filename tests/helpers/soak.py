"""What takes long and says much the same many times: a sample of it each time, all of it in `make soak`."""

import os

import pytest

soak = pytest.mark.skipif("LABGRADE_SOAK" not in os.environ, reason="takes long: part of `make soak`")


def sampled(values, every):
    """Each `every`th of the values, and all of them in `make soak`; without it, one stands for those left out."""
    values = list(values)
    return _tried(values[::every], [value for place, value in enumerate(values) if place % every], values)


def first(values, count):
    """As `sampled`, but as many as `count` from the start."""
    values = list(values)
    return _tried(values[:count], values[count:], values)


def _tried(chosen, left, values):
    if "LABGRADE_SOAK" in os.environ:
        return values
    reason = f"{len(left)} of {len(values)} take long: part of `make soak`"
    return [*chosen, *(pytest.param(value, marks=pytest.mark.skip(reason=reason)) for value in left[:1])]
