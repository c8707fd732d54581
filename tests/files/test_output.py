"""A file that is written anew is the old one or the new one at any moment, and stays what it is."""

import os
import stat
import threading

import pytest

from labgrade.core.errors import UsageError
from labgrade.files import output


def test_a_file_that_can_not_be_written_whole_is_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "gradebook.csv"
    path.write_bytes(b"old")

    def full(_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UsageError, match="no space left on device"):
        output.write_bytes(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_it_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("os.fsync", lambda _: synced.append(sorted(each.stat().st_size for each in tmp_path.iterdir())))
    output.write_bytes(str(tmp_path / "report.md"), b"12345")
    assert synced == [[5]]


def test_a_file_keeps_its_permissions_and_a_new_one_has_the_usual(tmp_path):
    old, new, usual = (tmp_path / name for name in ("old", "new", "usual"))
    old.touch()
    old.chmod(0o640)
    usual.touch()
    for path in (old, new):
        output.replace(path, b"1")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (old, new)] == [0o640, stat.S_IMODE(usual.stat().st_mode)]


def test_a_link_stays_one_and_so_does_the_other_name_of_a_file(tmp_path):
    (tmp_path / "there").mkdir()
    file, link, other = tmp_path / "there/file", tmp_path / "link", tmp_path / "other"
    file.write_text("old")
    link.symlink_to(file)
    output.replace(link, b"new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    other.hardlink_to(file)
    output.replace(other, b"newest")
    assert file.read_text() == "newest"


def test_a_ring_of_links_is_an_error_in_words(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(UsageError, match="could not be written"):
        output.write_bytes(str(tmp_path / "a"), b"x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    output.write_bytes(str(tmp_path / "pipe"), b"report")
    reader.join()
    assert read == [b"report"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_in_anothers_folder_is_written_in_its_place(tmp_path):
    path = tmp_path / "mine"
    path.write_text("old")
    tmp_path.chmod(0o500)
    try:
        output.replace(path, b"new")
    finally:
        tmp_path.chmod(0o700)
    assert path.read_text() == "new"
