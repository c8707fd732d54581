"""Runs of a study in other forms than a row each."""

from __future__ import annotations

import time

import pytest

from labgrade.answers.reading.tabular.tables import TableFound, TableProblem, find_tables
from labgrade.core.task import TableType
from labgrade.values import Number

KIND = TableType(row="batch_size", sparse=True, columns={"batch_size": "count", "seed": "count", "accuracy": "number"})
FOUR = [(16, 0, 0.95), (16, 1, 0.94), (64, 0, 0.9), (64, 1, 0.91)]


def read(text: str) -> list[tuple[float | None, ...]]:
    (found,) = find_tables(text, 0, len(text), KIND)
    assert isinstance(found, TableFound), found
    return [
        tuple(float(cell.value) if isinstance(cell, Number) else None for cell in row.cells.values())
        for row in found.table.rows
    ]


LONG = "batch_size,seed,accuracy\n16,0,0.95\n16,1,0.94\n64,0,0.9\n64,1,0.91\n"


@pytest.mark.parametrize(
    "text",
    [
        LONG.replace("\n64,0", "\n\n64,0"),
        LONG.replace(",", ";").replace("\n", "\n\n\n"),
        LONG + ",,\n,,\n",
        LONG.replace("\n64,0", "\n,,\n64,0"),
        LONG + "average,,0.925\n",
        LONG + "mean of all runs,,0.925\nstd,,0.02\n",
        LONG.replace("\n64,0", "\n16,mean,0.945\n16,std,0.005\n64,0"),
        LONG.replace("\n64,0", "\nbatch_size,seed,accuracy\n64,0"),
        LONG.replace("\n16,1", "\n,1").replace("\n64,1", "\n,1"),
        "| bs | seed | accuracy |\n|--|--|--|\n| 16 | 0 | 0.95 |\n| | 1 | 0.94 |\n| 64 | 0 | .9 |\n| | 1 | .91 |\n",
        LONG.replace("16,", "2^4,").replace("64,", "2**6,"),
        LONG.replace("16,", "2⁴,").replace("64,", "$2^{6}$,"),
        LONG.replace("16,", "bs16,").replace("64,", "batch 64,"),
        LONG.replace(",0,", ",s0,").replace(",1,", ",seed 1,"),
        LONG.replace(",0,", ",run0,").replace(",1,", ",run#1,"),
        LONG.replace("0.95", "95/100").replace("0.94", "94 / 100"),
        LONG.replace("accuracy", "final accuracy").replace("batch_size", "bs"),
        LONG.replace("accuracy", "top1"),
        LONG.replace("accuracy", "final_test_accuracy"),
        "batch_size,0,1\n16,0.95,0.94\n64,0.9,0.91\n",
        "batch_size,0,1,mean\n16,0.95,0.94,0.945\n64,0.9,0.91,0.905\nmean,0.925,0.925,0.925\n",
    ],
)
def test_rows_of_runs_are_read_as_people_write_them(text):
    assert read(text) == FOUR


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        (LONG + "\n5 MB, 6 MB, 7 MB\n", FOUR),  # what goes on below is no row
        (LONG + "\nin all,4,runs\n", FOUR),
        (LONG + "128,,0.8\n", [*FOUR, (128, None, 0.8)]),  # whose mean it may be
        (LONG + ",,0.8\n", [*FOUR, (None, None, 0.8)]),
        (LONG + "x4,0,0.8\n", [*FOUR, (None, 0, 0.8)]),
        (LONG + "2^-1,0,7/5\n", [*FOUR, (None, 0, None)]),
    ],
)
def test_what_is_no_plain_run_is_not_taken_for_one(text, runs):
    assert read(text) == runs


@pytest.mark.parametrize("header", ["batch_size,1,5,10", "batch_size,16,64,epochs", "size in MB,0,1,2"])
def test_bare_numbers_that_do_not_follow_on_each_other_are_no_seeds(header):
    text = header + "\n16,0.95,0.94,0.93\n64,0.9,0.91,0.92\n"
    assert not [found for found in find_tables(text, 0, len(text), KIND) if isinstance(found, TableFound)]


def test_settings_that_are_powers_may_be_below_one():
    kind = TableType(row="rate", sparse=True, columns={"rate": "number", "seed": "count", "accuracy": "number"})
    text = "rate,seed,accuracy\n10^-5,0,0.2\n10**-2,0,0.9\n2^{-1},0,0.5\n"
    (found,) = find_tables(text, 0, len(text), kind)
    assert [float(row.cells["rate"].value) for row in found.table.rows] == [1e-5, 0.01, 0.5]


