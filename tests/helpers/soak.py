"""What takes long and says much the same many times: a sample of it each time, all of it in `make soak`."""

import os

import pytest

soak = pytest.mark.skipif("LABGRADE_SOAK" not in os.environ, reason="takes long: part of `make soak`")


def sampled(values, every):
    """Each `every`th of the values, and all of them in `make soak`."""
    return [value if place % every == 0 else pytest.param(value, marks=soak) for place, value in enumerate(values)]
