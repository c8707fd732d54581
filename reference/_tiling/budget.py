"""How much work a proof may take: what no honest tiling needs is not worth a grader's time."""

from __future__ import annotations

import time

from .values import OutsideError

LARGEST = 1 << 29  # bytes of one tensor
_TOO_LARGE = "bytes for one tensor"
_TOO_LONG = "time"
_LOOK = 64  # calls between two looks at the clock
_SECONDS = 60.0  # of CPU: what everything else has not stopped by then; an AlexNet with a mistake may take 20


class Budget:
    """Counts the steps, bytes, pieces and terms that a graph asks for, and stops where they can't be honest.

    A tiling of the expected number of products needs a few nodes a product. A function that calls a function that
    calls a function, a constant of a terabyte, or a sum of a million copies is not one.
    """

    def __init__(self, expected_products: int) -> None:
        generous = 40 * expected_products
        self._left = {
            "steps": generous + 200_000,
            "bytes": 1 << 32,
            "work": 1 << 33,
            "pieces": generous + 400_000,
            "terms": 50 * generous + 8_000_000,
            "products": 16 * expected_products + 4_096,
            "comparisons": 256,
        }
        self.has_symbols = False  # a constant stands for any weight: what computes with it would see its numbers
        self._calls = 0
        self._look = 0.0
        self._end = time.process_time() + _SECONDS

    def spend(self, **amounts: int) -> None:
        """Take these amounts of `steps`, `bytes`, `pieces`, `terms`, `work`, `products` or `comparisons`.

        Raises:
            OutsideError: that is more than any reasonable tiling needs.
        """
        self._calls += 1
        if self._calls % _LOOK == 0 and time.monotonic() > self._look:
            # Time of the CPU costs a call of the system, so that it is looked at twice a second at most.
            self._look = time.monotonic() + 0.5
            if time.process_time() > self._end:
                raise OverBudgetError(_TOO_LONG)
        for what, amount in amounts.items():
            self._left[what] -= amount
            if self._left[what] < 0:
                raise OverBudgetError(what)

    def room(self, size: int) -> None:
        """Take the memory of one array before it is made.

        Raises:
            OutsideError: no honest tiling has a tensor of that size, or so many.
        """
        if size > LARGEST:
            raise OverBudgetError(_TOO_LARGE)
        self.spend(bytes=max(size, 0))


class OverBudgetError(OutsideError):
    """The graph asks for more work than any reasonable tiling needs."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the graph is too large to be proved: it takes more {what} than any reasonable tiling needs")
