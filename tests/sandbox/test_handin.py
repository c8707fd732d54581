"""The copy that a child gets, and text made fit to be shown."""

import os

import pytest

from labgrade.core.text import decoded, excerpt
from labgrade.sandbox.host import working_copy


def listing(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def test_regular_files_are_copied_and_nothing_else(tmp_path):
    source = tmp_path / "s"
    for name in ("hw2_1.py", "a b/資料.txt", ".git/config", "__pycache__/x.pyc", "deep/er/x"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    (tmp_path / "secret").write_text("1498376192")
    (source / "link").symlink_to(tmp_path / "secret")
    (source / "folder").symlink_to(tmp_path)
    os.mkfifo(source / "pipe")
    assert working_copy.copy(source, tmp_path / "t") == []
    assert listing(tmp_path / "t") == ["a b/資料.txt", "deep/er/x", "hw2_1.py"]
    assert (tmp_path / "t" / "deep/er/x").read_text() == "deep/er/x"


def test_the_largest_files_are_left_out_where_there_is_too_much(tmp_path, monkeypatch):
    source = tmp_path / "s"
    source.mkdir()
    for name, size in (("a", 700), ("b", 100), ("c", 200), ("d", 800)):
        (source / name).write_bytes(b"x" * size)
    monkeypatch.setattr(working_copy, "COPY_BYTES", 1000)
    assert working_copy.copy(source, tmp_path / "t") == ["d"]
    assert listing(tmp_path / "t") == ["a", "b", "c"]


def test_a_folder_that_is_gone_is_an_empty_copy(tmp_path):
    assert working_copy.copy(tmp_path / "gone", tmp_path / "t") == []
    assert listing(tmp_path / "t") == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\tétoile 資料 😀", "plain\n\tétoile 資料 😀"),
        ("\x1b[31mred\x1b[0m\r\x00", "\\x1b[31mred\\x1b[0m\\x0d\\x00"),
        ("\u202eabc\u200b\u2028", "\\u202eabc\\u200b\\u2028"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_control_characters_are_made_visible(text, shown):
    assert excerpt(text, 100) == shown


def test_long_text_keeps_its_head_and_its_end():
    text = "head " + "x" * 100_000 + " tail"
    shown = excerpt(text, 400)
    assert shown.startswith("head xxx")
    assert shown.endswith("xxx tail")
    assert "\n... 99,610 characters left out ...\n" in shown
    assert len(shown) < 450


def test_bytes_of_any_encoding_become_text():
    assert decoded("caf\u00e9\r\nx".encode()) == "café\nx"
    assert decoded("café".encode("latin-1")) == "caf\\xe9"
