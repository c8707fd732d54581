"""What `--cluster` may say, what travels, and why a worker is not used: without a cluster."""

import re
import sys
from dataclasses import replace

import pytest
from helpers import classroom

from labgrade.cluster import connect, parcels, remote, workers
from labgrade.cluster.parcels import SessionIntroduction, SessionVerdicts
from labgrade.core.errors import UsageError
from labgrade.core.results import Submission
from labgrade.review.decisions import Decisions
from labgrade.spec import course, load


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("lokal:4", "did you mean 'local'?"),
        ("local:", "say how many processes, as in local:4"),
        ("local:0", "say how many processes"),
        ("tcp://host:8786", "run the scheduler with TLS and say tls://..., or add --insecure"),
        ("slurm:nowhere.yaml", "it can't be read"),
        ("slurm:empty.yaml", "needs `jobs: N`"),
    ],
)
def test_what_is_no_cluster_is_told(place, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.yaml").write_text("cores: 1\n")
    with pytest.raises(UsageError, match=re.escape(said)), connect.connected(place):
        pass


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install 'labgrade\[cluster\]'"), connect.connected("local:1"):
        pass


def test_of_a_course_travels_what_grading_needs_and_no_submission(tmp_path):
    room = classroom.Classroom(tmp_path / "here", 2)
    room.write("course.key", "secret")
    room.write("results/x", "y")
    room.write("reference/__pycache__/own.pyc", "z")
    found = course.find(room.folder)
    tasks = [load.read(path, found) for path in load.files(found.specs)]
    parcel = parcels.of_course(found, tasks, {"key": 1}, unsafe=False)
    assert set(parcel.files) == {
        *("checkers/own.py", "course.key", "reference/others.py", "reference/own.py", "specs/lab/task.yaml"),
    }
    there = parcel.unpacked(tmp_path / "there")
    assert [(task.lab, task.id) for task in parcel.tasks(there)] == [("lab", "task")]
    assert there.key == b"secret"


def test_labgrades_own_course_stays_at_home():
    own = course.find()
    parcel = parcels.of_course(own, [], {}, unsafe=False)
    assert parcel.is_own
    assert parcel.unpacked(None).root == own.root


def test_a_submission_travels_whole(tmp_path):
    folder = tmp_path / "one"
    (folder / "a/b").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "a/b/\udcff.bin").write_bytes(b"\x00\xff")
    who = Submission(name="s", folder=folder, files=("a/b/\udcff.bin",), refused=("'x', because",), unread=("y",))
    parcel = parcels.of_submission(who, {}, Decisions(), seconds=0.0, proof="")
    there = parcel.unpacked(tmp_path / "two")
    assert (tmp_path / "two/a/b/\udcff.bin").read_bytes() == b"\x00\xff"
    assert (tmp_path / "two/empty").is_dir()
    assert replace(there, folder=folder) == who


HERE = SessionIntroduction(
    version="1",
    parts={"lab/task/total": {"libraries": "a", "labgrade": "b", "spec": "c"}},
    contents={"libraries a": {"torch": "2.13.0"}, "labgrade b": {"labgrade/x.py": "1"}},
)


@pytest.mark.parametrize(
    ("there", "why"),
    [
        (HERE, ""),
        (replace(HERE, version="2"), "it has labgrade 2, here is 1"),
        (replace(HERE, refused="nothing protects you"), "nothing protects you"),
        (
            replace(
                HERE,
                parts={"lab/task/total": {"libraries": "z", "labgrade": "b", "spec": "c"}},
                contents={**HERE.contents, "libraries z": {"torch": "2.12.0"}},
            ),
            "torch is 2.12.0 there, 2.13.0 here",
        ),
        (
            replace(
                HERE,
                parts={"lab/task/total": {"libraries": "a", "labgrade": "y", "spec": "c"}},
                contents={"labgrade y": {"labgrade/x.py": "2"}},
            ),
            "1 of labgrade's files differ, such as labgrade/x.py",
        ),
        (replace(HERE, parts={"lab/task/total": {"libraries": "a", "labgrade": "b", "spec": "d"}}), "its spec differ"),
        (OSError("no python"), "labgrade does not start there (OSError: no python)"),
    ],
)
def test_a_worker_that_has_something_else_is_not_used_and_told_why(there, why):
    assert workers._unfit(HERE, there) == why
    if isinstance(there, SessionIntroduction) and why and "protects" not in why and "labgrade 2" not in why:
        assert there.proof != HERE.proof


def test_one_that_ends_its_session_costs_those_that_travel_with_it_nothing(monkeypatch):
    class Line:
        def ask(self, parcel):
            if parcel == "ends it":
                raise remote.SessionLostError(3)
            return SessionVerdicts(verdicts={}, cut=parcel == "cut off")

    monkeypatch.setattr(remote, "_session", lambda run: Line())
    found, _ = remote.judge("run", ["first", "ends it", "cut off"])
    assert [getattr(each, "cut", None) for each in found] == [False, None, True]
    assert isinstance(found[1], remote.SessionLostError)


def test_protection_that_some_lack_names_them():
    found = workers._protection({"a": ("tier A", "memory"), "b": ("tier A",)})
    assert found == ("tier A", "memory (a)")
