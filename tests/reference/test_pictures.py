"""Pictures that were handed in, against what Pillow was told to draw."""

import PIL.Image
import pytest

from reference import pictures


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif"])
def test_a_picture_is_as_large_as_it_was_drawn_and_shows_what_was_drawn(tmp_path, kind):
    picture = PIL.Image.new("RGB", (300, 200), "white")
    picture.save(tmp_path / "empty", format=kind)
    assert pictures.picture_pixels(tmp_path / "empty") == 60_000
    assert pictures.picture_ink(tmp_path / "empty") == 0
    picture.paste((0, 0, 0), (0, 0, 75, 200))
    picture.save(tmp_path / "quarter", format=kind)
    assert pictures.picture_ink(tmp_path / "quarter") == pytest.approx(0.25, abs=0.02)


def test_what_is_no_picture_is_said(tmp_path):
    (tmp_path / "page").write_text("<html>")
    PIL.Image.new("RGB", (300, 200), "white").save(tmp_path / "whole.png")
    (tmp_path / "torn.png").write_bytes((tmp_path / "whole.png").read_bytes()[:120])
    PIL.Image.new("1", (20_000, 6_000)).save(tmp_path / "huge.png")
    for name, words in (
        ("page", "no picture that can be read"),
        ("torn.png", "cut off"),
        ("huge.png", "pixels; at most"),
    ):
        with pytest.raises(ValueError, match=words):
            pictures.picture_pixels(tmp_path / name)
