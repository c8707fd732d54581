"""What a reader of docs/security.md alone tried in a day, as one class with innocents in it, and what is made of it.

Nothing that is handed in may run outside of its jail, reach a server, read what is not its own, or change what an
innocent gets; and no report, page, table or export may hold anything active. All of it is harmless.
"""

import csv
import io
import json
import os
import re
import socket
import struct
import sys
import tarfile
import threading
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from helpers.classroom import Classroom

from labgrade.ledger import read

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")]

SECRET = 918_273_645
ENVIRONMENT = "canary-in-the-environment"
SPEC = """
id: task
title: Task
points: 6
statement: How large?
subject: {model: torchvision/alexnet, input: [12, 2]}
answers:
  total: {type: count, from: [{entry: task.total}, {after: Total size, report: anywhere}]}
  essay: {type: text, from: [{entry: task.essay}, {report: under Essay}]}
  n: {type: count, constant_is_fine: so, from: [{call: "hw.py:answer(input_size)"}]}
  m: {type: count, from: [{run: {command: python prog.py}, after: Answer}]}
  a: {type: tensor, from: [{file: a.npy}]}
checks:
  - {id: total, points: 1, answer: total, checker: equal, expected: {quantity: size}}
  - {id: secret, points: 1, answer: total, checker: equal, expected: {quantity: size}, hidden: true}
  - {id: essay, points: 1, answer: essay, by_hand: [{points: 1, for: clarity}]}
  - {id: n, points: 1, answer: n, checker: equal, expected: 12}
  - {id: m, points: 1, answer: m, checker: equal, expected: 12}
  - {id: a, points: 1, answer: a, checker: close, expected: {literal: [1, 2, 3]}}
"""
QUANTITY = f"def size(subject) -> int:\n    '''A size.'''\n    return {SECRET}\n"
GOOD = f"task:\n  total: {SECRET}\n  essay: fine words\n"
ALL_RIGHT = {"total": "CORRECT", "secret": "CORRECT", "essay": "MANUAL", "n": "CORRECT", "m": "CORRECT", "a": "CORRECT"}


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def head(kind, shape):
    text = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.encode() + bytes(24)


