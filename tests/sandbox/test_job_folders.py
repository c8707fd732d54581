"""Jobs of the same files share what was laid for the first, and none of them sees what another did to its copy."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from labgrade.core.task import InputSpec, Limits, SubjectSpec
from labgrade.sandbox.host import working_copy
from labgrade.sandbox.host.job_folders import JobFolders
from labgrade.sandbox.jail.layers import NAMESPACES
from labgrade.sandbox.requests import CallRequest, Job
from labgrade.sandbox.runner import Runner

SPOILS = """
import os
def f(model):
    seen = sorted(os.listdir("."))
    for name in ("hw.py", "data.txt"):
        try: os.remove(name)
        except OSError: pass
    open("left", "w").write("here")
    for place in ("/handin/hw.py", "/handin/more"):
        try: open(place, "w").write("forged")
        except OSError: pass
    return seen
"""


@pytest.fixture
def handin(tmp_path):
    folder = tmp_path / "handin"
    folder.mkdir()
    (folder / "hw.py").write_text("def f(model): return 1")
    return folder


def folders(tmp_path, *, private=True):
    made = iter(range(100))

    def job_folder():
        folder = tmp_path / f"job{next(made)}"
        folder.mkdir()
        return folder

    return JobFolders(SimpleNamespace(get=lambda _: SimpleNamespace(private=private), job_folder=job_folder))


def job(handin, left_out=()):
    return Job(
        kind="call",
        server="students",
        lay=lambda target: working_copy.copy(handin, target),
        limits=Limits(seconds=1, memory=1 << 20),
        arguments={},
        same=lambda: None if left_out else working_copy.stamp(handin),
    )


def names(tmp_path):
    return {each.name for each in tmp_path.glob("job*")}


def test_the_next_job_of_the_same_files_has_the_same_folder(tmp_path, handin):
    own = folders(tmp_path)
    for _ in range(3):
        with own.folder_of(job(handin)) as folder:
            assert folder.name == "job0"
            assert (folder / "handin/hw.py").read_text() == "def f(model): return 1"
    own.forget()
    assert not names(tmp_path)


def test_jobs_at_the_same_time_have_folders_of_their_own(tmp_path, handin):
    own = folders(tmp_path)
    with own.folder_of(job(handin)) as one, own.folder_of(job(handin)) as other, own.folder_of(job(handin)) as third:
        assert len({one, other, third}) == 3
    assert len(names(tmp_path)) == 2  # of those that nobody has


@pytest.mark.parametrize("change", ["same size", "new file", "gone", "renamed"])
def test_a_hand_in_that_was_changed_is_laid_anew(tmp_path, handin, change):
    own = folders(tmp_path)
    with own.folder_of(job(handin)):
        pass
    file = handin / "hw.py"
    match change:
        case "same size":
            file.write_text("def f(model): return 2")
        case "new file":
            (handin / "b.py").write_text("")
        case "gone":
            file.unlink()
        case "renamed":
            file.rename(handin / "hw2.py")
    with own.folder_of(job(handin)) as folder:
        assert folder.name == "job1"
        assert sorted(os.listdir(folder / "handin")) == sorted(os.listdir(handin))
    assert names(tmp_path) == {"job1"}


def test_what_changed_while_it_was_laid_is_not_kept(tmp_path, handin):
    own = folders(tmp_path)
    with own.folder_of(job(handin)):
        (handin / "hw.py").write_text("def f(model): return 22")
    assert not names(tmp_path)


@pytest.mark.parametrize("kept", [{"private": False}, {"left_out": ("large.bin",)}])
def test_what_a_job_may_change_and_what_is_not_whole_is_laid_each_time(tmp_path, handin, kept):
    own = folders(tmp_path, private=kept.get("private", True))
    for number in range(2):
        with own.folder_of(job(handin, kept.get("left_out", ()))) as folder:
            assert folder.name == f"job{number}"
        assert not names(tmp_path)


def test_what_cannot_be_laid_leaves_nothing(tmp_path, handin):
    broken = replace(job(handin), lay=lambda target: working_copy.place({"../x": handin / "hw.py"}, target))
    with pytest.raises(OSError, match="no place within the folder"), folders(tmp_path).folder_of(broken):
        pytest.fail("it has no folder")
    assert not names(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="servers are warm on Linux alone")
def test_no_job_sees_what_another_did_to_its_copy(tmp_path, handin):
    (handin / "hw.py").write_text(SPOILS)
    (handin / "data.txt").write_text("right")
    subject = SubjectSpec(model="light", input=InputSpec(shape=(1, 3, 8, 8)))
    request = CallRequest(
        folder=handin,
        file="hw.py",
        function="f",
        given=("model",),
        subject=subject,
        limits=Limits(seconds=20, memory=600 << 20),
    )
    with Runner(zoo=Path(__file__).parent / "zoo_light.py") as runner:
        if NAMESPACES not in runner.protection.layers:
            pytest.skip("there is no private root here")
        assert [runner.run(request).value for _ in range(3)] == [["data.txt", "hw.py"]] * 3
    assert sorted(os.listdir(handin)) == ["data.txt", "hw.py"]
