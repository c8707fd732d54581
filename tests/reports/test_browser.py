"""The pages in a real Chromium: nothing loads, nothing runs that is not ours, and people can read them."""

from __future__ import annotations

import shutil
from functools import cache

import pytest
from helpers.soak import soak

pytest.importorskip("jinja2", reason="pages need Jinja2")
pytest.importorskip("matplotlib", reason="pages need matplotlib")
from labgrade.core.student_view import for_student
from labgrade.reports.html import classroom, student
from tests.reports.gallery import PAYLOADS, attacked, with_secrets
from tests.reports.sample import CLASS, ONE

playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser; it is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; on Debian: apt-get install chromium"),
]

# The contrast of each text with what lies behind it (WCAG 2.2, 1.4.3), where it is below what is asked for.
CONTRAST = """() => {
  const channels = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const [r, g, b, a = 1] = channels(getComputedStyle(e).backgroundColor);
      if (a === 1 && getComputedStyle(e).backgroundColor !== "rgba(0, 0, 0, 0)") return [r, g, b];
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
  };
  const bad = [];
  let seen = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const colour = element.closest("svg") ? style.fill : style.color;
    const [one, other] = [light(channels(colour)), light(behind(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    seen += 1;
    if (ratio < 4.5) bad.push(`${ratio.toFixed(2)}: ${walk.currentNode.data.trim().slice(0, 40)}`);
  }
  return [seen, bad];
}"""
STRUCTURE = """() => {
  const bad = [];
  for (const tag of ["header", "main", "footer"]) {
    const found = [...document.body.children].filter(e => e.localName === tag).length;
    if (found !== 1) bad.push(`${found} ${tag}`);
  }
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const next = Number(heading.localName[1]);
    if (next > level + 1) bad.push(`h${level} then h${next}: ${heading.textContent.trim()}`);
    level = next;
  }
  if (document.querySelectorAll("h1").length !== 1) bad.push("not one h1");
  for (const image of document.querySelectorAll("svg, img, [role=img]"))
    if (!image.getAttribute("aria-label")?.trim()) bad.push(`no name: ${image.outerHTML.slice(0, 60)}`);
  for (const cell of document.querySelectorAll("thead td, th:not([scope])")) bad.push(`no scope: ${cell.textContent}`);
  for (const input of document.querySelectorAll("input"))
    if (!input.labels.length) bad.push("an input without a label");
  for (const region of document.querySelectorAll(".scroll"))
    if (region.tabIndex !== 0 || region.getAttribute("role") !== "region") bad.push("what scrolls is out of reach");
  for (const each of document.querySelectorAll("[aria-labelledby]"))
    if (!document.getElementById(each.getAttribute("aria-labelledby"))) bad.push("labelled by nothing");
  if (document.documentElement.lang !== "en" || !document.title.trim()) bad.push("no language or title");
  return bad;
}"""
PAGES = {
    "student": cache(lambda: student.render(for_student(ONE))),
    "class": cache(lambda: classroom.render(CLASS)),
    "attacked-student": cache(lambda: student.render(attacked("x" * 200))),
    "attacked-class": cache(lambda: classroom.render(attacked("x" * 200))),
    "secrets-class": cache(lambda: classroom.render(with_secrets())),
}
RENDER = {"student": student.render, "class": classroom.render}
# Each payload on one of the pages, in turn; on both in `make soak`.
ATTACKS = [
    pytest.param(name, payload, marks=() if (place + other) % 2 == 0 else soak)
    for place, payload in enumerate(PAYLOADS)
    for other, name in enumerate(RENDER)
]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def windows(browser):
    """A page for each set of options, in which one document comes after the other, and what any of them complained of.

    To open a new one takes longer than most of what is asked of it.
    """
    pages, complaints = {}, []

    def window(**options):
        key = repr(sorted(options.items()))
        if key not in pages:
            page = pages[key] = browser.new_context(**options).new_page()
            page.on("console", lambda said: complaints.append(said.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
            page.on("request", lambda wanted: complaints.append(wanted.url))
        pages[key].set_viewport_size(options["viewport"])
        pages[key].emulate_media(media="null", color_scheme=options.get("color_scheme", "null"))
        return pages[key]

    return window, complaints


@pytest.fixture
def opened(windows, tmp_path):
    """Opens a page, and fails where it says or asks for anything."""
    window, complaints = windows
    files, used = [], []

    def opening(text, **more):
        files.append(tmp_path / f"page{len(files)}.html")
        files[-1].write_text(text, encoding="utf-8")
        page = window(**{"viewport": {"width": 1200, "height": 900}, **more})
        used.append(page)
        page.goto(files[-1].as_uri())
        return page

    yield opening
    for page in used:
        page.goto("about:blank")  # what is still under way is done with
    said, own = complaints.copy(), {each for file in files for each in _own(file)}
    complaints.clear()
    assert [each for each in said if each not in own] == []


def _own(file):
    return file.as_uri(), "data:,"


@pytest.mark.parametrize("name", PAGES)
def test_people_can_read_it_and_find_their_way(opened, name):
    """Every text in both schemes; landmarks, headings and names; nothing scrolls sideways on a phone."""
    page = opened(PAGES[name](), color_scheme="light")
    assert page.evaluate(STRUCTURE) == []
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        seen, bad = page.evaluate(CONTRAST)
        assert seen > 20
        assert bad == [], scheme
    for width in (320, 375, 768):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_paper_is_white(opened):
    page = opened(PAGES["student"]())
    for scheme in ("light", "dark"):
        page.emulate_media(media="print", color_scheme=scheme)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate(CONTRAST)[1] == []


@pytest.mark.parametrize(("name", "payload"), ATTACKS)
def test_nothing_of_a_students_runs(opened, name, payload):
    page = opened(RENDER[name](attacked(payload)))
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.evaluate("window.injected") is None
    assert page.evaluate("document.querySelectorAll('script:not([src])').length") == (name == "class")


def test_the_first_step_is_seen_at_once_and_leads_to_its_check(opened):
    page = opened(PAGES["student"](), viewport={"width": 375, "height": 700})
    first = page.locator("section.next li a").first
    assert first.bounding_box()["y"] < 700
    first.click()
    assert page.evaluate("document.getElementById(location.hash.slice(1)).getBoundingClientRect().top") < 700


def test_the_keyboard_reaches_what_can_be_used(opened):
    page = opened(PAGES["class"]())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.localName"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") in ("solid", "auto")
        if page.evaluate("document.activeElement.closest('#every') !== null"):
            break
    assert {"a", "input", "button", "div"} <= reached


def _names(page):
    rows = page.locator("#all tbody tr:visible th")
    return [name.strip() for name in rows.all_inner_texts()]


def test_a_class_is_sorted_and_searched(opened):
    page = opened(PAGES["class"]())
    assert _names(page) == ["student42", "王小明 (perfect)", "empty"]
    points = page.locator("#all thead button", has_text="final")
    points.click()
    assert _names(page) == ["empty", "王小明 (perfect)", "student42"]
    assert page.locator("#all thead th").nth(1).get_attribute("aria-sort") == "ascending"
    points.click()
    assert _names(page) == ["student42", "王小明 (perfect)", "empty"]
    page.get_by_label("Find a submission").fill("王")
    assert _names(page) == ["王小明 (perfect)"]
    assert page.locator("output").first.inner_text() == "1 of 3"


def test_without_scripts_a_class_is_a_plain_table(opened):
    page = opened(PAGES["class"](), java_script_enabled=False)
    assert _names(page) == ["student42", "王小明 (perfect)", "empty"]
    assert page.get_by_label("Find a submission").is_visible() is False
