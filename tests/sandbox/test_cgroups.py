"""A job's memory is held at its limit by the kernel, where control groups may be made; else polling goes on."""

import os
import pwd
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from labgrade.core.task import Limits
from labgrade.sandbox.host import cgroups, protection
from labgrade.sandbox.jail.layers import ALL, LAYERS, METER
from labgrade.sandbox.requests import CallRequest, InspectRequest
from labgrade.sandbox.runner import Runner

HERE = Path(__file__).parent
LIGHT = HERE / "zoo_light.py"
LIMIT = 300 << 20
SOLO = tuple(set(ALL) - {METER})  # nothing polls, so that what ends a job is the kernel
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="there are control groups on Linux alone"),
]

AT_ONCE = "def f(): return len(b'x' * (1 << 30))"
IN_PROCESSES = """
import os, time
def f():
    for _ in range(30):
        if os.fork() == 0:
            taken = bytearray(b"x") * (20 << 20)
            time.sleep(60)
            os._exit(len(taken) & 1)
    time.sleep(60)
"""
IN_A_FILE = """
def f():
    with open("large", "wb") as file:
        for _ in range(450): file.write(b"x" * (1 << 20))
    return "written"
"""
# The largest process is a child: it is ended, its parent lives on and would return.
IN_A_CHILD = """
import os
def f():
    if os.fork() == 0:
        os._exit(len(b"x" * (1 << 30)) & 1)
    return os.wait()[1]
"""
WITHIN = "def f(): return len(b'x' * (200 << 20))"
OWN = "def f(): return open('/proc/self/cgroup').read()"
HELD = """
import os
def f():
    places = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return [os.readlink(place) for place in places if os.path.lexists(place)]
"""
SPINS = "import time\ndef f():\n  for _ in range(30): time.sleep(0.1)\n  return 4"


def call(runner, folder, source, *, memory=LIMIT, seconds=20.0):
    folder.mkdir(exist_ok=True)
    (folder / "hw.py").write_text(source)
    limits = Limits(seconds=seconds, memory=memory)
    return runner.run(CallRequest(folder=folder, file="hw.py", function="f", given=(), subject=None, limits=limits))


@pytest.fixture(scope="module")
def groups():
    try:
        return cgroups.Groups()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")


def runner_with(layers):
    with Runner(zoo=LIGHT, fresh=False, layers=layers) as one:
        assert str(one.protection.memory).startswith("memory: held by cgroup v")
        yield one


@pytest.fixture(scope="module")
def runner(groups):
    yield from runner_with(ALL)


@pytest.fixture(scope="module")
def solo(groups):
    yield from runner_with(SOLO)


def own_groups():
    return {path for above in cgroups.own_groups()[1] for path in above.glob(f"labgrade-{os.getpid()}-[0-9]*")}


@pytest.fixture
def peaks(monkeypatch):
    """The most that each group held, looked at before it is removed or serves again."""
    found, renewed = [], cgroups.Group.renewed

    def look(group):
        files = [group.folders[0] / name for name in ("memory.max_usage_in_bytes", "memory.peak")]
        found.extend(int(file.read_text()) for file in files if file.exists())
        return renewed(group)

    monkeypatch.setattr(cgroups.Group, "renewed", look)
    return found


@pytest.mark.parametrize("source", [AT_ONCE, IN_PROCESSES, IN_A_FILE, IN_A_CHILD])
def test_the_kernel_holds_a_job_at_its_limit(solo, tmp_path, peaks, source):
    call(solo, tmp_path / "hw", WITHIN)
    before = {*own_groups()} - {*solo._servers._groups._kept[0].folders}
    done = call(solo, tmp_path / "hw", source)
    assert (done.status, done.reason) == ("memory", "f used more than 315 MB of memory")
    assert peaks
    assert LIMIT - (8 << 20) < max(peaks) <= LIMIT
    assert own_groups() == before, "one in which something was ended serves no other job"


def test_what_is_within_the_limit_is_left_alone(runner, tmp_path, peaks):
    done = call(runner, tmp_path / "hw", WITHIN)
    assert (done.status, done.value) == ("returned", 200 << 20)
    assert 200 << 20 < max(peaks) < LIMIT, "the job was counted in its group"


def test_with_polling_beside_it_the_words_are_the_same(runner, tmp_path):
    done = call(runner, tmp_path / "hw", AT_ONCE)
    assert (done.status, done.reason) == ("memory", "f used more than 315 MB of memory")


IN = "import time\nIN = open('/proc/self/cgroup').read()\ndef f():\n  time.sleep({})\n  return IN"


def test_a_job_is_in_a_group_before_its_file_is_imported_and_leaves_it_to_the_next(runner, tmp_path):
    first, second = (call(runner, tmp_path / "hw", IN.format(0)).value for _ in range(2))
    assert f"/labgrade-{os.getpid()}-" in first
    assert first == second


