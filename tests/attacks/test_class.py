"""A class in which every second hand-in means harm: the others get the verdicts that they get alone."""

import itertools
import os
import re
import sys
import threading
import time
from pathlib import Path

import pytest
from helpers.hostile import ways
from helpers.small_course import REFERENCE
from helpers.soak import soak

from labgrade.core.results import Report
from labgrade.reports import csv, gradescope, junit, markdown
from labgrade.run.grader import Grader
from labgrade.sandbox.runner import Runner
from labgrade.spec import course, load
from labgrade.submissions import find, handed_in_at

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")]
TASK = """
id: task
title: A task
points: 10
statement: How large is it?
subject: {model: torchvision/alexnet, input: [1234, 2]}
limits: {seconds: 3, memory: 300 MB}
answers:
  total:
    type: count
    from:
      - {call: hw.py:total, given: [input_size]}
      - {entry: task.total}
      - {after: Total, report: anywhere}
  array: {type: tensor, from: [{file: "x.npy"}, {file: "x.npz"}]}
checks:
  - {id: total, points: 6, answer: total, checker: equal, expected: {quantity: size}}
  - {id: array, points: 4, answer: array, checker: close, expected: [1, 2]}
"""
POOL = """
import multiprocessing as m
def total(*_):
    with m.Pool(2) as pool:
        return sum(pool.map(int, [1000, 234]))
"""
INNOCENT = {
    "calls": {"hw.py": "def total(*_): return 1234\n"},
    "wrong": {"hw.py": "def total(*_): return 1233\n"},
    "writes": {"answers.yaml": "task: {total: 1234}\n"},
    "reports": {"report.md": "# 1\n\nTotal: 1,234\n"},
    "works": {"hw.py": POOL},
}
BATCH = 40
LIGHT = Path(__file__).parents[1] / "sandbox/zoo_light.py"


def write(folder, contents):
    folder.mkdir(parents=True)
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8")


class Room:
    """Grades hand-ins of a folder, two at a time, as a class run does."""

    def __init__(self, folder):
        self.folder = folder
        write(folder / "course/specs/lab", {"task.yaml": TASK, "lab.yaml": "title: A lab\n"})
        write(folder / "course/reference", {"own.py": REFERENCE})
        self.course = course.find(folder / "course")
        (read,) = load.read_all(load.chosen(self.course, None, ()), self.course)
        self.task = read.task
        self.runner = Runner(zoo=LIGHT, fresh=False, spare_seconds=5.0, secret=(folder / "course",))
        self.reports, self.files, self.seconds, self.failed, self.called = {}, {}, {}, [], {}
        self.numbers = itertools.count()
        self.graders = [Grader(self.course, runner=self.runner) for _ in range(2)]

    def grade(self, names, workers=2):
        waiting = list(names)

        def work(grader):
            while waiting:
                self._one(grader, waiting.pop(0))
                grader.forget()

        threads = [threading.Thread(target=work, args=(grader,)) for grader in self.graders[:workers]]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def close(self):
        for grader in self.graders:
            grader.close()

    def _one(self, grader, name):
        begin = time.perf_counter()
        try:
            store = self.folder / "stores" / str(next(self.numbers))
            found = find.take(self.folder / "class" / name, name, store, opening=self.runner.open)
            self.files[name] = found.files
            self.reports[name] = grader.grade([self.task], found)
        except Exception as error:  # noqa: BLE001 - told in the end
            self.failed.append((name, repr(error)))
        self.seconds[name] = time.perf_counter() - begin

    def verdicts(self, name):
        return [
            (each.id, each.verdict.outcome, each.verdict.reason, each.earned)
            for each in self.reports[name].tasks[0].checks
        ]


def a_class(room, hostile):
    """Innocent and hostile in turn, each innocent's work once for every few of the hostile."""
    names = []
    kinds = list(INNOCENT)
    for number, (way, plant) in enumerate(hostile):
        kind = kinds[number % len(kinds)]
        write(room.folder / "class" / f"good-{number:03}-{kind}", INNOCENT[kind])
        bad = room.folder / "class" / f"bad-{number:03}"
        bad.mkdir()
        plant(bad)
        names += [f"good-{number:03}-{kind}", bad.name]
        room.called[bad.name] = way
    return names


def check(request, tmp_path, hostile):
    room = Room(tmp_path)
    request.addfinalizer(room.close)
    for kind, contents in INNOCENT.items():
        write(tmp_path / "class" / kind, contents)
    for _ in range(2):  # once to start the servers
        room.grade([*INNOCENT] * 2)
    assert room.failed == []
    alone = {kind: room.verdicts(kind) for kind in INNOCENT}
    assert [each[1] for each in alone["calls"]] == ["CORRECT", "MISSING"]
    assert alone["works"][0][1] == "CORRECT", room.reports["works"].tasks[0].checks[0].verdict
    names = a_class(room, hostile)
    begin, quiet = time.perf_counter(), {kind: [] for kind in INNOCENT}
    for start in range(0, len(names), BATCH):  # alone, now and then: as busy as the machine is then
        for kind, seconds in quiet.items():
            room.grade([kind], workers=1)
            seconds.append(room.seconds[kind])
        room.grade(names[start : start + BATCH])
    took = time.perf_counter() - begin
    moments = handed_in_at.moments(tmp_path / "class", names, opening=room.runner.open, zone=handed_in_at.UTC)
    room.close()
    assert room.failed == []
    wrong = []
    for name in names:
        outcomes = [verdict.outcome for verdict in (each.verdict for each in room.reports[name].tasks[0].checks)]
        if name.startswith("good"):
            kind = name.rpartition("-")[2]
            if room.verdicts(name) != alone[kind]:
                wrong.append((name, room.verdicts(name)))
        elif "FAULT" in outcomes:
            wrong.append((name, room.called[name], room.verdicts(name)))
    good = [name for name in names if name.startswith("good")]
    beside = sum(room.seconds[name] for name in good)
    first = sum(sum(quiet[kind]) / len(quiet[kind]) for kind in (name.rpartition("-")[2] for name in good))
    said = f"the {len(good)} innocent take {beside:.0f} s, alone {first:.0f} s: {beside / first:.2f} times"
    print(f"{len(names)} hand-ins in {took:.0f} s; {said}; {room.runner.protection.lines}")  # noqa: T201
    assert len(good) < BATCH or beside <= 2 * first
    assert wrong == []
    assert [room.called[name] for name in names if not moments[name].at and room.files[name]] == []
    safe(Report(submissions=tuple(room.reports[name] for name in names if name.startswith("bad"))))


def safe(report):
    """No format lets through what acts on a terminal, a spreadsheet or a page."""
    texts = [csv.render(report), junit.render(report), markdown.render(report)]
    shown = [gradescope.render(Report(submissions=(each,))) for each in report.submissions]
    assert all(text.count('_format": "text"') == 3 for text in shown)  # where markup means nothing
    for text in texts + shown:
        assert "\x1b" not in text
        assert "\u202e" not in text
    for text in texts:
        assert not re.search(r"(?<!\\)<(?:script|img)", text)
    assert not [line for line in texts[0].splitlines() if line.startswith(("=", "+", "@"))]


@pytest.mark.promise("innocents-beside-hostile-ones")
def test_a_small_class(request, tmp_path):
    check(request, tmp_path, ways()[3::61][:5])


@soak
def test_a_large_class(request, tmp_path):
    every = ways()
    count = min(len(every), int(os.environ.get("LABGRADE_HOSTILE", "10000")))
    check(request, tmp_path, [every[place * len(every) // count] for place in range(count)])
