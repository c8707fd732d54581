"""Collects a class of repositories that began from one template, twice, beside plain `git clone` of each.

The server is a process of its own, so the processor's time is that of labgrade and its gits alone. It tells more than
the seconds where others use the machine, too.

Run: `make bench-collect`, or `python benchmarks/collect.py --repositories 400 --template-mb 60`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from helpers.git_class import ENVIRONMENT, ago, bare, commit, git  # noqa: E402
from helpers.git_servers import TOKEN, http_server  # noqa: E402

from labgrade.collect.collect import Collecting  # noqa: E402
from labgrade.collect.repositories import Repository  # noqa: E402
from labgrade.review.roster import Student  # noqa: E402
from labgrade.submissions import git_run  # noqa: E402

MOST_OF_FIRST, MOST_OF_SIZE = 0.10, 1.3


def main() -> None:
    """Make the class, collect it, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repositories", type=int, default=400)
    parser.add_argument("--template-mb", type=int, default=60)
    parser.add_argument("--own-kb", type=int, default=20, help="what each student adds")
    parser.add_argument("--clones", type=int, default=0, help="how many are cloned (default: all)")
    parser.add_argument("--no-template", action="store_true", help="lab.yaml names no template")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="labgrade-bench-") as name:
        folder = Path(name)
        names, template = _make(folder / "server", options)
        with _server(folder / "server") as (url, requests):
            _measure(folder, url, requests, names, template, options)


class _Counted:
    """In the place of a server's list of requests: how many there were, for another process."""

    def __init__(self, counter: object) -> None:
        self.counter = counter

    def append(self, _: object) -> None:
        with self.counter.get_lock():  # type: ignore[attr-defined]
            self.counter.value += 1  # type: ignore[attr-defined]


@contextmanager
def _server(folder: Path):  # noqa: ANN202 - its address, and a counter of requests
    counter, (here, there) = multiprocessing.Value("l", 0), multiprocessing.Pipe()

    def serve() -> None:
        with http_server(folder) as server:
            server.requests = _Counted(counter)
            there.send(server.url)
            there.recv()  # until the other side is done

    process = multiprocessing.get_context("fork").Process(target=serve)
    process.start()
    try:
        yield here.recv(), counter
    finally:
        here.send("done")
        process.join()


def _make(server: Path, options: argparse.Namespace) -> tuple[list[str], int]:
    """The repositories, which borrow from the template on the server's disk, too."""
    source = bare(server / "template.git")
    data = random.Random(0)  # noqa: S311 - any bytes
    files = {f"data/{n:02}.bin": data.randbytes(1 << 20) for n in range(options.template_mb)}
    commit(source, {**files, "README.md": "do it\n"}, ago(days=9))
    names = [f"s{n:03}" for n in range(options.repositories)]
    for each in names:
        git("clone", "--quiet", "--bare", "--shared", str(source), str(server / f"{each}.git"))
        own = {"hw.py": f"# {each}\n", "notes.bin": data.randbytes(options.own_kb << 10)}
        commit(server / f"{each}.git", own, ago(hours=2))
    return names, _size(source)


def _measure(
    folder: Path, url: str, requests: object, names: list[str], template: int, options: argparse.Namespace
) -> None:
    os.environ["LABGRADE_GIT_TOKEN"] = TOKEN
    wanted = [_repository(name, f"{url}/{name}.git") for name in names]
    rules = {} if options.no_template else {"template": f"{url}/template.git"}
    took = []
    for _ in range(2):
        run = Collecting(
            lab="lab", rules=rules, deadline=None, mirror=folder / "mirror", folder=folder / "collected",
            access=git_run.access_to(url),
        )  # fmt: skip
        before = requests.value  # type: ignore[attr-defined]
        with _Timed() as timed:
            found = run.run(wanted, lambda _: None)
        took.append((timed, requests.value - before))  # type: ignore[attr-defined]
        if len(found.names) != len(names):
            sys.exit("not all were taken in")
    (first, asked_first), (second, asked_second) = took
    own = options.own_kb << 10
    room = (_size(folder / "mirror") - len(names) * own) / template
    clones = options.clones or len(names)
    cloned = _cloned(folder, url, names[:clones])
    share = len(names) / clones
    print(
        f"{len(names)} repositories from a template of {template / (1 << 20):.0f} MB, {own >> 10} KB of each one's own"
    )
    print(f"{'':<28} {'seconds':>10} {'processor':>10}")
    note = "" if clones == len(names) else f"  (from {clones})"
    print(f"{'plain git clone of each':<28} {cloned.seconds * share:10.1f} {cloned.processor * share:10.1f}{note}")
    print(f"{'first collect':<28} {first.seconds:10.1f} {first.processor:10.1f}  {asked_first:,} requests")
    print(f"{'second, nothing changed':<28} {second.seconds:10.1f} {second.processor:10.1f}  {asked_second:,} requests")
    print(f"{'second / first':<28} {second.seconds / first.seconds:10.1%} {second.processor / first.processor:10.1%}"
          f"  (at most {MOST_OF_FIRST:.0%})")  # fmt: skip
    seconds, processor = second.seconds / cloned.seconds / share, second.processor / cloned.processor / share
    print(f"{'second / plain clones':<28} {seconds:10.2%} {processor:10.2%}")
    print(f"{'room / template':<28} {room:10.2f}   (at most {MOST_OF_SIZE}; without what students added)")


class _Timed:
    """The seconds that something takes, and the processor's time of this process and of all that it starts."""

    seconds = processor = 0.0

    def __enter__(self) -> Self:
        self.seconds, self.processor = self.seconds - time.perf_counter(), self.processor - _processor()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds, self.processor = self.seconds + time.perf_counter(), self.processor + _processor()


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _repository(name: str, address: str) -> Repository:
    who = (Student(id=name),)
    return Repository(name=name, address=address, owners=who, group=who)


def _cloned(folder: Path, url: str, names: list[str]) -> _Timed:
    """What a loop of git clone takes; each is deleted, as the disk may not hold all."""
    place = urlsplit(url)
    timed = _Timed()
    for name in names:
        target = folder / "clone"
        command = ["git", "clone", "--quiet", f"http://oauth2:{TOKEN}@{place.netloc}/{name}.git", str(target)]
        with timed:
            subprocess.run(command, env=ENVIRONMENT, check=True)
        shutil.rmtree(target)
    return timed


def _size(folder: Path) -> int:
    """The room that files take on the disk."""
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


if __name__ == "__main__":
    main()
