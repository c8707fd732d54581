"""Specs that 0.1 accepted are valid still, or `labgrade validate --fix` makes them so: see galleries/specs_older/."""

import shutil
from pathlib import Path

import pytest

from labgrade.cli import main
from labgrade.core.errors import SpecError
from labgrade.spec import course, load

ROOT = Path(__file__).parents[2]
OLDER = sorted((ROOT / "tests/galleries/specs_older").glob("*.yaml"))
RETIRED = {"2-3-3-alexnet-tiled"}  # has what later versions refuse


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "lab.yaml").write_text("title: A lab\n")
    return tmp_path


@pytest.mark.parametrize("path", OLDER, ids=[path.stem for path in OLDER])
def test_a_spec_of_the_first_version_is_a_task_still(path, lab, capsys):
    spec, today = Path(shutil.copy(path, lab)), course.find(ROOT)
    if path.stem in RETIRED:
        with pytest.raises(SpecError):
            load.read(spec, today)
    assert main(["validate", "--fix", str(spec)]) == 0
    changed = f"{spec}: " in capsys.readouterr().out
    assert changed == (spec.read_text() != path.read_text()) == (path.stem in RETIRED)
    task = load.read(spec, today)
    assert task.id == path.stem
    assert sum(check.points for check in task.checks if not check.bonus) == task.points


def test_what_only_looks_like_a_retired_word_is_left_alone(lab, capsys):
    spec = lab / "2-3-4-verification.yaml"
    text = (ROOT / "tests/galleries/specs_older" / spec.name).read_text() + "# of tiling_findings: opinion: true\n"
    spec.write_text(text)
    assert main(["validate", "--fix", str(spec)]) == 0
    assert spec.read_text() == text
    assert "1 spec, nothing wrong" in capsys.readouterr().out
