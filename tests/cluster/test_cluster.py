"""A class on a real scheduler with worker processes: the report of one machine, whatever is killed meanwhile."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import classroom
from helpers.soak import soak

from labgrade.cluster import connect, workers
from labgrade.cluster.workers import ClusterMachines
from labgrade.ledger import read
from labgrade.ledger.verdict_memory import Recorded
from labgrade.run import class_run
from labgrade.run.plan import RunRequest
from labgrade.spec.load import chosen

pytestmark = pytest.mark.slow

SIZE = 12
CODE = """
id: code
title: Some code
points: 2
statement: How large is it?
subject: {model: torchvision/alexnet, input: [1234, 2]}
answers:
  size: {type: count, from: [{call: 'hw.py:size(input_size)'}]}
checks:
  - {id: size, points: 2, answer: size, checker: equal, expected: {quantity: size}}
"""
MANY = int(os.environ.get("LABGRADE_CLASS", "200"))  # submissions of real work on three workers
ROOT = Path(__file__).parents[2]
LONG = 300  # seconds after which something is broken: nothing is measured here


@pytest.fixture(scope="module")
def client():
    with connect.connected("local:2") as found:
        yield found


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    return classroom.Classroom(tmp_path, SIZE)


def grade(room, client, results, tell=lambda _: None, **asked):
    wanted = RunRequest(source=room.submissions, results=results, root=room.folder, **asked)
    machines = ClusterMachines(client)
    events = []
    for event in class_run.grade(wanted, lambda found: chosen(found, None, []), machines):
        tell(event)
        events.append(event)
    machines.close()
    return events


def kept(results):
    """The report, but for how long each check took and when."""
    found = read.report_of(results)
    return re.sub(r"seconds=[^,)]*|'seconds': '[^']*'", "", repr((found.submissions, found.notes)))


def test_the_report_is_that_of_one_machine(room, client, monkeypatch):
    monkeypatch.setattr(workers, "_TOGETHER_SECONDS", LONG)  # several travel together, however slow this machine is
    room.write("specs/lab/code.yaml", CODE)
    room.write("handed in/s000/hw.py", "def size(input_size):\n    return input_size[0]\n")
    room.write("handed in/s001/hw.py", "def size(input_size):\n    return input_size[1]\n")
    here = room.grade(jobs=2)
    *_, there = grade(room, client, room.folder / "there")
    assert kept(room.folder / "there") == kept(room.results)
    assert there.ran == here.ran
    outcomes = room.outcomes()
    assert (outcomes["s000", "size"], outcomes["s001", "size"]) == ("CORRECT", "INCORRECT")
    *_, again = grade(room, client, room.folder / "there")
    assert again.ran == 0
    room.edit("handed in/s002/answers.yaml", "total: 72", "total: 1234")
    *_, changed = grade(room, client, room.folder / "there")
    assert {(each.who, each.place[2]) for each in changed.changes} == {("s002", "total"), ("s002", "secret")}


def test_what_a_person_decided_opens_what_needs_it(room, client):
    """The worker judges what the mark opens, and not what it was before."""
    room.edit("specs/lab/task.yaml", "needs: [total]", "needs: [essay]")
    room.grade()
    grade(room, client, room.folder / "there")
    assert kept(room.folder / "there") == kept(room.results)


@soak
def test_a_worker_that_is_killed_loses_nothing_and_nothing_is_judged_twice(room, client, monkeypatch):
    monkeypatch.setattr(workers, "_TOGETHER_SECONDS", LONG)
    pids = sorted(client.run(os.getpid).values())
    entered = []

    def kill(event):
        if isinstance(event, Recorded):
            entered.append(event)
            if len(entered) in (1, 25):  # the first at once, the other midway
                os.kill(pids.pop(), signal.SIGKILL)

    grade(room, client, room.results, kill)
    assert not pids
    assert room.outcomes() == classroom.expected(SIZE)
    judged = classroom.rows(room.results, "SELECT key FROM judged GROUP BY key HAVING count(*) > 1")
    assert not judged


@soak
def test_many_on_three_workers_of_which_one_is_killed_twice_are_what_they_are_on_one_machine(tmp_path, monkeypatch):
    """Functions that are right, wrong in known ways or broken, outputs and reports; no two students have the same."""
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    runpy.run_path(str(ROOT / "benchmarks/class.py"))["make"](tmp_path / "handed in", MANY)
    tasks = ["2-1-2-weight-bytes"]

    def graded(into, machines=None, tell=lambda _: None):
        wanted = RunRequest(source=tmp_path / "handed in", results=tmp_path / into, root=ROOT, tasks=tuple(tasks))
        for event in class_run.grade(wanted, lambda found: chosen(found, None, tasks), machines):
            tell(event)
        return event

    here = graded("here")
    assert here.ran >= MANY
    with connect.connected("local:3") as client:
        first = next(iter(client.cluster.workers.values()))
        killed, seen = [], []

        def kill(event):
            """The first worker, at once; and the one that took its place, in the middle."""
            if isinstance(event, Recorded):
                seen.append(event)
            if len(seen) > len(killed) * here.ran // 2 and len(killed) < 2 and first.pid not in (None, *killed):
                killed.append(first.pid)
                os.kill(first.pid, signal.SIGKILL)

        machines = ClusterMachines(client)
        there = graded("there", machines, kill)
        machines.close()
    assert len(set(killed)) == 2
    assert (there.ran, there.lost) == (here.ran, ())
    assert kept(tmp_path / "there") == kept(tmp_path / "here")


@soak
def test_a_submission_that_ends_its_session_each_time_costs_nobody_else(room, client, monkeypatch):
    """Not by a student's code, which is in the jail: by a checker of the course's own."""
    monkeypatch.setattr(workers, "_TOGETHER_SECONDS", LONG)
    room.write(
        "checkers/own.py",
        "import os\n" + classroom.CHECKER.replace("return correct()", "os._exit(3)\n    return correct()"),
    )
    names = ("s000", "s001", "s002")
    events = grade(room, client, room.results, names=names)
    lost = [each for each in events if type(each).__name__ == "WorkerLost"]
    assert {each.job for each in lost} <= {
        f"s{at:03}" for at in range(SIZE) if classroom.OUTCOMES["odd"][at % 4] != "MISSING"
    }
    assert lost
    outcomes = room.outcomes()
    assert outcomes["s002", "total"] == "INCORRECT"


@pytest.mark.promise("no-page-for-the-network")
def test_nobody_reaches_the_workers_without_our_keys(client):
    place = client.scheduler.address
    assert place.startswith("tls://127.0.0.1:")
    import distributed

    for security in (None, distributed.Security.temporary()):
        with pytest.raises((OSError, TypeError)):
            distributed.Client(place.replace("tls", "tls" if security else "tcp"), security=security, timeout=5)


def scheduler(folder):
    """A scheduler of its own, which can be killed, and a worker; their address."""
    place = folder / "scheduler.json"
    begin = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    first = subprocess.Popen([*begin, "--no-dashboard", "--scheduler-file", place], stderr=subprocess.DEVNULL)
    own = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard"]
    second = subprocess.Popen(
        [*own, "--scheduler-file", place, "--death-timeout", "60"], stderr=subprocess.DEVNULL, cwd=folder
    )
    return first, second, place


def sessions():
    """The processes that grade for a cluster on this machine."""
    found = subprocess.run(["pgrep", "-f", "labgrade.cluster.session"], capture_output=True, text=True, check=False)
    return set(found.stdout.split())


def gone(pids):
    end = time.monotonic() + LONG
    while sessions() & pids and time.monotonic() < end:
        time.sleep(0.1)
    return not sessions() & pids


@soak
def test_a_scheduler_that_is_killed_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    room = classroom.Classroom(tmp_path, 60)
    before = sessions()
    first, second, place = scheduler(tmp_path)
    try:
        while not place.is_file() or not place.read_text():
            time.sleep(0.1)
        address = json.loads(place.read_text())["address"]
        refused = room.cli("grade", "handed in", "--cluster", address)
        assert refused.returncode == 2
        assert "everybody on the way can read" in refused.stderr
        running = subprocess.Popen(
            room.command("grade", "handed in", "--cluster", address, "--insecure"),
            cwd=tmp_path,
            env=room.environment(),
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        while running.poll() is None and not (room.results.is_dir() and len(_judged(room)) > 5):
            time.sleep(0.05)
        first.kill()
        _, said = running.communicate(timeout=LONG)
        assert running.returncode == 2, said
        assert "the cluster's scheduler is gone; what was graded is kept" in said
        assert "Traceback" not in said
    finally:
        for each in (first, second):
            each.kill()
            each.wait()
    assert gone(sessions() - before)
    assert _judged(room).items() <= classroom.expected(60).items()
    room.grade(jobs=2)
    assert room.outcomes() == classroom.expected(60)


def _judged(room):
    try:
        return room.outcomes()
    except Exception:  # noqa: BLE001 - it is being made
        return {}


@soak
def test_ctrl_c_ends_what_runs_on_the_workers(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    room = classroom.Classroom(tmp_path, 2)
    room.write("specs/lab/code.yaml", CODE.replace("points: 2\n", "points: 2\nlimits: {seconds: 200}\n", 1))
    room.write("handed in/s000/hw.py", "def size(input_size):\n    while True: pass\n")
    before = sessions()
    running = subprocess.Popen(
        room.command("grade", "handed in", "--cluster", "local:2"),
        cwd=tmp_path,
        env=room.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    end = time.monotonic() + LONG
    while ("s001", "total") not in _judged(room) and time.monotonic() < end:
        time.sleep(0.2)
    began = sessions() - before
    assert began
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=LONG)
    assert running.returncode == 130, said
    assert "what was graded is kept" in said
    assert "Traceback" not in said
    assert gone(began)