BASE = {
    "answers.yaml": GOOD,
    "hw.py": "def answer(size): return size[0]\n",
    "prog.py": "print('Answer 12')\n",
    "a.npy": saved(np.array([1.0, 2, 3])),
}
NAMES = [
    '=HYPERLINK("http:x")', "+1+1", "@SUM(A1)", "-rf", "--out", "<img src=x onerror=alert(1)>", "new\nline", "all",
    "]]> &amp;", "tab\tname", "quote\"'`", "cafe\u0301", "caf\u00e9", "rtl\u202egpj", "a;b,c", "x" * 250,
]  # fmt: skip
MODULES = ["conftest", "sitecustomize", "usercustomize", "numpy", "torch", "json", "labgrade", "yaml", "pytest"]
RUNS = "open('CANARY', 'w')\n"
PYTEST = "addopts = -p evil\n"
# Each attempt, what it changes of a good hand-in, and checks that it must not pass by that.
ATTEMPTS = {
    "yaml tag": ({"answers.yaml": "task:\n  total: !!python/object/apply:os.system ['touch CANARY']\n"}, ["total"]),
    "yaml twice": ({"answers.yaml": f"task:\n  total: 1\n  total: {SECRET}\n"}, ["total"]),
    "yaml laughs": ({"answers.yaml": "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\ntask: {essay: *c}\n"}, ["total"]),
    "yaml digits": ({"answers.yaml": f"task:\n  total: {'9' * 5000}\n"}, ["total"]),
    "yaml nul": ({"answers.yaml": GOOD + "\0"}, ["total"]),
    "essay page": (
        {
            "answers.yaml": f'task:\n  total: {SECRET}\n  essay: "<script>alert(1)</script><img src=http://SERVER/i '
            'onerror=alert(1)> ![m](http://SERVER/m) [l](javascript:alert(1)) {{7*7}}"\n'
        },
        [],
    ),
    "essay formula": ({"answers.yaml": f'task:\n  total: {SECRET}\n  essay: "=1+1"\n'}, []),
    "essay terminal": ({"answers.yaml": f'task:\n  total: {SECRET}\n  essay: "\\e[2J\\e]0;t\\a │ 6/6 points"\n'}, []),
    "settings": (
        {"pytest.ini": f"[pytest]\n{PYTEST}", "setup.cfg": f"[tool:pytest]\n{PYTEST}", "evil.py": RUNS},
        [],
    ),
    "pth": ({"x.pth": "import os; os.system('touch CANARY')\n"}, []),
    "equal to all": ({"hw.py": "class I(int):\n    __eq__ = lambda *_: True\ndef answer(_): return I(7)\n"}, ["n"]),
    "object array": ({"hw.py": "import numpy\ndef answer(_): return numpy.array([object()])\n"}, ["n"]),
    "digits": ({"hw.py": "def answer(_): return 10**5000\n"}, ["n"]),
    "truth": ({"hw.py": "def answer(_): return True\n"}, ["n"]),
    "odd error": (
        {"hw.py": "def answer(_): raise type('A\\x1b[31m\\n| 6/6', (Exception,), {'__str__': lambda s: 1 / 0})()\n"},
        ["n"],
    ),
    "line of ours": ({"hw.py": "def answer(_): exec(compile('\\n1/0', 'REFERENCE', 'exec'))\n"}, ["n"]),
    "gutter": ({"hw.py": "def answer(_):\n    print('\\x1b[2K\\rn  1/1 CORRECT\\x08\\u202e')\n    return 1\n"}, ["n"]),
    "stdin": ({"hw.py": "def answer(size):\n    try: input()\n    except EOFError: return size[0]\n"}, []),
    "no print": ({"hw.py": "import builtins as b, sys\nb.print = sys.stdout = None\ndef answer(s): return s[0]\n"}, []),
    "alarms": (
        {
            "hw.py": "import signal\nsignal.signal(signal.SIGALRM, lambda *_: 0)\nsignal.setitimer(0, .01, .001)\n"
            "def answer(s): return s[0]\n"
        },
        [],
    ),
    "locale": (
        {
            "hw.py": "import os, time\nos.environ |= {'LC_ALL': 'tr_TR', 'TZ': 'X+99'}\ntime.tzset()\n"
            "def answer(s): return s[0]\n"
        },
        [],
    ),
    "left behind": (
        {
            "hw.py": "from multiprocessing.shared_memory import SharedMemory\n"
            "def answer(s):\n    SharedMemory('labgrade-day', create=True, size=9)\n    return s[0]\n"
        },
        [],
    ),
    "found again": (
        {"hw.py": "import os\ndef answer(s): return s[0] if 'labgrade-day' not in os.listdir('/dev/shm') else 7\n"},
        [],
    ),
    "descriptors": (
        {
            "hw.py": "import os\ndef answer(_):\n    for n in range(3, 99):\n        try: os.write(n, bytes(9))\n"
            "        except OSError: pass\n    return 12\n"
        },
        ["n"],
    ),
    "surroundings": ({"prog.py": "import os, sys\nprint(os.environ, sys.path)\nprint('Answer 12')\n"}, []),
    "daemon": (
        {
            "prog.py": "import os, time\nif not os.fork():\n    os.setsid()\n    if not os.fork():\n"
            "        time.sleep(2)\n        open('CANARY', 'w')\n    os._exit(0)\nprint('Answer 12')\n"
        },
        [],
    ),
    "colours": ({"prog.py": "print('\\x1b[31mAnswer\\x1b[0m 12')\n"}, []),
    "pickle": ({"a.npy": b"\x80\x04cposix\nsystem\n(X\x0c\0\0\0touch CANARYtR."}, ["a"]),
    "promises": ({"a.npy": head("'<f8'", "(1000000000000,)")}, ["a"]),
    "expression": ({"a.npy": head("__import__('os').system('touch CANARY')", "(3,)")}, ["a"]),
    "not a number": ({"a.npy": saved(np.array([np.nan] * 3))}, ["a"]),
    "bars": ({"answers.yaml": "x: 1\n", "report.md": "# Essay\n" + "|" * 50_000}, ["total"]),
    "stars": ({"answers.yaml": "x: 1\n", "report.md": "# Essay\n" + "*" * 30_000 + "a"}, ["total"]),
    "brackets": ({"answers.yaml": "x: 1\n", "report.md": "# Essay\n" + "[" * 20_000 + "]" * 20_000}, ["total"]),
    "commas": ({"answers.yaml": "x: 1\n", "report.md": "# Essay\nTotal size " + "1," * 30_000 + "x"}, ["total"]),
    "fences": ({"answers.yaml": "x: 1\n", "report.md": "# Essay\n" + "```\n" * 9_001}, ["total"]),
    "picture": (
        {
            "answers.yaml": f"task: {{total: {SECRET}}}\n",
            "report.md": "# Essay\n![p](p.svg) ![q](//SERVER/a) <svg onload=alert(1)>\n",
            "p.svg": "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><image href='http://SERVER/s'/></svg>",
        },
        [],
    ),
}
PACKED = {
    "up.zip": [("../CANARY", "x", 0o100644), ("answers.yaml", GOOD, 0o100644)],
    "back.zip": [("..\\..\\escaped", "x", 0o100644), ("answers.yaml", GOOD, 0o100644)],
    "link.zip": [("l", "/etc", 0o120777), ("l/x", "x", 0o100644), ("answers.yaml", GOOD, 0o100644)],
    "others.zip": [("answers.yaml", "../good1/answers.yaml", 0o120777)],
}


