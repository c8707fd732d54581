"""The process that runs children: started by its path, with torch loaded, jailed, and without any secret.

`server.py serve` forks one child a request and keeps it (Linux), or a supervisor that does. `server.py load` has torch
loaded and no jail, knows nothing else, and only forks: such servers, and what computes expected values. `server.py
once ZOO` is the child itself, in a process of its own. In all, descriptors 0 to 2 are all that is inherited; a server
is spoken to on descriptor 0, a socket, and its first message says what to be. Messages are JSON; requests come with
descriptors.

A request `branch` makes another server, a fork of this one with a socket of its own, which may then be asked to prepare
a subject: the server that it came from never learns of it. A request `compiler` has it load what torch compiles with.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

    from labgrade.sandbox.child.main import Pipes
    from labgrade.sandbox.child.subject import Shelf
    from labgrade.sandbox.child.supervisor import Jobs
    from labgrade.sandbox.jail.jail import Jail

_MESSAGE_BYTES = 1 << 20
_DESCRIPTORS = 5 + 1 + 2
_FORKS_PAID_FOR = 1024  # about as many as huge pages save the price of, where the machine hands out memory page by page
_MORE_FORKS = 4  # times as many: by then what they were written over with is worth the same again
# A module each of this folder, and what a supervisor needs of the jail: a jail shows none of labgrade's files.
_PARTS = ("child.main", "child.subject")
STUDENT_JOBS = "labgrade.sandbox.child.student_jobs"
_SURROUNDINGS = "labgrade.sandbox.child.surroundings"  # student_jobs has imported it
_LINUX_PARTS = ("child.supervisor", "jail.jail", "jail.usage")


def load(name: str, path: Path, *, package: bool = False) -> ModuleType:
    """Import a file under a name, without putting its folder into the search path."""
    places = [str(path.parent)] if package else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=places)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def serve(control: socket.socket, shelf: Shelf, jail: Jail) -> NoReturn:
    """Answer requests until the grader hangs up, then end everything that the server started."""
    from labgrade.sandbox.child.supervisor import Jobs
    from labgrade.sandbox.jail import linux

    poll = select.poll()
    poll.register(control, select.POLLIN)
    waker = _wake_on_children(poll)
    jobs = Jobs(jail, shelf.arguments, poll)
    huge_pages_at = _FORKS_PAID_FOR
    while True:
        ready = {descriptor for descriptor, _ in poll.poll(jobs.patience)}
        if waker in ready:
            os.read(waker, 4096)
            jobs.reap()
        jobs.look(ready)
        if control.fileno() in ready:
            _answer(control, shelf, jobs)
        if jobs.compiler_wanted and not jobs.running:  # it takes seconds, in which none would be looked after
            jobs.compiler_wanted = False
            _load_compiler()
        if jobs.begun >= huge_pages_at and not jobs.running:
            linux.collapse_heap()  # under its heap and the subjects' weights, with which each child is forked
            huge_pages_at *= _MORE_FORKS


def _answer(control: socket.socket, shelf: Shelf, jobs: Jobs) -> None:
    """Read the next request and answer it."""
    from labgrade.sandbox.child.supervisor import supervise

    text, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, _DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
    if not text:
        _leave(jobs.jail)
    request = json.loads(text)
    match request["do"]:
        case "prepare":
            _prepare(control, shelf, request, descriptors)
        case "compiler":
            jobs.compiler_wanted = True
        case "run" if jobs.jail.private:
            jobs.begin(socket.socket(fileno=descriptors[0]), _pipes(descriptors, request), request)
        case _ if _fork():
            for descriptor in descriptors:
                os.close(descriptor)
        case wanted:
            jobs.forget()
            control.close()
            line = socket.socket(fileno=descriptors[0])
            if wanted == "branch":
                serve(line, shelf, jobs.jail)
            supervise(line, _pipes(descriptors, request), request, jobs.jail, shelf.arguments)


def _pipes(descriptors: list[int], request: Mapping[str, Any]) -> Pipes:
    from labgrade.sandbox.child.main import Pipes

    job, result, output, errors, *more = descriptors[1:]
    file = more.pop() if request["file"] else -1
    return Pipes(job, result, output, errors, file, tuple(more))


def _load_compiler() -> None:
    """Load torch's compiler, which the first convolution on the meta device needs, for all later children."""
    if "torch" in sys.modules and "torch._dynamo" not in sys.modules:
        with contextlib.suppress(Exception):  # then the child does, and says what is wrong
            importlib.import_module("torch._dynamo")
        gc.collect()
        gc.freeze()


def _fork() -> int:
    from labgrade.sandbox.child.supervisor import forget_signals

    child = os.fork()
    if not child:
        forget_signals()
    return child


