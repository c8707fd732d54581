"""What grading one hand-in of each lab on request costs: CPU seconds of all processes, one run.

Each lab's exemplar, without the tasks that train, is graded once with everything cold, and once more.
"""

import resource
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

LABS = {"mase-lab1": ("mase-exemplar", ("1-5-evaluation",)), "mase-lab2": ("mase-exemplar", ())}


def spent() -> float:
    """CPU seconds of this process and of those that it waited for."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def graded(lab: str, sample: str, left_out: tuple[str, ...]) -> float:
    """CPU seconds of one grading with servers of its own; they count once they have ended."""
    from labgrade.authoring.task_trial import submission_of
    from labgrade.run.grader import Grader
    from labgrade.spec import course, load

    begin = spent()
    found = course.find(ROOT)
    tasks = [load.read(path, found) for path in load.lab_files(found, lab) if path.stem not in left_out]
    with Grader(found) as grader:
        grader.grade(tasks, submission_of(ROOT / "submissions" / sample))
    return spent() - begin


def main() -> None:
    """Print a row a lab."""
    print(f"{'lab':<12}{'first':>10}{'again':>10}")
    for lab, (sample, left_out) in LABS.items():
        first, again = (graded(lab, sample, left_out) for _ in range(2))
        print(f"{lab:<12}{first:>8.1f} s{again:>8.1f} s")


if __name__ == "__main__":
    main()
