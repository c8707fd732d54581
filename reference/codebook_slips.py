"""How a codebook by k-means goes wrong. None of these values is ever right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._kmeans import even, kmeans

if TYPE_CHECKING:
    from ._kmeans import Codebook, Numbers


def codebook_of_one_turn(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """After one turn.

    Slip of: codebook
    Hint: These are the values after one turn. Go on until no number changes its value.
    Credit: 0.5
    """
    del config
    return kmeans(data, 2**bits, turns=1)


def codebook_at_the_start(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """The values that it begins with.

    Slip of: codebook
    Hint: These are the values that k-means begins with. They have to become the means of their numbers.
    Credit: 0.2
    """
    del config
    return kmeans(data, 2**bits, turns=0)


def codebook_of_medians(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """With medians in place of means.

    Slip of: codebook
    Hint: Each value is the median of its numbers here. k-means takes the mean.
    Credit: 0.5
    """
    del config
    return kmeans(data, 2**bits, middle="median")


def codebook_of_bits(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """With as many values as bits.

    Slip of: codebook
    Hint: There are as many values as bits. With so many bits there are 2**bits.
    Credit: 0.3
    """
    del config
    return kmeans(data, bits)


def codebook_from_middles(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """From the middles of equal parts.

    Slip of: codebook
    Hint: The values begin in the middles of equal parts of the range. They begin at equal distances from
    the smallest number to the largest, both included.
    Credit: 0.5
    """
    del config
    return kmeans(data, 2**bits, start=_middles)


def codebook_from_the_lower_ends(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """From the lower ends of equal parts.

    Slip of: codebook
    Hint: The values begin without the largest number, as linspace(..., endpoint=False) has them. They begin at
    equal distances from the smallest number to the largest, both included.
    Credit: 0.5
    """
    del config
    return kmeans(data, 2**bits, start=lambda numbers, count: even(numbers, count + 1)[:-1])


def codebook_from_within(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """Without both ends.

    Slip of: codebook
    Hint: The values begin without the smallest and the largest number. They begin at equal distances from
    the smallest number to the largest, both included.
    Credit: 0.5
    """
    del config
    return kmeans(data, 2**bits, start=lambda numbers, count: even(numbers, count + 2)[1:-1])


def codebook_from_quantiles(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """From quantiles of the numbers.

    Slip of: codebook
    Hint: The values begin at quantiles of the numbers. They begin at equal distances from
    the smallest number to the largest, both included.
    Credit: 0.5
    """
    del config
    return kmeans(data, 2**bits, start=_quantiles)


def codebook_from_middle_quantiles(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """From the middle quantiles of equal shares.

    Slip of: codebook
    Hint: The values begin at quantiles of the numbers. They begin at equal distances from
    the smallest number to the largest, both included.
    Credit: 0.5
    """
    del config
    return kmeans(data, 2**bits, start=_middle_quantiles)


def codebook_from_the_first_numbers(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """From the first numbers.

    Slip of: codebook
    Hint: The values begin as the first numbers. They begin at equal distances from
    the smallest number to the largest, both included.
    Credit: 0.5
    """
    del config
    return kmeans(data, 2**bits, start=lambda numbers, count: numbers[:count].copy())


def codebook_around_zero(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """From a range with zero in the middle.

    Slip of: codebook
    Hint: The values begin at equal distances from -max|w| to max|w|. They begin at equal distances from
    the smallest number to the largest, both included.
    Credit: 0.5
    """
    del config
    return kmeans(data, 2**bits, start=_around_zero)


def codebook_with_zero_for_nothing(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """With 0 in place of a value without numbers.

    Slip of: codebook
    Hint: A value without numbers becomes 0. It stays where it is.
    Credit: 0.6
    """
    del config
    return kmeans(data, 2**bits, empty=lambda _: 0.0)


def codebook_without_one(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """With one value less.

    Slip of: codebook
    Hint: There is one value less than there are codes. With so many bits there are 2**bits.
    Credit: 0.4
    """
    del config
    return kmeans(data, 2**bits - 1)


def codebook_of_few_turns(config: dict[str, Any], *, data: str, bits: int = 4, turns: int = 10) -> Codebook:
    """After a number of turns.

    Slip of: codebook
    Hint: It ends after a number of turns. Go on until no number changes its value.
    Credit: 0.6
    Also with: [{"turns": 2}, {"turns": 3}, {"turns": 5}, {"turns": 20}, {"turns": 50}, {"turns": 100}]
    """
    del config
    return kmeans(data, 2**bits, turns=turns)


def _middles(numbers: Numbers, count: int) -> Numbers:
    ends = even(numbers, count + 1)
    return (ends[1:] + ends[:-1]) / 2


def _quantiles(numbers: Numbers, count: int) -> Numbers:
    import numpy as np

    return np.quantile(numbers, np.linspace(0, 1, count))


def _middle_quantiles(numbers: Numbers, count: int) -> Numbers:
    import numpy as np

    return np.quantile(numbers, (np.arange(count) + 0.5) / count)


def _around_zero(numbers: Numbers, count: int) -> Numbers:
    import numpy as np

    largest = abs(numbers).max()
    return np.linspace(-largest, largest, count)
