"""Several people at the desk: who gets what, whose word stays, and what is marked twice."""

from __future__ import annotations

import html
import re
import sqlite3
import time

import pytest
from desk.opened import QUESTION, Opened, points, rulings, write_class

from labgrade.ledger import database, tables
from labgrade.review import markers
from labgrade.review.decisions import Place


@pytest.fixture
def two(course):
    """The desks of ann and bob before five answers that have nothing in common."""
    folder = course / "results"
    write_class(folder, [f"answer {n}" + f" {n}" * n for n in range(5)])
    return Opened(folder), Opened(folder, by="bob")


def first(desk):
    return desk.client.get("/question", params=QUESTION)


def test_what_somebody_looks_at_is_not_given_to_another(two):
    ann, bob = two
    one, other = first(ann), first(bob)
    assert one.url.params["who"] != other.url.params["who"]
    after = ann.send(one, points=["3", "1"])
    assert after.url.params["who"] not in {one.url.params["who"], other.url.params["who"]}


def test_a_link_that_was_there_before_another_began_leads_past_what_they_look_at(two):
    ann, bob = two
    queue = bob.client.get("/").text
    one = first(ann)
    page = bob.client.get(html.unescape(re.search(r'<h2><a href="([^"]*)"', queue)[1]))
    skip = html.unescape(re.search(r'<a href="([^"]*)" data-key="n"', page.text)[1])
    other = ann.send(one, points=["3", "1"])
    shown = {each.url.params["who"] for each in (one, page, other)}
    assert len(shown) == 3
    assert bob.client.get(skip).url.params["who"] not in shown


def test_an_answer_that_another_opens_between_two_looks_is_not_given_to_both(two, monkeypatch):
    ann, bob = two
    monkeypatch.setattr(markers, "held_by_others", lambda *_: frozenset())  # as it was a moment before
    assert first(ann).url.params["who"] != first(bob).url.params["who"]


def test_two_people_mark_everything_once(two):
    pages = [first(desk) for desk in two]
    for turn in range(5):
        pages[turn % 2] = two[turn % 2].send(pages[turn % 2], points=["3", ""])
    assert set(points(two[0].folder).values()) == {3.0}
    assert sorted(row.by for row in rulings(two[0].folder)) == ["ann"] * 3 + ["bob"] * 2


def test_who_opens_it_all_the_same_is_told_who_looks_at_it(two):
    ann, bob = two
    who = first(ann).url.params["who"]
    assert "ann is looking at this" in bob.page(who).text
    ann.client.get("/")
    assert "is looking at this" not in bob.page(who).text


def test_a_lease_ends_by_itself(two, monkeypatch):
    ann, bob = two
    who = first(ann).url.params["who"]
    later = time.time() + markers.LEASE_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert first(bob).url.params["who"] == who


@pytest.fixture
def decided(two, monkeypatch):
    """All five are marked by ann, and each belongs to the sample."""
    monkeypatch.setattr("labgrade.review.markers.sampled", lambda _: True)
    page = first(two[0])
    for _ in range(5):
        page = two[0].send(page, points=["3", "0"], comment="ann's word")
    return two


def test_a_second_mark_is_made_without_the_first_and_changes_no_points(decided):
    ann, bob = decided
    assert "a second time" not in ann.client.get("/").text
    assert "Mark 5 a second time" in bob.client.get("/").text
    page = bob.page("s00", second="1")
    assert "ann's word" not in page.text.replace("&#39;", "'")
    assert "3 of 4" not in page.text
    after = bob.send(page, points=["3", "1"], comment="more")
    assert after.url.params["second"] == "1"
    assert points(bob.folder)["s00"] == 3
    assert len(rulings(bob.folder)) == 5
    queue = bob.client.get("/").text
    assert "1 marked twice" in queue
    assert "(100 %)" in queue
    shown = bob.client.get("/differ", params=QUESTION).text
    assert "<b>3 of 4</b> by ann" in shown
    assert "<b>4 of 4</b> by bob: more" in shown


def test_who_agrees_is_counted_and_nothing_is_marked_a_third_time(decided):
    bob = decided[1]
    page = bob.page("s00", second="1")
    for _ in range(5):
        page = bob.send(page, points=["3", "0"])
    assert page.url.path == "/"
    assert "5 marked twice: none differs (0 %)" in page.text
    assert "a second time" not in page.text


def second(desk):
    """Where the queue leads to mark one a second time."""
    queue = desk.client.get("/")
    found = re.search(r'<a href="([^"]*)">Mark \d+ a second time', queue.text)
    return desk.client.get(html.unescape(found[1])) if found else queue


def test_what_somebody_marks_a_second_time_is_not_given_to_another(decided):
    bob, carol = decided[1], Opened(decided[1].folder, by="carol")
    pages = [second(bob), second(carol)]
    assert "bob is looking at this" in carol.page(pages[0].url.params["who"], second="1").text
    pages[1] = second(carol)
    for turn in range(5):
        assert pages[0].url.params.get("who") != pages[1].url.params.get("who")
        pages[turn % 2] = (bob, carol)[turn % 2].send(pages[turn % 2], points=["3", "0"])
    assert sorted(each.by for each in markers.seconds(bob.folder)) == ["bob"] * 3 + ["carol"] * 2
    assert "second time" not in second(carol).text


def test_a_second_mark_that_another_began_between_two_looks_is_given_to_one_and_kept_once(decided, monkeypatch):
    bob, carol = decided[1], Opened(decided[1].folder, by="carol")
    monkeypatch.setattr(markers, "held_by_others", lambda *_: frozenset())  # as it was a moment before
    page = second(bob)
    assert second(carol).url.params["who"] != page.url.params["who"]
    same = carol.page(page.url.params["who"], second="1")
    bob.send(page, points=["3", "0"])
    late = carol.send(same, points=["0", "1"])
    assert late.status_code == 409
    assert f"another person marked {page.url.params['who']} a second time" in late.text
    assert [each.by for each in markers.seconds(bob.folder)] == ["bob"]


def test_a_second_mark_of_what_was_decided_anew_is_refused(decided):
    ann, bob = decided
    page = bob.page("s00", second="1")
    ann.send(ann.page("s00"), points=["0", "1"])
    late = bob.send(page, points=["3", "0"])
    assert late.status_code == 409
    assert markers.seconds(bob.folder) == ()


def test_about_a_tenth_is_sampled_the_same_each_time():
    places = [Place(submission=f"s{n}", lab="lab", task="task", check="essay") for n in range(2000)]
    chosen = [markers.sampled(place) for place in places]
    assert 150 < sum(chosen) < 250
    assert chosen == [markers.sampled(place) for place in places]


def test_a_database_of_the_version_before_is_brought_up_to_date(two, tmp_path):
    folder = tmp_path / "old"
    folder.mkdir()
    connection = sqlite3.connect(folder / database.NAME)
    connection.executescript(tables.ALL.replace(tables.MARKERS, ""))
    connection.execute(f"PRAGMA application_id = {database.APPLICATION}")
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    place = Place(submission="s", lab="lab", task="task", check="essay")
    assert markers.lease(folder, [place], "ann") == {}
    assert markers.lease(folder, [place], "bob") == {place: "ann"}
    assert markers.seconds(folder) == ()
