"""The two other doors: programs of students', and our own code on students' files."""

import os
import sys
from pathlib import Path

import pytest

from labgrade.core.task import Limits
from labgrade.sandbox.requests import InspectRequest, ProgramRequest
from labgrade.sandbox.runner import Runner

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="programs are jailed on Linux alone"),
]


@pytest.fixture(scope="module")
def runner():
    with Runner(zoo=HERE / "zoo_light.py", spare_seconds=120.0) as one:  # a busy machine takes long for a second
        yield one


@pytest.fixture
def run(runner, tmp_path):
    """Runs a Python script that lies in a folder of its own."""

    def run(source, *, limits=None, **other):
        folder = tmp_path / "student"
        folder.mkdir(exist_ok=True)
        (folder / "hw.py").write_text(source)
        limits = limits or Limits(seconds=5.0)
        return runner.execute(ProgramRequest(command=("python", "hw.py"), folder=folder, limits=limits, **other))

    return run


def test_a_program_gives_its_code_its_output_and_its_files(run, tmp_path):
    done = run(
        "import pathlib, sys\n"
        "print('MACs: 5')\n"
        "print('slowly', file=sys.stderr)\n"
        "pathlib.Path('out').mkdir()\n"
        "pathlib.Path('out/hw2-1-1-output.txt').write_text('5')\n"
        "sys.exit(3)\n"
    )
    assert (done.status, done.code, done.reason) == ("returned", 3, "")
    assert (done.stdout, done.stderr) == (b"MACs: 5\n", b"slowly\n")
    assert done.files == {"out/hw2-1-1-output.txt": b"5"}
    assert done.left_out == ()
    assert done.seconds > 0
    assert 100 * done.seconds % 1  # /proc has hundredths, which a short job is none of
    assert sorted(os.listdir(tmp_path / "student")) == ["hw.py"]


def test_a_program_may_write_to_its_folder_and_what_it_changes_comes_back(run, tmp_path):
    data = tmp_path / "data.bin"
    data.write_bytes(bytes(6 << 20))  # large: shown where it lies
    source = "open('hw.py', 'a').write('#'); print(len(open('data.bin', 'rb').read()))"
    done = run(source, provide={"data.bin": data})
    assert (done.status, done.stdout) == ("returned", b"6291456\n")
    assert list(done.files) == ["hw.py"]


def test_what_is_provided_wins_and_stays_within_the_folder(run, tmp_path):
    ours = tmp_path / "ours.txt"
    ours.write_text("ours")
    done = run("print(open('given/weights.txt').read())", provide={"given/weights.txt": ours})
    assert done.stdout == b"ours\n"
    refused = run("", provide={"../../escaped": ours})
    assert refused.status == "fault"
    assert "'../../escaped' is no place within the folder" in refused.reason