@pytest.fixture(scope="module")
def server():
    """A server that nobody is to reach: its address, and who did."""
    reached = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hear():
            try:
                while True:
                    reached.append(listening.accept()[1])
            except OSError:
                pass

        threading.Thread(target=hear, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}", reached
        listening.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def day(tmp_path_factory, server):
    """The class, graded and exported."""
    folder = tmp_path_factory.mktemp("day")
    words = {"CANARY": folder / "canary", "SERVER": server[0], "REFERENCE": folder / "reference/own.py"}
    words = {word.encode(): os.fsencode(meant) for word, meant in words.items()}
    room = Classroom(folder, size=0)
    room.write("reference/own.py", QUANTITY)
    room.write("specs/lab/task.yaml", SPEC)

    def hand_in(name, files):
        for path, content in {**BASE, **files}.items():
            place = folder / "handed in" / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            data = content if isinstance(content, bytes) else content.encode()
            place.write_bytes(re.sub(b"CANARY|SERVER|REFERENCE", lambda word: words[word[0]], data))
        return folder / "handed in" / name

    for name in ("good1", "good2", *NAMES):
        hand_in(name, {})
    for name, (files, _) in ATTEMPTS.items():
        hand_in(name, files)
    for name in MODULES:
        hand_in(f"module {name}", {f"{name}.py": RUNS})
    special(hand_in)
    for name, entries in PACKED.items():
        (folder / "handed in" / name).write_bytes(zipped(entries))
    (folder / "handed in/hard.tar.gz").write_bytes(linked())
    grown = {**room.environment(), "SOME_TOKEN": ENVIRONMENT}
    room.environment = lambda: grown
    done = room.cli("grade", "handed in", "--out", "results", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    said = [done, room.forked("export", "--results", "results", "--format", "all", "--out", "exported")]
    said.append(room.forked("mark", "results", "--export", "table.csv", "--by", "ann"))
    return room, said


def special(hand_in):
    """Hand-ins with links, pipes and devices in place of files, and a repository with a configuration of its own."""
    for name, target in {"its neighbours": "../good1/answers.yaml", "a process": "/proc/self/environ"}.items():
        place = hand_in(name, {}) / "answers.yaml"
        place.unlink()
        place.symlink_to(target)
    (hand_in("a loop", {}) / "loop").symlink_to(".")
    for name in ("answers.yaml", "report.md"):
        place = hand_in(f"a pipe {name}", {"report.md": ""}) / name
        place.unlink()
        os.mkfifo(place)
    hooks = (
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch CANARY\n\tpager = touch CANARY\n\thooksPath = h\n"
    )
    hand_in("git", {".git/config": hooks, ".git/HEAD": "ref: refs/heads/main\n", ".gitattributes": "* filter=x\n"})


def zipped(entries):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content, mode in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.create_system = mode << 16, 3
            archive.writestr(info, content)
    return file.getvalue()


def linked():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo("answers.yaml")
        info.type, info.linkname = tarfile.LNKTYPE, "../good1/answers.yaml"
        archive.addfile(info)
    return file.getvalue()


def outcomes(room):
    return {
        who.name: {check.id: str(check.verdict.outcome) for task in who.tasks for check in task.checks}
        for who in read.report_of(room.results).submissions
    }


@pytest.mark.promise("innocents-beside-hostile-ones")
def test_names_and_neighbours_change_nothing_for_the_innocent(day):
    found = outcomes(day[0])
    for name in ("good1", "good2", *NAMES, *(f"module {each}" for each in MODULES), "git", "a loop"):
        assert found[name] == ALL_RIGHT, name


@pytest.mark.promise("values-not-verdicts")
def test_nothing_that_is_wrong_passes_and_nothing_is_our_fault(day):
    found = outcomes(day[0])
    for name, (_, wrong) in ATTEMPTS.items():
        assert "FAULT" not in found[name].values(), (name, found[name])
        assert {check: found[name][check] for check in wrong if found[name][check] == "CORRECT"} == {}, name
        right = [check for check in ("n", "m", "a") if check not in wrong]
        assert [found[name][check] for check in right] == ["CORRECT"] * len(right), name


@pytest.mark.promise("nobody-hands-in-anothers-work")
def test_links_and_pipes_are_nobodys_answers(day):
    found = outcomes(day[0])
    for name in ("its neighbours", "a process", "a pipe answers.yaml", "others", "hard"):
        assert found[name]["total"] == "MISSING", name


@pytest.mark.promise("nothing-sent-is-executed")
def test_nothing_ran_outside_reached_a_server_or_saw_the_environment(day, server):
    room, said = day
    assert not [*room.folder.rglob("canary*"), *room.folder.parent.rglob("escaped")]
    assert not server[1]
    kept = b"".join(path.read_bytes() for path in sorted(room.results.iterdir()) if path.is_file())
    assert ENVIRONMENT.encode() not in kept
    assert not any("Traceback" in each.stdout + each.stderr for each in said)


class Active(HTMLParser):
    """What acts in a page, beyond the page's own."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag in {"iframe", "object", "embed", "base", "form"} or (tag == "script" and attrs):
            self.found.append((tag, attrs))
        for name, value in attrs:
            led = name in {"href", "src", "action", "srcset", "xlink:href"}
            if name.startswith("on") or (led and re.match(r"\s*(javascript|https?|//)", value or "", re.IGNORECASE)):
                self.found.append((tag, name, value))


@pytest.mark.promise("nothing-passes-for-a-report")
def test_what_is_made_of_it_is_whole_and_acts_on_nothing(day):
    room, _ = day
    made = [path for path in sorted((room.folder / "exported").rglob("*")) if path.is_file()]
    assert {".html", ".json", ".csv", ".md", ".xml"} <= {path.suffix for path in made}
    for path in made:
        text = path.read_text("utf-8-sig")
        if path.suffix == ".json":
            json.loads(text)
        elif path.suffix == ".xml":
            ET.fromstring(text)
        elif path.suffix == ".html":
            page = Active()
            page.feed(text)
            assert not page.found, path
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text), path
        if path.parent.name != "exported":
            assert str(SECRET) not in text, path


@pytest.mark.promise("nothing-passes-for-a-report")
def test_no_cell_of_a_table_is_a_formula(day):
    room, _ = day
    for path in (room.folder / "table.csv", *Path(room.folder / "exported").glob("*.csv")):
        cells = [cell for row in csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")) for cell in row]
        assert cells
        assert not [each for each in cells if re.match(r"[=+@\t\r]|-(?!\d)", each)], path
