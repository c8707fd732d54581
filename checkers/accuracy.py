"""The checker for predictions: the share that equals the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labgrade.verdict import Verdict, correct, incorrect

from ._wording import of_all_parts

if TYPE_CHECKING:
    from labgrade.values import Array


def accuracy(answer: Array, expected: Array, *, at_least: float) -> Verdict:
    """Predicted classes of which at least the share `at_least` equals the labels.

    One whole number for each label is asked for, in the labels' order; NaN is never right.
    """
    got, labels = np.squeeze(answer), np.squeeze(expected)
    if got.shape != labels.shape:
        scores = got.ndim == labels.ndim + 1 and got.shape[:-1] == labels.shape
        hint = "these are scores of the classes: hand in the largest one's index, argmax(axis=1)" if scores else ""
        sizes = f"got {_size(got)} predictions, {_size(labels)} are asked for"
        return incorrect(sizes, hint=hint)
    right = int(np.count_nonzero(got == labels))
    share = right / labels.size if labels.size else 0.0
    said = f"{of_all_parts(right, labels.size, 'predictions', 'is', 'are')} right ({share:.1%})"
    facts = {"got": f"{share:.4f}", "allowed": f"at least {at_least:g}"}
    if share >= at_least:
        return correct(said, **facts)
    # The labels move, as floats: unsigned predictions have no -1, and short ones no room for a 1 more.
    numbers = labels.astype(np.float64)
    shifted = {step: np.count_nonzero(got == numbers - step) for step in (1, -1)}
    one_off = [step for step, agree in shifted.items() if labels.size and agree / labels.size >= at_least]
    hint = f"they would be right with {one_off[0]:+d} added: classes are counted from another number" if one_off else ""
    return incorrect(f"{said}; at least {at_least:.1%} are asked for", hint=hint, **facts)


def _size(array: Array) -> str:
    return "x".join(f"{size:,}" for size in array.shape) or "1"
