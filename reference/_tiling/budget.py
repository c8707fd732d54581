"""How much work a proof may take: what no honest tiling needs is not worth a grader's time."""

from __future__ import annotations

from .values import OutsideError


class Budget:
    """Counts the steps, bytes, pieces and terms that a graph asks for, and stops where they can't be honest.

    A tiling of the expected number of products needs a few nodes a product. A function that calls a function that
    calls a function, a constant of a terabyte, or a sum of a million copies is not one.
    """

    def __init__(self, expected_products: int) -> None:
        generous = 40 * expected_products
        self._left = {
            "steps": generous + 200_000,
            "bytes": 1 << 29,
            "pieces": generous + 400_000,
            "terms": 50 * generous + 20_000_000,
            "products": 16 * expected_products + 4_096,
            "comparisons": 256,
        }

    def spend(self, **amounts: int) -> None:
        """Take these amounts of `steps`, `bytes`, `pieces`, `terms`, `products` or `comparisons`.

        Raises:
            OutsideError: that is more than any reasonable tiling needs.
        """
        for what, amount in amounts.items():
            self._left[what] -= amount
            if self._left[what] < 0:
                raise OverBudgetError(what)


class OverBudgetError(OutsideError):
    """The graph asks for more work than any reasonable tiling needs."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the graph takes more {what} to check than any reasonable tiling needs")
