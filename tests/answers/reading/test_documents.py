import os
import sys
import tracemalloc

import pytest

from labgrade.answers.reading import documents
from labgrade.answers.reading.documents import Unreadable, read_document
from labgrade.core.results import Submission

CHINESE = "\u7e3dMACs\uff1a1,498,376,192\n"


def test_a_document_knows_its_lines(hand_in):
    document = read_document(hand_in({"a.txt": "one\r\ntwo\rthree\n"}), "a.txt")
    assert document.text == "one\ntwo\nthree\n"
    assert document.line(document.text.index("three")) == 3
    assert (document.path, document.remarks) == ("a.txt", ())


@pytest.mark.parametrize(
    ("data", "remarks"),
    [
        (CHINESE.encode(), ()),
        (b"\xef\xbb\xbf" + CHINESE.encode(), ()),
        (CHINESE.encode("utf-16"), ("'a.txt' is not UTF-8: read as UTF-16",)),
        (b"\xfe\xff" + CHINESE.encode("utf-16-be"), ("'a.txt' is not UTF-8: read as UTF-16",)),
        (CHINESE.encode("cp950"), ("'a.txt' is not UTF-8: read as Big5",)),
    ],
)
def test_encodings(hand_in, data, remarks):
    document = read_document(hand_in({"a.txt": data}), "a.txt")
    assert (document.text, document.remarks) == (CHINESE, remarks)


def test_simplified_chinese_and_western_bytes(hand_in):
    simplified = "\u603b\u53c2\u6570\u91cf\uff1a6624904\n\u53ef\u8bad\u7ec3\u53c2\u6570\uff1a6624904\n"
    submission = hand_in({"a.txt": simplified.encode("gb18030"), "b.txt": b"5 \xb5s \xff\n"})
    assert read_document(submission, "a.txt").text == simplified
    assert read_document(submission, "a.txt").remarks == ("'a.txt' is not UTF-8: read as GB 18030",)
    assert read_document(submission, "b.txt").remarks == ("'b.txt' is not UTF-8: read as Latin-1",)


def test_colours_of_a_terminal_are_taken_out(hand_in):
    assert read_document(hand_in({"a.txt": "\x1b[1;32m5\x1b[0m"}), "a.txt").text == "5"


@pytest.mark.parametrize(
    "mark",
    [
        "[INFO] ",
        "INFO: ",
        "INFO:root:",
        "INFO - ",
        "12:30:01 ",
        "[12:30:01] ",
        "2026-03-08 15:02:11 ",
        "[INFO] 2026-03-08 15:02:11 ",
        "2026-03-08 15:02:11,123 - root - INFO - ",
        "2026-03-08 15:02:11.123 | INFO     | __main__:main:12 - ",
    ],
)
def test_what_a_log_puts_before_its_messages_is_taken_out(hand_in, mark):
    said = "Operator counts\nConv: 52\nClip: 35\n"
    printed = "".join(f"{mark}{line}\n" for line in said.splitlines())
    assert read_document(hand_in({"a.txt": printed}), "a.txt").text == said


@pytest.mark.parametrize(
    "text", ["INFO: 5\n", "INFO\nINFO\n", "Informatik: 5\nINFOS: 6\n", "at 12:30:01\nat 12:30:02\n"]
)
def test_what_is_no_log_stays(hand_in, text):
    assert read_document(hand_in({"a.txt": text}), "a.txt").text == text


def test_binary_data_is_refused(hand_in):
    found = read_document(hand_in({"a.txt": b"\x7fELF\0\0"}), "a.txt")
    assert found == Unreadable(path="a.txt", reason="'a.txt' holds binary data; hand in plain text (UTF-8)")


def test_a_file_that_is_too_large_is_refused(hand_in, monkeypatch):
    monkeypatch.setattr(documents, "LARGEST", 1_000_000)
    found = read_document(hand_in({"a.txt": "a" * 1_000_001}), "a.txt")
    assert found.reason == "'a.txt' is larger than 1 MB; hand in less"
    assert read_document(hand_in({"a.txt": "a" * 1_000_000}), "a.txt").text == "a" * 1_000_000


def test_a_file_that_is_too_large_is_not_read_whole(hand_in, monkeypatch):
    monkeypatch.setattr(documents, "LARGEST", 1_000_000)
    submission = hand_in({"a.txt": "a" * 20_000_000})
    tracemalloc.start()
    read_document(submission, "a.txt")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


def test_other_case_and_deeper_folders_are_found_and_said(hand_in):
    submission = hand_in({"Out.TXT": "1", "deep/er/hw.txt": "2"})
    assert read_document(submission, "out.txt").remarks == ("read 'Out.TXT' for 'out.txt'",)
    assert read_document(submission, "hw.txt").remarks == ("read 'deep/er/hw.txt' for 'hw.txt'",)
    assert read_document(submission, "w.txt") is None


def test_two_files_that_could_be_meant_are_not_guessed(hand_in):
    found = read_document(hand_in({"a/hw.txt": "1", "b/hw.txt": "2"}), "hw.txt")
    assert found.reason == "2 files could be 'hw.txt': 'a/hw.txt', 'b/hw.txt'; keep one, at the top"


def test_a_file_that_vanished_is_refused(tmp_path):
    submission = Submission(name="x", folder=tmp_path, files=("gone.txt",))
    assert read_document(submission, "gone.txt").reason == "'gone.txt' can't be read: no such file or directory"


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need privileges on Windows")
def test_a_link_put_in_place_of_a_file_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text("5")
    folder = tmp_path / "hand-in"
    folder.mkdir()
    (folder / "a.txt").symlink_to(tmp_path / "secret")
    found = read_document(Submission(name="x", folder=folder, files=("a.txt",)), "a.txt")
    assert isinstance(found, Unreadable)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.txt")
    found = read_document(Submission(name="x", folder=tmp_path, files=("a.txt",)), "a.txt")
    assert found.reason == "'a.txt' is not a regular file"
