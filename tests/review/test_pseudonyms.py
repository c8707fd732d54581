"""Names kept back: the same pseudonym each time, nothing left that tells the name, back after release."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.class_sample import CLASS, report, student

from labgrade.core.errors import UsageError
from labgrade.core.results import Deduction
from labgrade.reports import json as as_json
from labgrade.review import pseudonyms
from labgrade.review.pseudonyms import Pseudonyms, anonymised
from labgrade.review.results import Whole
from labgrade.verdict import Outcome, without_value

KEY, OTHER = b"k" * 32, b"o" * 32
NAMES = ["ann", "bob", "王小明"]


def test_pseudonyms_are_stable_and_need_the_key():
    found = Pseudonyms(KEY, NAMES)
    assert [found.name(found.of(name)) for name in NAMES] == NAMES
    assert found.of("ann") == Pseudonyms(KEY, [*NAMES, "eve"]).of("ann")
    assert found.of("ann") != Pseudonyms(OTHER, NAMES).of("ann")
    assert len({found.of(name) for name in NAMES}) == 3
    assert found.of("nobody") == found.name("nobody") == "nobody"
    assert Pseudonyms(KEY, NAMES, ["ann"]).of("ann") == "ann"
    assert Pseudonyms(KEY, NAMES, ["ann"]).of("bob") == found.of("bob")


def test_two_of_one_pseudonym_are_told_apart(monkeypatch):
    monkeypatch.setattr(pseudonyms, "_digest", lambda _, name: "aaaaaaaa" + name)
    assert Pseudonyms(KEY, ["x1", "x2"]).of("x1") == "student-aaaaaaaax1"


def test_a_thousand_students_have_a_thousand_pseudonyms():
    names = [f"b{number:09}" for number in range(1000)]
    found = Pseudonyms(KEY, names)
    assert len({found.of(name) for name in names}) == 1000


def test_a_class_is_named_once_however_many_it_has(tmp_path, monkeypatch):
    """Once a submission took an hour for ten thousand of them."""
    made = []
    monkeypatch.setattr(pseudonyms, "Pseudonyms", lambda *given: made.append(given) or Pseudonyms(*given))
    for key in (None, KEY):
        seen = Whole(folder=tmp_path, machine=CLASS, staff=CLASS, key=key)
        assert len(seen.students.submissions) == len(CLASS.submissions) > 1
    assert len(made) == 1


def test_nothing_of_a_name_is_left_in_what_labgrade_says():
    late = Deduction(lab="lab2", points=2, why="handed in 2026-11-22 00:59")
    ann = replace(
        CLASS.submissions[0],
        members=("m-one", "m-two"),
        handed_in="2026-11-22T00:59:00+08:00",
        handed_in_by="its last commit",
        deductions=(late,),
        remarks=("'ann' of m-one counts, and 'joann' is no name of ours",),
    )
    whole = replace(report(ann, *CLASS.submissions[1:]), notes=("nobody knows when: 'ann', '王小明'",))
    found = anonymised(whole, KEY)
    text = as_json.render(found) + repr(found)
    for told in ("'ann'", "bob", "王小明", "m-one", "m-two", "2026-11-22", "00:59"):
        assert told not in text
    who = Pseudonyms(KEY, NAMES).of("ann")
    (seen,) = [each for each in found.submissions if each.name == who]
    assert seen.remarks == (f"'{who}' of {who} counts, and 'joann' is no name of ours",)
    assert (seen.deductions[0].points, seen.deductions[0].why) == (2, pseudonyms.WHEN)
    assert seen.tasks == ann.tasks


def test_a_verdict_that_quotes_the_hand_ins_own_name_quotes_the_pseudonym():
    refused = "'Anna Lee.rar', because '.rar' can't be unpacked here"
    missing = without_value(Outcome.MISSING, f"nothing in the folder can be read: {refused}", why=refused)
    own = replace(CLASS.submissions[0], name="Anna Lee", remarks=(refused,))
    first, *rest = own.tasks[0].checks
    task = replace(own.tasks[0], checks=(replace(first, verdict=missing), *rest))
    whole = report(replace(own, tasks=(task, *own.tasks[1:])))
    who = Pseudonyms(KEY, ["Anna Lee"]).of("Anna Lee")
    for found in (anonymised(whole, KEY), Whole(folder=Path(), machine=whole, staff=whole, key=KEY).students):
        assert "Anna" not in as_json.render(found) + repr(found)
        assert f"'{who}.rar'" in found.submissions[0].tasks[0].checks[0].verdict.reason


def test_a_group_and_its_times_are_kept_back_with_its_names():
    why = "'Old One' (2026-11-20T20:00), because group 'A1' handed in 2 times and 'ann' counts"
    ann = replace(CLASS.submissions[0], members=("m-one",), called=("Mae One",), others=(("Old One", why),))
    whole = replace(report(ann), notes=(f"does not count: {why}", "of the roster: 'Mae One'"))
    found = anonymised(whole, KEY)
    assert found.notes[0] == f"does not count: {pseudonyms.OTHER}"
    text = as_json.render(found) + repr(found)
    assert not [told for told in ("Old One", "2026", "A1", "Mae One") if told in text]


def test_the_order_tells_nothing():
    names = [f"b{number:03}" for number in range(40)]
    found = anonymised(report(*(student(name) for name in names)), KEY)
    order = [Pseudonyms(KEY, names).name(each.name) for each in found.submissions]
    assert sorted(order) == names != order
    assert anonymised(report(*(student(name) for name in reversed(names))), KEY) == found


def test_a_name_comes_back_with_release():
    found = anonymised(CLASS, KEY, {"bob"})
    assert next(each.name for each in found.submissions) == "bob"
    assert "ann" not in json.dumps([each.name for each in found.submissions])
    assert anonymised(CLASS, KEY, set(NAMES)) == CLASS


def test_what_a_student_wrote_is_left_alone():
    named = report(student("Max", "I, Max, say: max pooling"))
    (found,) = anonymised(named, KEY).submissions
    assert found.tasks == named.submissions[0].tasks


def test_the_key_is_the_owner_s_alone_and_made_once(tmp_path):
    assert pseudonyms.key_of(tmp_path) is None
    key = pseudonyms.make_key(tmp_path)
    assert len(key) == 32
    assert pseudonyms.make_key(tmp_path) == pseudonyms.key_of(tmp_path) == key
    assert stat.S_IMODE((tmp_path / pseudonyms.FILE).stat().st_mode) == 0o600
    pseudonyms.show_names(tmp_path)
    assert pseudonyms.key_of(tmp_path) is None
    assert pseudonyms.make_key(tmp_path) == key
    pseudonyms.show_names(tmp_path / "nowhere")


@pytest.mark.parametrize(("text", "says"), [("xyz", "can't be read"), ("ab" * 31, "is no key"), ("é", "can't be read")])
def test_a_broken_key_is_said(tmp_path, text, says):
    (tmp_path / pseudonyms.FILE).write_text(text)
    with pytest.raises(UsageError, match=says):
        pseudonyms.make_key(tmp_path)
    assert (tmp_path / pseudonyms.FILE).read_text() == text
