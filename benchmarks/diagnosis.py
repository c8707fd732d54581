"""What it costs to tell why a function is wrong, in seconds of CPU: right and wrong functions of a few tasks.

python benchmarks/diagnosis.py

A wrong function is called on the small networks in one process, and hypotheses are tried in the process that computes
ground truth. Both are measured as they are while a class is graded: servers are started, and the networks were computed
once before. What slips make of the network that tells most is remembered from the first wrong answer on.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.results import Submission
from labgrade.diagnosis.behaviour import explore
from labgrade.diagnosis.networks.called import called_on
from labgrade.diagnosis.probe import Trials
from labgrade.diagnosis.repair.repairs import Repairs
from labgrade.run.grader import Grader
from labgrade.spec import course, load

if TYPE_CHECKING:
    from labgrade.core.task import Check, Task

ROOT = Path(__file__).parents[1]
EXEMPLAR = ROOT / "submissions" / "exemplar"
# task, check, file, and what is put in place of what: nothing for the right function
FUNCTIONS = (
    ("2-1-4-macs", "total", "hw2_1.py", "", ""),
    ("2-1-4-macs", "total", "hw2_1.py", "// module.groups ", ""),
    ("2-1-4-macs", "total", "hw2_1.py", "y.numel() * module.in_channels // module.groups", "y[0].numel() * 7"),
    ("2-1-1-parameters", "total", "hw2_1.py", "model.parameters())", "model.parameters() if p.requires_grad)"),
    ("2-2-2-bandwidth", "total", "hw2_2.py", "read + written for", "read for"),
)


def main() -> None:
    """Print one line a function, of the first wrong answers and of later ones."""
    where = course.find(ROOT)
    with Grader(where) as grader:
        for begun in ("what starts servers and computes networks", "the first of its kind", "each of a class"):
            print(f"{begun}:")
            wanted = (FUNCTIONS[0], FUNCTIONS[3], FUNCTIONS[4]) if begun.startswith("what") else FUNCTIONS
            for name, check, file, old, new in wanted:
                task = load.read(ROOT / "specs" / "acal-lab2" / f"{name}.yaml", where)
                measure(grader, task, next(each for each in task.checks if each.id == check), file, (old, new))


def measure(grader: Grader, task: Task, check: Check, file: str, change: tuple[str, str]) -> None:
    """One function: what is said of it, and the CPU that all processes took."""
    with tempfile.TemporaryDirectory() as folder:
        source = (EXEMPLAR / file).read_text(encoding="utf-8")
        (Path(folder) / file).write_text(source.replace(*change) if change[0] else source, encoding="utf-8")
        who = Submission(name="someone", folder=Path(folder), files=(file,))
        before, begun = _cpu(), time.monotonic()
        trials = Trials(grader, task, check, who)
        found = explore(trials, called_on(trials))
        right = all(each.right for each in found.called)
        changed = "" if found.holds or right else Repairs(trials, [*found.called, *found.others]).of_all()
        said = "+".join(found.holds.slips) if found.holds else "right" if right else changed[:32] or "nothing"
        print(f"{task.id:20} {said:32} {_cpu() - before:5.2f} s CPU, {time.monotonic() - begun:5.2f} s", flush=True)


def _cpu() -> float:
    """The CPU of this process and of all that it started, those that ended included."""
    parents, taken = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(words[1])
            taken[int(stat.parent.name)] = sum(map(int, words[11:15]))
    ours = {os.getpid()}
    while more := {each for each, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(taken.get(each, 0) for each in ours) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
