"""What grading one hand-in of each lab on request costs: CPU seconds of all processes, one run.

Each lab's exemplar, without the tasks that train, is graded once with everything cold, and once more; then two more are
graded behind it as in a class, where the servers run already. A profiler's trace of 4 MB is read. With ExecuTorch:
four more layers exported by the student's code and run, beside the first, which starts the servers; what one more
measured value of the first one's program costs; and one program that was handed in, run on two inputs where everything
is loaded.
"""

import importlib.util
import json
import resource
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

LABS = {"mase-lab1": ("mase-exemplar", ("1-5-evaluation",)), "mase-lab2": ("mase-exemplar", ())}
EXPORTED = "3-3-programs"


def spent() -> float:
    """CPU seconds of this process and of those that it waited for."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def graded(lab: str, left_out: tuple[str, ...], *folders: Path) -> float:
    """CPU seconds of grading some hand-ins with servers of their own; they count once they have ended."""
    from labgrade.authoring.task_trial import submission_of
    from labgrade.run.grader import Grader
    from labgrade.spec import course, load

    begin = spent()
    found = course.find(ROOT)
    read = load.read_all([path for path in load.lab_files(found, lab) if path.stem not in left_out], found)
    tasks = [each.task for each in read if each.task is not None]
    with Grader(found) as grader:
        for folder in folders:
            grader.grade(tasks, submission_of(folder))
            grader.forget()
    return spent() - begin


def of_a_lab(lab: str, sample: str, left_out: tuple[str, ...]) -> tuple[float, float, float]:
    """CPU seconds of one hand-in alone, of the same again, and of one more behind it."""
    with tempfile.TemporaryDirectory() as home:
        folders = [Path(shutil.copytree(ROOT / "submissions" / sample, Path(home, f"{place}"))) for place in range(3)]
        for place, file in enumerate(file for folder in folders for file in folder.glob("*.py")):
            file.write_text(f"{file.read_text()}\n# {place}\n")  # nothing is known of it
        first, again = (graded(lab, left_out, folders[0]) for _ in range(2))
        return first, again, (graded(lab, left_out, *folders) - again) / 2


def exported(*checks: str) -> float:
    """CPU seconds of some checks of the task that exports layers."""
    from dataclasses import replace

    from labgrade.authoring.task_trial import submission_of
    from labgrade.run.grader import Grader
    from labgrade.spec import course, load

    begin = spent()
    found = course.find(ROOT)
    (path,) = [each for each in load.lab_files(found, "executorch-lab3") if each.stem == EXPORTED]
    task = load.read(path, found)
    task = replace(task, checks=tuple(each for each in task.checks if each.id in checks))
    with Grader(found) as grader:
        grader.grade([task], submission_of(ROOT / "submissions" / "edge-exemplar"))
    return spent() - begin


def ran() -> float:
    """CPU seconds of measuring one program on two inputs, the process that runs it included."""
    import torch

    from reference.programs import pte_relative_error

    sample = ROOT / "submissions" / "edge-exemplar" / "export_model" / "Conv2d_5.pte"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, sample.name)
        place.write_bytes(sample.read_bytes())
        torch.jit.script(torch.nn.Conv2d(64, 64, 1)).save(place.with_name("subject.pt"))
        for _ in range(2):
            begin = spent()
            pte_relative_error(place, original="subject.pt", input_shape=[1, 64, 16, 16])
    return spent() - begin


def read_trace(size: int = 4_000_000) -> float:
    """CPU seconds of counting the operators of a trace of that many bytes: the sample's, written again and again."""
    from reference.profiles import trace_calls

    (sample,) = (ROOT / "submissions" / "tutorial-exemplar" / "log").rglob("*.json")
    trace = json.loads(sample.read_text())
    trace["traceEvents"] *= size // len(json.dumps(trace, indent=2)) + 1
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, sample.name)
        place.write_text(json.dumps(trace, indent=2))  # as the profiler writes it
        begin = spent()
        trace_calls(place, operators=["aten::conv2d", "aten::batch_norm"])
        return spent() - begin


def main() -> None:
    """Print a row a lab."""
    print(f"{'lab':<12}{'first':>10}{'again':>10}{'one more':>10}")
    for lab, (sample, left_out) in LABS.items():
        print(f"{lab:<12}" + "".join(f"{each:>8.1f} s" for each in of_a_lab(lab, sample, left_out)))
    print(f"{'a trace of 4 MB':<36}{read_trace():>8.2f} s")
    if importlib.util.find_spec("executorch") is not None:
        one, five = exported("portable"), exported("portable", "values")
        print(f"{'four more layers exported and run':<36}{five - one:>8.1f} s")
        print(f"{'one more measured of one program':<36}{exported('portable', 'operators') - one:>8.1f} s")
        print(f"{'a program on two inputs':<36}{ran():>8.2f} s")


if __name__ == "__main__":
    main()
