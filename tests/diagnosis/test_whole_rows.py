"""Tables whose cells are right as such: all of one name, under other names, one row late."""

from fractions import Fraction

import numpy as np

from labgrade.diagnosis.probe import Trial
from labgrade.diagnosis.whole_rows import of_rows, of_tensors
from labgrade.values import Number, Row, Table
from labgrade.verdict import Outcome, Verdict

VERDICT = Verdict(outcome=Outcome.INCORRECT, credit=Fraction(0), reason="")
RIGHT = ({"a.conv": 3, "b.conv": 4, "fc": 5}, {"a.conv": 7, "b.conv": 9, "fc": 8})


def table(rows):
    return Table(rows=tuple(Row(name=name, cells={"macs": Number(value=Fraction(value))}) for name, value in rows))


def seen(change):
    given = [change(list(right.items())) for right in RIGHT]
    trials = [
        Trial(verdict=VERDICT, value=table(rows), expected=table(right.items()))
        for rows, right in zip(given, RIGHT, strict=True)
    ]
    return of_rows(trials)


def test_what_is_wrong_with_whole_rows_is_said():
    cause, says = seen(lambda rows: [("fc", value) for _, value in rows])
    assert cause == "one_name"
    assert "'fc'" in says
    cause, says = seen(lambda rows: [(name.removesuffix(".conv"), value) for name, value in rows])
    assert cause == "names"
    assert "'a.conv' stands under 'a'" in says
    late = seen(
        lambda rows: [(name, value) for (name, _), value in zip(rows, [0, *(v for _, v in rows)], strict=False)]
    )
    assert late[0] == "one_late"
    sums = seen(lambda rows: [(name, sum(v for _, v in rows[: at + 1])) for at, (name, _) in enumerate(rows)])
    assert sums[0] == "running"
    cause, says = seen(lambda rows: [("relu", rows[-1][1])])
    assert cause == "one_name"
    assert "'relu'" in says
    assert "loop" not in says  # whose last name would be another one in each network
    cause, says = seen(lambda rows: [(f"last.{len(rows)}.{rows[0][1]}", rows[-1][1])])
    assert cause == "one_name"
    assert "loop" in says
    assert seen(lambda rows: [("relu", rows[0][1])]) == ("", "")


def test_a_part_in_a_row_of_its_own_is_seen():
    cause, says = seen(
        lambda rows: [(name, value - 2 * (name == "fc")) for name, value in rows] + [("fc (grouped)", 2)]
    )
    assert cause == "own_row"
    assert "'fc (grouped)'" in says
    assert seen(lambda rows: [(name, value - 2 * (name == "fc")) for name, value in rows] + [("other", 1)]) == ("", "")


def test_values_exchanged_between_rows_are_seen():
    cause, says = seen(lambda rows: list(zip([name for name, _ in rows], [v for _, v in reversed(rows)], strict=True)))
    assert cause == "names"
    assert "stands under" in says


def test_what_all_rows_have_to_do_with_their_sum_is_seen():
    cause, says = seen(lambda rows: [(name, sum(v for _, v in rows)) for name, _ in rows])
    assert cause == "sum_everywhere"
    assert "fromkeys" in says
    percent = seen(lambda rows: [(name, round(100 * value / sum(v for _, v in rows))) for name, value in rows])
    parts = seen(lambda rows: [(name, round(value / sum(v for _, v in rows), 3)) for name, value in rows])
    assert (percent[0], parts[0]) == ("shares", "shares")
    assert "percent" in percent[1]
    assert seen(lambda rows: [(name, 12) for name, _ in rows]) == ("", "")  # the sum of one of the two tables


def test_of_wrong_cells_nothing_is_said():
    assert seen(lambda rows: [(name, value + 1) for name, value in rows]) == ("", "")
    assert seen(lambda rows: rows[1:]) == ("", "")


def test_other_names_are_said_where_a_second_run_has_a_row_besides():
    names = [f"conv{at}" for at in range(4)]
    given = [list(zip(names, right.values(), strict=False)) for right in RIGHT]
    tables = [(rows, right) for rows, right in zip(given, RIGHT, strict=True)] * 2
    again = ([*given[0], ("conv3", 5)], RIGHT[0])

    def said(some):
        return of_rows([Trial(verdict=VERDICT, value=table(r), expected=table(e.items())) for r, e in some])[0]

    assert said([*tables, again]) == "names"
    assert said([again, *tables]) == said([*tables, again, again]) == said([*tables, (given[0][:1], RIGHT[0])]) == ""


def test_right_tensors_under_other_names_are_said():
    right = {"a.conv": np.zeros((1, 2), np.float32), "b.conv": np.ones((1, 2), np.float32)}
    says = of_tensors({"conv_1": right["a.conv"], "conv_2": right["b.conv"]}, right)
    assert "'a.conv' stands under 'conv_1'" in says
    others = ({"x": right["b.conv"], "y": right["a.conv"]}, {"x": right["a.conv"]}, {"x": 0, "y": 1}, right)
    assert [of_tensors(each, right) for each in others] == [""] * len(others)
