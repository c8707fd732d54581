"""What a check costs in the jail, against a fresh process for each check and one pytest process for each student.

    python benchmarks/sandbox.py [--jobs 100] [--fresh 5]

All in one run, so that the machine is the same. CPU time is what to compare: it hardly depends on what else runs.
Exits with 1 where a ratio or the memory of four live jobs is worse than promised.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from labgrade.answers.reader.asks import ask_value  # noqa: E402
from labgrade.answers.reader.reader import Reader  # noqa: E402
from labgrade.core.results import Submission  # noqa: E402
from labgrade.core.task import InputSpec, Limits, SubjectSpec, TextForm  # noqa: E402
from labgrade.sandbox.jail import usage  # noqa: E402
from labgrade.sandbox.jail.layers import ALL, USERS  # noqa: E402
from labgrade.sandbox.requests import CallRequest  # noqa: E402
from labgrade.sandbox.runner import Runner  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

GOOGLENET = SubjectSpec(model="torchvision/googlenet", input=InputSpec(shape=(1, 3, 224, 224)))
TRIVIAL = "def answer(): return 42\n"
COUNTS = """
import torch

def answer(model):
    macs = 0

    def count(module, inputs, output):
        nonlocal macs
        if isinstance(module, torch.nn.Conv2d):
            macs += output.numel() * module.weight[0].numel()
        else:
            macs += module.weight.numel()

    meta = model.to("meta")
    for module in meta.modules():
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            module.register_forward_hook(count)
    meta(torch.empty(1, 3, 224, 224, device="meta"))
    return [sum(parameter.numel() for parameter in model.parameters()), macs]
