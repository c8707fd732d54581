"""Every promise of docs/security.md is borne by tests, every resource by an attack or a test, and no other is named."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
RESOURCES = (ROOT / "tests/attacks/README.md").read_text(encoding="utf-8")
TESTS = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))}
BORNE = {
    name
    for text in TESTS.values()
    for name in re.findall(r"^@pytest\.mark\.promise\(\"([^\"]+)\"\)$", text, re.MULTILINE)
}


def rows(page, heading):
    """The cells of each row of the table below a heading."""
    table = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


PROMISES = [cells[-1].strip("`") for cells in rows(PAGE, "Promised by design, on every machine")]
SHOWN_BY = [cells[-1] for cells in rows(RESOURCES, "What students share, resource by resource")]


@pytest.mark.parametrize("name", PROMISES)
def test_a_promise_is_borne_by_a_test(name):
    assert name in BORNE


def test_no_test_bears_a_promise_that_nobody_makes():
    assert len(PROMISES) == len(set(PROMISES)) > 20
    assert set(PROMISES) >= BORNE


def test_the_page_counts_the_resources():
    assert f"lists {len(SHOWN_BY)} resources" in PAGE


@pytest.mark.parametrize("said", [each for each in SHOWN_BY if each])
def test_what_shows_that_a_resource_is_kept_apart_is_there(said):
    attacks = {path.stem for path in (ROOT / "tests/attacks/gallery").glob("*.py")}
    files = {path.name for path in TESTS}
    named = re.findall(r"`(\w+(?:\.py)?)`", said)
    assert named
    assert set(named) <= attacks | files
