"""What a student can tell from outside: whether they are graded, and whether a hidden value was met. Neither.

The channels by which hidden values could be told, and what holds each:

- what is said: tests/reports/test_nothing_given_away.py, tests/review/test_hidden_points.py
- kits: tests/authoring; `labgrade kit` names each word that only a hidden check and a text of the kit have in common
- a student's own check, its time and what it remembers: below
- what a class remembers, which lies where no jail looks: tests/attacks/gallery/reads_answers_by_path.py
- what a job leaves for the next: tests/attacks/gallery/leaves_a_note_in_the_root.py, tests/sandbox/test_together.py
- errors of the grader's: tests/core and tests/judging; what a student's exception says is their own line
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import small_course

from labgrade.cli import main
from labgrade.run.task import TaskGrading

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")]
ROOT = Path(__file__).parents[2]
TASK = "llm-kv-cache"
LOOKS = """
import hashlib, json, os, resource, socket, sys

def cache_bytes(config):
    seen = {
        "environment": sorted(os.environ.items()), "arguments": sys.argv, "path": sys.path, "folder": os.getcwd(),
        "files": sorted(os.listdir(".")), "root": sorted(os.listdir("/")), "host": socket.gethostname(),
        "modules": sorted(sys.modules), "pids": [os.getpid(), os.getppid()], "open": len(os.listdir("/proc/self/fd")),
        "command": open("/proc/self/cmdline").read(), "mounts": open("/proc/self/mountinfo").read().count(chr(10)),
        "limits": [resource.getrlimit(each) for each in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)],
    }
    print(json.dumps({name: hashlib.sha256(repr(each).encode()).hexdigest()[:12] for name, each in seen.items()}))
    return len(config)
"""


def labgrade(*words):
    subprocess.run(
        [Path(sys.executable).parent / "labgrade", *map(str, words)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        timeout=300,
    )


def seen(path):
    report = json.loads(path.read_text(encoding="utf-8"))
    checks = [check for each in report["submissions"] for task in each["tasks"] for check in task["checks"]]
    return {check["id"]: json.loads(check["printed"]) for check in checks if check["printed"]}


def test_a_function_sees_the_same_whether_it_is_checked_or_graded(tmp_path):
    work = tmp_path / "class" / "eve"
    work.mkdir(parents=True)
    (work / "accounting.py").write_text(LOOKS, encoding="utf-8")
    labgrade("check", work, "--task", TASK, "--json", tmp_path / "check.json")
    labgrade("grade", tmp_path / "class", "--task", TASK, "--out", tmp_path / "results")
    labgrade("export", "--results", tmp_path / "results", "--format", "json", "--out", tmp_path)
    checked, graded = seen(tmp_path / "check.json"), seen(tmp_path / "report.json")
    assert checked
    for name, what in checked.items():
        assert graded[name] == what


HIDDEN = small_course.TASK.replace("expected: 1234, hidden: true, needs: [total]", "expected: 4321, hidden: true")
HIDDEN = HIDDEN.replace("id: secret, points: 1, answer: total", "id: secret, points: 1, answer: other")
HIDDEN = HIDDEN.replace("answers:\n", "answers:\n  other: {type: count, from: [{entry: task.other}]}\n")


def kept(folder):
    """The sizes of what is remembered, but for how long it took, and all of its text."""
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return sorted(len(re.sub(rb'"seconds": ?[^,}]*', b"", each)) for each in files), b"".join(files)


@pytest.mark.promise("a-students-check-knows-no-hidden-value")
def test_a_students_own_check_is_the_same_whether_a_hidden_value_is_met_or_not(tmp_path, monkeypatch, capsys):
    """A hidden check is neither judged nor computed there, so that no time, cache or message can tell of it."""
    small_course.write(tmp_path)
    (tmp_path / "specs/lab/task.yaml").write_text(HIDDEN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    judged, real = [], TaskGrading.graded
    monkeypatch.setattr(TaskGrading, "graded", lambda self, name: judged.append(name) or real(self, name))
    found = []
    for value in (4321, 4322):
        (tmp_path / "submissions/right/answers.yaml").write_text(f"task: {{total: 1234, other: {value}}}")
        monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / f"cache-{value}"))
        code = main(["check", "submissions/right"])
        said = capsys.readouterr()
        sizes, text = kept(tmp_path / f"cache-{value}")
        assert sizes
        assert b"secret" not in text
        assert os.fsencode(str(value)) not in text
        found.append((code, said.out, sizes))
    assert found[0] == found[1]
    assert "total" in judged
    assert "secret" not in judged
