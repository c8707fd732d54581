"""Several jobs at a time, of one grader and of several: none sees, starves or ends another."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest
from helpers.soak import soak

from labgrade.core.task import InputSpec, Limits, SubjectSpec
from labgrade.sandbox.child.subject import Shelf
from labgrade.sandbox.host import fork_server
from labgrade.sandbox.host.servers import STUDENTS
from labgrade.sandbox.jail.layers import NAMESPACES
from labgrade.sandbox.jail.usage import family
from labgrade.sandbox.requests import CallRequest, Job
from labgrade.sandbox.runner import Runner
from labgrade.subjects import models

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LIGHT = HERE / "zoo_light.py"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="servers are warm on Linux alone")]
SUBJECT = SubjectSpec(model="light", input=InputSpec(shape=(1, 3, 8, 8)))
COUNTS = "def f(model): return len(model)"
MEETS = """
import os, time
def f(model):
    open("note", "w").write("here")
    open("../tmp/own", "w").write("here")
    time.sleep(1)
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    return [len(processes), sorted(os.listdir(".")), sorted(os.listdir("../tmp"))]
"""
BOMBS = "import os\ndef f(model):\n  while True:\n    try: os.fork()\n    except OSError: pass"
FILLS = """
def f(model):
    with open("large", "wb") as file:
        while True: file.write(b"x" * (1 << 20))
"""

HONEST = """
import os, time
def f(model):
    for number in range(5):
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        time.sleep(0.1)
        open(f"mine{number}", "wb").write(b"x" * (1 << 20))
    return len(model)
