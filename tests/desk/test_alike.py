"""Whose code is nearly the same: what was renamed and reordered is found, what was handed out or everybody's is not."""

from __future__ import annotations

import re

import pytest
from desk.opened import Opened
from desk.written_twice import OTHER, OWN, renamed

from labgrade.answers.rendering import as_code
from labgrade.core.results import Submission
from labgrade.desk import alike as looking
from labgrade.desk.alike import AlikeSearch, alike
from labgrade.review import pseudonyms

pytest.importorskip("copydetect", reason="copydetect compares; it is not installed")

KIT = "def main():\n" + "\n".join(f"    print({n}, [row for row in table if row[{n}] > {n}])" for n in range(30)) + "\n"


def code_of(folder, files):
    folder.mkdir(parents=True)
    for path, text in files.items():
        (folder / path).write_text(text)
    return as_code(Submission(name="", folder=folder, files=tuple(sorted(files))))


@pytest.fixture
def written(tmp_path):
    def made(hand_ins):
        return {name: code_of(tmp_path / "w" / name, {"hw.py": text}) for name, text in hand_ins.items()}

    return made


def test_renamed_reordered_code_is_found_with_its_lines(written):
    (found,) = alike(written({"ann": OWN, "bob": renamed(OWN), "cat": OTHER, "dan": ""}))
    assert found.names == ("ann", "bob")
    assert found.share > 0.75
    (pair,) = found.pairs
    lines = pair.files[1].text.splitlines()
    assert lines.index("    while layers_2:") + 1 in pair.lines[1]
    assert 1 not in pair.lines[1]


def test_what_was_handed_out_is_nobodys_own(written, tmp_path):
    hand_ins = {"ann": KIT + OWN, "bob": KIT + OTHER}
    assert [each.names for each in alike(written(hand_ins))] == [("ann", "bob")]
    kit = code_of(tmp_path / "kit", {"start.py": KIT})
    assert alike(written({f"{name} again": text for name, text in hand_ins.items()}), kit) == ()


def test_what_many_have_is_not_told_until_it_is_known_what_was_handed_out(written, tmp_path):
    ring = {f"s{n}": OWN.replace("4", str(n)) for n in range(4)} | {f"t{n}": f"{OTHER}\nx = {n}" for n in range(6)}
    found = written(ring)
    assert alike(found) == ()
    kit = code_of(tmp_path / "kit", {"start.py": KIT})
    assert {each.names for each in alike(found, kit)} == {(f"s{a}", f"s{b}") for b in range(4) for a in range(b)}


def test_notebooks_and_programs_are_read_and_what_is_no_code_is_left_out(tmp_path):
    notebook = '{"cells": [{"cell_type": "code", "source": ["x = 1\\n", "y = x"]}, {"cell_type": "markdown"}]}'
    files = {"a.ipynb": notebook, "b.cc": "/* no */ int main() { return 'c'; }", "c.ipynb": "[", "d.txt": "x = 1"}
    found = code_of(tmp_path / "a", files)
    assert [(each.path, each.tokens) for each in found] == [("a.ipynb", "V=1V=V"), ("b.cc", "intV(){returnS;}")]
    assert found[0].lines == (1, 1, 1, 2, 2, 2)
    (tmp_path / "a/b.cc").write_bytes(b"\xff\xfe")
    assert len(as_code(Submission(name="", folder=tmp_path / "a", files=tuple(files)))) == 1


def test_the_page_of_the_class_leads_to_both_side_by_side(looked):
    results, made = looked
    desk = Opened(results, looks=made)
    page = desk.client.get("/class").text
    assert "Nearly the same code" in page
    shown = desk.client.get("/alike", params={"one": "s00", "other": "s01"}).text
    assert "<mark>    while layers_2:</mark>" in shown
    assert "<script>alert" not in shown
    assert "<mark>" not in desk.client.get("/alike", params={"one": "s00", "other": "s02"}).text


def test_names_are_kept_back_there_too(looked):
    results, made = looked
    pseudonyms.make_key(results)
    page = Opened(results, looks=made).client.get("/class").text
    link = re.search(r'href="(/alike[^"]*)"', page)[1].replace("&amp;", "&")
    shown = Opened(results, looks=made).client.get(link).text
    assert "while layers_2" in shown
    assert "s00" not in page + shown


def test_a_reply_that_is_none_costs_only_its_hand_in(looked, monkeypatch, course):
    results, _ = looked
    monkeypatch.setattr(looking, "ask_reader", lambda *_: None)
    made = AlikeSearch(results, object.__new__(type("R", (), {"open": None})), course / "again")
    made.looked()
    made._thread.join()
    assert made.looked().says == "the code of 3 is too much, or could not be read"


def test_a_hand_in_of_hundreds_of_programs_is_not_compared_with_others_one_by_one(looked, course):
    """Each file is compared with each of another's: for two of 400 files that took 13 s, of 4,000 twenty minutes."""
    results, made = looked
    for number in range(100):
        (course / "handed in/s02" / f"part{number}.py").write_text(OWN)
    again = AlikeSearch(results, made._runner, course / "again")
    again.looked()
    again._thread.join()
    assert again.looked().says == "the code of 1 is too much, or could not be read"
    assert [each.names for each in again.looked().found] == [("s00", "s01")]
