"""Specs as 0.1 accepted them stay valid: galleries/specs_older/ holds some as they were first written."""

import shutil
from pathlib import Path

import pytest

from labgrade.spec import course, load

ROOT = Path(__file__).parents[2]
OLDER = sorted((ROOT / "tests/galleries/specs_older").glob("*.yaml"))


@pytest.mark.parametrize("path", OLDER, ids=[path.stem for path in OLDER])
def test_a_spec_of_the_first_version_is_a_task_still(path, tmp_path):
    spec = Path(shutil.copy(path, tmp_path))
    task = load.read(spec, course.find(ROOT))
    assert task.id == path.stem
    assert sum(check.points for check in task.checks if not check.bonus) == task.points
