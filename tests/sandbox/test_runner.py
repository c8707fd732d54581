"""The processes behind the runner: started late, restarted when lost, ended with the grader; with forks and without."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from labgrade.answers.reader.asks import Ask
from labgrade.answers.reader.replies import encode
from labgrade.core.errors import FaultError
from labgrade.core.task import InputSpec, Limits, SubjectSpec
from labgrade.sandbox.child.main import UP
from labgrade.sandbox.host import fork_server, working_copy
from labgrade.sandbox.host.child import Ending, Exit, PolledChild
from labgrade.sandbox.host.loader import Loader
from labgrade.sandbox.host.servers import READER, STUDENTS
from labgrade.sandbox.jail.usage import family
from labgrade.sandbox.outcomes import what_happened
from labgrade.sandbox.requests import CallRequest, InspectRequest, ReadRequest
from labgrade.sandbox.runner import Runner

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GALLERY = HERE.parent / "galleries/submissions"
SUBJECT = SubjectSpec(model="light", input=InputSpec(shape=(1, 3, 8, 8)))
LIMITS = Limits(seconds=1.0, memory=300 << 20, output=1 << 20)
# Where the host backs memory page by page, touching 300 MB takes more than a second of computing.
PATIENT = replace(LIMITS, seconds=20.0)
linux = pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux alone")


def request(folder, *, given=("model", "input_size"), subject=SUBJECT, limits=LIMITS, file="hw2_1.py"):
    return CallRequest(folder=folder, file=file, function="total_macs", given=given, subject=subject, limits=limits)


def student(folder, source):
    folder.mkdir(exist_ok=True)
    (folder / "hw2_1.py").write_text(source)
    return folder


@pytest.fixture(params=[pytest.param(False, marks=linux, id="warm"), pytest.param(True, id="fresh")])
def runner(request):
    with Runner(zoo=HERE / "zoo_light.py", fresh=request.param, spare_seconds=60.0) as one:
        yield one


@pytest.mark.promise("a-killed-process-costs-nothing")
@linux
@pytest.mark.parametrize(("which", "times"), [("server", 1), ("keeper", 1), ("keeper", 2), ("job", 1)])
def test_who_kills_a_process_of_ours_costs_no_student_a_point(tmp_path, which, times):
    busy = "import time\ndef total_macs(*_):\n    while time.process_time() < 1.5: pass\n    return 4\n"
    folder = student(tmp_path / "a", busy)
    with Runner(zoo=HERE / "zoo_light.py", spare_seconds=1.0) as runner:
        runner.run(request(GALLERY / "more_with_defaults"))
        killing = threading.Thread(target=kill_soon, args=(runner._servers.get("students")._process.pid, which, times))
        killing.start()
        done = runner.run(request(folder, limits=PATIENT))
        killing.join()
        if which == "job":  # as the system does where memory runs out; this is tried once more, alone
            assert (done.status, "killed by signal 9 (SIGKILL)" in done.reason) == ("memory", True)
        elif times == 1:
            assert (done.status, done.value) == ("returned", 4), "it began anew"
        else:
            assert (done.status, done.reason) == ("fault", "the process that total_macs was run by is gone")
        assert runner.run(request(GALLERY / "more_with_defaults")).status == "returned"


@pytest.mark.promise("a-killed-process-costs-nothing")
@linux
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("kind", [STUDENTS, READER])
def test_a_server_that_is_killed_while_it_starts_is_started_once_more(monkeypatch, kind, times):
    killed = []

    def killing(begin):
        def begun(*arguments, **options):
            process = begin(*arguments, **options)
            if len(killed) < times:
                killed.append(process.pid)
                os.kill(process.pid, signal.SIGKILL)
            return process

        return begun

    monkeypatch.setattr(fork_server, "start", killing(fork_server.start))
    monkeypatch.setattr(Loader, "fork", killing(Loader.fork))
    with Runner(zoo=HERE / "zoo_light.py") as runner:
        if times == 1:
            assert runner._servers.get(kind).is_there
        else:
            with pytest.raises(FaultError, match="did not say why: something killed it"):
                runner._servers.get(kind)
    assert len(killed) == times


@linux
def test_servers_whose_loader_was_killed_unnoticed_are_forked_of_another(monkeypatch):
    with Runner(zoo=HERE / "zoo_light.py") as runner:
        lost = runner._servers._loaded(runner._servers._folder(""))
        with monkeypatch.context() as patched:
            patched.setattr(lost._process, "poll", patched.undo)  # it is about to end
            os.kill(lost._process.pid, signal.SIGKILL)
            assert runner._servers.get(STUDENTS).is_there
        assert runner._servers._loader is not lost


@pytest.mark.promise("a-killed-process-costs-nothing")
@linux
@pytest.mark.parametrize(
    ("kind", "message", "times", "status"),
    [
        ("students", 1, 1, "returned"),  # before it is up
        ("students", 1, 2, "fault"),
        ("students", 2, 1, "memory"),  # who did it can't be known: it is tried again, alone
        ("reader", 1, 1, "returned"),
        ("reader", 2, 1, "returned"),  # no student's code runs there
        ("reader", 2, 2, "memory"),
        ("measure", 2, 1, "returned"),
    ],
)
def test_a_job_that_is_killed_before_a_students_code_can_have_done_it_begins_anew(
    tmp_path, monkeypatch, kind, message, times, status
):
    killed, given = [], Counter()
    with Runner(zoo=HERE / "zoo_light.py", spare_seconds=30.0) as runner:
        folder = student(tmp_path / "a", "def total_macs(*_): return 4\n")
        server = runner._servers.get({"measure": str(HERE / "trusted")}.get(kind, kind))

        def killing(child, data, give=PolledChild.give):
            given[child] += 1
            if given[child] == message and len(killed) < times:
                killed.append(max(family(server._process.pid)))
                os.kill(killed[-1], signal.SIGKILL)
            give(child, data)

        monkeypatch.setattr(PolledChild, "give", killing)
        if kind == "students":
            done = runner.run(request(folder))
        elif kind == "reader":
            asks = (encode(Ask(wanted="code", about="hw2_1.py"))[0].decode(),)
            done = runner.read(ReadRequest(folder=folder, files=("hw2_1.py",), asks=asks, limits=LIMITS))
        else:
            words = {"file": HERE / "trusted/quantities.py", "function": "count_words"}
            done = runner.inspect(InspectRequest(**words, artifact=folder / "hw2_1.py"))
        assert (done.status, len(killed)) == (status, times), done.reason


@linux
def test_a_server_that_is_about_to_end_is_waited_for():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.closing(fork_server.ForkServer.joined(ours, {"event": "ready"})) as server, theirs:
        assert (server.is_there, server.is_ending) == (True, False)
        closing = threading.Timer(0.1, theirs.close)  # as a process that was killed closes one thing after the other
        closing.start()
        assert server.is_ending
        closing.join()


@linux
def test_who_lost_a_server_does_not_end_the_one_in_its_place():
    with Runner(zoo=HERE / "zoo_light.py") as runner:
        lost = runner._servers.get(READER)
        runner._servers.drop(READER, lost)
        other = runner._servers.get(READER)
        runner._servers.drop(READER, lost)
        assert runner._servers.get(READER) is other
        assert other.is_there


KILLED = Exit(code=-9, seconds=0.1, why="")


@pytest.mark.parametrize(
    ("known", "trusted", "taken", "again"),
    [
        ({"exit": KILLED}, False, True, True),  # before it was up: nothing of a student's had begun
        ({"exit": KILLED, "up": True}, False, False, False),
        ({"exit": KILLED, "up": True}, True, False, True),
        ({"exit": KILLED, "up": True}, True, True, False),  # what was taken is not taken twice
        ({"exit": replace(KILLED, why="memory")}, True, False, False),
        ({"exit": KILLED, "stopped": "wall", "up": True}, True, False, False),
        ({"exit": replace(KILLED, code=-11)}, True, False, False),
        ({"exit": replace(KILLED, code=98)}, True, False, False),
        ({"lost": True, "up": True}, False, False, True),
        ({"lost": True, "up": True}, False, True, False),
        ({"lost": True}, False, True, True),
        ({"fault": "no process could be made"}, True, False, False),
    ],
)
def test_what_begins_anew_is_what_an_accident_ended(known, trusted, taken, again):
    assert Ending(None, **known).should_retry(trusted=trusted, taken=taken) is again


@linux
@pytest.mark.parametrize(
    "ends",
    [
        "os.kill(os.getpid(), 9); os._exit(0)",  # is refused where there are namespaces
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\n    while True: pass",
    ],
)
def test_who_kills_their_own_process_is_no_fault_and_is_told_so(tmp_path, ends):
    folder = student(tmp_path / "a", f"import os\ndef total_macs(*_):\n    {ends}\n")
    with Runner(zoo=HERE / "zoo_light.py", spare_seconds=1.0) as runner:
        done = runner.run(request(folder, limits=PATIENT))
        assert done.status in {"crashed", "memory"}
        assert done.status == "crashed" or "as it may do itself" in done.reason
        assert runner.run(request(GALLERY / "more_with_defaults")).status == "returned"


def kill_soon(server, which, times):
    """Kill one of those that run a job, as often, once it computes."""
    deadline, killed = time.monotonic() + 30, set()
    while time.monotonic() < deadline and len(killed) < times:
        job = max(set(family(server)[1:]) - killed, key=spent, default=0)
        if job and spent(job) > 0.5:
            os.kill({"server": server, "keeper": told(job)[1], "job": job}[which], signal.SIGKILL)
            killed.add(job)
        time.sleep(0.05)


def told(pid):
    """What the system says of a process behind its name: its state, its parent, ..."""
    try:
        return [0, *map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1:14])]
    except OSError:
        return [0] * 14


def spent(pid):
    """Seconds that a process has computed."""
    return sum(told(pid)[11:13]) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("more_with_defaults", "returned", ""),
        ("prints_passed", "returned", ""),
        ("exits_process", "crashed", "os._exit(0)"),
        ("prints_10_mb", "output", "more than 1.05 MB"),
        ("loops_for_ever", "timeout", "more than 1 s of computing time"),
        ("allocates_without_end", "memory", "more than 315 MB of memory"),
        ("starts_many_processes", "crashed", "more than 64 processes"),
        ("kills_itself", "crashed", "signal 11 (SIGSEGV)"),
        ("too_few_parameters", "crashed", "the task gives 2: model, input_size"),
        ("two_results", "refused", "more than one result"),
    ],
)
def test_both_kinds_of_process_come_to_the_same(runner, name, status, reason):
    limits = PATIENT if status == "memory" else LIMITS
    execution = runner.run(request(GALLERY / name, limits=limits))
    assert execution.status == status
    assert reason in execution.reason


def test_the_kernel_holds_wider_limits_where_polling_is_too_slow(runner, tmp_path):
    ask = """
