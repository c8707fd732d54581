"""`labgrade` and `pytest` in processes of their own, as forks of one that has loaded what they load.

To start Python and to load labgrade takes longer than most of what tests ask of a command.
"""

import contextlib
import fcntl
import functools
import gc
import json
import os
import pkgutil
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

_TESTS = Path(__file__).parents[1]
_ASKED_BYTES = 1 << 20
_WHERE = "LABGRADE_TESTS_FORKS"
_STARTED = []
_LOADED = (
    *("labgrade.pytest.grading", "labgrade.pytest.unchanged", "labgrade.run.worker"),
    *("labgrade.reports.html.render", "labgrade.reports.json", "labgrade.reports.terminal"),
    *("asyncio", "matplotlib.figure", "numpy", "pdb", "rich.console", "tomllib", "xdist.newhooks"),
)
_SERVE = "import sys; sys.path[:] = [*sys.path[1:], *{path}]; from helpers import forked; forked.serve({at!r})"
# What stands in for a program in a shell: it hands over its words and its streams.
_CLIENT = """#!{python} -IS
import json, os, socket, sys
asked = {{"program": {program!r}, "arguments": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
asked["borrows"] = bool({{*sys.argv}} & {{*{heavy!r}}})
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
    line.connect({at!r})
    socket.send_fds(line, [json.dumps(asked).encode()], [0, 1, 2])
    sys.exit(int(line.recv(16)))
"""


def run(program, arguments, folder, environment, *, borrows=False, path=()):
    """What a command says, and its exit code. `borrows`: it takes the servers that the tests have started."""
    arguments = [*map(str, arguments)]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as err:
        with Path(os.devnull).open("rb") as nothing, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            line.connect(_parent())
            asked = {"program": program, "arguments": arguments, "folder": str(folder), "environment": environment}
            asked |= {"borrows": borrows, "path": [*map(str, path)]}
            streams = [stream.fileno() for stream in (nothing, out, err)]
            socket.send_fds(line, [json.dumps(asked).encode()], streams)
            code = int(line.recv(16))
        said = [stream.seek(0) or stream.read() for stream in (out, err)]
    return subprocess.CompletedProcess([program, *arguments], code, *said)


def stand_in(folder, program, heavy):
    """Write what a shell finds in this folder as the program; with one of the `heavy` words it borrows servers."""
    script = Path(folder, program)
    script.write_text(_CLIENT.format(python=sys.executable, program=program, heavy=heavy, at=_parent()))
    script.chmod(0o755)


def lend(config):
    """In the process that others are started by: all of these share one that has loaded all, until this one ends."""
    if sys.platform != "linux" or hasattr(config, "workerinput"):
        return
    folder = Path(tempfile.mkdtemp(prefix="forked-"))
    config.add_cleanup(functools.partial(shutil.rmtree, folder, ignore_errors=True))
    os.mkfifo(folder / "held")
    config.add_cleanup(functools.partial(os.close, os.open(folder / "held", os.O_RDWR)))
    os.environ[_WHERE] = str(folder)


@functools.cache
def _parent():
    """Where the process listens that has loaded all: whoever asks first starts it."""
    folder = Path(os.environ[_WHERE])
    at = str(folder / "line")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not Path(at).exists():
            with (folder / "held").open("rb") as held:  # which ends with the process that others are started by
                code = _SERVE.format(path=[str(_TESTS), str(_TESTS.parent)], at=at)
                command = [sys.executable, "-c", code]
                started = subprocess.Popen(command, stdin=held, stdout=subprocess.PIPE, cwd=_TESTS.parent)
            with started.stdout:
                assert started.stdout.readline() == b"up\n"
            _STARTED.append(started)  # it outlives this process where others use it
    return at


def _load():
    """What commands load, and read of labgrade's own files, in most of these forks; but pytest loads our plug-in."""
    import pytest  # noqa: F401 - to have it
    from _pytest.config import default_plugins

    from labgrade import commands
    from labgrade.ledger import depends
    from labgrade.spec import course, load

    before = set(sys.modules)
    for each in entry_points(group="pytest11"):
        if not each.value.startswith("labgrade."):
            each.load()
    import_module("hypothesis")
    for name in default_plugins:
        import_module(f"_pytest.{name}")
    for name in set(sys.modules) - before:
        sys.modules[name].__doc__ = "PYTEST_DONT_REWRITE"  # or each pytest warns that it can't do so any more
    for each in pkgutil.walk_packages(commands.__path__, "labgrade.commands."):
        import_module(each.name)
    for name in _LOADED:
        with contextlib.suppress(ImportError):  # of an extra
            import_module(name)
    depends.engine()
    there = course.find(_TESTS.parent)
    load.read_all(load.files(there.specs)[:1], there)


def serve(at):
    """Until stdin ends, fork for each who asks at that place."""
    _load()
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(at)
        listener.listen(64)
        sys.stdout.write("up\n")
        sys.stdout.flush()
        while sys.stdin not in (ready := select.select([listener, sys.stdin], [], [])[0]):
            line, _ = ready[0].accept()
            if not os.fork():
                listener.close()
                _answer(line)
            line.close()
            while _ended():
                pass


def _ended():
    try:
        return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        return 0


def _answer(line):
    """Run what is asked in a fork, and tell its exit code: -N of signal N, as of any process."""
    said, streams, _, _ = socket.recv_fds(line, _ASKED_BYTES, 3)
    child = os.fork()
    if child:
        for each in streams:
            os.close(each)
        line.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())
        os._exit(0)
    line.close()
    for own, stream in enumerate(streams):
        os.dup2(stream, own)
        os.close(stream)
    asked = json.loads(said)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.path[:0] = asked.get("path", ())
    sys.argv[:] = [asked["program"], *asked["arguments"]]
    if asked["borrows"]:
        from helpers import warm

        warm.borrow()
    import pytest

    from labgrade import cli

    sys.exit(pytest.main(asked["arguments"]) if asked["program"] == "pytest" else cli.main())
