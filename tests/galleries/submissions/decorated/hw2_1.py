"""Takes what its decorator's wrapper takes, though functools.wraps shows other parameters."""

import functools


def once_a_call(function):
    @functools.wraps(function)
    def wrapper(model, input_size):
        return function([*input_size])

    return wrapper


@once_a_call
def total_macs(sizes):
    return len(sizes)