import resource
def total_macs():
    return {name: list(resource.getrlimit(getattr(resource, "RLIMIT_" + name)))
            for name in ("CPU", "FSIZE", "NOFILE", "CORE", "AS")}
"""
    limits = runner.run(request(student(tmp_path / "s", ask), given=())).value
    cpu, space = limits.pop("CPU"), limits.pop("AS")
    assert 2 <= cpu[0] <= 4
    assert cpu[1] == cpu[0] + 1
    assert LIMITS.memory < space[0] == space[1] < 8 << 30
    assert limits == {"FSIZE": [512 << 20] * 2, "NOFILE": [512] * 2, "CORE": [0] * 2}


@pytest.mark.promise("cpu-time-is-the-limit")
def test_waiting_is_stopped_by_the_clock(runner, monkeypatch):
    monkeypatch.setattr(runner, "_spare_seconds", 1.0)
    start = time.monotonic()
    execution = runner.run(request(GALLERY / "sleeps", limits=Limits(seconds=0.25)))
    assert execution.status == "waited"
    assert execution.reason == (
        "total_macs did not end; it may compute for 0.25 s, and it was waiting longer than that"
    )
    assert 1.0 < time.monotonic() - start < 600


def test_every_given_name_has_its_value(runner, tmp_path):
    folder = student(tmp_path / "s", "def total_macs(*values): return [type(values[2]).__name__, values]")
    execution = runner.run(request(folder, given=("input", "model", "input_size")))
    assert execution.value == ["tuple", [[0.5], ["light", 1, 2, 3], [1, 3, 8, 8]]]


@pytest.mark.promise("no-answers-in-a-child")
def test_a_child_sees_its_own_subject_only(runner, tmp_path):
    look = """
