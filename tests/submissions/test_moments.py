"""When something was handed in: each kind of evidence, which counts before which, and what is not believed."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
import zlib
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from helpers import warm
from helpers.opened import here

from labgrade.submissions import handed_in_at
from labgrade.submissions.git import Commit, RepositoryAround, commit_of_submission
from labgrade.submissions.handed_in_at import GRADESCOPE, UNSURE, moment, moments

TAIPEI = timezone(timedelta(hours=8))
NOW = datetime(2026, 12, 1, tzinfo=UTC)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def write(path, text="x", at=NOON):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def found(source, *names):
    return moments(source, names, opening=here, zone=TAIPEI, now=NOW)


def run_git(folder, *arguments, at=NOON, authored=None, **env):
    dates = {"GIT_COMMITTER_DATE": at.isoformat(), "GIT_AUTHOR_DATE": (authored or at).isoformat()}
    who = ["-c", "user.name=x", "-c", "user.email=x@y", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, env={**os.environ, **dates, **env}
    )


@contextlib.contextmanager
def ordinary():
    """As a user who may not read everything."""
    root = os.getuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def zipped(path, *files, stamped=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, at in files:
            info = zipfile.ZipInfo(name, date_time=at.timetuple()[:6])
            if stamped:
                info.extra = b"\x99\x99\x02\x00ab" + b"UT\x05\x00\x03" + int(at.timestamp()).to_bytes(4, "little")
            archive.writestr(info, "x")
    return path


def test_files_are_the_last_resort_and_said_to_be(tmp_path):
    write(tmp_path / "ann/hw.py")
    write(tmp_path / "ann/sub/report.md", at=NOON + timedelta(hours=1))
    write(tmp_path / "ann/__pycache__/hw.pyc", at=NOON + timedelta(hours=5))
    write(tmp_path / "ann/.DS_Store", at=NOON + timedelta(hours=5))
    (ann,) = found(tmp_path, "ann").values()
    assert (ann.at, ann.by) == (
        NOON + timedelta(hours=1),
        "the time of its newest file, which copying may have changed",
    )
    assert moment(tmp_path / "ann", opening=here, zone=TAIPEI, now=NOW).at == ann.at


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="Windows has no such permissions")
def test_what_may_not_be_read_stops_nobody_s_evidence(tmp_path, monkeypatch):
    closed = {"ann": 0o000, "bob": 0o444, "eve/sub": 0o444, "ned/sub": 0o000}
    for name in closed:
        write(tmp_path / name / "hw.zip")
    for name in ("eve", "ned", "zoe"):
        write(tmp_path / name / "hw.py")
    write(tmp_path / "zip.zip").chmod(0)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)  # the folders above it are nobody else's
    for name, mode in closed.items():
        (tmp_path / name).chmod(mode)
    with ordinary():
        told = found(Path(), "ann", "bob", "eve", "ned", "zip", "zoe")
    for name in closed:
        (tmp_path / name).chmod(0o755)
    assert {name: each.at for name, each in told.items()} == {
        **dict.fromkeys(("ann", "bob")),
        **dict.fromkeys(("eve", "ned", "zip", "zoe"), NOON),
    }


def test_a_link_tells_nothing(tmp_path):
    write(tmp_path / "secret", at=NOON + timedelta(hours=9))
    write(tmp_path / "all/ann/hw.py")
    (tmp_path / "all/ann/link").symlink_to(tmp_path / "secret")
    assert found(tmp_path / "all", "ann")["ann"].at == NOON


def test_nothing_tells_of_an_empty_folder_or_of_somebody_who_is_not_there(tmp_path):
    (tmp_path / "ann").mkdir()
    told = found(tmp_path, "ann", "bob")
    assert [(each.at, each.by) for each in told.values()] == [(None, "")] * 2


@pytest.mark.parametrize("name", ["ann.zip", "ann/hw.zip"])
def test_an_archive_tells_when_its_newest_file_was_changed(tmp_path, name):
    plain = datetime(2026, 11, 20, 20, 0, 2)  # noqa: DTZ001 - zip has no zones
    zipped(tmp_path / name, ("hw.py", plain), ("old.py", datetime(1980, 1, 1)), ("__MACOSX/x", datetime(2026, 11, 30)))  # noqa: DTZ001
    (ann,) = found(tmp_path, "ann").values()
    assert (ann.at, ann.by) == (plain.replace(tzinfo=TAIPEI), "the newest file in its archive")


def test_an_archive_beside_a_folder_of_its_name_has_a_time_of_its_own(tmp_path):
    write(tmp_path / "ann/a.py", at=NOON)
    with zipfile.ZipFile(tmp_path / "ann.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.py", date_time=(2026, 11, 22, 20, 0, 0)), "x")
    both = found(tmp_path, "ann", "ann.zip")
    assert (both["ann"].at, both["ann"].by) == (NOON, UNSURE)
    assert both["ann.zip"].at == NOON + timedelta(days=2)
    assert both["ann.zip"].by == "the newest file in its archive"


def test_an_archive_that_knows_utc_is_read_so(tmp_path):
    zipped(tmp_path / "ann.zip", ("hw.py", NOON + timedelta(seconds=1)), stamped=True)
    assert found(tmp_path, "ann")["ann"].at == NOON + timedelta(seconds=1)


def test_tar_knows_utc(tmp_path):
    with tarfile.open(tmp_path / "ann.tar.gz", "w:gz") as archive:
        for name, at in (
            ("hw.py", NOON),
            ("old.py", NOON - timedelta(days=2)),
            ("never.py", datetime.fromtimestamp(0, UTC)),
        ):
            info = tarfile.TarInfo(name)
            info.mtime = at.timestamp()
            archive.addfile(info, io.BytesIO(b""))
    assert found(tmp_path, "ann")["ann"].at == NOON


def test_files_that_were_never_dated_tell_nothing(tmp_path):
    zipped(tmp_path / "ann.zip", ("hw.py", datetime(1980, 1, 1)))  # noqa: DTZ001
    os.utime(tmp_path / "ann.zip", (NOON.timestamp(), NOON.timestamp()))
    ann = found(tmp_path, "ann")["ann"]
    assert (ann.at, ann.by.startswith("the time of its newest file")) == (NOON, True)


def test_a_damaged_archive_leaves_its_own_time(tmp_path):
    write(tmp_path / "ann.zip", "no zip at all")
    assert found(tmp_path, "ann")["ann"].at == NOON


def test_an_archive_of_the_class_tells_for_each(tmp_path):
    moodle = "_assignsubmission_file_/hw.py"
    one, other = datetime(2026, 11, 20, 10), datetime(2026, 11, 20, 11)  # noqa: DTZ001
    source = zipped(tmp_path / "all.zip", (f"Anna Lee_1{moodle}", one), (f"王小明_2{moodle}", other))
    told = found(source, "Anna Lee_1", "王小明_2", "nobody")
    assert [each.at for each in told.values()] == [one.replace(tzinfo=TAIPEI), other.replace(tzinfo=TAIPEI), None]
    assert told["Anna Lee_1"].by == "its newest file in 'all.zip'"


def test_gradescope_recorded_it(tmp_path):
    write(tmp_path / "submission_42/hw.py")
    record = """submission_42:
  :submitters:
  - :name: Anna Lee
    :sid: b1
  :created_at: 2026-11-20 15:58:59.123456000 Z
  :history:
  - :created_at: 2026-11-19 10:00:00.000000000 Z
