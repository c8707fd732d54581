"""Where jobs share a user id, what fails beside others is run once more, alone, and that is what counts."""

import sys
import threading

import pytest
from attacks.driver import Holder
from attacks.driver import call as attack
from sandbox.test_together import LIGHT, call

from labgrade.sandbox.host.side_by_side import Gate
from labgrade.sandbox.jail.layers import ALL, USERS
from labgrade.sandbox.runner import Runner

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")]

# Takes all pages of pipes that their one user may have, and holds them for as long as it takes another to begin.
FILLS = """
import fcntl, os, time

def attack():
    kept = []
    try:
        while True:
            kept.append(os.pipe())
            fcntl.fcntl(kept[-1][0], fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError:
        pass
    print("holding", flush=True)
    time.sleep(6)
"""
NEEDS = """
import fcntl, os

def attack():
    reader, writer = os.pipe()
    return fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 1 << 20)
"""
FAILS = "def f(model): raise ValueError('mine')"


def test_who_runs_by_itself_is_told_so_and_who_does_not_is_not(tmp_path):
    gate, other = Gate(tmp_path / "gate"), Gate(tmp_path / "gate")
    with gate.beside() as others_ran:
        assert not others_ran()
        with other.beside() as also:
            assert also()
        assert others_ran(), "though it has ended meanwhile"
    with gate.beside() as others_ran:
        assert not others_ran()


def test_who_runs_alone_waits_for_others_and_lets_nobody_begin(tmp_path):
    gate, order = Gate(tmp_path / "gate"), []
    asked, may_end = threading.Event(), threading.Event()

    def alone():
        asked.set()
        with Gate(tmp_path / "gate").alone():
            order.append("alone")
            assert not may_begin.wait(0.3)

    def late():
        with Gate(tmp_path / "gate").beside():
            may_begin.set()
            order.append("late")

    may_begin = threading.Event()
    with gate.beside():
        first = threading.Thread(target=alone)
        first.start()
        asked.wait()
        assert not may_end.wait(0.3)
        assert order == []
    while not order:
        may_end.wait(0.01)
    second = threading.Thread(target=late)
    second.start()
    for thread in (first, second):
        thread.join()
    assert order == ["alone", "late"]


@pytest.fixture
def together():
    with Runner(zoo=LIGHT, fresh=False, layers=tuple(layer for layer in ALL if layer != USERS)) as one:
        if one.protection.tier == "D":
            pytest.skip("there is no jail here")
        yield one


@pytest.mark.promise("shared-ids-cost-nothing")
def test_right_work_that_another_starved_is_right_once_it_is_alone(together, tmp_path, monkeypatch):
    ended = []
    run = together._run
    monkeypatch.setattr(together, "_run", lambda job: ended.append(run(job)) or ended[-1])
    for name, source in (("fills", FILLS), ("needs", NEEDS)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "hw.py").write_text(source)
    with Holder(together, tmp_path / "fills"):
        done = attack(together, tmp_path / "needs")
    assert (done.status, done.value) == ("returned", 1 << 20)
    assert len(ended) >= 2


def test_what_fails_by_itself_is_run_once(together, tmp_path, monkeypatch):
    runs = []
    run = together._run
    monkeypatch.setattr(together, "_run", lambda job: runs.append(job) or run(job))
    assert call(together, tmp_path / "a", FAILS).status == "crashed"
    assert len(runs) == 1


def test_where_jobs_are_apart_there_is_no_gate(tmp_path):
    with Runner(zoo=LIGHT, fresh=False) as one:
        if USERS not in one.protection.layers:
            pytest.skip("jobs have no users of their own here")
        assert call(one, tmp_path / "a", FAILS).status == "crashed"
        assert one._servers.gate("students") is None
