import os
import sys

import pytest
from helpers.opened import here

from labgrade.core.errors import UsageError
from labgrade.submissions import find as submission


@pytest.fixture
def folder(tmp_path):
    for name in ("student42", "Student42", "王小明 的作業", "anna lee", ".hidden"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.md").write_text("x")
    (tmp_path / "student42.expected.yaml").write_text("not a submission")
    return tmp_path


@pytest.fixture
def find(tmp_path_factory):
    return lambda source, asked, **other: submission.find(
        source, asked, tmp_path_factory.mktemp("store"), opening=here, **other
    )


@pytest.fixture
def take(tmp_path_factory):
    return lambda source, name="x": submission.take(source, name, tmp_path_factory.mktemp("store"), opening=here)


def names(found):
    return [who.name for who in found.submissions]


def test_submissions_come_in_the_order_asked_for_each_once(folder, find):
    assert names(find(folder, ["student42", "anna lee", "student42"])) == ["student42", "anna lee"]


def test_all_is_every_folder_sorted(folder, find):
    assert names(find(folder, ["all"])) == ["Student42", "anna lee", "student42", "王小明 的作業"]


def test_names_that_differ_only_in_case_are_two_students(folder, find):
    assert names(find(folder, ["Student42"])) == ["Student42"]
    assert names(find(folder, ["student42"])) == ["student42"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("studnet42", "there is no submission 'studnet42' in '{}'; did you mean 'student42'?"),
        ("ANNA LEE", "; did you mean 'anna lee'?"),
        ("zzz", "; it has Student42, anna lee, student42, 王小明 的作業"),
        ("../x", "'../x' is a path, and a submission has a name; the folder that it lies in is said apart from it"),
        ("..", "'..' is a path"),
        ("", "'' is a path"),
    ],
)
def test_a_name_that_is_not_there_gets_an_offer(folder, asked, message, find):
    with pytest.raises(UsageError) as caught:
        find(folder, [asked])
    assert message.format(folder) in str(caught.value)


def test_a_folder_that_holds_the_grader_is_no_hand_in(folder, find):
    (folder / "anna lee/course").mkdir()
    with pytest.raises(UsageError, match="'anna lee' holds the grader itself; in a student's own folder say"):
        find(folder, ["anna lee"], grader=folder / "anna lee/course")


def test_no_name_begins_a_line_of_a_message(tmp_path, find):
    (tmp_path / "a\n✓ CORRECT").mkdir()
    with pytest.raises(UsageError) as caught:
        find(tmp_path, ["zzz"])
    assert str(caught.value).endswith("; it has a\\n✓ CORRECT")


def test_a_folder_that_is_not_there_is_named(tmp_path, find):
    with pytest.raises(UsageError, match="there is no folder"):
        find(tmp_path / "nothing", ["all"])


def test_an_accent_typed_in_two_code_points_is_the_same_name(tmp_path, find):
    (tmp_path / "Ren\u00e9").mkdir()
    assert names(find(tmp_path, ["Rene\u0301"])) == ["Ren\u00e9"]


def test_files_are_sorted_posix_paths_without_the_clutter(tmp_path, take):
    for path in ("b.py", "a/c d.py", ".git/config", "__pycache__/x.pyc", ".gitkeep"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    assert take(tmp_path).files == ("a/c d.py", "b.py")


def test_links_are_never_followed_and_each_is_named(tmp_path, take):
    outside = tmp_path / "secret"
    outside.mkdir()
    (outside / "key.txt").write_text("key")
    work = tmp_path / "work"
    work.mkdir()
    (work / "own.txt").write_text("own")
    (work / "out.txt").symlink_to(outside / "key.txt")
    (work / "outfolder").symlink_to(outside)
    (work / "in.txt").symlink_to(work / "own.txt")
    (work / "loop").symlink_to(work)
    os.mkfifo(work / "pipe")
    found = take(work)
    assert found.files == ("own.txt",)
    assert found.refused == (
        "'in.txt', because it is a link; hand in the file itself",
        "'loop', because it is a link; hand in the file itself",
        "'out.txt', because it is a link; hand in the file itself",
        "'outfolder', because it is a link; hand in the file itself",
        "'pipe', because it is not a regular file",
    )
    assert found.folder != work
    assert (found.folder / "own.txt").read_text() == "own"


def test_an_empty_folder_is_a_submission_without_files(tmp_path, take):
    assert take(tmp_path).files == ()


def test_a_file_is_not_a_submission(tmp_path, take):
    (tmp_path / "x").write_text("")
    with pytest.raises(UsageError, match="is no folder, and no archive that can be unpacked"):
        take(tmp_path / "x")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("asked", ["all", "anna"])
def test_two_that_are_printed_alike_are_refused(tmp_path, asked):
    """In every report they would be one, and what one of them did would be the other's."""
    for name in (b"lab\xff", b"lab\\xff", b"anna"):
        os.makedirs(os.fsencode(tmp_path) + b"/class/" + name)  # noqa: PTH103 - a name of bytes
    for take in (submission.find, submission.offer):
        with pytest.raises(UsageError, match="two submissions are called 'lab"):
            take(tmp_path / "class", [asked], tmp_path / "store", opening=here)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_not_utf_8_can_be_printed_and_asked_for(tmp_path):
    raw = os.fsencode(tmp_path) + b"/class/lab\xff"
    os.makedirs(raw)  # noqa: PTH103 - a name of bytes
    os.symlink(b"/nowhere", raw + b"/link\xfe")  # noqa: PTH211
    for number, asked in enumerate(("all", "lab\\xff", "lab\udcff")):
        (found,) = submission.find(tmp_path / "class", [asked], tmp_path / str(number), opening=here).submissions
        assert found.name == "lab\\xff"
        assert len(found.refused) == 1
        found.refused[0].encode()
    with pytest.raises(UsageError) as caught:
        submission.find(tmp_path / "class", ["other"], tmp_path / "none", opening=here)
    str(caught.value).encode()