def test_what_is_in_the_way_of_what_is_provided_gives_way(run, tmp_path):
    """A student's folder with the name of a file of ours, or the other way round, would be a fault of ours for ever."""
    ours = tmp_path / "ours.txt"
    ours.write_text("ours")
    for path in ("student/weights.txt/below/hw.py", "student/given", "student/models"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("theirs")
    provide = {"weights.txt": ours, "given/weights.txt": ours, "models/a/b.txt": ours}
    done = run(f"for path in {list(provide)}: print(open(path).read())", provide=provide)
    assert (done.status, done.stdout) == ("returned", b"ours\n" * 3)


def test_a_program_that_is_killed_or_not_there(run, runner):
    killed = run("import os; os.kill(os.getpid(), 11)")
    assert (killed.status, killed.code) == ("returned", -11)
    absent = runner.execute(ProgramRequest(command=("no-such-program",)))
    assert (absent.status, absent.code) == ("missing", None)
    assert absent.reason == "'no-such-program' could not be started: No such file or directory"


def test_a_program_is_stopped_by_each_of_its_limits(run, runner, monkeypatch):
    limits = Limits(seconds=1.0, memory=300 << 20, output=10_000)
    cpu = run("while True: pass", limits=limits)
    assert (cpu.status, cpu.reason) == ("timeout", "python used more than 1 s of computing time")
    with monkeypatch.context() as impatient:
        impatient.setattr(runner, "_spare_seconds", 2.0)
        wall = run("print('waits', flush=True)\nimport time; time.sleep(60)", limits=limits)
    assert wall.status == "waited"
    assert wall.stdout == b"waits\n"
    memory = run("x = []\nwhile True: x.append(bytes(range(256)) * 40000)", limits=Limits(seconds=10, memory=300 << 20))
    assert memory.status == "memory"
    for stream in ("stdout", "stderr"):
        output = run(f"import sys\nwhile True: sys.{stream}.write('x' * 1000)", limits=limits)
        assert (output.status, len(getattr(output, stream))) == ("output", 10_000)


def test_files_beyond_what_can_be_brought_along_are_named(run):
    done = run(
        "import os\n"
        "open('large.bin', 'wb').truncate(70 << 20)\n"
        "open('small.txt', 'w').write('1')\n"
        "os.symlink('/etc/passwd', 'link')\n"
    )
    assert done.files == {"small.txt": b"1"}
    assert done.left_out == ("large.bin",)


@pytest.mark.promise("values-not-verdicts")
def test_a_forged_frame_is_a_value_at_most(run):
    done = run("import os, sys\nfor n in range(3, 50):\n  try: os.write(n, b'nonsense')\n  except OSError: pass\n")
    assert (done.status, done.files) == ("returned", {})


@pytest.fixture
def inspect(runner, tmp_path):
    """Measures a file by a function of the trusted folder."""
    artifact = tmp_path / "model.txt"
    artifact.write_text("conv relu pool")

    def inspect(function, **other):
        limits = Limits(seconds=1.0, memory=300 << 20)
        file = HERE / "trusted/quantities.py"
        return runner.inspect(InspectRequest(file=file, function=function, artifact=artifact, limits=limits, **other))

    return inspect


def test_a_measurement_is_plain_data(inspect):
    assert inspect("count_words").value == 3
    assert inspect("count_words", parameters={"longer_than": 4}).value == 0


def test_several_files_are_measured_up_to_the_first_that_cannot_be(inspect, tmp_path):
    files = {}
    for name, text in {"a": "conv relu", "b": "conv", "d": ""}.items():
        (tmp_path / name).write_text(text)
        files[f"{name}/model.txt"] = tmp_path / name
    several = [(f"{name}/model.txt", {"longer_than": 0}) for name in "abcd"]  # there is no 'c'
    assert inspect("count_words", beside=files, several=several).value == [3, 2, 1]
    assert inspect("refuses", beside=files, several=several).status == "refused"


@pytest.mark.parametrize(
    ("function", "status", "reason"),
    [
        ("refuses", "refused", "model.txt is no model"),
        ("takes_long", "timeout", "reading model.txt used more than 1 s of computing time"),
        ("takes_memory", "memory", "reading model.txt used more than 315 MB of memory"),
        (
            "breaks",
            "fault",
            "breaks failed on model.txt: AttributeError: 'PosixPath' object has no attribute 'nothing'",
        ),
        ("dies", "crashed", "the process was killed by signal "),  # a library may die of a broken file
        ("returns_an_object", "fault", "returns_an_object failed on model.txt: it returned an object"),
    ],
)
def test_a_file_that_cannot_be_measured(inspect, function, status, reason):
    found = inspect(function)
    assert (found.status, found.value) == (status, None)
    assert found.reason.startswith(reason)


def test_a_measuring_child_sees_the_file_what_lies_beside_it_and_no_student(inspect, tmp_path):
    weights = tmp_path / "weights.bin"
    weights.write_bytes(b"1")
    seen = inspect("looks_around", beside={"weights.bin": weights}).value
    assert seen["beside"] == ["model.txt", "weights.bin"]
    assert seen["name"] == "model.txt"
    of_python = {Path(place).parts[1] for place in (sys.prefix, sys.base_prefix)}  # may lie in somebody's home
    assert "home" in of_python or "home" not in seen["root"]
    assert {"trusted", "scratch"} <= set(seen["root"])


@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_a_large_file_is_measured_where_it_lies_and_stays_as_it_is(inspect, runner, tmp_path, mode):
    """A second name takes no time where everybody may read the file; what nobody else may read is copied."""
    content = b"conv " * (1 << 20)
    (tmp_path / "model.txt").write_bytes(content)
    (tmp_path / "model.txt").chmod(mode)
    found = inspect("tries_to_write").value
    assert (tmp_path / "model.txt").read_bytes() == content
    if runner._servers.may_link(str(HERE / "trusted")):
        assert found["names"] == (2 if mode == 0o644 else 1)
    assert found["error"] or found["names"] == 1  # another user's, on a mount that is read-only
    assert (tmp_path / "model.txt").stat().st_nlink == 1
