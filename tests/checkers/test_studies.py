"""The checkers of studies: `trend`, `covers`, `accuracy`, `within`, `feasible`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from checkers.accuracy import accuracy
from checkers.close import close
from checkers.covers import covers
from checkers.feasible import feasible
from checkers.trend import trend
from checkers.within import within
from labgrade.values import Number, Row, Table
from labgrade.verdict import Outcome


def table(columns, *rows):
    def cell(value):
        return None if value is None else value if isinstance(value, str) else Number(value=Fraction(str(value)))

    return Table(
        rows=tuple(
            Row(name=f"run{place}", cells=dict(zip(columns, map(cell, row), strict=True)))
            for place, row in enumerate(rows)
        )
    )


def runs(*means, seeds=3):
    spread = [Fraction(place, 1000) for place in range(-(seeds // 2), seeds - seeds // 2)]
    rows = [(4**place, seed, mean + float(off)) for place, mean in enumerate(means) for seed, off in enumerate(spread)]
    return table(("batch", "seed", "accuracy"), *rows)


STUDY = {"column": "accuracy", "along": "batch", "seed": "seed", "least": 3}


@pytest.mark.parametrize(
    ("means", "goes", "slack", "right"),
    [
        ((0.9, 0.8, 0.5), "falls", 0, True),
        ((0.9, 0.8, 0.5), "rises", 0, False),
        ((0.5, 0.8, 0.9), "rises", 0, True),
        ((0.5, 0.5), "rises", 0, False),
        ((0.5, 0.5), "rises", 0.01, True),
        ((0.9, 0.905, 0.5), "falls", 0.01, True),
        ((0.9, 0.92, 0.5), "falls", 0.01, False),
        ((90, 90.5, 50), "falls", 0.01, True),
        ((90, 92, 50), "falls", 0.01, False),
        ((0.5, 0.9, 0.6), "peaks_inside", 0, True),
        ((0.5, 0.6, 0.9), "peaks_inside", 0, False),
        ((0.9, 0.6, 0.5), "peaks_inside", 0, False),
    ],
)
def test_a_trend_is_that_of_the_means(means, goes, slack, right):
    verdict = trend(runs(*means), None, goes=goes, slack=slack, **STUDY)
    assert (verdict.credit == 1) is right, verdict.reason


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (runs(0.9, 0.8, seeds=2), "at batch 1 there are 2 runs; at least 3 are asked for"),
        (runs(0.9), "the table has 1 value of batch; at least 2 show a trend"),
        (table(("batch", "seed", "accuracy"), (1, 0, 0.5), (1, 0, 0.5)), "has 1 value of batch"),
        (
            table(("batch", "seed", "accuracy"), (1, 0, 0.5), (1, 0, 0.6), (2, 0, 0.4)),
            "at batch 1 a seed stands twice: runs with the same one are the same run",
        ),
        (table(("batch", "seed", "accuracy"), (1, 0, None)), "no row has a number in a column 'accuracy'"),
        (Table(), "the table has no rows"),
    ],
)
def test_runs_that_show_no_trend_are_told_why(answer, said):
    verdict = trend(answer, None, goes="falls", **STUDY)
    assert verdict.credit == 0
    assert said in verdict.reason


def test_means_that_go_another_way_wait_for_a_person():
    verdict = trend(runs(0.8, 0.9, 0.5), None, goes="falls", **STUDY)
    assert verdict.outcome is Outcome.MANUAL
    assert verdict.suggestion.outcome is Outcome.INCORRECT
    assert "the mean of accuracy rises from 1 to 4: 0.8 at 1, 0.9 at 4, 0.5 at 16" in verdict.reason


@pytest.mark.parametrize(("worst", "suggested"), [(0.4, Outcome.CORRECT), (0.95, Outcome.INCORRECT)])
def test_a_run_that_went_astray_waits_for_a_person_with_what_the_others_show(worst, suggested):
    answer = table(("batch", "seed", "accuracy"), (1, 0, 0.9), (1, 1, "nan"), (1, 2, 0.8), (2, 0, worst))
    verdict = trend(answer, None, column="accuracy", along="batch", goes="falls")
    assert verdict.outcome is Outcome.MANUAL
    assert "1 run has no finite accuracy ('run1: nan')" in verdict.reason
    assert verdict.suggestion.outcome is suggested


def test_a_peak_needs_three_values():
    assert "at least 3 show a trend" in trend(runs(0.5, 0.6), None, goes="peaks_inside", **STUDY).reason


def test_rows_that_lack_a_number_wait_with_what_the_others_show():
    gap = table(("batch", "seed", "accuracy"), (256, None, 0.4))
    judged = partial(trend, expected=None, goes="falls", **STUDY)
    for answer, outcome in ((runs(0.9, 0.8), Outcome.CORRECT), (runs(0.9, 0.8, seeds=2), Outcome.INCORRECT)):
        verdict = judged(Table(rows=(*answer.rows, *gap.rows)))
        assert verdict.outcome is Outcome.MANUAL
        assert verdict.suggestion.outcome is outcome
        assert f"1 of {len(answer.rows) + 1} rows has no number in" in verdict.reason
        assert "('batch 256, accuracy 0.4')" in verdict.reason
    verdict = covers(Table(rows=(*runs(0.9, 0.8).rows, *gap.rows)), None, columns=["batch", "seed"], least=[2, 3])
    assert (verdict.outcome, verdict.suggestion.outcome) == (Outcome.MANUAL, Outcome.CORRECT)


def test_runs_without_a_seed_wait_where_settings_stand_there_twice():
    wants = partial(covers, expected=None, columns=["batch", "seed"], least=[2, 2])
    twice = wants(table(("batch", "seed", "accuracy"), (1, None, 0.9), (1, None, 0.8), (4, None, 0.5)))
    assert (twice.outcome, twice.suggestion.outcome) == (Outcome.MANUAL, Outcome.INCORRECT)
    once = wants(table(("batch", "seed", "accuracy"), (1, None, 0.9), (4, None, 0.5)))
    assert once.outcome is Outcome.INCORRECT
    assert once.reason == "no row has a number in a column 'seed'; numbers stand in 'batch', 'accuracy'"
    assert "1 value of batch was tried ('1'); 2 are" in wants(table(("batch", "seed"), (1, 0))).reason


@pytest.mark.parametrize(("factor", "outcome"), [(1, "CORRECT"), (100, "CORRECT"), (300, "MANUAL"), (-1, "MANUAL")])
def test_a_share_is_at_most_all(factor, outcome):
    answer = runs(*(each * factor for each in ((0.9, 0.8) if factor > 0 else (0.8, 0.9))))
    assert trend(answer, None, goes="falls", share=True, **STUDY).outcome is Outcome[outcome]
    assert trend(answer, None, goes="falls", **STUDY).outcome is Outcome.CORRECT


GRID = table(("batch", "rate"), *((batch, rate) for batch in (16, 64) for rate in (0.1, 0.01, 0.001)))


def test_a_grid_is_covered_where_each_combination_is_there():
    assert covers(GRID, None, columns=["batch", "rate"], least=[2, 3]).credit == 1
    short = Table(rows=GRID.rows[:-1])
    verdict = covers(short, None, columns=["batch", "rate"], least=[2, 3])
    assert verdict.credit == Fraction(5, 6)
    assert verdict.reason == "1 of 6 combinations is missing: 'batch 64 with rate 0.001'"
    assert "3 are asked for" in covers(GRID, None, columns=["batch", "rate"], least=[3, 3]).reason
    third_seed = Table(rows=(*GRID.rows, *table(("batch", "rate"), (16, 0.5)).rows))
    assert covers(third_seed, None, columns=["batch", "rate"], least=[2, 3]).credit == 1
    assert covers(third_seed, None, columns=["batch", "rate"], least=[2, 4]).credit == Fraction(7, 8)
    diagonal = table(("batch", "rate"), (16, 0.1), (64, 0.01))
    assert covers(diagonal, None, columns=["batch", "rate"], least=[2, 2]).credit == Fraction(1, 2)


@pytest.mark.parametrize(
    ("ends", "missing"),
    [
        ([16, 64], []),
        ([8, 64], ["8 or less"]),
        ([16, 65], ["65 or more"]),
        ([16, 64.1], []),
        ([1, 99], ["1 or less", "99 or more"]),
    ],
)
def test_a_grid_reaches_its_ends(ends, missing):
    verdict = covers(GRID, None, columns=["batch", "rate"], least=[2, 3], ends=ends)
    assert verdict.credit == Fraction(2, 2 + len(missing))
    assert all(f"all with batch {end}" in verdict.reason for end in missing)


@pytest.mark.parametrize(("sizes", "missing"), [((16, 64), []), ((16, 63), ["64 or more"]), ((3, 40), [])])
def test_a_grid_spans_so_many_times_its_smallest_value(sizes, missing):
    """Batch sizes of 32, 48, 64 and 80 don't lie far apart, however many there are."""
    tried = table(("batch", "seed"), *((size, seed) for size in sizes for seed in (0, 1)))
    verdict = covers(tried, None, columns=["batch", "seed"], least=[2, 2], span=4)
    assert verdict.credit == Fraction(2, 2 + len(missing))
    assert all(f"all with batch {end}" in verdict.reason for end in missing)
    assert covers(tried, None, columns=["batch", "seed"], least=[2, 2]).credit == 1


