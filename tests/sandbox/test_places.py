"""What a jail shows of the machine: the interpreter and its libraries, never labgrade's own rooms."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from sandbox.test_together import LIGHT, call

from labgrade.sandbox.jail import places
from labgrade.sandbox.runner import Runner

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")]


def below(path, folders):
    return any(places._within(str(path), folder) for folder in folders)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """labgrade as a wheel puts it: beside torch, with its rooms inside."""
    site = tmp_path / "lib/site-packages"
    for name in (
        "labgrade/sandbox/jail/places.py",
        "labgrade/builtin/reference/macs.py",
        "torch/__init__.py",
        "six.py",
    ):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("")
    monkeypatch.setattr(places, "__file__", str(site / "labgrade/sandbox/jail/places.py"))
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


@pytest.mark.promise("every-copy-is-covered")
def test_every_labgrade_among_the_packages_is_covered_whichever_runs(installed, monkeypatch):
    """An editable installation leaves copies of `reference/` and `specs/` beside torch, and runs from elsewhere."""
    for module in (ROOT / "labgrade/sandbox/jail/places.py", installed / "labgrade/sandbox/jail/places.py"):
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


def test_of_a_prefix_only_what_python_needs_is_shown(tmp_path, monkeypatch):
    """`python -m venv .` makes the folder of a class one; /usr/src/app is one of Docker's."""
    for name in ("bin/python", "lib/python3.11/site-packages/six.py", "include/a.h", "pyvenv.cfg", "class/eve/hw.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    shown = places.find().shown
    for name in ("bin/python", "lib/python3.11/site-packages/six.py", "include/a.h", "pyvenv.cfg"):
        assert below(tmp_path / name, shown), name
    assert not below(tmp_path / "class/eve/hw.py", shown)
    assert not any(
        below(place, shown) for place in ("/usr/src/app", "/usr/local/share/exchange", "/usr/share/exchange")
    )


def test_conda_keeps_its_compilers(tmp_path, monkeypatch):
    for name in ("conda-meta", "share", "x86_64-conda-linux-gnu", "class"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    shown = places.find().shown
    assert below(tmp_path / "x86_64-conda-linux-gnu", shown)
    assert below(tmp_path / "share", shown)
    assert not below(tmp_path / "class", shown)


def test_what_an_editable_installation_adds_to_the_search_path_is_not_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert not below(tmp_path, places.find().shown)


def test_a_secret_within_what_is_shown_is_covered_or_named(installed, tmp_path):
    hidden = installed / "torch/exchange"
    hidden.mkdir()
    archive = installed / "moodle.zip"
    archive.touch()
    assert {str(hidden), str(archive)} <= set(places.find(secret=(str(hidden), str(archive))).covered)
    assert places.uncoverable((str(hidden), str(archive), str(tmp_path), "/", "/no/such")) == []
    # It is shown itself, or what is needed lies in it: nothing can be laid over it.
    assert places.uncoverable((str(installed),)) == [str(installed)]
    assert places.uncoverable(("/usr/bin",)) == ["/usr/bin"]


@pytest.fixture
def among_libraries():
    """A folder and a file where only a system's libraries should lie, as a careless TA may have put them."""
    if os.getuid() != 0:
        pytest.skip("only root may put a class among the system's libraries")
    folder = Path("/usr/lib") / f"labgrade-test-{os.getpid()}"
    (folder / "class/eve").mkdir(parents=True)
    (folder / "class/eve/hw.py").write_text("total = 42")
    (folder / "moodle.zip").write_text("all of them")
    yield folder
    shutil.rmtree(folder)


READS = """
import os
def f(model):
    found = []
    for path in ({0!r} + "/class/eve/hw.py", {0!r} + "/moodle.zip"):
        try:
            found.append(open(path).read())
        except OSError as error:
            found.append(error.errno)
    return [*found, sorted(os.listdir({0!r}))]
"""


def test_a_class_among_the_systems_libraries_is_covered(among_libraries, tmp_path):
    source = READS.format(str(among_libraries))
    with Runner(zoo=LIGHT, fresh=False) as one:
        found = call(one, tmp_path / "seen", source).value
    assert found == ["total = 42", "all of them", ["class", "moodle.zip"]], "nobody said that it is anything"
    secret = (among_libraries / "class", among_libraries / "moodle.zip")
    with Runner(zoo=LIGHT, fresh=False, secret=secret) as one:
        hw, archive, names = call(one, tmp_path / "unseen", source).value
    assert (hw, names) == (2, ["class", "moodle.zip"])
    assert archive == 13
    with Runner(zoo=LIGHT, fresh=False, secret=(among_libraries,)) as one:
        assert call(one, tmp_path / "none", source).value == [2, 2, []]


def test_where_hand_ins_cannot_be_covered_nothing_is_run(tmp_path):
    with Runner(zoo=LIGHT, fresh=False, secret=(Path("/usr/bin"),)) as one:
        done = call(one, tmp_path / "fault", "def f(model): return 1")
        assert done.status == "fault"
        assert done.reason.startswith("/usr/bin can't be hidden from students' code")
        assert one.protection.tier == "D"


def test_the_folder_that_labgrade_is_called_in_and_home_are_secret(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Runner(zoo=LIGHT, fresh=False) as one:
        assert {str(tmp_path), str(Path.home())} <= set(one._servers._secret)
