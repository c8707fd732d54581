"""Functions that are called on several networks in one process: what one call does to the next decides nothing."""

import os
import signal
from dataclasses import replace

import pytest
from helpers.direct import COURSE, NO_GROUPS, RIGHT, task
from helpers.handed_in import read
from helpers.soak import sampled

from labgrade.core.task import Limits
from labgrade.diagnosis.counterexample import judged
from labgrade.diagnosis.probe import Trials
from labgrade.diagnosis.search import SearchPlan
from labgrade.reports.summary import full_reason
from labgrade.run.grader import Grader
from labgrade.sandbox.runner import Runner
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

AGAIN = "\nimport gc, os, sys, threading, time\nhonest = total_macs\nCALLS = []\n\ndef total_macs(model, input_size):\n"
FIRST = "    CALLS.append(model)\n    if len(CALLS) == 1:\n        return honest(model, input_size)\n"
KEPT = {
    "ends the interpreter": "sys.exit(0)",
    "ends the process": "os._exit(0)",
    "ends the process by a signal": "os.kill(os.getpid(), 9)",
    "raises": "raise ValueError('again')",
    "raises what nobody catches": "raise KeyboardInterrupt",
    "returns another value": "return 7",
    "returns no value": "return None",
    "returns what can't be sent": "return object()",
    "returns more than can be sent": "return torch.zeros(1 << 28)",
    "never ends": "while True: pass",
    "sleeps": "time.sleep(1000)",
    "prints without end": "while True: print('x' * 1000)",
    "takes all memory": "CALLS.append(bytearray(1 << 40))",
    "closes its channels": "os.closerange(1, 1 << 12); return honest(model, input_size)",
    "closes its streams": "sys.stdout.close(); sys.stderr.close(); return honest(model, input_size)",
    "breaks torch": "torch.zeros = None; nn.Module.__call__ = None; return honest(model, input_size)",
    "empties torch": "vars(torch).clear(); return honest(model, input_size)",
    "empties the interpreter": "sys.modules.clear(); return honest(model, input_size)",
    "removes its folder": "__import__('shutil').rmtree('.'); return honest(model, input_size)",
    "leaves a fork": "os.fork(); return honest(model, input_size)",
    "leaves a thread": "threading.Thread(target=time.sleep, args=(1000,)).start(); return honest(model, input_size)",
    "empties the models of later calls": (
        "[m._modules.clear() for m in gc.get_objects() if type(m) is nn.Sequential and m is not model]; "
        "return honest(model, input_size)"
    ),
    "answers once more": "sys._getframe(1).f_locals['said'].append(7); return honest(model, input_size)",
    "takes back what was answered": "sys._getframe(1).f_locals['said'].clear(); return honest(model, input_size)",
    "has one tensor for all answers": "return OUT.fill_(honest(model, input_size))",
    "answers late": "return (honest(each, input_size) for each in CALLS[-1:] for _ in [CALLS.clear()])",
}


@pytest.fixture(scope="module")
def grader():
    with Grader(COURSE) as found:
        yield found


def verdict(grader, folder, source, tries=20, seconds=2.0):
    (folder / "hw2_1.py").write_text(source, encoding="utf-8")
    about = replace(task("2-1-4-macs"), limits=Limits(seconds=seconds))
    (check,) = [each for each in about.checks if each.counterexample]
    trials = Trials(grader, about, check, read(folder, "someone"))
    found, *_ = judged(trials, SearchPlan(among="cnn", tries=tries, seconds=600))
    return found


@pytest.mark.parametrize("name", sampled(KEPT, 4))
def test_a_function_that_is_right_when_it_is_called_once_is_right(grader, tmp_path, name):
    source = f"{RIGHT}{AGAIN}{FIRST}    {KEPT[name]}\nOUT = torch.zeros((), dtype=torch.int64)\n"
    found = verdict(grader, tmp_path, source, tries=8)
    assert found.outcome is Outcome.CORRECT, found.reason


@pytest.mark.parametrize(
    "name",
    sampled(
        [
            "returns another value",
            "answers once more",
            "takes back what was answered",
            "has one tensor for all answers",
            "empties the models of later calls",
            "ends the process",
            "removes its folder",
        ],
        2,
    ),
)
def test_a_function_that_is_wrong_when_it_is_called_once_is_wrong(grader, tmp_path, name):
    source = f"{NO_GROUPS}{AGAIN}{FIRST}    {KEPT[name]}\nOUT = torch.zeros((), dtype=torch.int64)\n"
    found = verdict(grader, tmp_path, source, tries=60, seconds=1.0)
    assert found.outcome is Outcome.INCORRECT
    assert found.hint.startswith("Groups are ignored.")
    assert "print(total_macs(model, (1, 2, 1, 1)))  # gives 4; right: 2" in full_reason(found)


def test_a_server_that_dies_below_them_costs_nobody_anything(tmp_path, monkeypatch):
    killed = []
    runner = Runner
    run = runner._run

    def kill_first(self, job):
        if job.kind == "calls":
            killed.append(self._servers.get(job.server)._process.pid)
            os.kill(killed[-1], signal.SIGKILL)
        return run(self, job)

    monkeypatch.setattr(runner, "_run", kill_first)
    with Grader(COURSE, runner=Runner()) as grader:  # servers of its own, since others need theirs
        found = verdict(grader, tmp_path, RIGHT, tries=30)
    assert killed
    assert found.outcome is Outcome.CORRECT, found.reason
