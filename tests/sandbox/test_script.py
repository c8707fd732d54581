"""Programs run as `python hw.py`: what came of each, what it printed and wrote, and that nothing of it is left."""

import os
import time
from pathlib import Path

import pytest

from labgrade.core.task import Limits
from labgrade.sandbox.child import script
from labgrade.sandbox.jail.usage import family
from labgrade.sandbox.requests import ScriptRequest
from labgrade.sandbox.runner import Runner

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
LIMITS = Limits(seconds=2.0, memory=400 << 20, output=1 << 20)


@pytest.fixture(scope="module")
def runner():
    with Runner(zoo=HERE / "zoo_small.py", fresh=False, spare_seconds=10.0) as shared:
        yield shared


@pytest.fixture
def run(runner, tmp_path):
    """Runs `hw.py`; the student's own folder is as it was before."""

    def ran(source, *, cwd="", limits=LIMITS, files=(), **other):
        folder = tmp_path / "work"
        for name, content in {f"{cwd}/hw.py".lstrip("/"): source, **dict(files)}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
        before = state(folder)
        execution = runner.run_script(ScriptRequest(folder=folder, file="hw.py", cwd=cwd, limits=limits, **other))
        assert state(folder) == before
        return execution

    return ran


def state(folder):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def test_it_runs_as_a_program_does(run):
    execution = run(
        "import sys, os, helper\n"
        "print(__name__, sys.argv, os.path.basename(os.getcwd()), __file__ == os.path.abspath('hw.py'))\n"
        "print(helper.WORD, sys.path[0] == os.getcwd(), sys.modules['__main__'].__dict__ is globals())\n",
        cwd="hw2-1",
        files={"hw2-1/helper.py": "WORD = 'mine'"},
        arguments=("--batch", "2"),
    )
    assert (execution.status, execution.reason) == ("returned", "")
    assert execution.stdout.decode().splitlines() == [
        "__main__ ['hw.py', '--batch', '2'] hw2-1 True",
        "mine True True",
    ]


def test_a_file_of_its_own_comes_before_one_of_the_library(run):
    assert run("import profile\nprint(profile.WORD)\n", files={"profile.py": "WORD = 7"}).stdout == b"7\n"


def test_a_torch_py_of_its_own_does_not_get_in_the_way(run):
    source = "import torch\nprint(torch.ones(2).sum().item())\n"
    execution = run(source, files={"torch.py": "raise SystemExit('shadowed')", "numpy.py": "x = 1 / 0"})
    assert (execution.status, execution.stdout) == ("returned", b"2.0\n")


def test_what_it_writes_is_collected_and_what_was_there_is_not(run):
    execution = run(
        "import os\nos.makedirs('a/b')\n"
        "open('a/b/資料.txt', 'w').write('new')\nopen('old.txt', 'a').write('+')\nopen('same.txt').read()\n"
        "os.symlink('/etc/hostname', 'link')\nos.mkfifo('pipe')\nos.makedirs('__pycache__')\n"
        "open('__pycache__/x.pyc', 'w').write('x')\n",
        files={"old.txt": "old", "same.txt": "same"},
    )
    assert execution.files == {"a/b/資料.txt": b"new", "old.txt": b"old+"}


def test_what_is_too_large_is_named_and_costs_nothing_else(run):
    source = f"open('big.bin', 'wb').truncate({script.ONE_BYTES + 1})\nopen('small.txt', 'w').write('s')\n"
    execution = run(source)
    assert execution.files == {"small.txt": b"s"}
    assert execution.status == "returned"
    assert execution.left_out == ("big.bin",)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "def f():\n    return 1 / 0\nf()\n",
            "hw.py:2 in f: `return 1 / 0` raised ZeroDivisionError: division by zero",
        ),
        ("print('a'\nx = 1\n", "hw.py:1: `print('a'` raised SyntaxError: '(' was never closed"),
        ("import sys\nsys.exit(3)\n", "hw.py ended with exit code 3"),
        ("import sys\nsys.exit('no model')\n", "hw.py ended with exit code 1, saying 'no model'"),
        ("import os\nos._exit(7)\n", "hw.py ended with exit code 7"),
        ("import ctypes\nctypes.string_at(0)\n", "hw.py was killed by signal 11 (SIGSEGV)"),
        ("import os\nos.kill(os.getpid(), 9)\n", "hw.py was killed by signal 9 (SIGKILL)"),
        ("input('how many? ')\n", "hw.py:1: `input('how many? ')` raised EOFError: EOF when reading a line"),
        ("raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})\n", "hw.py:1: `"),
    ],
)
def test_crashes_say_what_and_where(run, source, reason):
    execution = run(source)
    assert execution.status == "crashed"
    assert execution.reason.startswith(reason)


def test_what_came_before_a_crash_is_kept(run):
    execution = run("print('Total: 5')\nopen('out.txt', 'w').write('5')\n1 / 0\n")
    assert execution.status == "crashed"
    assert execution.stdout == b"Total: 5\n"
    assert execution.files == {"out.txt": b"5"}
    assert b"ZeroDivisionError" in execution.stderr
    assert b"labgrade/sandbox" not in execution.stderr


@pytest.mark.parametrize(
    ("source", "status", "reason"),
    [
        ("while True: pass\n", "timeout", "hw.py used more than 2 s of computing time"),
        ("x = []\nwhile True: x.append(bytearray(10 << 20))\n", "memory", "hw.py used more than 419 MB of memory"),
        ("while True: print('x' * 1000)\n", "output", "hw.py printed more than 1.05 MB; print less, such as totals"),
    ],
)
def test_limits_are_told_apart_and_what_was_printed_before_is_kept(run, source, status, reason):
    limits = Limits(seconds=10.0, memory=400 << 20) if status == "memory" else LIMITS
    execution = run(f"print('Total: 5')\n{source}", limits=limits)
    assert execution.status == status
    assert execution.reason.startswith(reason)
    assert execution.stdout.startswith(b"Total: 5\n")


