import pytest
from helpers import classroom


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    return classroom.Classroom(tmp_path)
