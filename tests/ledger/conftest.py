import shutil

import pytest
from helpers import classroom
from helpers.once import made_once

from labgrade.sandbox.runner import Runner


@pytest.fixture(scope="session")
def shared():
    """Servers for all runs of this process: they read hand-ins, and are warm."""
    with Runner() as runner:
        yield runner.share()


@pytest.fixture
def room(tmp_path, monkeypatch, shared):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    return classroom.Classroom(tmp_path, shared=shared)


@pytest.fixture
def once(tmp_path, tmp_path_factory, monkeypatch, shared):
    """A copy of a room that is made once a run: its name, what prepares it."""

    def copied(name, prepare):
        def make(folder):
            with monkeypatch.context() as patched:
                patched.setenv("LABGRADE_CACHE", str(folder / "cache"))
                prepare(classroom.Classroom(folder, shared=shared))

        shutil.copytree(made_once(tmp_path_factory, name, make), tmp_path, dirs_exist_ok=True)
        monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
        return classroom.Classroom(tmp_path, size=0, shared=shared)

    return copied


@pytest.fixture
def graded(once):
    """A room whose class was graded once."""
    return once("classroom", lambda room: room.grade())
