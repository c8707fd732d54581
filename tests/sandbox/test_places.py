"""What a jail shows of the machine: the interpreter and its libraries, never labgrade's own rooms."""

import sys
from pathlib import Path

import pytest

from labgrade.sandbox import places

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")


def below(path, folders):
    return any(places._within(str(path), folder) for folder in folders)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """labgrade as a wheel puts it: beside torch, with its rooms inside."""
    site = tmp_path / "lib/site-packages"
    for name in ("labgrade/sandbox/places.py", "labgrade/builtin/reference/macs.py", "torch/__init__.py", "six.py"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("")
    monkeypatch.setattr(places, "__file__", str(site / "labgrade/sandbox/places.py"))
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    return site


def test_a_project_folder_is_not_shown_and_its_interpreter_is():
    found = places.find()
    for room in ("reference", "specs", "checkers", "submissions", "labgrade", "tests"):
        shown = below(ROOT / room, found.shown)
        assert not shown or below(ROOT / room, found.covered), room
    assert below(Path(sys.executable), found.shown)
    assert below(Path(sys.executable).resolve(), found.shown)


def test_an_installed_labgrade_is_covered_and_its_neighbours_are_not(installed):
    found = places.find()
    assert below(installed / "torch", found.shown)
    assert str(installed / "labgrade") in found.covered
    allowed, listed = places.readable(found)
    assert not below(installed / "labgrade/builtin/reference/macs.py", allowed)
    assert below(installed / "torch/__init__.py", allowed)
    assert below(installed / "six.py", allowed)
    assert str(installed) in listed


def test_every_labgrade_among_the_packages_is_covered_whichever_runs(installed, monkeypatch):
    """An editable installation leaves copies of `reference/` and `specs/` beside torch, and runs from elsewhere."""
    for module in (ROOT / "labgrade/sandbox/places.py", installed / "labgrade/sandbox/places.py"):
        monkeypatch.setattr(places, "__file__", str(module))
        assert not below(installed / "labgrade/builtin/reference/macs.py", places.readable(places.find())[0])
    assert str(installed / "labgrade") in places.find().covered


def test_secret_folders_within_what_is_shown_are_covered(installed):
    secret = installed / "torch"
    found = places.find(secret=(str(secret), "/no/such/folder"))
    assert str(secret) in found.covered
    assert "/no/such/folder" not in found.covered


def test_a_trusted_folder_is_readable_under_a_name_of_its_own(installed):
    trusted = str(installed / "labgrade/builtin/reference")
    found = places.find(trusted=(trusted,))
    assert found.trusted == (trusted,)
    assert places.trusted_place(trusted) == "/trusted/reference"
    assert trusted in places.readable(found)[0]