def test_warnings_and_floods_on_stderr_cost_nothing(run):
    source = "import sys, warnings\nwarnings.warn('careful')\n"
    execution = run(source + "for _ in range(50_000): print('x' * 99, file=sys.stderr)\nprint('done')\n")
    assert (execution.status, execution.stdout) == ("returned", b"done\n")
    assert len(execution.stderr) < 8000


def test_bytes_of_any_encoding_come_as_they_are(run):
    execution = run("import sys\nsys.stdout.buffer.write('總參數: 5\\x1b[2J'.encode('big5'))\n")
    assert execution.stdout == "總參數: 5\x1b[2J".encode("big5")


def test_threads_and_what_is_registered_for_the_end_are_waited_for(run):
    source = "import atexit, threading, time\natexit.register(print, 'registered')\n"
    execution = run(source + "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\n")
    assert execution.stdout == b"thread\nregistered\n"


def test_a_pool_of_processes_works(run):
    source = "import multiprocessing as mp\ndef f(x): return x * x\nif __name__ == '__main__':\n"
    execution = run(source + "    with mp.Pool(2) as pool: print(pool.map(f, [1, 2, 3]))\n")
    assert (execution.status, execution.stdout) == ("returned", b"[1, 4, 9]\n")


def test_python_on_the_path_is_the_one_that_runs_it(run):
    source = (
        "import subprocess, sys\nprint(subprocess.check_output(['python', '-c', 'import sys; print(sys.prefix)']))\n"
    )
    execution = run(source + "print(sys.prefix)\n")
    there, here = execution.stdout.decode().splitlines()
    assert here in there


def test_a_daemon_does_not_outlive_it_nor_keep_it_waiting(run):
    run("")
    before = _settled()
    start = time.monotonic()
    execution = run("import os, time\npid = os.fork()\nif not pid:\n    os.setsid(); time.sleep(600)\nprint(pid)\n")
    assert time.monotonic() - start < 300
    assert (execution.status, int(execution.stdout) > 1) == ("returned", True)
    assert _settled(before) == before


def _settled(wanted=None):
    """All processes below this one, once those that end have ended."""
    time.sleep(0.5)
    deadline = time.monotonic() + 60 * (wanted is not None)
    found = set(family(os.getpid()))
    while time.monotonic() < deadline and (found := set(family(os.getpid()))) != wanted:
        time.sleep(0.05)
    return found


def test_events_can_not_be_forged_into_anything_but_messages(run):
    line = b'{"event": "fault", "code": 0, "files": {"x": 1}, "raised": 5}\n'
    execution = run(f"import os\nos.write(3, {line})\n1 / 0\n")
    assert execution.status == "crashed"
    assert execution.files == {}


def test_what_is_provided_lies_beside_it_and_takes_the_place_of_the_student_s(run, tmp_path):
    model = tmp_path / "ours.onnx"
    model.write_bytes(b"ours")
    execution = run(
        "print(open('models/alexnet.onnx').read())\nopen('models/alexnet.onnx', 'a').write('!')\n",
        files={"models/alexnet.onnx": "the student's"},
        provide={"models/alexnet.onnx": model},
    )
    assert execution.stdout == b"ours\n"
    assert model.read_bytes() == b"ours"


@pytest.mark.parametrize(
    "source",
    [
        "import urllib.request\nurllib.request.urlopen('https://github.com/a/b')",
        "import socket\nsocket.create_connection(('example.org', 80))",
        "import socket\nsocket.create_connection(('192.0.2.1', 80))",
        "import socket\nsocket.socket().connect(('192.0.2.1', 80))",
        "import http.client\nhttp.client.HTTPSConnection('huggingface.co').request('GET', '/')",
        "import torch\ntorch.hub.load('ultralytics/yolov5', 'yolov5s')",
    ],
)
def test_the_network_fails_at_once_with_a_sentence(run, source):
    execution = run(source)
    assert execution.status == "crashed"
    assert "there is no network while your work is graded: " in execution.reason
    assert "can't be reached; hand in the file itself, beside your program" in execution.reason


def test_sockets_within_the_machine_are_left_alone(run):
    source = "import socket\na, b = socket.socketpair()\na.send(b'x')\n"
    execution = run(source + "print(b.recv(1))\n")
    assert execution.stdout == b"b'x'\n"


def test_a_large_file_of_its_own_may_be_written_again(run):
    source = "import os\nopen('model.onnx', 'wb').write(b'new')\nprint(os.path.islink('model.onnx'))\n"
    execution = run(source, files={"model.onnx": "x" * (5 << 20)})
    assert (execution.reason, execution.stdout) == ("", b"False\n")
    assert execution.files == {"model.onnx": b"new"}


def test_a_large_file_that_is_provided_is_there_and_takes_no_room(run, tmp_path):
    model = tmp_path / "ours.onnx"
    model.write_bytes(b"x" * (5 << 20))
    source = "import os\nprint(len(open('m/a.onnx', 'rb').read()), os.path.islink('m/a.onnx'))\n"
    execution = run(source, cwd="hw", provide={"m/a.onnx": model})
    assert execution.stdout.split()[0] == b"5242880"
    assert execution.files == {}
