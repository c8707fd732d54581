"""What learning platforms hand out for a class: whose each file is, and that it is graded as handed in."""

import json
import tarfile
import zipfile

import pytest
from helpers import small_course
from helpers.opened import here
from helpers.pytest_run import run
from helpers.soak import soak

from labgrade.core.errors import UsageError
from labgrade.submissions import find
from labgrade.submissions.names import owner, without_number

MOODLE = {
    "Anna Lee_101_assignsubmission_file_/answers.yaml": "task: {total: 1234}",
    "Anna Lee_101_assignsubmission_onlinetext_/onlinetext.html": "<p>done</p>",
    "王小明_102_assignsubmission_file/hw/answers.yaml": "task: {total: 2468}",
    "Bo_103_assignsubmission_file_answers.yaml": "task: {total: 7}",
}
CANVAS = {
    "leeanna_12345_67890_answers.yaml": "task: {total: 1234}",
    "leeanna_12345_67891_report-1.md": "x",
    "boni_LATE_12346_67892_hw2.zip": None,
}


@pytest.mark.parametrize(
    ("path", "owned"),
    [
        ("Anna Lee_1234567_assignsubmission_file_/hw/a.py", ("Anna Lee_1234567", ("hw", "a.py"))),
        ("Anna Lee_1234567_assignsubmission_file/a.py", ("Anna Lee_1234567", ("a.py",))),
        ("Anna Lee_1234567_assignsubmission_file_a_b.py", ("Anna Lee_1234567", ("a_b.py",))),
        ("Anna_Lee_12_assignsubmission_onlinetext_/x.html", ("Anna_Lee_12", ("x.html",))),
        (
            "Bo_1_assignsubmission_file_x_9_assignsubmission_file_hw.py",
            ("Bo_1", ("x_9_assignsubmission_file_hw.py",)),
        ),
        ("leeanna_12345_67890_hw2_1.py", ("leeanna_12345", ("hw2_1.py",))),
        ("leeanna_LATE_12345_67890_hw2_1-1.py", ("leeanna_12345", ("hw2_1-1.py",))),
        ("anna/leeanna_12345_67890_hw2_1.py", ("anna", ("leeanna_12345_67890_hw2_1.py",))),
        ("anna.tar.gz", ("anna", ("anna.tar.gz",))),
        ("Anna.ZIP", ("Anna", ("Anna.ZIP",))),
        ("Anna.rar", ("Anna", ("Anna.rar",))),
        ("grades.csv", None),
        ("hw2_1.py", None),
    ],
)
def test_whose_a_file_is(path, owned):
    assert owner(tuple(path.split("/")), is_file=True) == owned


def test_a_folder_is_its_student_s_whatever_it_is_called():
    assert owner(("leeanna_12345_67890_x",), is_file=False) == ("leeanna_12345_67890_x", ())
    assert owner(("anna.zip",), is_file=False) == ("anna.zip", ())
    assert (without_number("Anna Lee_1234567"), without_number("Anna Lee"), without_number("a_1_2")) == (
        "Anna Lee",
        "Anna Lee",
        "a_1",
    )


def inner(answers):
    import io

    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("hw2/answers.yaml", answers)
    return data.getvalue()


def pack(path, entries):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in entries.items():
                archive.writestr(name, inner("task: {total: 7}") if content is None else content)
        return path
    import io

    with tarfile.open(path, "w:gz") as archive:
        for name, content in entries.items():
            data = inner("task: {total: 7}") if content is None else content.encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def unpacked(path, entries):
    for name, content in entries.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(inner("task: {total: 7}") if content is None else content.encode())
    return path


@pytest.mark.parametrize("kind", ["class.zip", "class.tar.gz", "class"])
@pytest.mark.parametrize(
    ("entries", "files"),
    [
        (
            MOODLE,
            {
                "Anna Lee_101": ("answers.yaml", "onlinetext.html"),
                "Bo_103": ("answers.yaml",),
                "王小明_102": ("hw/answers.yaml",),
            },
        ),
        (CANVAS, {"boni_12346": ("hw2/answers.yaml",), "leeanna_12345": ("answers.yaml", "report-1.md")}),
        (
            {"anna/hw.py": "x", "bo.zip": None, "README.md": "x", ".hidden/x": "x"},
            {"anna": ("hw.py",), "bo": ("hw2/answers.yaml",)},
        ),
    ],
)
def test_each_student_s_own_files(tmp_path, kind, entries, files):
    source = unpacked(tmp_path / kind, entries) if kind == "class" else pack(tmp_path / kind, entries)
    found = find.find(source, ["all"], tmp_path / "store", opening=here)
    assert {who.name: who.files for who in found.submissions} == files
    assert all(not who.refused for who in found.submissions)
    one = min(files)
    (only,) = find.find(source, [without_number(one)], tmp_path / "other", opening=here).submissions
    assert (only.name, only.files) == (one, files[one])