import gc
def total_macs(model):
    gc.unfreeze()
    return sorted(found[0] for found in gc.get_objects() if type(found) is list and found[1:] == [1, 2, 3])
"""
    folder = student(tmp_path / "s", look)
    for name in ("hidden", "public"):
        subject = SubjectSpec(model=name, input=SUBJECT.input)
        assert runner.run(request(folder, given=("model",), subject=subject)).value == [name]


@linux
def test_nothing_is_started_before_the_first_call_and_nothing_is_left():
    before = set(family(os.getpid()))
    with Runner(zoo=HERE / "zoo_light.py", fresh=False) as runner:
        assert set(family(os.getpid())) == before
        runner.run(request(GALLERY / "more_with_defaults"))
        server = _wait_for(lambda: found if len(found := set(family(os.getpid())) - before) == 4 else None)
        assert server, "the loader, the launcher, the server, its branch with the subject, and no more"
        runner.run(request(GALLERY / "divides_by_zero"))
        assert _wait_for(lambda: set(family(os.getpid())) - before == server), "the same server, and no child"
        folder = runner._servers._folder("")
    assert set(family(os.getpid())) == before
    assert not folder.exists()


@linux
def test_a_server_lost_between_two_calls_costs_nobody():
    with Runner(zoo=HERE / "zoo_light.py", fresh=False) as runner:
        runner.run(request(GALLERY / "more_with_defaults"))
        process = runner._servers.get("students")._process
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert runner.run(request(GALLERY / "more_with_defaults")).value == 4


@pytest.mark.promise("nothing-survives-its-job")
@linux
def test_a_grader_that_is_killed_takes_everything_along(tmp_path):
    folder = student(
        tmp_path / "s",
        "import subprocess, time\n"
        "def total_macs():\n"
        "    subprocess.Popen(['sleep', '601'], start_new_session=True)\n"
        "    time.sleep(600)\n",
    )
    grader = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path\n"
        "from labgrade.sandbox.runner import Runner\n"
        "from labgrade.sandbox.requests import CallRequest\n"
        "from labgrade.core.task import Limits\n"
        f"Runner(zoo=Path({str(HERE / 'zoo_light.py')!r}), fresh=False).run(CallRequest(folder=Path({str(folder)!r}),\n"
        "    file='hw2_1.py', function='total_macs', given=(), subject=None, limits=Limits()))\n"
    )
    with subprocess.Popen([sys.executable, "-c", grader], env={"TMPDIR": str(tmp_path)}) as process:
        assert _wait_for(lambda: any(command(pid) == b"sleep\x00601\x00" for pid in family(process.pid)))
        pids = set(family(process.pid)) - {process.pid}
        assert len(pids) >= 4  # a server, a keeper, the job, and what it started
        process.kill()
    assert _wait_for(lambda: not any(Path("/proc", str(pid)).exists() for pid in pids))


def command(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


@linux
def test_where_a_library_starts_threads_each_child_loads_it_for_itself():
    with Runner(zoo=HERE / "zoo_threads.py", fresh=False) as runner:
        assert runner.run(request(GALLERY / "more_with_defaults")).value == 4
        assert runner._servers.get("students").state["threads"] == 1


def test_the_environment_can_ask_for_fresh_processes(monkeypatch):
    monkeypatch.setenv("LABGRADE_FRESH", "1")
    with Runner(zoo=HERE / "zoo_light.py") as runner:
        assert runner.run(request(GALLERY / "more_with_defaults")).value == 4
        assert type(runner._servers.get("students")).__name__ == "SpawnedServer"


@pytest.mark.promise("before-their-code-costs-nothing")
@pytest.mark.parametrize("fresh", [pytest.param(False, marks=linux), True])
def test_a_server_that_does_not_come_up_is_a_fault(fresh):
    with Runner(zoo=HERE / "zoo_broken.py", fresh=fresh) as runner:
        for _ in range(2):
            execution = runner.run(request(GALLERY / "exits_process"))
            assert execution.status == "fault"
            assert "No module named 'no_such_module'" in execution.reason


@pytest.mark.parametrize("fresh", [pytest.param(False, marks=linux), True])
def test_a_subject_that_cannot_be_built_is_a_fault_and_the_next_call_works(fresh):
    broken = SubjectSpec(model="broken", input=SUBJECT.input)
    with Runner(zoo=HERE / "zoo_small.py", fresh=fresh) as runner:
        execution = runner.run(request(GALLERY / "exits_process", subject=broken))
        assert execution.status == "fault"
        assert "there is no model 'broken'" in execution.reason
        assert runner.run(request(GALLERY / "more_with_defaults")).value == 4


def test_what_cannot_be_given_is_a_fault_of_the_spec():
    with Runner() as runner:
        unknown = runner.run(request(GALLERY / "counts", given=("modle",)))
        without = runner.run(request(GALLERY / "counts", subject=None))
    assert (unknown.status, unknown.reason) == ("fault", "nothing called 'modle' can be given")
    assert (without.status, without.reason) == ("fault", "there is no subject to be given")


def test_a_file_that_is_not_there_crashes_nobody(runner):
    execution = runner.run(request(GALLERY / "counts", file="hw2_2.py"))
    assert execution.status == "crashed"
    assert "FileNotFoundError" in execution.reason


def test_what_was_too_large_to_copy_is_said_when_it_is_missed(runner, tmp_path, monkeypatch):
    folder = student(tmp_path / "s", "def total_macs(*_): return open('weights.bin').read()")
    (folder / "weights.bin").write_bytes(b"x" * 1000)
    assert len(runner.run(request(folder)).value) == 1000
    monkeypatch.setattr(working_copy, "COPY_BYTES", 900)
    (folder / "weights.bin").write_bytes(b"y" * 1000)  # else what was laid for the first call is there
    execution = runner.run(request(folder))
    assert execution.status == "crashed"
    assert execution.reason.endswith("(too large to be copied for the call: weights.bin)")


def test_the_grader_imports_no_torch_and_no_student():
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path\n"
        "from labgrade.sandbox.runner import Runner\n"
        "from labgrade.sandbox.requests import CallRequest\n"
        "from labgrade.core.task import Limits\n"
        f"request = CallRequest(folder=Path({str(GALLERY / 'star_import')!r}), file='hw2_1.py',\n"
        "    function='total_macs', given=(), subject=None, limits=Limits())\n"
        f"with Runner(zoo=Path({str(HERE / 'zoo_light.py')!r})) as runner:\n"
        "    assert runner.run(request).status == 'crashed'\n"
        "print(sorted({'torch', 'numpy', 'onnx', 'parts', 'student_file'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("seconds", "status"), [(60.5, "timeout"), (50.0, "timeout"), (30.0, "memory")])
def test_what_the_kernel_kills_near_its_time_limit_has_used_up_its_time(seconds, status):
    """Its count of ticks runs ahead of the seconds that are told in the end, where others use the machine."""
    collected = SimpleNamespace(data=UP)
    child = SimpleNamespace(printed_too_much=False, result=collected)
    ending = Ending(child, up=True, exit=Exit(code=-9, seconds=seconds, why=""))
    assert what_happened(ending, "total_macs", Limits(seconds=60.0), "")[0] == status
