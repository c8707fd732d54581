"""The reference pages are those that the language, the registries and the commands give, and they leave nothing out."""

import importlib.util
import re
from pathlib import Path

import pytest

from labgrade.spec import language

ROOT = Path(__file__).parents[2]


def script(name):
    found = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


generated = script("generated")
MOST_BYTES = 200_000  # of all pictures
# Words that stand in other tables: in a type, in a literal, in each check again.
ELSEWHERE = {"type", "again", "raw", "LiteralValue"}


def name_of(holder):
    return holder if isinstance(holder, str) else holder.__name__


def test_the_page_of_words_is_that_of_the_language():
    page = (ROOT / generated.WORDS).read_text(encoding="utf-8")
    assert page == generated.words(), "python docs/generated.py"


@pytest.mark.parametrize("holder", language.WORDS, ids=name_of)
def test_each_word_has_its_row(holder):
    there = {holder for _, holder, _ in generated.SECTIONS}
    assert (holder in there) != (name_of(holder) in ELSEWHERE)


def test_the_variables_are_those_that_the_engine_reads():
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "labgrade").rglob("*.py"))
    assert set(generated.VARIABLES) == set(re.findall(r"LABGRADE_[A-Z_]*[A-Z]\b", source))


def test_pictures_are_made_by_the_script_shown_by_a_page_and_small():
    there = {path.name: path.stat().st_size for path in (ROOT / "docs").iterdir() if path.suffix in (".svg", ".png")}
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    assert set(there) == set(script("picture").PICTURES)
    assert all(f"({name})" in pages for name in there)
    assert sum(there.values()) <= MOST_BYTES


def test_each_command_says_what_it_takes():
    page = generated.commands()
    helps = re.findall(r"^## (\w+)\n\n.+\n\n```text\nusage: labgrade \1 ", page, re.MULTILINE)
    assert len(helps) == page.count("```text") > 20
