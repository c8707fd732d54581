"""Sentences that were not so, or were missing, of wrong programs and of numbers that tools print."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
import pytest

from labgrade.answers.near_miss import _names_alike
from labgrade.core.serialise import from_plain, plain
from labgrade.core.task import QuantityCall
from labgrade.diagnosis.bases import Base
from labgrade.diagnosis.behaviour import Behaviour, Hypothesis
from labgrade.diagnosis.diagnose import _holding
from labgrade.diagnosis.repair.edits import edits
from labgrade.diagnosis.repair.repairs import Repair, _everywhere
from labgrade.diagnosis.whole_rows import exchanged, of_tensors
from labgrade.reports.summary import diagnosis_in_words
from labgrade.values import Number, Row, Table
from labgrade.verdict import Diagnosis
from reference._slips.common import also, without
from reference._slips.compose import Composition, Part, Slip, WantedProducts


def test_slips_that_make_up_for_each_other_are_not_told_as_two():
    library = {
        "given": Slip(of="extra", says="once more", change=also("given")),
        "reads": Slip(of="left out", says="left out", change=without(lambda _: True, ("read",))),
    }

    def made(*, twice):
        parts = [
            Part(row="", count=4, source=None, kind="given", counted=False, thing=1),
            Part(row="", count=4, source=None, kind="read", thing=1),
            Part(row="", count=9, source=None, kind="read", thing=1 if twice else 2),
        ]
        return Composition(library=library, make=lambda _: parts)

    wanted = WantedProducts(most=2, between=["4", "4"])
    assert [names for names, _ in made(twice=False).totals(wanted)] == []
    assert [names for names, _ in made(twice=False).totals(WantedProducts(among=["given+reads"]))] == [
        ("given", "reads")
    ]


def test_networks_on_which_a_function_is_right_are_not_called_wrong():
    found = Diagnosis(tried=9, causes=("x",), says=("It is so.",), but=("a Loop",), spared=("a Scan", "an If"))
    said = diagnosis_in_words(found)
    assert "On those with a Loop it is wrong in another way" in said
    assert said.endswith("On those with a Scan and an If it is right all the same.")
    apart = Diagnosis(tried=9, wrong=3, wrong_on=("b",), elsewhere=("So.",), spared=("a Scan",))
    assert "On those without a Scan it does this: So." in diagnosis_in_words(apart)


def test_what_cannot_be_told_from_something_else_is_said_of_nothing_beside_what_is_sure():
    base = Base(call=QuantityCall(quantity="q"))
    holds, alike = (Hypothesis(base=base, slips=("sure", name)) for name in ("one", "other"))
    says = {"sure": "It is sure.", "one": "This one.", "other": "The other."}
    found = Behaviour(called=[], holds=holds, alike=[alike], says=says)
    for here in (("sure",), ("sure", "one"), ("one",)):
        told = _holding(found, holds, here)
        assert (told.says, told.elsewhere) == (("It is sure.",), ())
    only = replace(holds, slips=("one",))
    alone = _holding(Behaviour(called=[], holds=only, says=says), only, ("one",))
    assert alone.says == ("This one.",)


def test_a_diagnosis_of_an_earlier_version_is_written_as_it_was():
    earlier = plain(Diagnosis(tried=3, right_on=("a",), wrong_on=("b",)))
    assert "wrong" not in earlier
    read = from_plain(earlier, Diagnosis)
    assert plain(read) == earlier
    for each in (read, replace(read, right_on=()), replace(read, wrong_on=())):
        assert diagnosis_in_words(each) == "Your function is wrong on some of 3 networks."


def table(**columns):
    names = zip(*columns.values(), strict=True)
    return Table(
        rows=tuple(
            Row(name=f"r{at}", cells={c: Number(value=v) for c, v in zip(columns, row, strict=True)})
            for at, row in enumerate(names)
        )
    )


def test_columns_that_are_exchanged_are_said_to_be():
    right = table(macs=[1, 3], flops=[2, 6], k=[7, 7])
    assert "'flops' stands under 'macs'" in exchanged(table(macs=[2, 6], flops=[1, 3], k=[7, 7]), right)
    assert exchanged(table(macs=[2, 6], flops=[1, 4], k=[7, 7]), right) == ""
    assert exchanged(table(macs=[2, 6], flops=[1, 3], k=[7, 8]), right) == ""
    assert exchanged(right, right) == ""


def test_tensors_under_each_others_names_are_said_to_be():
    one, other, third = (np.full(shape, 2.0, dtype="float32") for shape in ((2, 3), (2, 4), (5,)))
    right = {"first": one, "last": other, "head": third}
    said = of_tensors({"first": other, "last": one, "head": third}, right)
    assert said.startswith("The tensors are right, but 2 of them stand under each other's names")
    assert of_tensors({"first": other, "last": other, "head": third}, right) == ""
    assert of_tensors(right, right) == ""


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("non_trainable_parameters", "total_parameters", False),
        ("non_trainable_parameters", "trainable_parameters", False),
        ("total_macs", "totalmacs", True),
        ("total_macs", "compute_total_macs", True),
        ("total_macs", "total_mac", True),
    ],
)
def test_a_function_of_other_words_is_not_offered_for_renaming(one, other, alike):
    assert _names_alike(one, other) is alike


SOURCE = """
def count(a):
    found = {}
    for n in a:
        if n > 1:
            found[n] = n * 2
        else:
            found[n] = n
    return found
"""


def test_what_stands_in_several_places_is_changed_in_all():
    groups = [each for each in _everywhere(edits(SOURCE, "count")) if each[0].kind]
    assert [[edit.line for edit in group] for group in groups] == [[6, 8]]
    ast.parse(groups[0][1].applied(SOURCE))


def test_a_condition_ends_in_one_comma():
    conditions = [each for each in edits(SOURCE, "count") if each.becomes == "always" or each.text == "True"]
    alone = Repair(edits=(conditions[0],), tried=9).says()
    both = Repair(edits=(conditions[0], edits(SOURCE, "count")[0]), tried=9).says()
    assert "holds, your function" in alone
    assert ",," not in both
