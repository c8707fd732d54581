"""The rooms that ARCHITECTURE names are those that there are, and none of them outgrows its size."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "labgrade"
MODULES = sorted(PACKAGE.rglob("*.py"))
PACKAGES = sorted({path.parent for path in MODULES})
MOST_LINES = 400
MOST_MODULES = 14


def test_architecture_names_each_room_and_no_other():
    rooms = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Rooms of the engine")[2]
    rooms = rooms.partition("```\n")[2].partition("```")[0]
    named = re.findall(r"^ *((?:[\w.]+(?:/|\.py) ?)+)", rooms, re.MULTILINE)
    named = {name for line in named for name in line.split()}
    there = {f"{path.name}/" for path in PACKAGES if path != PACKAGE and path.name != "templates"}
    there |= {path.name for path in PACKAGE.glob("*.py") if path.name != "__init__.py"}
    assert named == there


def test_the_picture_is_that_of_the_imports():
    found = importlib.util.spec_from_file_location("rooms", ROOT / "docs" / "rooms.py")
    rooms = importlib.util.module_from_spec(found)
    found.loader.exec_module(rooms)
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert rooms.pictured(text) == text, "python docs/rooms.py --write"
    assert len(rooms.imports()) >= 25


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_module_is_too_long_to_be_read_at_once(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_package_has_too_many_modules_to_be_seen_at_once(folder):
    assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= MOST_MODULES
