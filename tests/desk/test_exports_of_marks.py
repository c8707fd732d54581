"""What was decided at the desk comes out of every export, with the comment and the roster's name."""

from __future__ import annotations

import csv
import io
import json

import pytest
from desk.opened import Opened, rulings, write_class

from labgrade.cli import main
from labgrade.review import pseudonyms

ROSTER = "id,name,group,submission\nb1,Anna Lee,A,s00\nb2,王小明,A,\nb3,=cmd|x,,s01\n"
COMMENT = "say why\nand <b>what</b> for"


@pytest.fixture
def marked(course):
    """A pair and a single student, of whom the pair's answer was marked at the desk."""
    (course / "roster.csv").write_text(ROSTER)
    write_class(course / "results", ["because of memory", "other"])
    desk = Opened(course / "results")
    page = desk.page("s00")
    desk.send(page, points=["2.5", "1"], comment=COMMENT)
    return course, page.text


def exported(folder, capsys, form):
    assert main(["export", "--results", str(folder / "results"), "--format", form, "--out", str(folder / form)]) == 0
    capsys.readouterr()
    return {
        str(path.relative_to(folder / form)): path.read_text() for path in (folder / form).rglob("*") if path.is_file()
    }


def test_the_desk_shows_the_names_of_the_roster(marked):
    _, page = marked
    assert "Anna Lee (b1), 王小明 (b2)" in page
    assert "because of memory" in page


def test_the_gradebook_has_marks_comments_and_names(marked, capsys):
    course, _ = marked
    (text,) = exported(course, capsys, "csv").values()
    rows = {row["student"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}
    assert [(rows[who]["name"], rows[who]["final"]) for who in ("b1", "b2")] == [("Anna Lee", "3.5"), ("王小明", "3.5")]
    assert rows["b1"]["comments"] == rows["b2"]["comments"] == f"macs: essay: {COMMENT}"
    assert (rows["b3"]["name"], rows["b3"]["comments"], rows["b3"]["pending"]) == ("'=cmd|x", "", "1")


def test_every_other_export_has_them_too(marked, capsys):
    course, _ = marked
    (text,) = exported(course, capsys, "json").values()
    pair = next(each for each in json.loads(text)["submissions"] if each["name"] == "s00")
    assert (pair["members"], pair["names"], pair["final"]) == (["b1", "b2"], ["Anna Lee", "王小明"], 3.5)
    assert "say why" in text
    (page,) = exported(course, capsys, "class").values()
    assert "Anna Lee (b1), 王小明 (b2)" in page
    assert main(["release", "results", "--by", "ann", "--unfinished"]) == 0
    for form in ("html", "gradescope", "markdown"):
        found = exported(course, capsys, form)
        assert any("say why" in text and "3.5" in text for text in found.values()), form
    assert "Anna Lee (b1), 王小明 (b2)" in exported(course, capsys, "html")["students/s00.html"]


def test_whoever_decides_is_called_as_the_rosters_staff_and_nobody_else(marked, capsys):
    course, _ = marked
    (course / "roster.csv").write_text("id,name,submission,role\nb1,Anna Lee,s00,\nta,Ann Wu,,staff\n")
    override = ["override", "results", "s01", "macs", "essay", "--points", "2", "--reason", "x", "--by"]
    assert main([*override, "tb"]) == 2
    assert "no person 'tb' in the roster's staff; there is ta; say who you are with --by" in " ".join(
        capsys.readouterr().err.split()
    )
    assert main([*override, "TA"]) == 0
    assert {row.by for row in rulings(course / "results")} == {"ann", "Ann Wu (ta)"}
    (text,) = exported(course, capsys, "csv").values()
    assert "Ann Wu" not in text


@pytest.mark.parametrize("form", ["csv", "json", "class", "html", "markdown", "gradescope"])
def test_where_names_are_kept_back_no_export_has_them(marked, capsys, form):
    course, _ = marked
    pseudonyms.make_key(course / "results")
    texts = exported(course, capsys, form)
    shown = Opened(course / "results", by="ta").client.get("/").text
    for text in (*texts.values(), shown):
        assert [name for name in ("Anna", "王小明", "s00", "b1") if name in text] == []
