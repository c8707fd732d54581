"""Who handed in the very same files: what was handed out, empty or everybody's is left out."""

from __future__ import annotations

import hashlib

import pytest
from desk.opened import Opened, write_class

from labgrade.ledger.database import Ledger, dump
from labgrade.ledger.read import same_files
from labgrade.review import pseudonyms


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@pytest.fixture
def handed(course):
    """Six students: what each handed in, by path."""
    folder = course / "results"
    write_class(folder, [f"text {n}" for n in range(6)])
    own = [{"kit.py": "kit", "empty.txt": "", "own.py": f"own {n}"} for n in range(6)]
    own[0] |= {"hw.py": "copied", "b/plot.py": "too"}
    own[3] |= {"renamed.py": "copied", "b/plot.py": "too"}
    with Ledger(folder, write=True) as ledger, ledger.transaction():
        for number, files in enumerate(own):
            content = {path: digest(text) for path, text in files.items()} | {"left out: a link": ""}
            ledger.write("INSERT INTO part VALUES (?, ?)", str(number), dump(content))
            ledger.write("UPDATE submission SET files = ? WHERE who = ?", str(number), f"s{number:02}")
    return folder


def test_only_what_few_have_in_common_is_named_once_a_group(handed):
    with Ledger(handed) as ledger:
        assert same_files(ledger) == [(("b/plot.py", "hw.py"), ("s00", "s03"))]


def test_the_page_of_the_class_says_it_and_keeps_names_back(handed):
    page = Opened(handed).client.get("/class").text
    assert "b/plot.py, hw.py" in page
    assert "kit.py" not in page
    pseudonyms.make_key(handed)
    page = Opened(handed).client.get("/class").text
    assert "b/plot.py, hw.py" in page
    assert "s00" not in page
