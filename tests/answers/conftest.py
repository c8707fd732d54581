from pathlib import Path

import pytest

from labgrade.core.results import Submission


@pytest.fixture
def hand_in(tmp_path):
    """A submission made of files: name to text, or to bytes."""

    def made(files):
        for name, content in files.items():
            path = Path(tmp_path, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return Submission(name="student42", folder=tmp_path, files=tuple(sorted(files)))

    return made
