"""A class of three whose answers wait to be marked, and the desk before it."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette", reason="the desk needs Starlette")
pytest.importorskip("nh3", reason="the desk needs nh3")
from desk.opened import Opened
from helpers import ledger_of
from helpers.class_sample import CLASS


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