def test_no_two_jobs_are_in_one_group_at_a_time(runner, tmp_path):
    seen = []
    threads = [
        threading.Thread(target=lambda name=name: seen.append(call(runner, tmp_path / name, IN.format(1)).value))
        for name in ("one", "other")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({*seen}) == 2


def test_a_runner_that_is_closed_leaves_no_group(groups, tmp_path):
    before = own_groups()
    with Runner(zoo=LIGHT, fresh=False) as one:
        call(one, tmp_path / "hw", "def f(): return 1")
        assert own_groups() > before
    assert own_groups() == before


def test_a_neighbour_is_not_touched(solo, tmp_path):
    results = {}
    jobs = {"greedy": IN_PROCESSES, "patient": SPINS}
    threads = [
        threading.Thread(target=lambda name=name: results.update({name: call(solo, tmp_path / name, jobs[name])}))
        for name in jobs
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results["greedy"].status == "memory"
    assert (results["patient"].status, results["patient"].value) == ("returned", 4)


def test_a_job_holds_no_way_into_a_group(runner, tmp_path):
    held = call(runner, tmp_path / "hw", HELD).value
    assert held
    assert not [name for name in held if "cgroup" in name]
    seen = call(runner, tmp_path / "hw", "import os\ndef f(): return os.path.exists('/sys/fs/cgroup')").value
    assert seen is False


def test_threads_are_counted_too(groups):
    with groups.of_a_job(LIMIT) as group:
        assert (group.folders[-1] / "pids.max").read_text().strip() == "256"


def test_what_a_job_used_is_counted_anew_for_the_next(groups):
    """A group that serves again: with its limit, and the most that it held is no sign of the next job's hunger."""
    seen = []
    for size in (200, 1):
        with groups.of_a_job(LIMIT) as group:
            if (child := os.fork()) == 0:
                for entry in group.entries:
                    os.write(entry, b"0")
                filled = bytearray(size << 20)
                filled[::4096] = b"1" * len(filled[::4096])
                os._exit(0)
            os.waitpid(child, 0)
            seen.append((group.folders, int((group.folders[0] / cgroups._HELD[groups.version]).read_text())))
            if groups.version == 1:
                assert size << 20 < int((group.folders[0] / cgroups._PEAK).read_text()) < (size + 8) << 20
    assert seen[0][0] == seen[1][0]
    assert max(held for _, held in seen) <= cgroups._LEFT_BYTES
    with groups.of_a_job(2 * LIMIT) as other:
        assert other.folders != seen[0][0], "that one has another limit"


def test_a_group_that_still_holds_a_process_is_emptied_and_removed(groups):
    with subprocess.Popen(["sleep", "60"]) as process:
        with groups.of_a_job(LIMIT) as group:
            for folder in group.folders:
                (folder / "cgroup.procs").write_text(str(process.pid))
        assert process.wait(5) == -9
    assert not any(folder.exists() for folder in group.folders)


def test_what_a_killed_grader_left_is_swept_and_nothing_else(groups):
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    (above, *_) = cgroups.own_groups()[1]
    left, living, other = (above / f"labgrade-{name}" for name in (f"{gone.pid}-7", f"{os.getppid()}-7", "else"))
    try:
        for folder in (left, living, other):
            folder.mkdir()
        cgroups.Groups()
        assert [folder.exists() for folder in (left, living, other)] == [False, True, True]
    finally:
        for folder in (left, living, other):
            if folder.exists():
                folder.rmdir()


KILLED = """
import sys; sys.path[:0] = [{root!r}, {here!r}]
from pathlib import Path
from test_cgroups import LIGHT, Runner, call
with Runner(zoo=LIGHT, fresh=False) as one:
    call(one, Path({folder!r}), "import time\\ndef f(): time.sleep(60)")
"""


def test_a_killed_grader_leaves_no_process_in_its_group_and_the_next_one_removes_it(groups, tmp_path):
    script = KILLED.format(root=str(HERE.parents[1]), here=str(HERE), folder=str(tmp_path / "hw"))
    (above, *_) = cgroups.own_groups()[1]
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not any(
            (folder / "cgroup.procs").read_text() for folder in above.glob(f"labgrade-{process.pid}-*")
        ):
            time.sleep(0.05)
        process.kill()
    left = list(above.glob(f"labgrade-{process.pid}-*"))
    assert left
    deadline = time.monotonic() + 45
    while time.monotonic() < deadline and any((folder / "cgroup.procs").read_text() for folder in left):
        time.sleep(0.05)
    cgroups.Groups()
    assert not any(folder.exists() for folder in left)


def test_a_kill_that_the_machine_needed_is_not_the_jobs_fault(tmp_path):
    def group(version, name):
        (tmp_path / name).touch()
        return cgroups.Group(version, (tmp_path,), LIMIT, kills=os.open(tmp_path / name, os.O_RDONLY))

    one = group(1, "memory.oom_control")
    (tmp_path / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    (tmp_path / "memory.max_usage_in_bytes").write_text(f"{100 << 20}\n")
    assert not one.starved()
    (tmp_path / "memory.max_usage_in_bytes").write_text(f"{LIMIT - 4096}\n")
    assert one.starved()
    two = group(2, "memory.events")
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 0\noom_kill 1\noom_group_kill 0\n")
    assert not two.starved()
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 1\n")
    assert two.starved()
    for each in (one, two):
        os.close(each.kills)
    assert not cgroups.Group().starved()


def test_version_2_is_given_the_files_of_its_documentation(tmp_path):
    for name in ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max"):
        (tmp_path / name).touch()
    cgroups._limit(2, (tmp_path,), LIMIT)
    assert {file.name: int(file.read_text()) for file in tmp_path.iterdir()} == {
        "memory.max": LIMIT,
        "memory.swap.max": 0,
        "memory.oom.group": 1,
        "pids.max": 256,
    }


def test_a_kernel_may_lack_all_limits_but_that_of_memory(tmp_path):
    (tmp_path / "memory.max").touch()
    cgroups._limit(2, (tmp_path,), LIMIT)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("memory.max", str(LIMIT))]
    (tmp_path / "memory.max").unlink()
    with pytest.raises(FileNotFoundError):
        cgroups._limit(2, (tmp_path,), LIMIT)


def test_in_version_2_the_graders_processes_make_room_and_others_are_never_moved(tmp_path):
    (tmp_path / "cgroup.subtree_control").write_text("")
    (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n")
    cgroups.make_room(tmp_path)
    own = tmp_path / f"labgrade-{os.getpid()}-grader"
    assert (own / "cgroup.procs").read_text() == str(os.getpid())
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert cgroups.NAME.fullmatch(own.name)
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    (tmp_path / "cgroup.subtree_control").write_text("cpu")
    (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n{gone.pid}\n")
    with pytest.raises(OSError, match="holds other processes"):
        cgroups.make_room(tmp_path)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "cpu"


def test_processes_of_another_tree_are_not_ours_to_end(tmp_path):
    (tmp_path / "cgroup.procs").write_text("0\n12\n0\n")
    assert cgroups.processes(tmp_path) == [12]


def test_where_no_group_may_be_made_polling_goes_on_and_says_what_to_do(monkeypatch, tmp_path):
    def refuse():
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cgroups, "own_groups", refuse)
    with Runner(zoo=LIGHT, fresh=False) as one:
        last = one.protection.lines[-1]
        assert last == (
            "memory: polled every 50 ms (Permission denied); "
            "on cgroup v2 the kernel holds it under `systemd-run --user --scope -p Delegate=yes`"
        )
        assert call(one, tmp_path / "hw", AT_ONCE).status == "memory"


def test_who_may_not_write_is_told_why(groups):
    if os.getuid() != 0:
        pytest.skip("only root can be somebody else")
    nobody = pwd.getpwnam("nobody").pw_uid
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.setresuid(nobody, nobody, nobody)
        try:
            cgroups.Groups()
        except BaseException as error:  # noqa: BLE001 - it is told
            os.write(writer, type(error).__name__.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with open(reader, "rb") as told:  # noqa: PTH123 - a descriptor
        assert told.read() == b"PermissionError"


def test_where_no_group_is_wanted_none_is_made(monkeypatch, tmp_path):
    monkeypatch.setattr(cgroups.Groups, "__init__", lambda _: pytest.fail("it was made all the same"))
    with Runner(zoo=LIGHT, fresh=False, layers=LAYERS) as one:
        assert one.protection.memory == protection.polled("no cgroup was wanted")
        assert call(one, tmp_path / "hw", "def f(): return 1").value == 1


def test_a_job_for_which_no_group_can_be_made_any_more_is_polled(groups, monkeypatch):
    groups.close()
    before = own_groups()
    monkeypatch.setattr(cgroups, "_limit", lambda *_: Path("/nowhere/at/all").read_text())
    with groups.of_a_job(LIMIT) as group:
        assert group.entries == ()
    assert own_groups() == before


@pytest.mark.parametrize(
    ("function", "status", "reason"),
    [
        ("fills_memory", "memory", "reading model used more than 315 MB of memory"),
        ("takes_long", "timeout", "reading model used more than 1 s of computing time"),
    ],
)
def test_a_file_at_which_the_kernel_ends_our_reader_is_the_students(groups, tmp_path, function, status, reason):
    artifact = tmp_path / "model"
    artifact.write_text("")
    limits = Limits(seconds=1.0 if status == "timeout" else 20.0, memory=LIMIT)
    file = HERE / "trusted/quantities.py"
    for runner in runner_with(SOLO):
        done = runner.inspect(InspectRequest(file=file, function=function, artifact=artifact, limits=limits))
        assert (done.status, done.reason) == (status, reason)