def _wake_on_children(poll: select.poll) -> int:
    """Return a descriptor that becomes readable when a child has ended."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    poll.register(reader, select.POLLIN)
    return reader


def _leave(jail: Jail) -> NoReturn:
    from labgrade.sandbox.jail import usage

    if not jail.private:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        usage.reap_all()
    os._exit(0)


def _prepare(control: socket.socket, shelf: Shelf, request: Mapping[str, Any], given: list[int]) -> None:
    """Build a subject; `given` may hold a file of its weights. Else such a file may be sent along with the reply."""
    files: list[int] = []
    try:
        subject = request["subject"]
        blank = files = shelf.prepare_blank(subject) if request["blank"] else []
        files = blank or shelf.prepare(subject, given)
        told = {"event": "ready", "bytes": shelf.bytes, "blank": bool(blank)}
    except Exception as error:  # noqa: BLE001 - a subject that cannot be built is a fault, and the server lives on
        told = {"event": "fault", "reason": f"{type(error).__name__}: {error}"[:1000]}
    with contextlib.suppress(OSError):  # a grader that is gone hears nothing
        socket.send_fds(control, [json.dumps(told).encode()], files)
    for each in (*given, *files):
        os.close(each)


def _settle_as_server(*, libraries: bool, share_by_files: bool, settled: bool = False) -> dict[str, object]:
    """Prepare the process for forking; return what the grader wants to know of it.

    `settled`: the process that forked this one was prepared, and no course's module was imported since. To look at each
    object again, or to move them to huge pages, would copy memory, and take longer than the rest of the start.
    """
    from labgrade.sandbox.child.main import prepare
    from labgrade.sandbox.jail import linux

    prepare(share_by_files=share_by_files)
    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    session = getattr(sys.modules.get("onnxruntime"), "InferenceSession", None)
    sessions = [] if session is None or settled else [each for each in gc.get_objects() if type(each) is session]
    gc.freeze()  # what importing left behind is little, and to look for it takes a tenth of that time
    huge = linux.collapse_heap() if libraries and not settled else 0
    quiet = os.environ.get("ORT_DISABLE_TELEMETRY") == "1" and os.environ.get("OMP_NUM_THREADS") == "1"
    return {
        "threads": threads,
        "sessions": len(sessions),
        "quiet": quiet,
        "frozen": gc.get_freeze_count(),
        "huge_pages": huge,
    }


def _main_load() -> NoReturn:
    """Load libraries, then fork a server for each request; a request brings the server's socket and log."""
    from labgrade.sandbox.child.supervisor import tell
    from labgrade.sandbox.jail import linux, root

    linux.keep_arenas_few()
    control = _line()
    setup = json.loads(control.recv(_MESSAGE_BYTES))
    zoo = load("labgrade_zoo", Path(setup["zoo"]))
    importlib.import_module(STUDENT_JOBS)
    _forget_project()
    os.environ["HOME"] = root.SCRATCH  # as in a jail: torchvision remembers it
    _load_libraries(zoo, setup)
    tell(control, _settle_as_server(libraries=True, share_by_files=False))
    poll = select.poll()
    poll.register(control, select.POLLIN)
    forked: dict[int, int] = {}
    while True:
        for descriptor, _ in poll.poll():
            if descriptor in forked:
                os.waitpid(forked.pop(descriptor), 0)
                poll.unregister(descriptor)
                os.close(descriptor)
                continue
            text, given, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, 2, socket.MSG_CMSG_CLOEXEC)
            if not text:
                _wait_for_all(forked.values())
            pid = os.fork()
            if not pid:
                for each in (control.detach(), *forked):
                    os.close(each)
                serve_as_fork(given, zoo, json.loads(text)["module"])
            for each in given:
                os.close(each)
            life = os.pidfd_open(pid)
            forked[life] = pid
            poll.register(life, select.POLLIN)
            with contextlib.suppress(OSError):
                socket.send_fds(control, [json.dumps({"pid": pid}).encode()], [life])


def _wait_for_all(children: Iterable[int]) -> NoReturn:
    """Wait for all servers to end, which they do once the grader has hung up."""
    for pid in children:
        os.waitpid(pid, 0)
    os._exit(0)


def serve_as_fork(given: list[int], zoo: ModuleType | None, module: str) -> NoReturn:
    """Run as a server, or as a process in which a module of labgrade's computes without students' code."""
    try:
        line, log = given
        os.setsid()
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        if module:
            os.dup2(line, 0)
            os.close(line)
            importlib.import_module(module).lend()
        else:
            _main_serve(socket.socket(fileno=line), zoo)
    except BaseException:  # noqa: BLE001 - the grader reads it in the log, and what is forked never returns
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)


def _line() -> socket.socket:
    """Return the socket that the grader speaks on, moved away from descriptor 0."""
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return control


def _load_libraries(zoo: ModuleType, setup: Mapping[str, Any]) -> None:
    if setup["libraries"]:
        zoo.import_torchvision()
    if setup["readers"]:
        _import(zoo, ("onnx", "onnxruntime"))


