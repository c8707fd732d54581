"""Collects a class of repositories that began from one template, twice, beside plain `git clone` of each.

Run: `make bench-collect`, or `python benchmarks/collect.py --repositories 400 --template-mb 60`.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
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
        with http_server(folder / "server") as server:
            _measure(folder, server, names, template, options)


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


def _measure(folder: Path, server: object, names: list[str], template: int, options: argparse.Namespace) -> None:
    url = server.url  # type: ignore[attr-defined]
    os.environ["LABGRADE_GIT_TOKEN"] = TOKEN
    wanted = [_repository(name, f"{url}/{name}.git") for name in names]
    rules = {} if options.no_template else {"template": f"{url}/template.git"}
    took = []
    for _ in range(2):
        run = Collecting(
            lab="lab", rules=rules, deadline=None, mirror=folder / "mirror", folder=folder / "collected",
            access=git_run.access_to(url),
        )  # fmt: skip
        before, began = len(server.requests), time.perf_counter()  # type: ignore[attr-defined]
        found = run.run(wanted, lambda _: None)
        took.append((time.perf_counter() - began, len(server.requests) - before))  # type: ignore[attr-defined]
        if len(found.names) != len(names):
            sys.exit("not all were taken in")
    (first, asked_first), (second, asked_second) = took
    own = options.own_kb << 10
    room = (_size(folder / "mirror") - len(names) * own) / template
    clones = options.clones or len(names)
    cloned = _cloned(folder, url, names[:clones]) * len(names) / clones
    print(
        f"{len(names)} repositories from a template of {template / (1 << 20):.0f} MB, {own >> 10} KB of each one's own"
    )
    print(f"{'plain git clone of each':<28} {cloned:8.1f} s{'' if clones == len(names) else f' ({clones} measured)'}")
    print(f"{'first collect':<28} {first:8.1f} s  {asked_first:6,} requests")
    print(f"{'second, nothing changed':<28} {second:8.1f} s  {asked_second:6,} requests")
    print(f"{'second / first':<28} {second / first:8.1%}  (at most {MOST_OF_FIRST:.0%})")
    print(f"{'second / plain clones':<28} {second / cloned:8.2%}")
    print(f"{'room / template':<28} {room:8.2f}   (at most {MOST_OF_SIZE}; without what students added)")


def _repository(name: str, address: str) -> Repository:
    who = (Student(id=name),)
    return Repository(name=name, address=address, owners=who, group=who)


def _cloned(folder: Path, url: str, names: list[str]) -> float:
    """The seconds that a loop of git clone takes; each is deleted, as the disk may not hold all."""
    place = urlsplit(url)
    seconds = 0.0
    for name in names:
        target = folder / "clone"
        began = time.perf_counter()
        command = ["git", "clone", "--quiet", f"http://oauth2:{TOKEN}@{place.netloc}/{name}.git", str(target)]
        subprocess.run(command, env=ENVIRONMENT, check=True)
        seconds += time.perf_counter() - began
        shutil.rmtree(target)
    return seconds


def _size(folder: Path) -> int:
    """The room that files take on the disk."""
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


if __name__ == "__main__":
    main()
