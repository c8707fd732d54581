"""Whether work on a text grows as the text does: a ratio of computing times, which a busy machine does not change."""

import time
from collections.abc import Callable

_NOISE = 0.05  # seconds below which times say nothing


def takes_linear_time(work: Callable[[int], object], size: int) -> bool:
    """Whether `work(size)` computes less than 12 times as long as `work(size // 4)`; quadratic work takes 16 times."""

    def seconds(of: int) -> float:
        start = time.process_time()
        work(of)
        return time.process_time() - start

    work(size // 64)  # what is made once
    return seconds(size) < 12 * max(seconds(size // 4), _NOISE)
