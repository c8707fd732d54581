"""A class of three whose answers wait to be marked, and the desk before it."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette", reason="the desk needs Starlette")
pytest.importorskip("nh3", reason="the desk needs nh3")
from desk.opened import Opened, write_class
from desk.written_twice import OTHER, OWN, renamed
from helpers import ledger_of
from helpers.class_sample import CLASS

from labgrade.answers.reader.asks import Ask
from labgrade.answers.reader.replies import decode, encode
from labgrade.answers.rendering import as_code
from labgrade.core.results import Submission
from labgrade.desk import alike
from labgrade.ledger.database import Ledger


@pytest.fixture
def course(tmp_path, monkeypatch):
    (tmp_path / "specs/lab2").mkdir(parents=True)
    (tmp_path / "specs/lab2/lab.yaml").write_text("title: Lab\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def folder(course):
    """The results of three students of whom each has an essay to be marked."""
    ledger_of.write(course / "results", CLASS)
    return course / "results"


@pytest.fixture
def desk(folder):
    return Opened(folder)


@pytest.fixture
def looked(course, monkeypatch):
    """A class of three of whom two wrote the same; it is read as the jail does, in this process."""
    pytest.importorskip("copydetect", reason="copydetect compares; it is not installed")
    results, source = course / "results", course / "handed in"
    write_class(results, ["a", "b", "c"])
    for name, text in {"s00": OWN, "s01": f"<script>alert(1)</script>\n{renamed(OWN)}", "s02": OTHER}.items():
        (source / name).mkdir(parents=True)
        (source / name / "hw.py").write_text(text)
    with Ledger(results, write=True) as ledger, ledger.transaction():
        ledger.write("UPDATE run SET asked = ?", f'{{"source": "{source}"}}')

    def direct(_runner, folder, files, ask):
        assert ask == Ask(wanted="code")
        data, arrays = encode(as_code(Submission(name="", folder=folder, files=tuple(files))))
        return decode(data, arrays)

    monkeypatch.setattr(alike, "ask_reader", direct)

    class NoArchive:
        def open(self, *_):
            raise AssertionError

    made = alike.AlikeSearch(results, NoArchive(), course / "taken")
    made.looked()
    made._thread.join()
    return results, made