LABELS = np.array([0, 1, 2, 3, 4] * 20)


def test_accuracy_is_the_share_of_labels():
    nearly = LABELS.copy()
    nearly[:5] += 1
    assert accuracy(nearly, LABELS, at_least=0.95).credit == 1
    verdict = accuracy(nearly, LABELS, at_least=0.96)
    assert verdict.reason == "95 of 100 predictions are right (95.0%); at least 96.0% are asked for"
    assert accuracy(LABELS.astype(float)[:, None], LABELS, at_least=1).credit == 1
    assert accuracy(np.full(100, np.nan), LABELS, at_least=0.01).credit == 0


def test_predictions_of_another_kind_are_recognised():
    assert "argmax" in accuracy(np.eye(5)[LABELS], LABELS, at_least=0.9).hint
    assert "got 99 predictions, 100 are asked for" in accuracy(LABELS[:-1], LABELS, at_least=0.9).reason
    assert "with -1 added" in accuracy(LABELS + 1, LABELS, at_least=0.9).hint


@pytest.mark.parametrize("kind", ["bool", "u1", ">u2", "u8", "i1", ">i4", "f2", ">f8", "c8"])
def test_predictions_may_be_of_any_number_type(kind):
    right = LABELS % 2
    assert accuracy(right.astype(kind), right, at_least=1).credit == 1
    assert accuracy(np.zeros(100).astype(kind), LABELS, at_least=0.9).credit == 0
    assert accuracy(np.array(3).astype(kind), LABELS, at_least=0.9).credit == 0
    assert "with +1 added" in accuracy(right.astype(kind), right.astype("u1") + np.uint8(1), at_least=0.9).hint
    assert "with -1 added" in accuracy((right == 0).astype(kind), -right.astype("i1"), at_least=0.9).hint


