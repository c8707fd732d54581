"""Whether work on a text grows as the text does: a ratio of computing times, which a busy machine does not change."""

import os
import time
from collections.abc import Callable

_NOISE = 0.05  # seconds below which times say nothing
_WHOLE = "LABGRADE_SOAK" in os.environ


def takes_linear_time(work: Callable[[int], object], size: int, parts: int = 64) -> bool:
    """Whether work of four times the size computes less than 12 times as long; quadratic work takes 16 times.

    The smallest parts of `size` are compared whose times say something, from one of so many `parts` on; all of it is
    done in `make soak`. Two more tries are given: another process may make one run slow, and no quadratic work is quick
    by chance.
    """
    return any(_is_linear(work, size, parts) for _ in range(3))


def _is_linear(work: Callable[[int], object], size: int, parts: int) -> bool:
    sizes = [size // 4, size]
    while not _WHOLE and sizes[0] > size // parts:
        sizes.insert(0, sizes[0] // 4)
    work(size // 300)  # what is made once; of no size that is compared, since answers may be remembered
    before = _seconds(work, sizes[0])
    for larger in sizes[1:]:
        now = _seconds(work, larger)
        if before >= _NOISE or larger == size:
            return now < 12 * max(before, _NOISE)
        before = now
    return False


def _seconds(work: Callable[[int], object], size: int) -> float:
    start = time.process_time()
    work(size)
    return time.process_time() - start
