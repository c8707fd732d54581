"""The desk in Debian's Chromium: a session by keyboard alone, and hostile hand-ins of which nothing runs."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import replace
from fractions import Fraction
from urllib.parse import urlsplit

import numpy as np
import pytest
from desk.opened import NO_PICTURES, NOT_LOOKING, Served, points, rulings, write_class
from helpers import ledger_of
from helpers.class_sample import essay, report, submission

from labgrade.core.results import MarkingText
from labgrade.core.text import encodable, one_line
from labgrade.desk.pictures import HandInPictures, Pictures, encoded
from labgrade.verdict import ComparedNumber, Outcome, Suggestion, without_value
from tests.reports.gallery import PAYLOADS

playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser; it is not installed")
UNSEEN_MS = 120  # what is pressed sooner is no decision about a page
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; on Debian: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def browser(chromium):
    yield chromium
    for each in chromium.contexts:  # a page that nobody looks at any more still computes
        each.close()


@pytest.fixture
def serve():
    opened = []

    def served(folder, by="ann", looks=NOT_LOOKING, pictures=NO_PICTURES):
        opened.append(Served(folder, by, looks, pictures))
        return opened[-1].link

    served.opened = opened
    yield served
    for each in opened:
        each.close()


def watched(browser, link, **more):
    """A page on the desk, and everything that should not happen on it."""
    page = browser.new_context(**more).new_page()
    seen = []
    page.on("dialog", lambda dialog: (seen.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("console", lambda said: seen.append(said.text) if said.type in {"error", "warning"} else None)
    home = link.partition("/?")[0]
    page.on("request", lambda asked: None if asked.url.startswith(f"{home}/") else seen.append(asked.url))
    page.goto(link)
    return page, seen


def press(page, *keys):
    """Press keys of which the last one leads to another page."""
    page.wait_for_timeout(UNSEEN_MS)
    for key in keys[:-1]:
        page.keyboard.press(key)
    with another(page):
        page.keyboard.press(keys[-1])


@contextlib.contextmanager
def another(page):
    """Wait until another page is there; the script puts it in the place of the first."""
    before = page.locator("#main").element_handle()
    yield
    with contextlib.suppress(playwright.Error):  # where the browser loads it, nothing is left to ask
        for _ in range(500):
            if not before.evaluate("main => main.isConnected"):
                return
            page.wait_for_timeout(10)
        pytest.fail("no other page came")
    page.wait_for_selector("#main")


SAID = "the first layer is bound by memory because its weights are read once for each row of the output"


def test_sixty_answers_are_marked_by_keyboard_alone(browser, serve, course):
    folder = course / "results"
    texts = (
        [SAID] * 30
        + [f"{SAID} and {chr(97 + n) * 3}" for n in range(20)]
        + [f"answer {n}" + f" {n}" * n for n in range(10)]
    )
    write_class(folder, texts)
    page, seen = watched(browser, serve(folder))
    press(page, "1")
    assert "and 29 equal answers" in page.content()
    for key in ("1", "c"):
        page.keyboard.press(key)
    page.keyboard.type("2 names no number, c")  # keys of the desk are letters here
    page.keyboard.press("Escape")
    press(page, "Enter")
    for _ in range(20):
        press(page, "a")
    press(page, "f", "Enter")
    press(page, "u")
    press(page, "0", "Enter")
    for _ in range(8):
        press(page, "2", "Shift+Digit1", "Enter")
    press(page, "Shift+F")
    assert "Nothing waits for a mark" in page.content()
    found = points(folder)
    assert [found[f"s{n:02}"] for n in range(50)] == [3.0] * 50
    assert sorted(found[f"s{n:02}"] for n in range(50, 60)) == [0.0] + [1.0] * 8 + [4.0]
    assert seen == []


def test_a_part_of_a_lines_points_is_typed_and_one_of_many_is_left_out_by_keys(browser, serve, course):
    folder = course / "results"
    write_class(folder, ["one text", "two texts", "three of them"])
    page, _ = watched(browser, serve(folder))
    press(page, "1")
    for key in ("2", "e"):
        page.keyboard.press(key)
    page.keyboard.type("0.5")
    press(page, "Enter")
    assert sorted(value for value in points(folder).values() if value is not None) == [0.5]
    said = Suggestion(outcome=Outcome.PARTIAL, credit=Fraction(1, 2), why="5", place="r.md:4", kind="doubt")
    waits = replace(without_value(Outcome.MANUAL, "unsure"), suggestion=said)
    rows = [submission(f"t{n}", replace(essay(text=f"text {n}"), verdict=waits, basis=f"t{n}")) for n in range(3)]
    ledger_of.write(folder, report(*rows))
    page, _ = watched(browser, serve(folder))
    press(page, "1")
    page.goto(page.url.replace("/answer", "/all"))
    for key in ("j", "j", "k", "j", "Space"):
        page.keyboard.press(key)
    press(page, "a")
    assert [points(folder)[f"t{n}"] is None for n in range(3)] == [False, True, False]


def test_nothing_of_a_hostile_hand_in_runs_or_loads(browser, serve, course):
    folder = course / "results"
    rows = []
    payloads = [encodable(each) for each in PAYLOADS]  # as the ledger has them
    for number, payload in enumerate(payloads):
        waits = replace(
            without_value(Outcome.MANUAL, payload, hint=payload, got=payload, expected=payload),
            comparisons=(ComparedNumber(name=payload, got=payload, expected=payload),),
        )
        more = "![x](javascript:alert(1)) [x](javascript:alert(2)) <img src=x onerror=alert(3)> <svg onload=alert(4)>"
        text = MarkingText(rubric=((Fraction(4), payload),), text=f"[{payload[:40]}:3]\n{payload}\n\n{more}")
        answer = replace(essay(), verdict=waits, to_mark=text, answer_from=payload, basis=f"text:{number}")
        rows.append(submission(f"{one_line(payload)}{number}", answer))
    ledger_of.write(folder, report(*rows))
    page, seen = watched(browser, serve(folder, by=PAYLOADS[0]))
    press(page, "1")
    for number, payload in enumerate(payloads):
        assert page.locator("script").count() == 1
        foreign = "main svg, main img, main iframe, main style, main a:not([href^='/'], [href='#mark'])"
        assert page.locator(foreign).count() == 0
        page.keyboard.press("f")
        page.locator("#comment").fill(payload)
        page.keyboard.press("Escape")
        press(page, "Enter")
        assert number + 1 == sum(value is not None for value in points(folder).values())
    assert "Nothing waits" in page.content()
    assert seen == []


def test_a_page_is_as_wide_as_the_window_and_keys_do_nothing_twice(browser, serve, course):
    folder = course / "results"
    write_class(folder, ["| a | b |\n|---|---|\n| 1 | 2 |\n\n" + "x" * 400, "other"])
    for width in (420, 1600):
        page, seen = watched(browser, serve(folder), viewport={"width": width, "height": 900})
        press(page, "1")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert seen == []
    sent = []
    page.on("request", lambda asked: sent.append(asked.url) if asked.method == "POST" else None)
    page.keyboard.press("f")
    page.wait_for_timeout(UNSEEN_MS)
    with another(page):
        page.evaluate("() => { for (let n = 0; n < 5; n++) document.querySelector('#mark').requestSubmit(); }")
    assert len(sent) == 1
    assert sorted(points(folder).values(), key=str) == [4.0, None]


def who(page):
    return page.url.partition("who=")[2]


def test_two_people_never_see_the_same_and_mark_everything_once(browser, serve, course):
    folder = course / "results"
    write_class(folder, [f"answer {n}" + f" {n}" * n for n in range(5)])
    desks = [watched(browser, serve(folder, by=by)) for by in ("ann", "bob")]
    for page, _ in desks:
        press(page, "1")
    for turn in range(5):
        assert who(desks[0][0]) != who(desks[1][0])
        press(desks[turn % 2][0], "Shift+F")
    assert set(points(folder).values()) == {4.0}
    assert sorted(row.by for row in rulings(folder)) == ["ann"] * 3 + ["bob"] * 2
    assert [seen for _, seen in desks] == [[], []]


def test_back_and_forth_show_what_holds_and_nothing_counts_twice(browser, serve, course):
    folder = course / "results"
    write_class(folder, ["one text", "two texts", "three of them"])
    page, seen = watched(browser, serve(folder))
    press(page, "1")
    shown = [who(page)]
    press(page, "Shift+F")
    shown.append(who(page))
    with another(page):
        page.go_back()
    assert who(page) == shown[0]
    assert "Marked: 4 of 4 by ann" in page.locator("main").inner_text()
    with another(page):
        page.go_forward()
    assert who(page) == shown[1] != shown[0]
    with another(page):
        page.go_back()
    press(page, "2", "Enter")  # takes the one point back that it had
    assert points(folder)[shown[0]] == 3
    assert len(rulings(folder)) == 2
    press(page, "u")
    assert points(folder)[shown[0]] == 4  # the mark before
    assert seen == []


def test_an_old_tab_after_a_regrade_saves_nothing_and_shows_what_there_is(browser, serve, course):
    folder = course / "results"
    write_class(folder, ["one text", "two texts"])
    page, _ = watched(browser, serve(folder))
    press(page, "1")
    page.locator("#comment").fill("of the old text")
    page.keyboard.press("Escape")
    address, rows = page.url, [submission(name, essay(text="another", basis="text:2")) for name in ("s00", "s01")]
    ledger_of.write(folder, report(*rows))
    press(page, "Shift+F")
    said = page.locator("[role=alert]").inner_text()
    assert "changed since this page was made; nothing was saved" in said
    assert "Your comment was: of the old text" in said
    assert page.url == address
    assert rulings(folder) == ()


def test_a_desk_that_ends_before_it_confirms_is_said_and_the_page_stays(browser, serve, course):
    folder = course / "results"
    write_class(folder, ["one text", "two texts"])
    page, _ = watched(browser, serve(folder))
    press(page, "1")
    shown = who(page)
    page.locator("#comment").fill("typed")
    page.keyboard.press("Escape")

    def reply_is_lost(route):
        asked, name = urlsplit(route.request.url), {"host": urlsplit(route.request.url).netloc}
        # Browsers alone know where the name is.
        address = asked._replace(netloc=f"127.0.0.1:{asked.port}").geturl()
        route.fetch(url=address, headers=route.request.all_headers() | name, max_redirects=0)
        route.abort()  # it is on the disk, and the power goes

    page.wait_for_timeout(UNSEEN_MS)
    page.route("**/decide", reply_is_lost)
    for _ in range(5):  # a key that comes too soon for a busy machine is nobody's decision
        with contextlib.suppress(playwright.TimeoutError), page.expect_request("**/decide", timeout=5000):
            page.keyboard.press("Shift+F")
            break
    said = page.locator("[role=alert]")
    said.wait_for()
    assert "Whether this was saved is not known" in said.inner_text()
    assert (who(page), page.locator("#comment").input_value()) == (shown, "typed")
    page.unroute("**/decide")
    press(page, "Shift+F")
    assert f"{shown} was decided meanwhile: 4 of 4 by ann" in said.inner_text()
    assert len(rulings(folder)) == 1
    serve.opened[-1].close()
    page.wait_for_timeout(UNSEEN_MS)
    page.keyboard.press("n")
    said.get_by_text("The desk does not answer. Start it again").wait_for()
    assert who(page) == shown


def test_where_the_script_fails_or_there_is_none_the_browser_loads_the_next_page(browser, serve, course):
    folder = course / "results"
    write_class(folder, ["one text", "two texts", "three of them"])
    link = serve(folder)
    page, _ = watched(browser, link)
    press(page, "1")
    first = who(page)
    page.evaluate("() => { window.DOMParser = undefined; }")
    press(page, "Shift+F")
    second = who(page)
    assert second != first
    cookie = page.context.storage_state()
    plain, _ = watched(browser, link, java_script_enabled=False, storage_state=cookie)
    plain.goto(page.url)
    plain.locator("[name=points]").first.fill("2")
    with plain.expect_navigation():
        plain.get_by_role("button", name="Save").click()
    assert (points(folder)[first], points(folder)[second]) == (4, 2)
    assert who(plain) not in {first, second, ""}


def test_save_is_in_sight_and_no_number_is_cut_at_any_width(browser, serve, course):
    got = "26,499,600 (from hand/in/report.md:120, under 2-6)"
    rows = tuple(ComparedNumber(name=f"MACs of features.{n}.conv", got=got, expected="26,499,600") for n in range(12))
    waits = replace(without_value(Outcome.MANUAL, "compare"), comparisons=rows)
    ledger_of.write(
        course / "results", report(submission("ann", replace(essay(text=f"{SAID}\n\n" * 40), verdict=waits)))
    )
    for width in (420, 1200):
        page, seen = watched(browser, serve(course / "results"), viewport={"width": width, "height": 900})
        press(page, "1")
        assert page.locator("#mark button.main").evaluate("e => e.getBoundingClientRect().bottom") <= 900
        table = page.locator("table.compare")
        assert table.evaluate("e => e.scrollWidth - e.parentElement.clientWidth") <= 0
        assert table.locator("td").first.get_attribute("title") == "from hand/in/report.md:120, under 2-6"
        assert table.locator("td").first.inner_text() == "26,499,600"
        assert seen == []


class OnePicture(Pictures):
    """Everybody handed in the same one."""

    def of(self, name, basis):
        return HandInPictures(names=("plot.png",))

    def png(self, name, number):
        return encoded(np.full((20, 30, 4), 200, np.uint8))


def test_axe_finds_nothing_on_any_page_in_light_and_dark(browser, serve, course):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    folder = course / "results"
    said = f"{SAID}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n    code"
    write_class(folder, [said, f"{SAID} one", f"{SAID} two", "other\n\n![a plot](plot.png)", "| a |\n|---|\n| 1 |"])
    link = serve(folder, pictures=OnePicture(folder, None, folder))
    page, _ = watched(browser, link)
    press(page, "1")
    page.locator("#comment").fill("a comment")
    page.keyboard.press("Escape")
    press(page, "f", "Enter")
    query = page.url.partition("?")[2]
    shows = {
        "/": "a[href*='nothing']",
        f"/answer?{query}": "#mark",
        f"/answer?{query.partition('who=')[0]}who=s03": "main img",
        f"/all?{query}": "ul.rows li",
        f"/all?{query}&nothing=1": "ul.rows li",
        f"/comments?{query}": "main",
        f"/pictures?{query}": "main img",
        "/class": "table",
    }
    home, cookie = link.partition("/?")[0], page.context.storage_state()
    for scheme, width in (("light", 1200), ("dark", 420)):
        viewport = {"width": width, "height": 900}
        page, _ = watched(browser, link, color_scheme=scheme, viewport=viewport, storage_state=cookie)
        for path, shown in shows.items():
            page.goto(home + path)
            assert page.url == home + path
            assert page.locator(shown).count(), path
            assert violations(axe, page) == [], (scheme, path)


def violations(axe, page):
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in axe.run(page).response["violations"]]


def test_axe_finds_nothing_where_two_hand_ins_stand_side_by_side(browser, serve, looked):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    results, made = looked
    link, cookie = serve(results, looks=made), None
    for scheme, width in (("light", 1200), ("dark", 420)):
        viewport = {"width": width, "height": 900}
        page, seen = watched(browser, link, color_scheme=scheme, viewport=viewport, storage_state=cookie)
        cookie = page.context.storage_state()
        page.goto(f"{link.partition('/?')[0]}/alike?one=s00&other=s01")
        assert page.locator("mark").count() > 10
        assert violations(axe, page) == [], scheme
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert seen == []
    on_paper(page, f"{link.partition('/?')[0]}/class")


def on_paper(page, link):
    """What stands side by side is marked in print, too, and the widest table fits a sheet of A4 with its margins."""
    page.emulate_media(media="print", color_scheme="light")
    page.set_viewport_size({"width": 700, "height": 1000})
    assert page.evaluate("getComputedStyle(document.querySelector('mark')).textDecorationLine") == "underline"
    assert not page.locator(".crumbs").is_visible()
    page.goto(link)
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
