import shutil

import pytest
from helpers import classroom
from helpers.once import made_once


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    return classroom.Classroom(tmp_path)


@pytest.fixture
def once(tmp_path, tmp_path_factory, monkeypatch):
    """A copy of a room that is made once a run: its name, what prepares it."""

    def copied(name, prepare):
        def make(folder):
            with monkeypatch.context() as patched:
                patched.setenv("LABGRADE_CACHE", str(folder / "cache"))
                prepare(classroom.Classroom(folder))

        shutil.copytree(made_once(tmp_path_factory, name, make), tmp_path, dirs_exist_ok=True)
        monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
        return classroom.Classroom(tmp_path, size=0)

    return copied


@pytest.fixture
def graded(once):
    """A room whose class was graded once."""
    return once("classroom", lambda room: room.grade())
