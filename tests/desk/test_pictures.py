"""Pictures of a hand-in: found where it was graded, shown as pixels alone."""

from __future__ import annotations

import io

import numpy as np
import pytest
from desk.opened import QUESTION, Opened, write_class
from PIL import Image

from labgrade.answers.rendering import as_pixels
from labgrade.core.results import Submission
from labgrade.desk import pictures
from labgrade.desk.pictures import HandInPictures, Pictures, encoded
from labgrade.judging.by_hand import files_digest
from labgrade.ledger.database import Ledger


class NoArchive:
    def open(self, *_):
        raise AssertionError


@pytest.fixture
def shown(course, monkeypatch):
    """The pictures of a class in which s00 handed in one with a script behind it, and a drawing."""
    results, source = course / "results", course / "handed in"
    (source / "s00/figs").mkdir(parents=True)
    write_class(results, ["a", "b"])
    out = io.BytesIO()
    Image.new("RGB", (3, 2), "red").save(out, "PNG")
    (source / "s00/figs/a.png").write_bytes(out.getvalue() + b"<script>alert(1)</script>")
    (source / "s00/b.svg").write_text("<svg onload='alert(1)'/>")
    (source / "s00/report.md").write_text("hi")
    with Ledger(results, write=True) as ledger, ledger.transaction():
        ledger.write("UPDATE run SET asked = ?", f'{{"source": "{source}"}}')

    def direct(_runner, folder, files, ask):
        return as_pixels(Submission(name="", folder=folder, files=tuple(files)), ask.about)

    monkeypatch.setattr(pictures, "ask_reader", direct)
    return Pictures(results, NoArchive(), course / "taken")


def test_a_picture_is_found_and_nothing_but_its_pixels_comes_back(shown):
    assert shown.of("s00", "").names == ("figs/a.png",)
    made = shown.png("s00", 0)
    assert b"script" not in made
    with Image.open(io.BytesIO(made)) as picture:
        assert (picture.size, picture.getpixel((0, 0))) == ((3, 2), (255, 0, 0, 255))
    assert isinstance(shown.png("s00", 1), str)


def test_files_that_changed_since_are_said_so(shown, course):
    files = ("b.svg", "figs/a.png", "report.md")
    same = files_digest(Submission(name="", folder=course / "handed in/s00", files=files))
    assert not shown.of("s00", same).changed
    assert shown.of("s00", "files:other").changed


def test_a_hand_in_that_is_gone_is_a_sentence(shown):
    assert "not where it was graded" in shown.of("s01", "").problem
    assert shown.of("s09", "") == HandInPictures(problem="it is not known where this was handed in")


FLOATS = np.zeros((2, 2, 4))
BYTES = FLOATS.astype(np.uint8)


@pytest.mark.parametrize("pixels", [None, "x", FLOATS, BYTES[..., :3], BYTES[:0], BYTES[0]])
def test_what_are_no_pixels_is_no_picture(pixels):
    assert isinstance(encoded(pixels), str)


def test_the_page_shows_them_and_a_picture_is_one(shown, course):
    desk = Opened(course / "results")
    desk.pages._pictures = shown
    page = desk.client.get("/pictures", params={**QUESTION, "who": "s00"}).text
    assert "figs/a.png" in page
    found = desk.client.get("/picture", params={**QUESTION, "who": "s00", "number": "0"})
    assert found.headers["content-type"] == "image/png"
    for number in ("1", "-1", "x", ""):
        assert desk.client.get("/picture", params={**QUESTION, "who": "s00", "number": number}).status_code == 404
    assert desk.client.get("/picture", params={**QUESTION, "who": "../x", "number": "0"}).status_code == 404
