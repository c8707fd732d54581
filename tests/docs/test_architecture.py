"""The rooms that ARCHITECTURE names are those that there are, and none of them outgrows its size."""

import importlib.util
import re
from pathlib import Path

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


def test_no_module_is_too_long_to_be_read_at_once():
    lines = {str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert len(lines) > 300
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_no_package_has_too_many_modules_to_be_seen_at_once():
    modules = {str(path.relative_to(ROOT)): len({*path.glob("*.py")} - {path / "__init__.py"}) for path in PACKAGES}
    assert len(modules) > 30
    assert {name: count for name, count in modules.items() if count > MOST_MODULES} == {}
