"""Marking at the desk: what a form keeps, what an outdated page may not, and what stands on the pages."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from fractions import Fraction
from urllib.parse import urlencode

import pytest
from desk.opened import HOME, QUESTION, Opened, encoded, form_of, points, rulings, write_class
from helpers import ledger_of
from helpers.class_sample import CLASS, essay, report, submission, task

from labgrade.desk import page_fields
from labgrade.desk.snapshot import LiveResults
from labgrade.review import decisions, pseudonyms
from labgrade.review.decisions import Place
from labgrade.review.marking import mark
from labgrade.verdict import Outcome, Suggestion, without_value

ANN = Place(submission="ann", lab="lab2", task="macs", check="essay")


def test_the_queue_has_a_question_with_what_is_left(desk):
    page = desk.client.get("/").text
    assert "3 answers wait for a mark" in page
    assert "<b>3</b> left" in page
    assert "/question?lab=lab2&amp;task=macs&amp;check=essay" in page


def test_a_page_has_all_that_it_takes_to_mark(desk):
    page = desk.page("ann").text
    for said in ("because of memory", "names the bottleneck", "gives a number", "of 3", "of 1"):
        assert said in page
    assert "<script src" in page
    assert page.count("<script") == 1


def test_a_mark_is_the_row_that_the_terminal_would_write(desk, folder):
    after = desk.send(desk.page("ann"), points=["2.5", ""], comment="say why")
    assert after.url.params["who"] == "bob"
    (row,) = rulings(folder)
    assert (row.place, row.kind, row.by, row.reason) == (ANN, "mark", "ann", "say why")
    assert row.credit == Fraction(5, 8)
    assert [(line.what, line.points) for line in row.lines] == [
        ("names the bottleneck", Fraction(5, 2)),
        ("gives a number", 0),
    ]
    assert row.machine == "MANUAL 0"
    assert points(folder) == {"ann": 2.5, "bob": None, "王小明": None}
    assert "2.5 of 4" in after.text


def test_the_script_gets_the_next_page_with_the_word_that_the_mark_is_kept(desk, folder):
    pairs = [*form_of(desk.page("ann").text, "mark"), ("in_place", "1")]
    found = desk.client.post(
        "/decide",
        content=encoded(pairs, {"points": ["3", "1"]}),
        headers={"origin": HOME, "content-type": "application/x-www-form-urlencoded"},
        follow_redirects=False,
    )
    assert found.status_code == 200
    assert points(folder)["ann"] == 4
    address = found.headers["content-location"]
    assert address.endswith("who=bob")
    assert form_of(found.text, "mark") == form_of(desk.client.get(address).text, "mark")


def test_all_are_marked_and_the_queue_is_empty(desk, folder):
    page = desk.page("ann")
    for _ in range(3):
        page = desk.send(page, points=["3", "1"])
    assert page.url.path == "/"
    assert "Nothing waits for a mark" in page.text
    assert set(points(folder).values()) == {4.0}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["", ""], "nothing is given yet"),
        (["4", "0"], "more than the 3"),
        (["1,555", ""], "no number"),
        (["x", "1"], "no number"),
    ],
)
def test_points_that_cant_be_given_are_refused_and_stay_typed(desk, folder, typed, said):
    page = desk.send(desk.page("ann"), points=typed, comment="kept")
    assert page.status_code == 422
    assert said in page.text
    assert f'value="{typed[0]}"' in page.text
    assert rulings(folder) == ()


@pytest.mark.parametrize("name", ["علی\u200cرضا", "a\u202eb", "a\\u202eb", "a\\b"])
def test_a_name_with_what_cant_be_seen_is_marked_like_others(course, name):
    folder = course / "results"
    ledger_of.write(folder, report(submission(name, essay()), submission("zoe", essay(text="other"))))
    desk = Opened(folder)
    after = desk.send(desk.page(name), points=["3", "1"])
    assert points(folder) == {name: 4, "zoe": None}
    assert after.url.params["who"] == "zoe"


def test_of_two_tabs_the_second_is_told_of_the_first(desk, folder):
    one, other = desk.page("ann"), desk.page("ann")
    desk.send(one, points=["3", "1"])
    late = desk.send(other, points=["0", "0"], comment="my comment")
    assert late.status_code == 409
    assert "ann was decided meanwhile: 4 of 4 by ann" in late.text
    assert "my comment" in late.text
    assert len(rulings(folder)) == 1
    assert points(folder)["ann"] == 4


def test_a_mark_of_the_terminal_counts_before_an_open_tab(desk, folder):
    page = desk.page("ann")
    live = desk.live.snapshot().checks[ANN]
    decisions.add(folder, [(mark(ANN, live.graded, [Fraction(0), Fraction(1)], by="bob", comment=""), 0)])
    late = desk.send(page, points=["3", "1"])
    assert late.status_code == 409
    assert "1 of 4 by bob" in late.text
    assert points(folder)["ann"] == 1


def test_an_old_tab_after_a_regrade_saves_nothing(desk, folder):
    page = desk.page("ann")
    ledger_of.write(folder, report(submission("ann", essay(text="something else", basis="text:2"))))
    late = desk.send(page, points=["3", "1"])
    assert late.status_code == 409
    assert "changed since this page was made" in late.text
    assert "something else" in late.text
    assert rulings(folder) == ()


def test_an_answer_that_is_gone_after_a_regrade_is_said_so(desk, folder):
    page = desk.page("ann")
    ledger_of.write(folder, report(submission("bob", essay())))
    late = desk.send(page, points=["3", "1"])
    assert late.status_code == 409
    assert "ann no longer waits" in late.text


def test_the_back_button_shows_the_mark_and_marks_anew_without_double_points(desk, folder):
    desk.send(desk.page("ann"), points=["3", "1"])
    again = desk.page("ann")
    assert "Marked: <b>4 of 4</b> by ann" in again.text
    desk.send(again, points=["3", ""])
    assert points(folder)["ann"] == 3
    assert len(rulings(folder)) == 2


def test_undo_takes_back_the_last_mark_once(desk, folder):
    after = desk.send(desk.page("ann"), points=["3", "1"])
    back = desk.send(after, "undo")
    assert back.url.params["who"] == "ann"
    assert points(folder)["ann"] is None
    twice = desk.send(after, "undo")
    assert twice.status_code == 409
    assert "nothing was taken back" in twice.text
    assert [row.kind for row in rulings(folder)] == ["mark", "undo"]


def test_undo_works_after_the_desk_was_killed_and_started_again(desk, folder):
    desk.send(desk.page("ann"), points=["3", "1"])
    again = Opened(folder)
    again.send(again.client.get("/"), "undo")
    assert points(folder)["ann"] is None


def test_after_a_mark_and_its_undo_the_desk_knows_what_a_new_one_reads(course):
    folder, name = course / "results", "ann"
    tasks = task(essay(), essay("depends", "too")), task(essay(text="other"), name="bytes", lab="lab3")
    ledger_of.write(folder, report(replace(submission(name), tasks=tasks), submission("bob", essay())))
    desk = Opened(folder)
    before = desk.live.snapshot()
    assert "(4 points, lab3)" in desk.client.get("/").text

    def known(live):
        return live.snapshot().checks, live.snapshot().waiting

    page = desk.send(desk.page(name), points=["3", "0"])
    assert known(desk.live) == known(LiveResults(folder)) != (before.checks, before.waiting)
    desk.send(page, "undo")
    assert known(desk.live) == known(LiveResults(folder)) == (before.checks, before.waiting)
    assert len(before.waiting) == 4


def test_nobody_undoes_what_another_person_marked(desk, folder):
    desk.send(desk.page("ann"), points=["3", "1"])
    assert 'id="undo"' not in Opened(folder, by="bob").client.get("/").text


def test_equal_answers_are_marked_once_and_undone_together(course):
    folder = course / "results"
    write_class(folder, ["Same  words\nhere", "other", "Same words here", "Same words\nhere"], basis="")
    desk = Opened(folder)
    page = desk.page("s02")
    assert "and 2 equal answers: s00, s03" in page.text
    after = desk.send(page, points=["3", "0"], comment="yes")
    assert points(folder) == {"s00": 3, "s01": None, "s02": 3, "s03": 3}
    desk.send(after, "undo")
    assert set(points(folder).values()) == {None}


def test_one_of_equal_answers_that_was_decided_elsewhere_refuses_all(course):
    folder = course / "results"
    write_class(folder, ["same", "same"])
    one, other = Opened(folder), Opened(folder, by="bob")
    page = one.page("s00")
    bob = other.page("s01")
    other.send(bob, points=["0", "1"])
    late = one.send(page, points=["3", "1"])
    assert late.status_code == 409
    assert set(points(folder).values()) == {1}


def test_texts_with_pictures_are_never_equal(course):
    folder = course / "results"
    write_class(folder, ["see ![plot](a.png)"] * 2)
    assert "equal" not in Opened(folder).page("s00").text


NEAR = "the first layer is bound by memory because its weights are read once and used once for each of the rows"


def test_near_answers_stand_together_and_suggest_one_another(course):
    folder = course / "results"
    write_class(folder, [NEAR, "something else altogether", f"{NEAR} only", f"{NEAR} alone"])
    desk = Opened(folder)
    after = desk.send(desk.page("s00"), points=["3", "1"], comment="well")
    assert after.url.params["who"] == "s02"
    assert "nearly the same words (s00) were marked so; only here: only; only there: nothing" in after.text
    listed = desk.client.get("/all", params=QUESTION)
    assert "2 answers with a suggestion" in listed.text
    assert f"{NEAR} alone" in listed.text
    accepted = desk.send(after, "accept")
    assert points(folder) == {"s00": 4, "s01": None, "s02": 4, "s03": None}
    assert accepted.url.params["who"] == "s03"
    assert [row.reason for row in rulings(folder)] == ["well", "well"]


def test_all_with_a_suggestion_are_accepted_but_those_that_were_left_out(course):
    folder = course / "results"
    write_class(folder, [NEAR, f"{NEAR} a", f"{NEAR} b", f"{NEAR} c"])
    desk = Opened(folder)
    desk.send(desk.page("s00"), points=["2", "1"])
    page = desk.client.get("/all", params=QUESTION).text
    rows = [html.unescape(row) for row in re.findall(r'name="row" value="([^"]*)"', page)]
    assert len(rows) == 3
    key = re.search(r'name="key" value="(\w+)"', page)[1]
    data = {**QUESTION, "key": key, "who": "", "row": rows[:2]}
    after = desk.client.post("/decide", data=data, headers={"origin": HOME})
    (left,) = (name for name, given in points(folder).items() if given is None)
    assert after.url.params["who"] == left
    assert sorted(points(folder).values(), key=str) == [3.0, 3.0, 3.0, None]


def doubtful(text, got, *, credit=1, check="essay", place="r.md:3", why="", **facts):
    """An answer of which labgrade is not sure, with what it would say of it."""
    outcome = Outcome.CORRECT if credit == 1 else Outcome.PARTIAL
    said = Suggestion(
        outcome=outcome, credit=Fraction(credit), why=why or f"{got} stands there", place=place, kind="doubt"
    )
    verdict = replace(without_value(Outcome.MANUAL, "not for certain", got=got, **facts), suggestion=said)
    return replace(essay(text=text), id=check, verdict=verdict, basis=f"{text}:{check}")


def test_all_of_the_class_are_accepted_together_the_surest_first(course):
    folder = course / "results"
    short = "[r.md:1]\n# 2\n\nit is {got} in all\n"
    half = {"credit": Fraction(1, 2), "expected": "5"}
    rows = [
        submission("ann", doubtful(short.format(got="5"), "5", expected="5")),
        submission("bob", doubtful(short.format(got="7"), "7", why="7 stands on r.md:3: off by 2", **half)),
        submission("dan", doubtful(short.format(got="7.0"), "7.0", why="7.0 stands on r.md:3: off by 2", **half)),
        submission("eve", essay(text="words"), doubtful(short.format(got="6,0"), "6,0", check="more")),
    ]
    ledger_of.write(folder, report(*rows))
    desk = Opened(folder)
    assert "Look at the 4 with a suggestion" in desk.client.get("/").text
    page = desk.client.get("/all").text
    sure, _, others = page.partition("Other suggestions")
    assert "Right, if it is what was meant" in sure
    assert "it is <mark>5</mark> in all" in sure
    assert "it is <mark>6,0</mark> in all" in sure
    assert "it is <mark>7</mark> in all" in others
    assert "it is <mark>7.0</mark> in all" in others
    assert others.count("<b>2 of 4</b> off by 2</p>") == others.count("2 of 4") == 1  # one cause once
    chosen = [html.unescape(row) for row in re.findall(r'name="row" value="([^"]*)"', page)]
    key = re.search(r'name="key" value="(\w+)"', page)[1]

    def accept(rows):
        data = {"lab": "", "task": "", "check": "", "key": key, "who": "", "row": rows}
        return desk.client.post("/decide", data=data, headers={"origin": HOME})

    other = Opened(folder, by="bob")
    other.send(other.page("ann"), points=["0", "0"])
    refused = accept(chosen)
    assert refused.status_code == 409
    assert "nothing was saved" in refused.text
    assert len(rulings(folder)) == 1  # all of them, or none
    after = accept(chosen[1:])
    assert after.url.params["who"] == "eve"
    assert {(row.place.submission, row.place.check): float(row.credit) for row in rulings(folder)} == {
        ("ann", "essay"): 0,
        ("bob", "essay"): 0.5,
        ("dan", "essay"): 0.5,
        ("eve", "more"): 1,
    }
    assert "Nothing waits" not in after.text
    assert accept([]).status_code == 422


@pytest.mark.parametrize(
    ("line", "got", "shown"),
    [
        ("Total 6,624,904, frozen: 0", "0", "Total 6,624,904, frozen: |0|"),
        ("it is 6624904 in all", "6,624,904", "it is |6624904| in all"),
        ("no such number", "5", "no such number||"),
        ("word " * 50 + "5 " + "more " * 50, "5", "… " + "word " * 6 + "|5|" + " more" * 6 + " …"),
        ("x" * 300, "", "x" * 160 + " …||"),
    ],
)
def test_the_value_is_marked_in_its_line_whole_and_not_in_another_number(line, got, shown):
    assert "|".join(page_fields._read_words(line, got)) == shown


def test_the_same_text_in_another_file_is_marked_with_it(course):
    folder = course / "results"
    text = "it is 5 in all\nand more"
    rows = [
        submission(name, doubtful(f"[{name}.md:1]\n{text}", got, place=f"{name}.md:1"))
        for name, got in {"ann": "5", "bob": "5", "eve": "6"}.items()
    ]
    ledger_of.write(folder, report(*rows))
    desk = Opened(folder)
    page = desk.page("ann")
    assert "and 1 equal answer: bob" in page.text
    desk.send(page, "accept")
    assert {row.place.submission: row.reason for row in rulings(folder)} == {
        "ann": "read on ann.md:1",
        "bob": "read on bob.md:1",  # nobody reads the name of another's file
    }


def test_a_comment_that_labgrade_wrote_is_offered_to_nobody(course):
    folder = course / "results"
    ledger_of.write(folder, report(*(submission(name, doubtful(f"{name} wrote 5", "5")) for name in ("ann", "bob"))))
    desk = Opened(folder)
    after = desk.send(desk.page("ann"), "accept")
    assert rulings(folder)[0].reason == "read on r.md:3"
    assert "Comments given before" not in after.text
    desk.send(after, points=["3", "1"], comment="say why")
    assert "Comments given before" in desk.page("ann").text


def test_where_nothing_was_read_a_likely_place_is_shown_as_a_guess(course):
    folder = course / "results"
    lines = [f"line {n}" for n in range(1, 60)]
    text = "\n".join(["[r.md:1]", *lines[:40], "So 5 MACs it is", *lines[41:]])
    waits = without_value(Outcome.MANUAL, "no value could be read", hint="the words 'MACs' stand on line 41")
    own = replace(essay(text=text), verdict=waits, answer_from="")
    ledger_of.write(folder, report(submission("ann", own)))
    page = Opened(folder).page("ann").text
    assert "the marked place is a guess" in page
    assert "38 lines before" in page
    assert 'class="read-here">line 39' in page
    ledger_of.write(folder, report(submission("ann", essay(text=text))))
    assert "guess" not in Opened(folder).page("ann").text


def test_questions_that_are_done_are_folded_up(course):
    folder = course / "results"
    ledger_of.write(folder, report(submission("ann", essay(text="a"), replace(essay(text="b"), id="more"))))
    desk = Opened(folder)
    assert "is marked" not in desk.client.get("/").text
    desk.send(desk.page("ann"), points=["3", "1"])
    page = desk.client.get("/").text
    assert "1 question is marked" in page
    assert page.index("macs: more") < page.index("1 question is marked") < page.index("macs: essay")
    assert "(4 points)" in page  # of the only lab


def test_what_follows_the_last_answer_is_the_next_question(course):
    rows = [submission(f"s{n:02}", essay(text=f"a {n}"), replace(essay(text=f"b {n}"), id="more")) for n in range(2)]
    ledger_of.write(course / "results", report(*rows))
    desk, asked = Opened(course / "results"), []
    page = desk.page("s00")
    for _ in range(4):
        page = desk.send(page, points=["3", "1"])
        asked.append(page.url.params.get("check"))
    assert asked == ["essay", "more", "more", None]


def test_a_comment_is_offered_again(desk):
    after = desk.send(desk.page("ann"), points=["3", "1"], comment="name the <b>level</b>")
    assert "name the &lt;b&gt;level&lt;/b&gt;" in after.text
    assert "<b>level" not in after.text


def test_a_comment_is_offered_at_the_next_answer_of_the_same_hand_in(course):
    folder = course / "results"
    ledger_of.write(folder, report(*(submission(name, essay(text=name), essay("why")) for name in ("ann", "bob"))))
    desk = Opened(folder)
    desk.send(desk.page("ann"), points=["3", "1"], comment="another model")
    shown = {who: desk.page(who, check="why").text for who in ("ann", "bob")}
    assert ['data-comment="another model"' in shown[who] for who in ("ann", "bob")] == [True, False]


def test_names_that_are_kept_back_stand_nowhere(folder):
    pseudonyms.make_key(folder)
    desk = Opened(folder, by="ta")
    shown = desk.live.snapshot().names.of("bob")
    page = desk.page(shown)
    after = desk.send(page, points=["3", "1"])
    late = desk.send(page, points=["0", "0"])
    assert late.status_code == 409
    assert f"{shown} was decided meanwhile" in late.text
    for each in (desk.client.get("/"), page, after, late):
        assert "bob" not in each.text.replace("because", "")
        assert "王小明" not in each.text
    assert points(folder)["bob"] == 4


def test_a_decision_that_no_longer_holds_is_suggested_with_a_warning(desk, folder):
    desk.send(desk.page("ann"), points=["3", "0"], comment="fine")
    ledger_of.write(
        folder, report(submission("ann", essay(text="because of a memory", basis="text:9")), *CLASS.submissions[1:])
    )
    page = desk.page("ann").text
    assert "changed since: 3 of 4 by ann" in page
    assert "before it changed: compare what is new" in page


def test_what_labgrade_suggests_comes_first_and_is_accepted_with_its_place(course):
    folder = course / "results"
    said = Suggestion(
        outcome=Outcome.PARTIAL, credit=Fraction(1, 2), why="5 stands there", place="r.md:4", kind="doubt"
    )
    waits = replace(without_value(Outcome.MANUAL, "no value could be read"), suggestion=said)
    sure = replace(essay(text="[r.md:3]\nwords\nMACs: 5"), verdict=waits)
    ledger_of.write(folder, report(submission("ann", essay(text="other")), submission("bob", sure)))
    desk = Opened(folder)
    page = desk.client.get("/question", params=QUESTION)
    assert page.url.params["who"] == "bob"
    assert '<p class="read-here">words\nMACs: 5</p>' in page.text
    assert "Suggested: 1.5 + 0.5 <small>of 4</small>" in page.text
    assert "5 stands there" in page.text
    assert "as the comment" in page.text
    assert page.text.count("5 stands there</p>") + page.text.count("“5 stands there”") == 0  # said once
    desk.send(page, "accept")
    (row,) = rulings(folder)
    assert (row.credit, row.reason) == (Fraction(1, 2), "5 stands there")


def test_a_comment_is_worded_anew_wherever_it_stands(desk, folder):
    page = desk.page("ann")
    for _ in range(2):
        page = desk.send(page, points=["3", ""], comment='say "why"')
    desk.send(page, points=["0", "1"], comment="other")
    page = desk.client.get("/comments", params=QUESTION)
    assert "Comment of ann, bob" in page.text
    fields = [*form_of(page.text, "reword1"), ("new", "say <why>")]
    post = {"headers": {"origin": HOME, "content-type": "application/x-www-form-urlencoded"}}
    desk.client.post("/reword", content=urlencode(fields), **post)
    found = {row.place.submission: row for row in rulings(folder)}
    assert {name: row.reason for name, row in found.items()} == {
        "ann": "say <why>",
        "bob": "say <why>",
        "王小明": "other",
    }
    assert [float(value) for value in points(folder).values()] == [3, 3, 1]
    late = desk.client.post("/reword", content=urlencode(fields), **post)
    assert late.status_code == 409
    assert "nothing was changed" in late.text
    assert desk.client.post("/reword", content=urlencode([*fields, ("row", "x")][1:]), **post).status_code == 403


def test_where_nothing_is_written_all_are_decided_at_once_after_a_look(course):
    folder = course / "results"
    table = "| epochs | seed |\n|---|---|\n| 1 | {n} |"
    texts = {f"s{n}": table.format(n=n) for n in range(3)} | {"todo": "TODO", "ann": "flat from ten on", "bob": ""}
    rows = [submission(name, essay(text=text)) for name, text in texts.items()]
    rows.append(submission("eve", replace(doubtful(table.format(n=7), "7"), id="more", basis="x")))
    ledger_of.write(folder, report(*rows))
    desk = Opened(folder)
    assert "4 in which nothing is written" in desk.client.get("/").text
    assert "All 4 of these" in desk.page("s0").text
    assert "All 4 of these" not in desk.page("ann").text
    assert "with a suggestion" not in desk.client.get("/all", params=QUESTION).text  # it is no suggestion
    page = desk.client.get("/all", params={**QUESTION, "nothing": "1"}).text
    assert "leave it out" in page
    chosen = [html.unescape(row) for row in re.findall(r'name="row" value="([^"]*)"', page)]
    assert len(chosen) == 4
    key = re.search(r'name="key" value="(\w+)"', page)[1]
    data = {**QUESTION, "key": key, "who": "", "row": chosen[1:]}
    desk.client.post("/decide", data=data, headers={"origin": HOME})
    assert sorted(row.place.submission for row in rulings(folder)) == ["s1", "s2", "todo"]
    assert {row.reason for row in rulings(folder)} == {
        "nothing is written here",
        "nothing is written here beside tables, code and numbers",
    }
    assert {row.credit for row in rulings(folder)} == {0}
