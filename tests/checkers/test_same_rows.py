"""The checker `same_rows`: rows off by one, swapped, missing, too many, left open, out of order."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from helpers.linear import takes_linear_time

from checkers.same_rows import same_rows
from labgrade.values import Number, Row, Table
from labgrade.verdict import Outcome


def number(value: int) -> Number:
    return Number(value=Fraction(value))


def row(name: str, macs: int | None, size: int | None = 56, **more) -> Row:
    shape = None if size is None else (1, 64, size, size)
    return Row(name=name, cells={"macs": None if macs is None else number(macs), "shape": shape}, **more)


def table(*rows: Row, abridged: bool = False) -> Table:
    return Table(rows=rows, abridged=abridged)


ROWS = (row("conv1", 118_013_952, 112), row("conv2", 12_845_056), row("conv3", 346_816_512), row("fc", 1_024_000))
EXPECTED = table(*ROWS)


def test_all_rows_are_right_in_any_order():
    verdict = same_rows(table(*reversed(ROWS)), EXPECTED)
    assert (verdict.outcome, verdict.reason, verdict.agrees) == (Outcome.CORRECT, "all 4 rows are right", True)


def test_a_row_off_by_one():
    verdict = same_rows(table(ROWS[0], row("conv2", 12_845_057), *ROWS[2:]), EXPECTED)
    assert (verdict.outcome, verdict.credit, verdict.agrees) == (Outcome.PARTIAL, Fraction(3, 4), False)
    assert verdict.reason == (
        "3 of 4 rows are right; the first wrong one is 'conv2': macs: got 12,845,057, which is off by less "
        "than a factor of 2"
    )
    assert verdict.facts["expected macs (conv2)"] == "12,845,056"


def test_the_values_of_two_rows_swapped():
    swapped = table(row("conv1", 12_845_056, 112), row("conv2", 118_013_952), *ROWS[2:])
    verdict = same_rows(swapped, EXPECTED)
    assert verdict.credit == Fraction(1, 2)
    assert verdict.reason == (
        "2 of 4 rows are right; the first wrong one is 'conv1': macs: got 12,845,056, which is too small; "
        "also wrong: 'conv2'"
    )


def test_a_hint_is_given_where_all_that_is_wrong_has_it():
    wrong = [Row(name=each.name, cells={**each.cells, "shape": each.cells["shape"][1:]}) for each in ROWS]
    assert "one dimension is left out" in same_rows(table(*wrong), EXPECTED).hint
    assert not same_rows(table(row("conv1", 1, 112), *wrong[1:]), EXPECTED).hint


def test_a_wrong_shape_names_its_column():
    verdict = same_rows(table(row("conv1", 118_013_952, 111), *ROWS[1:]), EXPECTED)
    assert "'conv1': shape: got 1x64x111x111, which is not what is expected" in verdict.reason


def test_a_missing_row():
    verdict = same_rows(table(*ROWS[:3]), EXPECTED)
    assert (verdict.credit, verdict.reason) == (Fraction(3, 4), "3 of 4 rows are right; missing: 'fc'")


def test_a_row_too_many_costs_as_much_as_a_wrong_one():
    verdict = same_rows(table(*ROWS, row("aux", 5)), EXPECTED)
    assert (verdict.credit, verdict.reason) == (Fraction(4, 5), "4 of 4 rows are right; not expected: 'aux'")


def test_a_row_given_twice_is_one_too_many():
    verdict = same_rows(table(*ROWS, ROWS[0]), EXPECTED)
    assert verdict.reason == "4 of 4 rows are right; not expected: 'conv1'"


def test_rows_of_one_name_are_taken_in_order():
    twice = table(row("relu", 1), row("relu", 2))
    assert same_rows(twice, twice).credit == 1
    assert same_rows(table(row("relu", 2), row("relu", 1)), twice).credit == 0


def test_an_empty_table():
    verdict = same_rows(table(), EXPECTED)
    assert verdict.outcome is Outcome.INCORRECT
    assert verdict.reason == "0 of 4 rows are right; 4 missing: 'conv1', 'conv2', 'conv3', 'fc'"
    assert same_rows(table(), table()).reason == "no rows are expected"
    assert same_rows(table(row("a", 1)), table()).credit == 0


def test_at_most_five_names_are_listed():
    many = table(*(row(f"layer{index}", index + 1) for index in range(8)))
    assert same_rows(table(), many).reason.endswith(
        "8 missing: 'layer0', 'layer1', 'layer2', 'layer3', 'layer4' and 3 more"
    )


def test_names_match_without_regard_to_spaces_and_case():
    renamed = table(*(row(f" {each.name.upper()} ", None) for each in ROWS))
    cells = tuple(Row(name=new.name, cells=old.cells) for new, old in zip(renamed.rows, ROWS, strict=True))
    assert same_rows(table(*cells), EXPECTED).credit == 1


def test_a_name_as_it_is_comes_before_a_name_without_case():
    expected = table(row("Conv", 1), row("conv", 2))
    assert same_rows(table(row("conv", 2), row("Conv", 1)), expected).credit == 1


def test_other_names_match_after_own_names():
    expected = table(row("features.0", 1, also_named=("Conv2d: 1-1", "conv1")), row("conv1", 2))
    assert same_rows(table(row("Conv2d: 1-1", 1), row("conv1", 2)), expected).credit == 1
    assert same_rows(table(row("conv1", 2), row("conv1", 1)), expected).credit == 1
    assert same_rows(table(row("conv2d: 1-1", 1), row("conv1", 2)), expected).credit == 1
    assert same_rows(table(row("Conv2d: 1-2", 1), row("conv1", 2)), expected).credit == Fraction(1, 3)


def test_a_name_may_stand_with_its_class():
    expected = table(row("0", 1), row("conv1", 2), row("fc", 3))
    for sign in (" {}", ": {}", " ({})"):
        names = [
            f"{name}{sign.format(of)}" for name, of in (("0", "BatchNorm1d"), ("conv1", "Conv2d"), ("fc", "Linear"))
        ]
        assert same_rows(table(*(row(name, place) for place, name in enumerate(names, 1))), expected).credit == 1
    assert same_rows(table(row("Total Params", 1)), table(row("Total", 1), row("fc", 3))).credit < 1


CONTAINER = row("inception", 5_000, optional=True)


@pytest.mark.parametrize(
    ("names", "credit"), [(("/b/Conv", "x"), 1), (("x", "out_b"), 1), (("Conv_0",), 0), (("7",), 0), (("Conv",), 0)]
)
def test_a_row_of_a_listing_is_found_by_what_it_calls_itself_besides(names, credit):
    expected = table(
        row("/a/Conv", 1, also_named=("Conv", "out_a", "7")), row("/b/Conv", 2, also_named=("Conv", "out_b"))
    )
    answer = table(row("Conv", 2, also_named=names), abridged=True)
    assert same_rows(answer, expected, abridged=True, at_least=1).credit == credit


@pytest.mark.parametrize(
    ("given", "abridged", "right"),
    [
        ((1, 2, 5, 6), True, 4),
        ((3, 6), True, 2),
        ((1, 2, 9, 6), True, 3),
        ((5, 1), True, 1),
        ((6, 6), True, 1),
        ((1, 2, 5, 6), False, 2),
        ((3, 4, 5, 6), False, 0),
    ],
)
def test_rows_of_one_name_behind_the_dots_are_found_by_their_values(given, abridged, right):
    expected = table(*(row(f"/{size}/Conv", size, also_named=("Conv",)) for size in range(1, 7)), row("/Gemm", 7))
    answer = table(*(row("Conv", size) for size in given), row("/Gemm", 7), abridged=abridged)
    verdict = same_rows(answer, expected, abridged=True, at_least=2)
    parts = len(given) + 1 if abridged else 7
    assert verdict.credit == Fraction(right + 1, parts)


def test_a_cell_without_a_value_says_nothing_where_one_may_be_said():
    expected = table(
        replace(row("fc", 7), cells={"macs": number(7), "sizes": None}, also_right={"sizes": (number(5),)})
    )
    for cell, credit in (("nan", 1), (None, 1), (number(5), 1), (number(6), 0)):
        given = table(replace(row("fc", 7), cells={"macs": number(7), "sizes": cell}))
        assert same_rows(given, expected, left_open="wrong").credit == credit


def test_an_optional_row_counts_only_where_it_is_wrong():
    expected = table(*ROWS, CONTAINER)
    assert same_rows(table(*ROWS), expected).reason == "all 4 rows are right"
    assert same_rows(table(*ROWS, CONTAINER), expected).reason == "all 4 rows are right"
    wrong = same_rows(table(*ROWS, row("inception", 5_001)), expected)
    assert (wrong.credit, wrong.reason.partition(";")[0]) == (Fraction(4, 5), "4 of 5 rows are right")
    assert same_rows(table(*ROWS, row("inception", None, None)), expected).credit == 1


def test_an_optional_row_may_say_another_right_value():
    container = row("inception", 5_000, optional=True, also_right={"macs": (number(0), number(17))})
    expected = table(*ROWS, container)
    for macs in (5_000, 0, 17):
        assert same_rows(table(*ROWS, row("inception", macs)), expected).reason == "all 4 rows are right"
    wrong = same_rows(table(*ROWS, row("inception", 18)), expected)
    assert (wrong.credit, "got 18, which is too small, by a factor of more than 100" in wrong.reason) == (
        Fraction(4, 5),
        True,
    )
    assert same_rows(table(*ROWS, row("inception", 0, 55)), expected).credit == Fraction(4, 5)


def test_a_row_of_zeros_is_no_row_too_many():
    of_macs = table(*(Row(name=each.name, cells={"macs": each.cells["macs"]}) for each in ROWS))
    relu = Row(name="relu", cells={"macs": number(0)})
    assert same_rows(table(relu, *of_macs.rows), of_macs).reason == "all 4 rows are right"
    one = Row(name="relu", cells={"macs": number(1)})
    assert same_rows(table(one, *of_macs.rows), of_macs).credit == Fraction(4, 5)
    assert same_rows(table(row("relu", 0), *ROWS), EXPECTED).credit == Fraction(4, 5)
    missing = table(Row(name="conv1", cells={"macs": number(0)}), *of_macs.rows[1:])
    assert same_rows(missing, of_macs).credit == Fraction(3, 4)


@pytest.mark.parametrize("name", ["total", "Total", "Total MACs", "**Sum**", "合計"])
def test_a_total_is_no_row_too_many(name):
    assert same_rows(table(*ROWS, row(name, 5)), EXPECTED).reason == "all 4 rows are right"


def test_a_layer_that_begins_like_a_total_is_a_row():
    assert same_rows(table(*ROWS, row("summary.conv", 5)), EXPECTED).credit == Fraction(4, 5)
    assert same_rows(table(*ROWS, row("total.conv", 5)), EXPECTED).credit == Fraction(4, 5)
    named = table(*ROWS, row("total", 5))
    assert same_rows(table(*ROWS), named).credit == Fraction(4, 5)
    assert same_rows(table(*ROWS, row("total", 6)), named).credit == Fraction(4, 5)


def prefixed(prefix: str) -> Table:
    return table(*(Row(name=f"{prefix}{each.name}", cells=each.cells) for each in ROWS))


def test_a_first_part_that_all_names_share_is_left_out():
    assert same_rows(prefixed("model."), EXPECTED).reason == "all 4 rows are right"
    assert same_rows(table(row("model", 7), *prefixed("model.").rows), table(row("", 7), *ROWS)).credit == 1
    assert same_rows(prefixed("model."), prefixed("model.")).credit == 1
    mixed = table(*prefixed("model.").rows[:2], *ROWS[2:])
    assert same_rows(mixed, EXPECTED).credit == Fraction(2, 6)


@pytest.mark.parametrize(
    "written",
    ["nn.Conv2d", "torch.nn.Conv2d", "torch.nn.modules.conv.Conv2d", "<class 'torch.nn.modules.conv.Conv2d'>"],
)
def test_a_class_may_be_written_with_its_module(written):
    expected = table(row("Conv2d", 1), row("Linear", 2))
    assert same_rows(table(row(written, 1), row("Linear", 2)), expected).credit == 1


def test_a_class_may_stand_behind_a_layers_name():
    assert same_rows(table(row("conv1 (Conv2d)", 118_013_952, 112), *ROWS[1:]), EXPECTED).credit == 1


def test_an_open_cell_is_not_compared():
    got = table(*ROWS[:3], row("fc", None))
    assert same_rows(got, EXPECTED).credit == 1
    assert same_rows(EXPECTED, got).credit == 1


def test_a_row_left_open_is_wrong():
    verdict = same_rows(table(*ROWS[:3], row("fc", None, None)), EXPECTED)
    assert (verdict.credit, verdict.reason.rpartition("; ")[2]) == (
        Fraction(3, 4),
        "the first wrong one is 'fc': macs: left open",
    )


def test_a_column_left_open_is_wrong():
    got = table(*(Row(name=each.name, cells=each.cells | {"macs": None}) for each in ROWS[1:]), ROWS[0])
    verdict = same_rows(got, EXPECTED)
    assert verdict.credit == Fraction(1, 4)
    assert "'conv2': macs: left open; 2 also wrong: 'conv3', 'fc'" in verdict.reason
    without = table(*(Row(name=each.name, cells={"shape": each.cells["shape"]}) for each in ROWS))
    assert same_rows(without, EXPECTED).credit == 0


def test_a_third_of_a_column_is_not_enough():
    expected = table(*ROWS[:3])
    got = table(ROWS[0], *(Row(name=each.name, cells=each.cells | {"macs": None}) for each in ROWS[1:3]))
    assert same_rows(got, expected).credit == Fraction(1, 3)


def test_open_cells_of_containers_leave_no_column_open():
    containers = [row(f"inception{index}", 5_000, optional=True) for index in range(3)]
    without = [Row(name=each.name, cells=each.cells | {"macs": None}) for each in (*containers, ROWS[1])]
    assert same_rows(table(ROWS[0], *without), table(*ROWS[:2], *containers)).credit == 1


def test_half_of_a_column_may_be_open():
    got = table(*(Row(name=each.name, cells=each.cells | {"macs": None}) for each in ROWS[:2]), *ROWS[2:])
    assert same_rows(got, EXPECTED).credit == 1


def test_an_open_cell_is_none():
    expected = table(Row(name="relu", cells={"macs": number(0)}), Row(name="pool", cells={"macs": None}))
    got = table(Row(name="relu", cells={"macs": None}), Row(name="pool", cells={"macs": number(7)}))
    assert same_rows(got, expected).credit == 1
    something = table(Row(name="relu", cells={"macs": number(5)}), Row(name="pool", cells={"macs": None}))
    assert same_rows(something, expected).credit == Fraction(1, 2)


def test_an_abridged_table_costs_nothing_where_that_is_allowed():
    got = table(*ROWS[:2], abridged=True)
    verdict = same_rows(got, EXPECTED, abridged=True, at_least=2)
    assert (verdict.outcome, verdict.reason) == (
        Outcome.CORRECT,
        "all 2 rows are right; the table is abridged and shows 2 of 4 rows",
    )
    assert same_rows(table(ROWS[0], abridged=True), EXPECTED, abridged=True, at_least=1).credit == 1
    assert same_rows(got, EXPECTED).hint == "the table leaves rows out: hand in all of them"
    assert same_rows(got, EXPECTED).credit == Fraction(1, 2)


def test_an_abridged_table_shows_at_least_half_of_the_rows():
    assert same_rows(table(*ROWS[:2], abridged=True), EXPECTED, abridged=True).credit == 1
    verdict = same_rows(table(ROWS[0], abridged=True), EXPECTED, abridged=True)
    assert (verdict.outcome, verdict.credit) == (Outcome.PARTIAL, Fraction(1, 4))
    assert verdict.reason == "1 of 4 rows is right; 3 missing: 'conv2', 'conv3', 'fc'"
    assert verdict.hint == "the table leaves rows out: hand in at least 2 of them"
    three = table(*ROWS[:3])
    assert same_rows(table(ROWS[0], abridged=True), three, abridged=True).credit == Fraction(1, 3)


def test_an_abridged_table_with_too_few_rows():
    got = table(*ROWS[:2], abridged=True)
    verdict = same_rows(got, EXPECTED, abridged=True, at_least=3)
    assert (verdict.credit, verdict.hint) == (Fraction(1, 2), "the table leaves rows out: hand in at least 3 of them")
    assert same_rows(table(abridged=True), EXPECTED, abridged=True, at_least=0).credit == 0
    containers = table(CONTAINER, abridged=True)
    assert same_rows(containers, table(*ROWS, CONTAINER), abridged=True).credit == 0


def test_a_table_that_does_not_say_it_is_abridged_is_not():
    assert same_rows(table(*ROWS[:2]), EXPECTED, abridged=True, at_least=2).credit == Fraction(1, 2)


def test_an_abridged_table_with_a_wrong_row():
    got = table(ROWS[0], row("conv2", 1), abridged=True)
    verdict = same_rows(got, EXPECTED, abridged=True, at_least=2)
    assert verdict.credit == Fraction(1, 2)
    assert verdict.reason.startswith("1 of 2 rows is right; the first wrong one is 'conv2'")
    assert verdict.reason.endswith("; the table is abridged and shows 2 of 4 rows")


@pytest.mark.parametrize(
    ("places", "right"),
    [((0, 1, 2, 3), 4), ((3, 0, 1, 2), 3), ((1, 0, 2, 3), 3), ((3, 2, 1, 0), 1), ((2, 3, 0, 1), 2), ((2, 0, 1, 3), 3)],
)
def test_the_order_of_rows(places, right):
    got = table(*(ROWS[place] for place in places))
    assert same_rows(got, EXPECTED, order=True).credit == Fraction(right, 4)
    assert same_rows(got, EXPECTED).credit == 1


def test_a_row_out_of_order_is_named():
    verdict = same_rows(table(ROWS[3], *ROWS[:3]), EXPECTED, order=True)
    assert verdict.reason.endswith("'fc': it is not in its place in the order of the rows")


def test_rounded_cells():
    coarse = Number(value=Fraction(118_000_000), half_unit=Fraction(500_000), digits=3, text="118 M")
    got = table(Row(name="conv1", cells=ROWS[0].cells | {"macs": coarse}), *ROWS[1:])
    assert same_rows(got, EXPECTED).credit == 1
    verdict = same_rows(got, EXPECTED, digits=4)
    assert (verdict.credit, verdict.agrees) == (Fraction(7, 8), True)
    assert not same_rows(table(*got.rows[:3]), EXPECTED, digits=4).agrees
    assert not same_rows(table(*got.rows, row("aux", 1)), EXPECTED, digits=4).agrees
    assert verdict.hint == "print more digits: at least 4 significant digits are needed"


@pytest.mark.slow
def test_a_large_table_is_judged_quickly():
    large = table(*(row(f"layer{index}", index + 1) for index in range(2_000)))
    backwards = table(*reversed(large.rows))
    assert same_rows(backwards, large).credit == 1
    assert same_rows(backwards, large, order=True).credit == Fraction(1, 2_000)


def test_other_rows_may_be_allowed():
    got = table(row("aux", 5), *ROWS)
    assert same_rows(got, EXPECTED, others="allowed").reason == "all 4 rows are right"
    assert same_rows(table(*got.rows[:4]), EXPECTED, others="allowed").credit == Fraction(3, 4)
    assert same_rows(table(row("aux", 5)), EXPECTED, others="allowed").credit == 0
    cut = table(*got.rows[:3], *(row(f"other{place}", 5) for place in range(7)))
    assert "row_limit=-1" in same_rows(cut, EXPECTED, others="allowed").hint
    assert not same_rows(table(*cut.rows[:9]), EXPECTED, others="allowed").hint


def test_a_table_of_something_else_is_not_called_cut():
    others = [row(f"other{place}", 5) for place in range(10)]
    for got in (others, [row("conv1", 7), *others[:9]], [*ROWS[:2], row("conv3", 7), *others[:7]]):
        assert not same_rows(table(*got), EXPECTED, others="allowed").hint
    assert not same_rows(table(*ROWS[:3], *others[:7]), EXPECTED, others="allowed", abridged=True).hint


def test_other_rows_may_be_a_persons_to_judge():
    more = same_rows(table(*ROWS, row("aux", 5)), EXPECTED, others="unsure")
    assert (more.outcome, more.reason) == (Outcome.MANUAL, "4 of 4 rows are right; not expected: 'aux'")
    assert [each.name for each in more.rows if each.expected is None and not each.expected_text] == ["aux", "aux"]
    assert same_rows(table(*ROWS), EXPECTED, others="unsure").outcome is Outcome.CORRECT
    fewer = same_rows(table(*ROWS[1:], row("aux", 5)), EXPECTED, others="unsure")
    assert fewer == same_rows(table(*ROWS[1:], row("aux", 5)), EXPECTED)


@pytest.mark.parametrize("others", ["wrong", "allowed"])
@pytest.mark.parametrize("again", ["first", "last"])
def test_a_row_that_stands_twice_with_two_values_is_wrong_whichever_is_right(others, again):
    rows = [row("Conv1 ", 7), *ROWS] if again == "first" else [*ROWS, row("Conv1 ", 7)]
    verdict = same_rows(table(*rows), EXPECTED, others=others)
    assert (verdict.outcome, verdict.credit) == (Outcome.PARTIAL, Fraction(3, 4))
    assert verdict.reason == (
        "3 of 4 rows are right; the first wrong one is 'conv1': it stands there more than once, with different values"
    )


def test_a_row_that_stands_twice_and_says_the_same_contradicts_nothing():
    assert same_rows(table(*ROWS, ROWS[0]), EXPECTED, others="allowed").outcome is Outcome.CORRECT
    left_open = table(*ROWS, row("conv1", None, None))
    assert same_rows(left_open, EXPECTED).outcome is Outcome.CORRECT


def test_every_cell_has_to_be_there_where_the_spec_says_so():
    def rows(*cells):
        return Table(rows=tuple(Row(name=f"r{at}", cells=each) for at, each in enumerate(cells)))

    expected = rows({"group": number(2), "max": None}, {"group": None, "max": number(6)})
    whole = rows({"group": number(2), "max": None}, {"group": None, "max": number(6)})
    lacking = rows({"group": number(2), "max": None}, {"group": None, "max": None})
    assert same_rows(whole, expected, left_open="wrong").credit == 1
    verdict = same_rows(lacking, expected, left_open="wrong")
    assert verdict.credit == Fraction(1, 2)
    assert "'r1': max: left open" in verdict.reason


def clips(cell):
    return table(Row(name="conv", cells={"group": number(5)}), Row(name="clip", cells={"group": cell}))


@pytest.mark.parametrize("given", [number(1), (1, 1), "SAME_UPPER", "a number"])
def test_a_cell_in_which_nothing_is_has_to_stay_open_where_the_spec_says_so(given):
    verdict = same_rows(clips(given), clips(None), left_open="wrong")
    assert verdict.credit == Fraction(1, 2)
    assert "but there is none" in verdict.reason
    assert same_rows(clips(given), clips(None)).credit == 1


@pytest.mark.parametrize("given", [None, number(0), (), "", "-", "N/A", "None", "nan"])
def test_what_says_nothing_is_an_open_cell(given):
    assert same_rows(clips(given), clips(None), left_open="wrong").credit == 1


# ---- the rows beside the expected ones --------------------------------------------------------------------------


def beside(verdict):
    return [(row.name, row.column, row.got_text, row.expected_text, row.right) for row in verdict.rows]


def cells(name, **values):
    return Row(name=name, cells={key: _cell(value) for key, value in values.items()})


def _cell(value):
    return Number(value=Fraction(value)) if isinstance(value, int) else value


EXPECTED_ROWS = Table(rows=(cells("a", n=1, shape=(1, 2)), cells("b", n=2, shape=(3, 4)), cells("c", n=3, shape=(5,))))


def test_a_right_table_has_no_rows_to_show():
    assert same_rows(EXPECTED_ROWS, EXPECTED_ROWS).rows == ()


def test_each_cell_that_was_handed_in_stands_beside_the_expected_one():
    answer = Table(rows=(cells("B", n=2, shape=(3, 5)), cells("a", n=7, shape=(1, 2))))
    assert beside(same_rows(answer, EXPECTED_ROWS)) == [
        ("a", "n", "7", "1", False),
        ("a", "shape", "1x2", "1x2", True),
        ("b", "n", "2", "2", True),
        ("b", "shape", "3x5", "3x4", False),
        ("c", "", "", "", False),
    ]


def test_what_is_expected_of_a_missing_row_stays_untold():
    (*_, missing) = same_rows(Table(rows=(cells("a", n=1, shape=(1, 2)),)), EXPECTED_ROWS).rows
    assert (missing.name, missing.got, missing.expected, missing.expected_text) == ("c", None, None, "")


def test_rows_too_many_come_last_and_forgiven_ones_not_at_all():
    answer = Table(rows=(cells("a", n=1, shape=(1, 2)), cells("x", n=9)), abridged=True)
    found = beside(same_rows(answer, EXPECTED_ROWS, abridged=True, at_least=1))
    assert found == [("a", "n", "1", "1", True), ("a", "shape", "1x2", "1x2", True), ("x", "n", "9", "", False)]


def test_a_row_out_of_its_place_is_wrong_as_a_whole():
    answer = Table(rows=(EXPECTED_ROWS.rows[2], *EXPECTED_ROWS.rows[:2]))
    wrong = {row.name for row in same_rows(answer, EXPECTED_ROWS, order=True).rows if not row.right}
    assert wrong == {"c"}


def test_a_shape_counts_its_elements_and_a_huge_number_has_no_size():
    answer = Table(rows=(cells("a", n=10**400, shape=(2, 2)), *EXPECTED_ROWS.rows[1:]))
    number, shape, *_ = same_rows(answer, EXPECTED_ROWS).rows
    assert (number.got, number.expected, shape.got, shape.expected) == (None, 1.0, 4.0, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("named", ["conv", "other", "wrong", ""])
def test_large_tables_take_linear_time(named):
    """Rows that are not expected, that are missing, that are wrong, that bear one name."""

    def work(size):
        expected = table(*(row(f"conv{place}", place) for place in range(size if named else 50)))
        same_rows(table(*(row(f"{named}{place if named else ''}", 1) for place in range(size))), expected)

    assert takes_linear_time(work, 4_000)


# torchsummary numbers all rows, a student may number the rows of each type; ONNX has both, from 0 on.
NUMBERED = table(
    row("conv1", 100, also_named=("Conv2d-1",)),
    row("conv2", 200, also_named=("Conv2d-5",)),
    row("conv3", 300, also_named=("Conv2d-8",)),
    row("fc", 400, also_named=("Linear-12",)),
)
NODES = table(
    row("/features/Conv", 100, also_named=("c0", "Conv_0", "Conv")),
    row("/features/Conv_1", 200, also_named=("c1", "Conv_2", "Conv_1", "Conv")),
    row("/features/Conv_2", 300, also_named=("c2", "Conv_4", "Conv_2", "Conv")),
)


def named(*pairs):
    return table(*(row(name, macs) for name, macs in pairs))


@pytest.mark.parametrize(
    ("expected", "names"),
    [
        (NUMBERED, ("Conv2d-1", "Conv2d-5", "Conv2d-8", "Linear-12")),
        (NUMBERED, ("Conv2d-1", "Conv2d-2", "Conv2d-3", "Linear-1")),
        (NUMBERED, ("Conv2d_0", "Conv2d_1", "Conv2d_2", "fc")),
        (NODES, ("Conv_0", "Conv_2", "Conv_4")),
        (NODES, ("Conv_0", "Conv_1", "Conv_2")),
        (NODES, ("Conv_1", "Conv_2", "Conv_3")),
        (NODES, ("/features/Conv", "/features/Conv_1", "/features/Conv_2")),
    ],
)
def test_rows_that_are_numbered_by_type_are_found_whatever_numbers_them(expected, names):
    answer = named(*zip(names, (100, 200, 300, 400), strict=False))
    assert same_rows(answer, expected).outcome is Outcome.CORRECT


@pytest.mark.parametrize(
    ("expected", "rows", "credit"),
    [
        (NUMBERED, (("Conv2d-5", 200), ("Conv2d-8", 300)), Fraction(2, 4)),
        (NUMBERED, (("Conv2d-1", 100), ("Conv2d-2", 200)), Fraction(0)),  # by a count of one's own, and not all
        (NODES, (("Conv_2", 200), ("Conv_4", 300)), Fraction(2, 3)),
        (NODES, (("Conv_0", 100), ("Conv_1", 200)), Fraction(2, 3)),
    ],
)
def test_of_numbered_rows_that_are_not_all_there_no_value_is_blamed_for_a_name(expected, rows, credit):
    verdict = same_rows(named(*rows), expected)
    if credit:
        assert verdict.credit == credit
    assert "macs: got" not in verdict.reason


@pytest.mark.parametrize(("left_open", "credit"), [("skipped", 1), ("wrong", Fraction(1, 2))])
def test_a_zero_is_a_value_where_every_cell_is_asked_for(left_open, credit):
    expected = table(row("gather", 0), row("concat", 1))
    assert same_rows(table(row("gather", None), row("concat", 1)), expected, left_open=left_open).credit == credit
    assert same_rows(expected, expected, left_open=left_open).credit == 1


@pytest.mark.parametrize(("given", "credit"), [(None, 1), (0, 1), (1, 0)])
def test_a_cell_that_may_be_left_open_is_what_may_stand_there_or_nothing(given, credit):
    expected = table(row("conv", None, also_right={"macs": (number(0),)}))
    assert same_rows(table(row("conv", given)), expected, left_open="wrong").credit == credit


def test_a_default_that_was_filled_in_wrongly_is_told_to_be_left_out():
    expected = table(Row(name="conv", cells={"strides": None}, also_right={"strides": ((1,), (1, 1))}))
    assert same_rows(table(Row(name="conv", cells={"strides": (1, 1)})), expected).credit == 1
    wrong = same_rows(table(Row(name="conv", cells={"strides": (3, 3)})), expected)
    assert "strides: got 3x3, but there is none" in wrong.reason


def test_where_no_name_is_right_it_is_said_what_the_rows_are_called():
    expected, others = table(row("Conv2d", 1), row("Linear", 2)), "allowed"
    verdict = same_rows(table(row("Conv2d'>", 1), row("Linear'>", 2)), expected, others=others)
    assert verdict.reason.endswith("2 missing: 'Conv2d', 'Linear'; what is there: 'Conv2d'>', 'Linear'>'")
    assert "what is there" not in same_rows(table(row("Conv2d", 1), row("ReLU", 2)), expected, others=others).reason


def test_a_cell_in_which_nothing_is_expected_may_hold_anything():
    assert same_rows(table(row("conv", 5)), table(row("conv", None))).credit == 1


def test_what_is_known_to_be_wrong_at_once_is_wrong():
    cells = (None, 0, 1, 2)
    answers = [table(*rows) for rows in product(*([row(name, cell) for cell in cells] for name in ("a", "B")))]
    more = [{}, {"also_right": {"macs": (number(2),)}}, {"optional": True}, {"also_named": ("b",)}]
    expected = [table(row("a", cell, **own), row("c", 1, **own)) for cell, own in product(cells, more)]
    known = 0
    for answer, right, way in product(answers, expected, ({}, {"others": "allowed"}, {"order": True}, {"rtol": 0.6})):
        known += (told := same_rows.refuted(answer, right, **way))
        assert not told or same_rows(answer, right, **way).outcome is not Outcome.CORRECT
    assert known > len(answers)


def test_names_of_nodes_name_layers():
    nodes = table(*(Row(name=f"net_{each.name.replace('.', '_')}", cells=each.cells) for each in ROWS))
    assert same_rows(nodes, EXPECTED).reason == "all 4 rows are right"
    mixed = table(*nodes.rows[:2], *ROWS[2:])
    assert same_rows(mixed, EXPECTED).credit == Fraction(2, 6)


def kinds(**counts: int) -> Table:
    """A table of kinds; `prim__` is `prim::`."""
    rows = (Row(name=name.replace("__", "::"), cells={"count": number(count)}) for name, count in counts.items())
    return Table(rows=tuple(rows))


ATEN = kinds(aten__conv2d=5, aten__relu=7)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (kinds(aten__conv2d=5, aten__relu=7, prim__Constant=40), Outcome.CORRECT),
        (kinds(aten__conv2d=5, aten__relu=7, aten__dropout=0), Outcome.CORRECT),
        (kinds(aten__conv2d=5, aten__relu=7, aten__dropout=2), Outcome.PARTIAL),
        (kinds(aten__conv2d=5, aten__relu=7, ATen__Dropout=2), Outcome.PARTIAL),
        (kinds(aten__conv2d=5, aten__relu=7, aten__dropout=2, dropout=2), Outcome.PARTIAL),
        (kinds(aten__conv2d=5, aten__relu=7, dropout=2), Outcome.MANUAL),
        (kinds(aten__conv2d=5, aten__relu=6, Constant=40), Outcome.PARTIAL),
        (kinds(conv2d=5, relu=7), Outcome.CORRECT),
        (kinds(aten_conv2d=5, aten_relu=7), Outcome.CORRECT),
        (kinds(aten_conv2d=5, aten__relu=7), Outcome.CORRECT),
        (kinds(conv2d=5, relu=7, prim__Constant=40), Outcome.CORRECT),
        (kinds(conv2d=5, relu_=7), Outcome.PARTIAL),
    ],
)
def test_a_namespace_is_asked_for_as_a_whole_and_others_are_not(answer, outcome):
    assert same_rows(answer, ATEN, namespace="aten::").outcome is outcome


def test_names_of_other_namespaces_are_other_names():
    assert not same_rows(kinds(prim__conv2d=5, prim__relu=7), ATEN).credit


def test_of_a_single_row_no_number_is_told():
    one = table(row("conv1", 7))
    assert same_rows(table(row("conv1", 8)), one).reason.startswith("the one row, 'conv1', is wrong: macs: ")
    assert same_rows(table(row("other", 7)), one).reason.startswith("the one row that is expected is missing: 'conv1'")