@pytest.mark.parametrize("kind", ["class", "class.zip"])
def test_a_file_that_belongs_to_no_student_is_named(tmp_path, kind):
    entries = {"anna/hw.py": "x", ".hidden": "x", **{f"s{number}.py": "x" for number in range(9)}}
    source = unpacked(tmp_path / kind, entries) if kind == "class" else pack(tmp_path / kind, entries)
    (said,) = find.offer(source, ["all"], tmp_path / "store", opening=here).left_out
    assert said == (
        "'s0.py', 's1.py', 's2.py', 's3.py', 's4.py', 's5.py', 's6.py', 's7.py' and 1 more, because a submission is a "
        "folder or an archive; put it into its student's folder"
    )
    assert find.offer(source, ["anna"], tmp_path / "other", opening=here).left_out == ()


def test_a_student_s_traps_cost_nobody_else(tmp_path):
    entries = {
        "anna/ok.py": "x",
        "anna/../../bo/up.py": "evil",
        "../up.py": "evil",
        "bo/ok.py": "y",
        "bo/bomb.txt": "0" * (5 << 20),
    }
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    found = find.find(path, ["all"], tmp_path / "store", opening=here)
    assert {who.name: who.files for who in found.submissions} == {"anna": ("ok.py",), "bo": ("ok.py",)}
    assert found.submissions[1].refused == ("'bomb.txt', because it would unpack to more than 200 times its size",)
    assert found.left_out == (
        "'../up.py', because its path leads out of the hand-in ('..')",
        "'anna/../../bo/up.py', because its path leads out of the hand-in ('..')",
    )


def test_an_archive_of_no_class_and_no_archive(tmp_path):
    path = pack(tmp_path / "hw.zip", {"hw2_1.py": "x"})
    assert find.find(path, ["all"], tmp_path / "store", opening=here).submissions == ()
    path.write_bytes(b"PK but no more")
    with pytest.raises(UsageError, match="can't be read: it is no zip archive"):
        find.find(path, ["all"], tmp_path / "store", opening=here)
    (tmp_path / "hw.rar").write_bytes(b"x")
    with pytest.raises(UsageError, match=r"is no archive that can be unpacked \(.tar.gz, .tgz, .tar, .zip\)"):
        find.find(tmp_path / "hw.rar", ["all"], tmp_path / "store", opening=here)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=soak)])
def test_pytest_grades_a_class_out_of_its_archive(tmp_path, workers):
    small_course.write(tmp_path)
    pack(tmp_path / "moodle.zip", {**MOODLE, "../up": "x"})
    done = run(tmp_path, "--submission=all", "--submissions-dir=moodle.zip", "--labgrade-json=out.json", *workers)
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    outcomes = {who["name"]: who["tasks"][0]["checks"][0]["outcome"] for who in report["submissions"]}
    assert outcomes == {"Anna Lee_101": "CORRECT", "Bo_103": "INCORRECT", "王小明_102": "PARTIAL"}
    assert "left out: '../up', because its path leads out of the hand-in ('..')" in report["notes"]
    assert "left out: '../up'" in done.stdout.replace("│ ", "")
    assert not list(tmp_path.glob("up"))


@pytest.mark.slow
def test_a_student_checks_an_archive(tmp_path, monkeypatch, capsys):
    from labgrade.cli import main

    small_course.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "anna.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("answers.yaml", "task: {total: 2468}")
        archive.writestr("../up.txt", "x")
    assert main(["check", "anna.zip"]) == 1
    shown = capsys.readouterr().out
    assert "counted twice" in shown
    assert "left out: '../up.txt', because its path leads out of the hand-in ('..')" in shown.replace("│ ", "")
    assert "\nsubmission anna " in shown