submission_43:
  :created_at: 2026-11-20 23:59:00.000000000 +08:00
"""
    (tmp_path / GRADESCOPE).write_text(record)
    told = found(tmp_path, "submission_42", "submission_43", "submission_44")
    assert (told["submission_42"].at, told["submission_42"].by) == (
        datetime(2026, 11, 20, 15, 58, 59, tzinfo=UTC),
        "Gradescope's record",
    )
    assert told["submission_43"].at == datetime(2026, 11, 20, 23, 59, tzinfo=TAIPEI)
    assert told["submission_44"].at is None


def test_blackboard_writes_it_into_the_name(tmp_path):
    write(tmp_path / "hw2_b1_attempt_2026-11-20-23-41-02/hw.py")
    write(tmp_path / "hw2_b2_attempt_2026-13-20-23-41-02/hw.py")
    one, other = found(tmp_path, "hw2_b1_attempt_2026-11-20-23-41-02", "hw2_b2_attempt_2026-13-20-23-41-02").values()
    assert (one.at, one.by) == (datetime(2026, 11, 20, 23, 41, 2, tzinfo=TAIPEI), "the platform's name for it")
    assert other.at == NOON


def test_a_student_s_own_file_name_tells_no_time(tmp_path):
    """Canvas and Moodle put it behind what they write themselves."""
    early = "x_attempt_2026-11-01-08-00-00.py"
    write(tmp_path / f"leeanna_LATE_12345_67890_{early}")
    write(tmp_path / f"Max Pool_7_assignsubmission_file_{early}")
    told = found(tmp_path, "leeanna_12345", "Max Pool_7")
    assert [each.at for each in told.values()] == [NOON, NOON]


def test_what_canvas_calls_late_is_said(tmp_path):
    write(tmp_path / "leeanna_LATE_12345_67890_hw.py")
    write(tmp_path / "maxpool_12346_67891_LATE_notes.py", at=NOON - timedelta(days=1))
    told = found(tmp_path, "leeanna_12345", "maxpool_12346")
    assert told["leeanna_12345"].remarks == ("Canvas calls it late",)
    assert told["maxpool_12346"].remarks == ()


def test_files_that_canvas_packed_have_the_time_of_the_download(tmp_path):
    """Canvas dates each member as it packs it, so that a class seems to have handed in at the download."""
    download = datetime(2026, 11, 29, 9, 0, 0)  # noqa: DTZ001 - zip has no zones
    files = [("leeanna_12345_67890_hw.py", download), ("maxpool_LATE_12346_67891_hw.py", download)]
    source = zipped(tmp_path / "class.zip", *files)
    packed = found(source, "leeanna_12345", "maxpool_12346")
    assert [each.at for each in packed.values()] == [None, None]
    assert packed["leeanna_12345"].remarks == (handed_in_at.OF_THE_DOWNLOAD,)
    assert set(packed["maxpool_12346"].remarks) == {handed_in_at.OF_THE_DOWNLOAD, "Canvas calls it late"}
    for name, _ in files:
        write(tmp_path / "unpacked" / name)
    assert [each.at for each in found(tmp_path / "unpacked", "leeanna_12345", "maxpool_12346").values()] == [None, None]


def test_files_of_several_days_were_not_packed_now(tmp_path):
    days = [datetime(2026, 11, day, 9, 0, 0) for day in (19, 20)]  # noqa: DTZ001 - zip has no zones
    source = zipped(tmp_path / "class.zip", ("ann_1_2_hw.py", days[0]), ("bob_3_4_hw.py", days[1]))
    assert None not in [each.at for each in found(source, "ann_1", "bob_3").values()]


def test_the_future_is_not_believed(tmp_path):
    write(tmp_path / "hw2_b1_attempt_2027-11-20-23-41-02/hw.py")
    (told,) = found(tmp_path, "hw2_b1_attempt_2027-11-20-23-41-02").values()
    assert told.at == NOON
    assert told.remarks == (
        "the platform's name for it says 2027-11-20T23:41:02+08:00, which lies in the future and is ignored",
    )


@pytest.fixture(scope="module")
def runner():
    with warm.runner() as started:
        yield started


@pytest.fixture(params=["in a jail", "here"])
def opening(request):
    return here if request.param == "here" else request.getfixturevalue("runner").open


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "all/ann"
    write(folder / "hw.py", at=NOON + timedelta(hours=5))
    run_git(folder, "init", "-q")
    run_git(folder, "add", "hw.py")
    run_git(folder, "commit", "-qm", "one", authored=NOON - timedelta(hours=3))
    return folder


@pytest.mark.slow
@git
def test_the_committer_s_date_of_the_last_commit_counts(repository, opening):
    (told,) = found(repository.parent, "ann").values()
    assert (told.at, told.by) == (NOON, "its last commit")
    run_git(repository, "commit", "-q", "--amend", "--no-edit", at=NOON + timedelta(hours=2))
    assert commit_of_submission(repository, opening).at == NOON + timedelta(
        hours=2
    )  # though the author's date is what it was


@git
def test_a_commit_that_changes_nothing_is_none(repository, opening):
    run_git(repository, "commit", "-q", "--allow-empty", "-m", "empty", at=NOON + timedelta(hours=2))
    assert commit_of_submission(repository, opening).at == NOON


@git
def test_packed_and_detached_repositories_are_read(repository, opening):
    run_git(repository, "gc", "-q")
    run_git(repository, "pack-refs", "--all")
    assert commit_of_submission(repository, opening).at == NOON
    run_git(repository, "checkout", "-q", "--detach")
    assert commit_of_submission(repository, opening).at == NOON


@git
def test_a_shallow_clone_is_read(repository, tmp_path, opening):
    run_git(repository, "commit", "-q", "--allow-empty", "-m", "empty", at=NOON + timedelta(hours=2))
    run_git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", "shallow")
    assert commit_of_submission(tmp_path / "shallow", opening).at == NOON + timedelta(hours=2)  # all that it has


@git
def test_a_student_s_configuration_runs_nothing(repository, tmp_path, opening):
    trap = write(tmp_path / "trap", f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    keys = (
        "core.fsmonitor",
        "gpg.program",
        "core.pager",
        "core.sshCommand",
        "core.alternateRefsCommand",
        "diff.external",
    )
    for key in keys:
        run_git(repository, "config", key, str(trap))
    run_git(repository, "config", "log.showSignature", "true")
    run_git(repository, "config", "core.repositoryFormatVersion", "7")  # which git itself would refuse
    assert commit_of_submission(repository, opening).at == NOON
    assert not (tmp_path / "sprung").exists()


def huge_commit(repository, size):
    """A commit that is right in all but its size: `size` bytes, of which a thousandth lies in the file."""
    tree = run_git(repository, "rev-parse", "HEAD^{tree}").stdout.decode().strip()
    who = "A <a@b.c> 1800000000 +0000"
    head = f"tree {tree}\nauthor {who}\ncommitter {who}\n\n".encode()
    chunk = b"x" * (1 << 20)
    count = size // len(chunk)
    start = b"commit %d\0" % (len(head) + count * len(chunk)) + head
    packer = zlib.compressobj(1)
    pieces = [packer.compress(start), packer.flush(zlib.Z_FULL_FLUSH)]
    one = packer.compress(chunk) + packer.flush(zlib.Z_FULL_FLUSH)
    digest, check = hashlib.sha1(start, usedforsecurity=False), zlib.adler32(start)
    for _ in range(count):
        digest.update(chunk)
        check = zlib.adler32(chunk, check)
    name = digest.hexdigest()
    path = repository / ".git/objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join([*pieces, one * count, b"\x03\x00", check.to_bytes(4, "big")]))
    (repository / ".git/HEAD").write_text(name)


@pytest.mark.slow
@git
@pytest.mark.skipif(sys.platform != "linux", reason="there is no jail")
def test_a_commit_that_inflates_to_more_than_memory_tells_why(repository, runner):
    huge_commit(repository, 8 << 20)
    assert commit_of_submission(repository, runner.open) == Commit(datetime.fromtimestamp(1_800_000_000, UTC))
    huge_commit(repository, 600 << 20)
    (told,) = moments(repository.parent, ["ann"], opening=runner.open, zone=TAIPEI, now=NOW).values()
    assert told.by.startswith("the time of its newest file")
    (remark,) = told.remarks
    assert remark.startswith("the repository in it tells no date: ")


@git
def test_a_link_for_a_repository_is_not_followed(repository, tmp_path, opening):
    other = tmp_path / "all/eve"
    write(other / "hw.py")
    (other / ".git").symlink_to(repository / ".git")
    assert commit_of_submission(other, opening).at is None
    (other / ".git").unlink()
    (other / ".git").write_text(f"gitdir: {repository}/.git\n")
    assert commit_of_submission(other, opening).at is None
    (other / ".git").unlink()
    (other / ".git").mkdir()
    (other / ".git/objects").symlink_to(repository / ".git/objects")
    (other / ".git/HEAD").write_text("ref: refs/heads/../../../../ann/.git/refs/heads/main\n")
    assert commit_of_submission(other, opening).at is None


@git
@pytest.mark.parametrize("head", ["", "ref: refs/heads/none\n", "0" * 40, "x" * 40, "ref: refs/heads/a b"])
def test_a_broken_repository_tells_nothing(repository, head, opening):
    (repository / ".git/HEAD").write_text(head)
    assert commit_of_submission(repository, opening).at is None


@git
def test_the_last_commit_of_the_class_s_repository_that_touches_the_folder_counts(tmp_path):
    run_git(tmp_path, "init", "-q")
    for name, at in (("ann", NOON), ("bob", NOON + timedelta(hours=1))):
        write(tmp_path / name / "hw.py", at=NOON + timedelta(days=2))
        run_git(tmp_path, "add", ".")
        run_git(tmp_path, "commit", "-qm", name, at=at)
    write(tmp_path / "eve/hw.py", at=NOON + timedelta(days=2))
    told = found(tmp_path, "ann", "bob", "eve")
    assert [(each.at, each.by) for each in told.values()][:2] == [
        (NOON, "the last commit that touches it"),
        (NOON + timedelta(hours=1), "the last commit that touches it"),
    ]
    assert told["eve"].at == NOON + timedelta(days=2)


@git
def test_only_the_hand_ins_that_are_graded_are_looked_up_in_the_history(tmp_path):
    for name in ("ann", "bob", "eve"):
        write(tmp_path / f"class/{name}/hw.py")
    run_git(tmp_path / "class", "init", "-q")
    run_git(tmp_path / "class", "add", ".")
    run_git(tmp_path / "class", "commit", "-qm", "hand in")
    asked = []

    def opening(kind, source, take, arguments):
        asked.append(arguments.get("paths"))
        return here(kind, source, take, arguments)

    told = moments(tmp_path / "class", ["bob"], opening=opening, zone=UTC)
    assert asked == [["bob"]]
    assert told["bob"].by == "the last commit that touches it"


@git
def test_a_shallow_class_repository_tells_nothing(tmp_path):
    write(tmp_path / "class/ann/hw.py")
    run_git(tmp_path / "class", "init", "-q")
    run_git(tmp_path / "class", "add", ".")
    run_git(tmp_path / "class", "commit", "-qm", "ann")
    write(tmp_path / "class/bob/hw.py")
    run_git(tmp_path / "class", "add", ".")
    run_git(tmp_path / "class", "commit", "-qm", "bob", at=NOON + timedelta(hours=9))
    run_git(tmp_path, "clone", "-q", "--depth=1", f"file://{tmp_path}/class", "checkout")
    assert RepositoryAround(here).at(tmp_path / "class/ann") == NOON
    assert RepositoryAround(here).at(tmp_path / "checkout/ann") is None


def test_without_git_there_are_other_witnesses(tmp_path, monkeypatch):
    write(tmp_path / "ann/hw.py")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert found(tmp_path, "ann")["ann"].at == NOON