"""
# What both other ways have to do: import what a check needs, build the subject, call the function.
ALONE = f"""
import sys, warnings
sys.path.insert(0, {str(ROOT)!r})
from labgrade.subjects import models as zoo
torchvision = zoo.import_torchvision()
import torch, onnx, onnxruntime
warnings.simplefilter("ignore")
from hw import answer
print(answer({{argument}}))
"""
MODEL = "torchvision.models.googlenet(weights=None, aux_logits=False, init_weights=False).eval()"
CHECKS = 5
RATIOS = {"trivial check": 100.0, "GoogLeNet parameters + MACs": 25.0}
MEMORY_RATIO = 1.15
READING = 1.2  # trivial checks that reading a hand-in of small files in the jail may cost beyond reading it here
USER_MS = 1.0  # of CPU, for a user id of its own for each job
ROUNDS = 9


@dataclass(frozen=True, slots=True)
class Cost:
    """One way of running a check: checks a second, and CPU seconds a check."""

    rate: float
    cpu: float


def measured(run: Callable[[], object], times: int, checks: int = 1) -> Cost:
    """What a check costs where each `run` has several."""
    begin, start = _cpu(), time.perf_counter()
    for _ in range(times):
        run()
    wall = time.perf_counter() - start
    time.sleep(0.3)  # what ends a job ends after it was told
    return Cost(times * checks / wall, (_cpu() - begin) / times / checks)


def _median(costs: Iterable[Cost]) -> Cost:
    """The median of each figure."""
    known = list(costs)
    return Cost(statistics.median(each.rate for each in known), statistics.median(each.cpu for each in known))


def _cpu() -> float:
    """CPU seconds of this process and all below it, ended ones included."""
    return usage.cpu_seconds_of_all(os.getpid())


def warm(runner: Runner, folder: Path, source: str, subject: SubjectSpec | None) -> Callable[[], object]:
    """One check in the jail."""
    (folder / "hw.py").write_text(source)
    request = CallRequest(
        folder=folder,
        file="hw.py",
        function="answer",
        given=("model",) if subject else (),
        subject=subject,
        limits=Limits(),
    )

    def run() -> None:
        execution = runner.run(request)
        if execution.status != "returned":
            raise RuntimeError(execution.reason)

    return run


def alone(folder: Path, argument: str) -> Callable[[], object]:
    """One check in a fresh process."""
    (folder / "alone.py").write_text(ALONE.format(argument=argument))
    return lambda: subprocess.run([sys.executable, "alone.py"], cwd=folder, check=True, capture_output=True)


def by_pytest(folder: Path, argument: str) -> Callable[[], object]:
    """All checks of a student in one pytest process."""
    body = ALONE.format(argument=argument).replace("print(", "ANSWER = (")
    tests = "\n".join(f"def test_{number}():\n    answer({argument})\n" for number in range(CHECKS))
    (folder / "test_hw.py").write_text(body + tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "test_hw.py"]
    return lambda: subprocess.run(command, cwd=folder, check=True, capture_output=True)


def reading(reader: Reader, submission: Submission) -> Callable[[], object]:
    """Reading all of a hand-in of small files."""
    asks = [ask_value("count", TextForm(after="Total MACs", file=name)) for name in submission.files]

    def run() -> None:
        reader.forget()
        reader.expect(submission, asks)
        for ask in asks:
            if reader.ask(submission, ask) is None:
                raise RuntimeError(ask)

    return run


def small_files(folder: Path) -> Submission:
    """A hand-in of 20 of them."""
    folder.mkdir()
    for number in range(20):
        (folder / f"{number}.txt").write_text(f"# 2-1-{number}\n\nTotal MACs: {number:,}\n" * 20)
    return Submission(name="someone", folder=folder, files=tuple(sorted(path.name for path in folder.iterdir())))


def compare_reading(runner: Runner, folder: Path, jobs: int) -> bool:
    """Print what reading a hand-in in the jail costs; whether that is more than promised."""
    submission = small_files(folder / "small")
    ways = (
        warm(runner, folder, TRIVIAL, None),
        reading(Reader(runner), submission),
        reading(Reader(None), submission),
    )
    for run in ways:
        run()
    # In turn: the second core's work makes each slower, and it changes from one second to the next. In many short
    # rounds, since Linux counts the time of others' processes in hundredths of a second.
    rounds = [[measured(run, 5) for run in ways] for _ in range(max(jobs // 5, ROUNDS))]
    _, there, own = (_median(costs) for costs in zip(*rounds, strict=True))
    more = statistics.median((jailed.cpu - read.cpu) / trivial.cpu for trivial, jailed, read in rounds)
    print(f"reading 20 small files\n  {'in the jail':36}{there.rate:>10.1f}{there.cpu * 1e3:>10.1f}")
    print(f"  {'in this process':36}{own.rate:>10.1f}{own.cpu * 1e3:>10.1f}")
    print(f"  in the jail it costs {more:.2f} trivial checks more")
    return more > READING


def cost_of_users(folder: Path, jobs: int) -> float:
    """Milliseconds of CPU that a user id of its own costs a job: the median over rounds, each with both in turn."""
    layers = [layer for layer in ALL if layer != USERS]
    light = ROOT / "tests/sandbox/zoo_light.py"
    with Runner(zoo=light) as apart, Runner(zoo=light, layers=layers) as together:
        ways = [warm(runner, folder, TRIVIAL, None) for runner in (apart, together)]
        for one in ways:
            one()
        costs = [[measured(one, jobs).cpu for one in ways] for _ in range(ROUNDS)]
    return statistics.median(own - shared for own, shared in costs) * 1e3


def memory(runner: Runner, folder: Path) -> tuple[float, float]:
    """Proportional megabytes of the server alone, and with four live jobs."""
    (folder / "hw.py").write_text("import time\ndef answer(): time.sleep(6)\n")
    idle = _megabytes()
    request = CallRequest(folder=folder, file="hw.py", function="answer", given=(), subject=None, limits=Limits())
    threads = [threading.Thread(target=runner.run, args=(request,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(3)
    busy = _megabytes()
    for thread in threads:
        thread.join()
    return idle, busy


def _megabytes() -> float:
    return sum(usage.proportional_bytes(pid) for pid in usage.family(os.getpid())[1:]) / 1e6


def main() -> int:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--fresh", type=int, default=5)
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as name, Runner() as runner:
        folder = Path(name)
        print("\n".join(runner.protection.lines))
        warm(runner, folder, TRIVIAL, None)()
        extra = cost_of_users(folder, max(options.jobs // ROUNDS, 5))
        idle, busy = memory(runner, folder)
        cases = (("trivial check", TRIVIAL, None, ""), ("GoogLeNet parameters + MACs", COUNTS, GOOGLENET, MODEL))
        print(f"\n{'':38}{'checks/s':>10}{'CPU ms':>10}{'ratio':>8}")
        failed |= compare_reading(runner, folder, options.jobs)
        for title, source, subject, argument in cases:
            one = warm(runner, folder, source, subject)
            one()
            jailed = measured(one, options.jobs)
            others = {
                "a fresh process each": measured(alone(folder, argument), options.fresh),
                f"one pytest a student ({CHECKS} checks)": measured(by_pytest(folder, argument), options.fresh, CHECKS),
            }
            print(f"{title}\n  {'in the jail':36}{jailed.rate:>10.1f}{jailed.cpu * 1e3:>10.1f}")
            for way, cost in others.items():
                print(f"  {way:36}{cost.rate:>10.2f}{cost.cpu * 1e3:>10.0f}{cost.cpu / jailed.cpu:>8.0f}")
            failed |= others["a fresh process each"].cpu < RATIOS[title] * jailed.cpu
    print(f"\na user id for each job: {extra:+.2f} ms")
    print(f"memory: server {idle:.0f} MB, with four live jobs {busy:.0f} MB ({busy / idle:.2f} times)")
    return int(failed or extra > USER_MS or busy > MEMORY_RATIO * idle)


if __name__ == "__main__":
    sys.exit(main())
