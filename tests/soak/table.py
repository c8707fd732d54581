"""What labgrade says of the numbers that tools print: `python tests/soak/table.py [FILE]` grades each as an answer.

The file has tool,version,network,quantity,printed,right of `eight_networks.py`. It prints each hint once, the rows of
which the tool is not named, and how many wrong numbers are named by their tool, and right ones are right.
"""

from __future__ import annotations

import csv
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.handed_in import read

from labgrade.answers.reader.reader import Reader
from labgrade.run.grader import Grader
from labgrade.run.task import TaskGrading
from labgrade.spec import course, load
from labgrade.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from labgrade.core.task import Task

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
INPUTS = {
    "convs": "[1, 3, 16, 16]",
    "up": "[1, 8, 8, 8]",
    "tokens": "[1, 10, 12]",
    "words": "{shape: [1, 7], fill: tokens, below: 50}",
    "functional": "[1, 3, 10, 10]",
    "shared": "[4, 3, 8, 8]",
    "attend": "[1, 3, 16, 16]",
    "edge": "[1, 4, 32]",
}
MADE = {"functional": "functions"}  # whose name is taken in that file
QUANTITIES = {"macs": "macs", "flops": "flops", "parameters": "parameters", "param bytes": "weight_bytes"}
# What the table calls tools that have another name in a hint.
NAMES = {
    "ptflops (default)": "ptflops",
    "ptflops (count_functional=False)": "ptflops with count_functional=False",
    "ptflops (aten backend)": "ptflops with backend='aten'",
    "torch_flop_counter": "torch.utils.flop_counter",
    "torch_flop_counter_grad": "torch.utils.flop_counter",
    "torch_profiler": "torch.profiler with with_flops=True",
    "torch_pruning": "torch-pruning",
    "torch_summary": "torch-summary",
    "ultralytics_thop": "ultralytics-thop",
    "flops_profiler": "flops-profiler's get_model_profile",
    "pytorch_model_summary": "pytorch-model-summary",
}
_SPEC = """\
id: {network}-{quantity}
title: Counting
points: 1
statement: Count.
subject: {{model: eight/{made}, input: {shape}}}
self_check: values
hand_in: {{entries: <number>}}
answers: {{total: {{type: count}}}}
checks:
  - {{id: total, points: 1, answer: total, checker: equal, expected: {{quantity: {quantity}}}, misconceptions: known}}
"""


@dataclass(frozen=True)
class Row:
    """A row of the table with labgrade's verdict on it."""

    tool: str
    network: str
    quantity: str
    printed: int
    right: int
    verdict: Verdict | None

    @property
    def named(self) -> bool:
        """Whether the hint says the tool's name."""
        name = NAMES.get(self.tool, self.tool)
        if self.quantity == "parameters":  # which is the same whatever a tool counts besides
            name = name.partition(" ")[0]
        return self.verdict is not None and name in self.verdict.hint


def graded(file: Path) -> list[Row]:
    """The rows, each graded; what is asked in no task has no verdict."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "specs" / "tools").mkdir(parents=True)
        (root / "specs" / "tools" / "lab.yaml").write_text("title: What tools print\n")
        (root / "models").mkdir()
        shutil.copy(HERE / "eight_networks.py", root / "models" / "eight.py")
        for network, shape in INPUTS.items():
            for quantity in QUANTITIES.values():
                spec = root / "specs" / "tools" / f"{network}-{quantity}.yaml"
                spec.write_text(
                    _SPEC.format(network=network, made=MADE.get(network, network), quantity=quantity, shape=shape)
                )
        own = course.find(root)
        with Grader(own, reader=Reader(None)) as grader, file.open() as table:  # what is read is our own
            read_task = cache(lambda network, quantity: load.read(root / f"specs/tools/{network}-{quantity}.yaml", own))
            return [_graded(row, root / f"row{at}", read_task, grader) for at, row in enumerate(csv.DictReader(table))]


def _graded(row: dict[str, str], who: Path, read_task: Callable[[str, str], Task], grader: Grader) -> Row:
    network, quantity = row["network"], QUANTITIES.get(row["quantity"], "")
    try:
        printed, right = int(float(row["printed"])), int(float(row["right"]))
    except ValueError:
        printed = right = 0
    verdict = None
    if network in INPUTS and quantity:
        task = read_task(network, quantity)
        who.mkdir()
        (who / "answers.yaml").write_text(f"{task.id}: {{total: {printed}}}\n")
        verdict = TaskGrading(grader, task, read(who, who.name)).graded("total").verdict
    return Row(row["tool"], network, row["quantity"], printed, right, verdict)


def main() -> int:
    """Grade the table and print what is said of it."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "printed.csv"
    rows = graded(file)
    wrong = [row for row in rows if row.printed != row.right or row.verdict is None]
    right = [row for row in rows if row not in wrong]
    for hint, count in Counter(row.verdict.hint for row in wrong if row.verdict).most_common():
        print(f"{count:4} {hint or '(nothing)'}")
    print("\nnot named:")
    for row in wrong:
        if not row.named:
            said = row.verdict.hint if row.verdict else "(no task asks for it)"
            print(f"  {row.tool}, {row.network}, {row.quantity}: {row.printed} for {row.right}: {said}")
    lost = [row for row in right if row.verdict is None or row.verdict.outcome is not Outcome.CORRECT]
    named = sum(row.named for row in wrong)
    print(f"\n{len(rows)} rows; of {len(right)} right ones {len(lost)} are not right")
    print(f"of {len(wrong)} wrong ones {named} are named by tool and cause: {100 * named / len(wrong):.1f} %")
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
