"""A course in a folder, and what hand-ins in it come to: one grader for all of them."""

from contextlib import contextmanager

from helpers.handed_in import read

from labgrade.run.grader import Grader
from labgrade.spec import course, load


def write(folder, files):
    """Write texts and bytes by their paths; a lab.yaml where there is none."""
    for path, content in {"specs/lab/lab.yaml": "title: A lab\n", **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def findings(folder):
    """What is wrong with the specs of a course, as lines."""
    found = course.find(folder)
    return [str(each.message) for one in load.read_all(load.files(found.specs), found) for each in one.findings]


@contextmanager
def grading(folder):
    """A function that grades a folder of `submissions/`: verdicts by `task.check`."""
    found = course.find(folder)
    tasks = [load.read(path, found) for path in load.files(found.specs)]
    with Grader(found) as grader:

        def grade(name, *only):
            submission = read(folder / "submissions" / name, name)
            wanted = [task for task in tasks if not only or task.id in only]
            report = grader.grade(wanted, submission)
            return {f"{task.id}.{each.id}": each.verdict for task in report.tasks for each in task.checks}

        yield grade