def test_within_is_relative_to_each_tensors_largest():
    want = {"small": np.array([1e-3, 0.0]), "large": np.array([100.0, 0.0])}
    near = {"small": want["small"] + 0.9e-5, "large": want["large"] + 0.9}
    assert within(near, want, of_largest=0.01).credit == 1
    off = {**near, "small": want["small"] + 1.1e-5}
    verdict = within(off, want, of_largest=0.01)
    assert verdict.credit == Fraction(1, 2)
    assert "small" in verdict.reason
    assert within(want["large"] + 0.9, want["large"], of_largest=0.01).credit == 1


def test_within_counts_steps_of_a_quantised_value():
    grid = np.round(np.linspace(-1, 1, 21) * 16) / 16
    assert within(grid + 1 / 16, grid, lsb=1 / 16).credit == 1
    assert within(grid + 1 / 16, grid, lsb=1 / 16, steps=0.5).credit == 0
    assert within(grid + 2 / 16, grid, lsb=1 / 16).credit == 0
    assert within(grid, grid).credit == 1
    assert within(grid + 1e-9, grid).credit == 0
    assert within(np.full(21, np.nan), grid, lsb=1).credit == 0


CHOICES = table(("bytes", "rate"), (100, 0.7), (200, 0.9), (150, 0.8))
LIMITS = {"limit": "bytes", "at_most": 160, "best": "rate"}


@pytest.mark.parametrize(
    ("name", "credit", "said"),
    [
        ("run2", 1, "'run2' keeps the limit, and no choice within it is better"),
        ("run0", Fraction(1, 2), "'run0' keeps the limit, but another choice within it has a better rate"),
        ("run1", 0, "'run1' has bytes above 160"),
        ("run9", 0, "'run9' is none of 'run0'"),
    ],
)
def test_a_choice_keeps_the_limit_and_none_is_better(name, credit, said):
    chosen = Table(rows=(Row(name=name, cells={"rate": Number(value=Fraction(1))}),))  # a claim that does not count
    verdict = feasible(chosen, CHOICES, **LIMITS)
    assert verdict.credit == credit
    assert said in verdict.reason
    assert feasible(CHOICES, CHOICES, **LIMITS).reason == "got 3 rows; hand in the one row that you choose"


def test_a_smallest_one_may_be_wanted_and_a_little_less_be_enough():
    cheap = Table(rows=(CHOICES.rows[0],))
    assert feasible(cheap, CHOICES, **LIMITS, want="smallest").credit == 1
    assert feasible(cheap, CHOICES, **LIMITS, slack=0.1).credit == 1


@pytest.mark.parametrize("checker", [close, within])
def test_other_names_cost_nothing_where_they_are_allowed(checker):
    answer, expected = {"a": np.ones(2), "b": np.zeros(2)}, {"a": np.ones(2)}
    assert checker(answer, expected, others="allowed").credit == 1
    assert checker(answer, expected).credit == Fraction(1, 2)
    assert checker({"b": np.zeros(2)}, expected, others="allowed").credit == 0


def test_a_run_came_to_a_result():
    wants = partial(covers, expected=None, columns=["batch", "seed"], least=[2, 2], result="accuracy", share=True)

    def grid(*results):
        settings = [(batch, seed) for batch in (1, 4) for seed in (0, 1)]
        rows = [(*each, result) for each, result in zip(settings, results, strict=True)]
        return table(("batch", "seed", "accuracy"), *rows)

    assert wants(grid(0.9, 0.8, "nan", 0.5)).credit == 1
    assert wants(grid(90, 80, 70, 50)).credit == 1
    assert wants(grid(900, 80, 70, 50)).outcome is Outcome.MANUAL
    lacking = wants(grid(0.9, 0.8, None, 0.5))
    assert (lacking.outcome, lacking.suggestion.credit) == (Outcome.MANUAL, Fraction(3, 4))
    nothing = wants(grid(*[None] * 4))
    assert (nothing.outcome, nothing.suggestion.outcome) == (Outcome.MANUAL, Outcome.INCORRECT)