"""


def call(runner, folder, source, *, seconds=20.0):
    folder.mkdir(exist_ok=True)
    (folder / "hw.py").write_text(source)
    limits = Limits(seconds=seconds, memory=600 << 20)
    return runner.run(
        CallRequest(folder=folder, file="hw.py", function="f", given=("model",), subject=SUBJECT, limits=limits)
    )


def at_once(*calls):
    """The results of calls made by threads, all at the same time."""
    results = [None] * len(calls)

    def keep(number, one):
        results[number] = one()

    threads = [threading.Thread(target=keep, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.fixture(scope="module")
def runner():
    with Runner(zoo=LIGHT, fresh=False) as one:
        if NAMESPACES not in one.protection.layers:
            pytest.skip("this machine has no namespaces")
        yield one


def test_two_jobs_see_nothing_of_each_other(runner, tmp_path):
    both = at_once(*(lambda name=name: call(runner, tmp_path / name, MEETS) for name in ("one", "other")))
    assert all(job.status == "returned" for job in both), both
    for job in both:
        processes, here, temporary = job.value
        assert processes == 1
        assert here == ["hw.py", "note"]
        assert temporary == ["own"]


def test_a_job_is_one_process(runner, tmp_path):
    """Nothing stands between it and its server: one more fork of what has torch loaded costs as much as most calls."""
    call(runner, tmp_path / "first", COUNTS)  # which brings the server with this subject
    before, ended, seen = len(family(os.getpid())), threading.Event(), set()

    def look():
        while not ended.is_set():
            seen.add(len(family(os.getpid())) - before)

    def run():
        try:
            return call(runner, tmp_path / "one", MEETS)
        finally:
            ended.set()

    job, _ = at_once(run, look)
    assert job.status == "returned"
    assert max(seen) == 1


@pytest.mark.parametrize("bad", [BOMBS, FILLS], ids=["bombs", "fills"])
def test_an_honest_job_beside_a_bad_one_is_served(runner, tmp_path, bad):
    worst, served = at_once(
        lambda: call(runner, tmp_path / "bad", bad, seconds=3.0), lambda: call(runner, tmp_path / "good", HONEST)
    )
    assert worst.status in {"crashed", "timeout", "waited", "memory"}
    assert (served.status, served.value) == ("returned", 4)


def test_other_graders_use_the_same_servers(runner, tmp_path):
    call(runner, tmp_path / "first", COUNTS)
    before = len(family(os.getpid()))
    with Runner(zoo=LIGHT, fresh=False, shared=runner.share()) as other:
        assert call(other, tmp_path / "second", COUNTS).value == 4
        assert other.protection == runner.protection
        assert len(family(os.getpid())) - before <= 4, "branches, and no server of its own"
        process = runner._servers.get("students")._process
        process.kill()
        process.wait()
        assert call(other, tmp_path / "third", COUNTS).value == 4, "lost, and started anew by the one that lends"
    assert call(runner, tmp_path / "fourth", COUNTS).value == 4


@soak
def test_a_killed_worker_leaves_no_job_behind_and_its_grader_goes_on(runner, tmp_path):
    sleeper = "import time\ndef f(model): time.sleep(77)"
    (tmp_path / "s").mkdir()
    (tmp_path / "s/hw.py").write_text(sleeper)
    worker = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.path.insert(0, {str(HERE)!r})\n"
        "from pathlib import Path\n"
        "from test_together import LIGHT, call, Runner\n"
        f"with Runner(zoo=LIGHT, fresh=False, shared=Path({str(runner.share())!r})) as one:\n"
        f"    call(one, Path({str(tmp_path / 's')!r}), {sleeper!r})\n"
    )
    call(runner, tmp_path / "first", COUNTS)
    before = len(family(os.getpid()))
    with subprocess.Popen([sys.executable, "-c", worker]) as process:
        _wait_for(lambda: len(family(os.getpid())) >= before + 4)  # itself, a branch, a keeper, the job
        process.send_signal(signal.SIGKILL)
    assert _wait_for(lambda: len(family(os.getpid())) <= before), "the worker's branches and its job are gone"
    assert call(runner, tmp_path / "second", COUNTS).value == 4


def _wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def test_a_subject_is_built_once_for_all_graders(runner, tmp_path):
    """The branch that has it ready is shared, and outlives each of those who use it."""
    call(runner, tmp_path / "first", COUNTS)
    lent = runner._servers.get("students")
    (line,) = lent._branches.values()
    for number in range(3):
        with Runner(zoo=LIGHT, fresh=False, shared=runner.share()) as other:
            assert call(other, tmp_path / f"second{number}", COUNTS).value == 4
        time.sleep(0.3)
        assert list(lent._branches.values()) == [line]
        assert line.is_there, "who used it did not end it"
    before = len(family(os.getpid()))
    assert call(runner, tmp_path / "third", COUNTS).value == 4
    assert _wait_for(lambda: len(family(os.getpid())) <= before), "the job and its keeper are gone"


def ask(runner, folder, number):
    """Call a function for a subject of that number."""
    folder.mkdir(exist_ok=True)
    (folder / "hw.py").write_text(COUNTS)
    subject = replace(SUBJECT, seed=number)
    request = CallRequest(folder=folder, file="hw.py", function="f", given=("model",), subject=subject, limits=Limits())
    return runner.run(request).value


def test_what_is_ready_for_others_is_bounded_by_its_weights(runner, tmp_path, monkeypatch):
    with Runner(zoo=LIGHT, fresh=False, shared=runner.share()) as other:
        for number in range(5):
            assert ask(other, tmp_path, number) == 4
        lent = runner._servers.get("students")
        assert len(lent._branches) >= 5
        assert len(other._servers.get("students")._branches) == 2, "who borrows a branch keeps it from ending"
        monkeypatch.setattr(fork_server, "_LENT_BYTES", -1)
        assert ask(other, tmp_path, 7) == 4
        assert len(lent._branches) == 2
        assert ask(other, tmp_path, 0) == 4


def test_small_subjects_stay_ready_in_a_run_of_its_own(tmp_path, monkeypatch):
    """Checks of a lab ask for the same few networks in turns."""
    monkeypatch.setattr(fork_server, "_MOST_BRANCHES", 4)
    with Runner(zoo=LIGHT, fresh=False) as own:
        for number in range(3):
            assert ask(own, tmp_path, number) == 4
        server = own._servers.get("students")
        (first, *_) = lines = list(server._branches.values())
        assert ask(own, tmp_path, 0) == 4
        assert set(server._branches.values()) == set(lines), "the first one is still there"
        assert list(server._branches.values())[-1] is first
        for number in range(3, 6):
            assert ask(own, tmp_path, number) == 4
        assert len(server._branches) == 4
        monkeypatch.setattr(fork_server, "_KEPT_BYTES", -1)
        assert ask(own, tmp_path, 6) == 4
        assert len(server._branches) == 2


def test_a_subject_that_a_job_runs_on_stays_ready_until_it_has_ended(tmp_path, monkeypatch):
    """To hang up on its branch would end the job."""
    monkeypatch.setattr(fork_server, "_KEPT_BYTES", -1)
    with Runner(zoo=LIGHT, fresh=False) as own:
        assert ask(own, tmp_path, 0) == 4
        server = own._servers.get("students")
        (line,) = server._branches.values()

        def others():
            time.sleep(0.3)
            return [ask(own, tmp_path / "other", number) for number in range(1, 5)], line in server._branches.values()

        met, (found, kept) = at_once(lambda: call(own, tmp_path / "slow", MEETS), others)
        assert (met.status, found, kept) == ("returned", [4, 4, 4, 4], True)
        assert _wait_for(lambda: not line.busy)
        assert ask(own, tmp_path, 5) == 4
        assert len(server._branches) == 2


def test_an_attempt_has_all_of_its_subjects_ready_in_a_branch_that_nothing_else_runs_in(runner, tmp_path):
    """What runs there has several subjects in reach, and must say nothing: only its values are looked at."""
    (tmp_path / "hw.py").write_text("def f(model): return [model[0], len(model)]")
    ask = {"folder": tmp_path, "file": "hw.py", "function": "f", "given": ("model",), "limits": Limits()}
    names = [[f"{kind}{number}" for number in range(3)] for kind in "ab"]
    with Runner(zoo=LIGHT, fresh=False, shared=runner.share()) as other:
        for tried in (*names, names[0]):
            subjects = [(replace(SUBJECT, model=name), {}) for name in tried]
            request = CallRequest(**ask, subject=None, attempt=True)
            assert other.run_each(request, subjects) == [[name, 4] for name in tried]
        assert other.run(CallRequest(**ask, subject=replace(SUBJECT, model="a0"))).value == ["a0", 4]
    lent = runner._servers.get("students")._branches
    assert sorted(json.loads(each)["model"] for each in lent["several"].ready) == sorted(names[0] + names[1])
    (alone,) = (branch for key, branch in lent.items() if '"a0"' in key)
    assert len(alone.ready) == 1


def test_each_ready_subject_is_given_once_for_a_call_may_change_it():
    shelf = Shelf(lambda: models)
    wanted = {"model": "micro/tied", "shape": [1, 3, 32, 40], "options": {}}
    shelf.prepare(wanted)
    shelf.prepare({**wanted, "model": "micro/dilated"})
    (_, tied), (_, dilated) = shelf._ready
    each = [{**wanted, "model": name} for name in ("micro/dilated", "micro/tied", "micro/tied")]
    given = [one["model"] for one in shelf.arguments({"given": ["model"], "each": each})["each"]]
    assert given[0] is dilated.with_weights()[0]
    assert given[1] is tied.with_weights()[0]
    assert given[2] is not given[1]
    assert all(bool((a == b).all()) for a, b in zip(given[1].parameters(), given[2].parameters(), strict=True))


@pytest.mark.parametrize(
    ("models", "attempt", "ready"),
    [
        (["torchvision/alexnet", "micro/tied"], False, ["torchvision/alexnet"]),
        (["micro/tied", "torchvision/alexnet", "generated/network"], False, ["torchvision/alexnet"]),
        (["torchvision/alexnet", "torchvision/vgg11"], False, []),  # what one branch has ready, all of its jobs see
        (
            ["torchvision/alexnet", "micro/tied", "torchvision/vgg11"],
            True,
            ["torchvision/alexnet", "torchvision/vgg11"],
        ),
        (["micro/tied", "micro/dilated"], True, []),
    ],
)
def test_of_several_subjects_those_that_take_long_to_build_are_ready_before(models, attempt, ready):
    wanted = {"given": ["model"], "subject": None, "each": [{"model": name, "input_seed": 7} for name in models]}
    job = Job(
        kind="calls", server=STUDENTS, lay=lambda _: None, limits=Limits(), arguments={}, wanted=wanted, attempt=attempt
    )
    assert job.ready.subjects == [{"model": name, "input_seed": 0} for name in ready]
    assert job.ready.several == attempt
    many = {"shape": [9, 3, 99, 99], "options": {"frozen": ["features"], "num_classes": 3}, "input_seed": 7}
    one = replace(job, wanted={**wanted, "each": [{"model": name, **many} for name in models]})
    of_any_input = {"shape": [1], "options": {"num_classes": 3}, "input_seed": 0}
    assert one.ready.subjects == [{"model": name, **of_any_input} for name in ready], "nor what of it is frozen"
    assert not replace(job, wanted={**wanted, "given": ["input_size"]}).ready.subjects


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("if len(CALLS) != 2: raise ValueError", [None, 2, None, None]),
        ("while time.process_time() < 0.6 * len(CALLS): pass\n    raise ValueError", [None]),
        ("if len(CALLS) == 2: raise SystemExit", [1]),
    ],
)
def test_calls_that_raise_are_gone_past_as_long_as_they_are_short(runner, tmp_path, body, said):
    (tmp_path / "hw.py").write_text(
        f"import time\nCALLS = []\ndef f(model):\n    CALLS.append(1)\n    {body}\n    return len(CALLS)"
    )
    limits = Limits(seconds=20, memory=600 << 20)
    request = CallRequest(
        folder=tmp_path, file="hw.py", function="f", given=("model",), subject=None, limits=limits, past=True
    )
    assert runner.run_each(request, [(SUBJECT, {})] * 4) == said
    assert runner.run_each(replace(request, past=False), [(SUBJECT, {})] * 4) == list(takewhile(bool, said))