@pytest.mark.parametrize(
    "text",
    [
        (
            "| Batch size | Seed 0 | Seed 1 | Mean | Time (s) |\n|--:|--|--|--|--|\n"
            "| 16 | 0.95 | 0.94 | .945 | 3 |\n| 64 | 0.9 | 0.91 | .905 | 2 |\n"
        ),
        (
            "| Batch size | Accuracy (seed 0) | Accuracy (seed 1) | Accuracy |\n|--|--|--|--|\n"
            "| 16 | 0.95 | 0.94 | .945 |\n| 64 | 0.9 | 0.91 | .905 |\n"
        ),
        "batch_size,run 0,run 1\n16,0.95,0.94\n64,0.9,0.91\n",
        (
            "batch_size=16 seed=0 accuracy=0.95\nbatch_size=16 seed=1 accuracy=0.94\n"
            "batch_size=64 seed=0 accuracy=0.9\nbatch_size=64 seed=1 accuracy=0.91\n"
        ),
        (
            "Batch size: 16, seed: 0, val_acc: 0.95\nBatch size: 16, seed: 1, val_acc: 0.94\n"
            "Batch size: 64, seed: 0, val_acc: 0.9\nBatch size: 64, seed: 1, val_acc: 0.91\n"
        ),
        (
            "   batch_size  seed  accuracy\n0          16     0      0.95\n1          16     1      0.94\n"
            "2          64     0      0.90\n10         64     1      0.91\n"
        ),
        "batch_size   seed 0   seed 1\n16           0.95     0.94\n64           0.9      0.91\n",
        "  batch_size   seed 0   seed 1\n16           0,95     0,94\n64           0,9      0,91\n",
        "Losgröße;Startwert 0;Startwert 1\n16;0,95;0,94\n64;0,9;0,91\n",
        "| Taille de lot | graine 0 | graine 1 |\n|--|--|--|\n| 16 | 0,95 | 0,94 |\n| 64 | 0,9 | 0,91 |\n",
    ],
)
def test_runs_have_a_column_a_line_or_a_number_of_their_own(text):
    assert read(text) == FOUR


@pytest.mark.parametrize(
    "seeds", ["seed 0 (%)|seed 1 (%)", "Accuracy (seed 0, %)|Accuracy (seed 1, %)", "種子 0 [%]|種子 1 [%]"]
)
def test_a_column_of_a_seed_may_say_its_unit(seeds):
    text = f"|batch_size|{seeds}|mean|\n|--|--|--|--|\n|16|95|94|94.5|\n|64|90|91|90.5|\n"
    assert read(text) == [(*setting, 100 * of) for *setting, of in FOUR]


@pytest.mark.parametrize(
    "text",
    [
        "| Batch size | 16 | 64 |\n|--|--|--|\n| seed 0 | 0.95 | 0.9 |\n| seed 1 | 0.94 | 0.91 |\n| time | 3 | 2 |\n",
        "| Seed | bs=16 | bs=64 |\n|--|--|--|\n| 0 | 0.95 | 0.9 |\n| 1 | 0.94 | 0.91 |\n",
    ],
)
def test_a_table_may_lie_on_its_side(text):
    assert sorted(read(text)) == sorted(FOUR)


@pytest.mark.parametrize(("last", "seeds"), [("2", [1, 2, 1, 2]), ("4", [1, 2, 3, 4])])
def test_runs_of_each_setting_may_be_numbered(last, seeds):
    rows = ["| 16 | 1 | 0.95 |", "| 16 | 2 | 0.94 |", f"| 64 | {seeds[2]} | 0.9 |", f"| 64 | {last} | 0.91 |"]
    found = read("\n".join(["| Batch size | Run | Val acc |", "|--|--|--|", *rows]))
    assert [run[1] for run in found] == (seeds if last == "2" else [None] * 4)


def test_columns_that_are_not_understood_are_named():
    text = "| batch_size | try A | try B |\n|--|--|--|\n| 16 | 0.95 | 0.94 |\n| 64 | 0.9 | 0.91 |\n"
    (problem,) = find_tables(text, 0, len(text), KIND)
    assert isinstance(problem, TableProblem)
    assert "it has 'batch_size', 'try A', 'try B'" in problem.reason


def test_a_mean_may_say_how_far_its_runs_spread():
    text = "| Batch size | Val. accuracy |\n|--|--|\n| 16 | 0.950 ± 0.004 |\n| 64 | $0.914 \\pm 0.01$ |\n"
    assert read(text) == [(16, None, 0.95), (64, None, 0.914)]


@pytest.mark.parametrize(
    "text",
    [
        "With a batch size of 16 the accuracy is 0.95.\nWith a batch size of 64 the accuracy is 0.9.\n",
        "print('batch_size=16 accuracy=0.5')\nprint('batch_size=64 accuracy=0.5')\n",
        "| Seed 0 | Seed 1 |\n|--|--|\n| 0.9 | 0.8 |\n",
    ],
)
def test_prose_calls_and_tables_without_the_setting_are_no_runs(text):
    assert not [each for each in find_tables(text, 0, len(text), KIND) if isinstance(each, TableFound)]


def test_lines_of_names_take_linear_time():
    def cost(lines: int) -> float:
        text = ("batch " * 90 + "= seed : accuracy\n") * lines
        begin = time.process_time()
        find_tables(text, 0, len(text), KIND)
        return time.process_time() - begin

    cost(5)
    assert cost(160) < 20 * cost(20) + 0.2