def _main_serve(control: socket.socket, zoo: ModuleType | None = None) -> NoReturn:
    """Serve as the kind of server that the first message names. With `zoo`, all libraries are loaded already."""
    from labgrade.sandbox.child.subject import Shelf
    from labgrade.sandbox.child.supervisor import tell
    from labgrade.sandbox.jail import places
    from labgrade.sandbox.jail.jail import Jail

    setup = json.loads(control.recv(_MESSAGE_BYTES))
    os.environ.update(setup["variables"])
    own = zoo or (load("labgrade_zoo", Path(setup["zoo"])) if setup["zoo"] else None)
    for name in setup["imports"]:
        importlib.import_module(name)
    shown = places.find(tuple(setup["secret"]), tuple(setup["trusted"]), tuple(setup["offered"]))
    _forget_project()
    jail = Jail(shown, setup["jobs"], setup["user"], set(setup["layers"]), reads=setup["reads"])
    jail.enter()
    if zoo is None and own is not None:
        _load_libraries(own, setup)
    _import(own, setup["preload"])
    if STUDENT_JOBS in setup["imports"]:
        importlib.import_module(_SURROUNDINGS).refuse_network()
    settled = zoo is not None and not setup["preload"]
    ready = _ready_to_fork(jail, libraries=setup["libraries"], settled=settled)
    tell(control, ready)
    if ready["event"] != "ready":
        _leave(jail)
    serve(control, Shelf(lambda: _zoo_ready(own, jail)), jail)


def _ready_to_fork(jail: Jail, *, libraries: bool, settled: bool) -> dict[str, object]:
    """Return what the server tells the grader of itself before it serves.

    Raises:
        RuntimeError: something is loaded that no fork survives.
    """
    state = _settle_as_server(libraries=libraries, share_by_files=jail.shares_by_files, settled=settled)
    if state["sessions"] or not state["quiet"]:
        message = f"this must not be forked: {state}"
        raise RuntimeError(message)
    if state["threads"] != 1 and libraries:  # a fork copies one thread, and the locks that the others hold
        return {"event": "threads", **state}
    return {
        "event": "ready",
        "layers": sorted(jail.layers),
        "missing": jail.missing,
        "user": os.getuid(),
        "users": None if jail.own is None else [jail.own.user, jail.own.count],
        **state,
    }


def _import(zoo: ModuleType | None, names: Iterable[str]) -> None:
    """Import libraries that are slow to import, such as onnxruntime. None of them makes a session before a fork."""
    quickly = getattr(zoo, "importing_quickly", contextlib.nullcontext)  # a stand-in of the tests has nothing slow
    for name in names:
        with contextlib.suppress(ImportError), quickly():
            importlib.import_module(name)


def _zoo_ready(zoo: ModuleType | None, jail: Jail) -> ModuleType | None:
    """Load the zoo in the child when the server could not (it would have started threads)."""
    from labgrade.sandbox.child.main import prepare

    if zoo is not None and "torch" not in sys.modules:
        zoo.import_torchvision()
        prepare(share_by_files=jail.shares_by_files)
    return zoo


def _main_once(zoo_path: str, imports: list[str]) -> NoReturn:
    """Run one job: it comes on stdin, its frame goes to stdout, and what it prints to stderr."""
    from labgrade.sandbox.child import main as child
    from labgrade.sandbox.child.subject import Shelf
    from labgrade.sandbox.jail import limits

    job, result = os.dup(0), os.dup(1)
    setup = json.loads(child.receive(job))
    zoo = load("labgrade_zoo", Path(zoo_path))
    for name in imports or [STUDENT_JOBS]:
        importlib.import_module(name)
    _forget_project()
    if not imports:
        zoo.import_torchvision()
    child.prepare()

    def confine() -> Path:
        limits.set_limits(limits.Allowed(setup["seconds"], setup["memory"]))
        return Path(setup["folder"])

    child.run_job(child.Pipes(job, result, 2, 2), confine, Shelf(lambda: zoo).arguments, forked=False)


def _forget_project() -> None:
    """Remove the project's folder from the search path: an editable install has `reference/` there."""
    package = Path(__file__).resolve().parents[2]
    sys.path[:] = [place for place in sys.path if Path(place) != package.parent or place.endswith("-packages")]


def main() -> None:
    """Load all of labgrade that a child needs, since a jail shows none of it; then run as the first argument says."""
    package = Path(__file__).resolve().parents[2]
    load("labgrade", package / "__init__.py", package=True)
    for part in (*_PARTS, *(_LINUX_PARTS if sys.platform == "linux" else ())):
        importlib.import_module(f"labgrade.sandbox.{part}")
    if sys.argv[1] == "load":
        _main_load()
    if sys.argv[1] == "serve":
        _main_serve(_line())
    _main_once(sys.argv[2], sys.argv[3:])


if __name__ == "__main__":
    main()
