"""What a kill, or a crash of the machine, leaves of a class at any moment: nothing lost, doubled, different.

    python -m tests.soak.crashes [--moments 200] [--seed 1] [--only grade,mark]

Each of `COMMANDS` runs on a class that lies ready for it. Half of the kills are by the clock, of any of its processes;
the others end the process that writes, at one of its writes. A crash of the machine is made of what was written until
then (`writes.c` notes it): of each file what was synced, and of what was not any part, in any order, torn as disks tear
it; of names those before the last sync, and some of those after it, as journals keep them. Then the same is said again,
and all has to be as if nothing had been. What was decided or released before, or by a command that had ended, is there
before that, too; a file is the old or the new one.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from helpers.classroom import Classroom  # noqa: E402

COMMANDS = {
    "grade": ("grade", "handed in", "--out", "kept/results", "--jobs", "2"),
    "regrade": ("regrade", "kept/results"),
    "mark": ("mark", "kept/results", "--import", "table.csv", "--by", "ann"),
    "release": ("release", "kept/results", "--by", "ann"),
    "export": ("export", "--results", "kept/results", "--format", "all", "--out", "kept/exported"),
}
FIGURES = ("tried", "lost", "doubled", "different")
SECTOR = 512
_TIMES = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\+00:00| UTC)?|\"seconds\": ?[\d.e-]+")
# What is compared of each table: what tells one thing from another, and what it says. Nothing of when it was.
_TABLES = {
    "graded": ("who, lab, task, item", "title, points, plain"),
    "submission": ("who", "files, remarks"),
    "history": ("who, item", "before, after, why"),
    "held": ("who, item", "plain, why"),
    "decisions": ('submission, task, "check", lines', "kind, basis, worth, credit, reason, by"),
    "releases": ("submission", "by, reason, hidden_too, final, digest"),
}
_LASTING = ("decisions", "releases")


@dataclass
class Count:
    """How many moments were tried, and of how many something was lost, doubled or different; what that was."""

    tried: int = 0
    lost: int = 0
    doubled: int = 0
    different: int = 0
    said: list[str] = field(default_factory=list)

    def add(self, moment, lost=(), doubled=(), different=()):
        """Count one moment."""
        self.tried += 1
        for name, what in (("lost", lost), ("doubled", doubled), ("different", different)):
            if what:
                setattr(self, name, getattr(self, name) + 1)
                self.said.append(f"{moment}: {name}: {str(list(what)[:2])[:300]}")


# ---- the class ---------------------------------------------------------------------------------------------------


def made(command, folder):
    """A class for which a command is due. `kept` in it is what is watched."""
    room = Classroom(folder)
    results = "kept/results"
    if command == "grade":
        (folder / "kept").mkdir()
        return room
    done(room, "grade", "handed in", "--out", results)
    done(room, "export", "--results", results, "--format", "all", "--out", "kept/exported")
    done(room, "mark", results, "--export", "table.csv", "--by", "ann")
    rows = list(csv.DictReader(io.StringIO((folder / "table.csv").read_text("utf-8-sig"))))
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "points": "1", "comment": "well"} for row in rows)
    done(room, "override", results, "s001", "task", "five", "--points", "1", "--reason", "so", "--by", "bob")
    if command != "mark":
        done(room, "mark", results, "--import", "table.csv", "--by", "ann")
    if command in ("regrade", "export"):
        done(room, "release", results, "--by", "ann")
    if command == "regrade":  # `five` and `odd` come out otherwise for all; what was released may not fall
        room.edit("reference/others.py", "return 5", "return 6")
    for path in (folder / "cache").glob("verdicts.sqlite*"):
        path.unlink()
    return room


def done(room, *words):
    """Say something, which has to go well."""
    found = room.cli(*words)
    if found.returncode not in (0, 1) or "Traceback" in found.stderr:
        message = f"labgrade {' '.join(words)}: {found.stdout}{found.stderr}"
        raise RuntimeError(message)


def again(room, command):
    """Say a command (again), in this process; what went wrong with that."""
    before = os.environ.get("LABGRADE_CACHE")
    os.environ["LABGRADE_CACHE"] = str(room.folder / "cache")
    try:
        found = room.said(*COMMANDS[command])
    finally:
        os.environ.pop("LABGRADE_CACHE")
        os.environ.update({} if before is None else {"LABGRADE_CACHE": before})
    refused = found.returncode not in (0, 1) or "Traceback" in found.stderr
    return [f"said again, it ended with {found.returncode}: {found.stderr[-500:]}"] if refused else []


def state(room):
    """All that is kept, as {(where, what): {content: how often}}; a file's content is what it says but for times."""
    kept, found = room.folder / "kept", {}
    for path in sorted(path for path in (kept / "exported").rglob("[!.]*") if path.is_file()):  # hidden: unfinished
        found["file", path.relative_to(kept).as_posix()] = Counter([_TIMES.sub(b"", path.read_bytes())])
    if (kept / "results/handed_in.json").is_file():
        found["file", "handed_in.json"] = Counter([(kept / "results/handed_in.json").read_bytes()])
    if not (kept / "results/results.sqlite").is_file():
        return found
    with contextlib.closing(sqlite3.connect(kept / "results/results.sqlite")) as ledger:
        if ledger.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            found["ledger", "is damaged"] = Counter([""])
        if not ledger.execute("SELECT 1 FROM sqlite_master").fetchone():
            return found
        for table, (key, content) in _TABLES.items():
            keys = key.count(",") + 1
            for row in ledger.execute(f"SELECT {key}, {content} FROM {table}"):  # noqa: S608 - names from above
                said = re.sub(r'"seconds":[\d.e-]+', "", repr(row[keys:]))
                found.setdefault((table, row[:keys]), Counter())[said] += 1
        twice = "SELECT key, count(*) FROM judged WHERE outcome != 'FAULT' GROUP BY key HAVING count(*) > 1"
        for key, count in ledger.execute(twice):
            found["judged", key] = Counter({"twice": count})
    return found


def compared(now, right):
    """What is lost, doubled and different of what there is, against what there should be."""
    lost = [place for place in right if place not in now]
    both = [place for place in right if place in now]
    doubled = [place for place in both if now[place].total() > right[place].total()]
    doubled += [place for place in now if place[0] == "judged" and place not in right]
    different = [place for place in both if place not in doubled and now[place] != right[place]]
    different += [place for place in now if place not in right and place[0] != "judged"]
    return lost, doubled, different


def at_once(now, before, right, *, ended):
    """What is lost or different before the same is said again."""
    sure = right if ended else before
    lost = [place for place in sure if place[0] in _LASTING and place not in now]  # a verdict may be judged again
    lost += [place for place in before if place[0] == "file" and place not in now]
    files = [place for place in now if place[0] == "file"]
    different = [place for place in files if now[place] not in (before.get(place), right.get(place))]
    return lost, different + [place for place in now if place[0] == "ledger"]


# ---- what was written --------------------------------------------------------------------------------------------


def noting(folder):
    """What notes writes, built; None where there is no compiler or no Linux."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    built = folder / "writes.so"
    source = Path(__file__).with_name("writes.c")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", built, source, "-ldl"], check=True, capture_output=True)
    return built


def noted(log):
    """The records of a log: what, at, path, other path, data."""
    data, at = log.read_bytes(), 0
    while at < len(data):
        end = data.index(b"\n", at)
        what, place, size, path, other = data[at:end].split()
        at = end + 1
        length = int(size) if what == b"write" else 0
        names = [os.fsdecode(b"" if each == b"-" else bytes.fromhex(each.decode())) for each in (path, other)]
        yield what.decode(), int(place), *names, data[at : at + length]
        at += length


class Disk:
    """Files and names as a disk has them: what is on it for sure, and what may be."""

    def __init__(self, folder):
        self.files = {}  # number: (what is sure, changes that may be there)
        self.sure, self.names, self.moves = {}, {}, []
        for path in sorted(folder.rglob("*")):
            self.sure[str(path)] = self._new(path.read_bytes()) if path.is_file() else None
        self.names = dict(self.sure)

    def _new(self, content=b""):
        self.files[len(self.files)] = [content, []]
        return len(self.files) - 1

    def take(self, what, at, path, other, data):
        """Take in one record."""
        if path not in self.names and what in ("open", "empty", "folder"):
            self._move({path: None if what == "folder" else self._new()})
        if what == "empty":
            what = "cut"
        if what in ("rename", "link"):
            moved = {other: self.names[path]}
            self._move({**moved, path: ...} if what == "rename" else moved)
        elif what == "unlink":
            self._move({path: ...})
        elif what in ("write", "cut"):
            self.files[self.names[path]][1].append((at, data if what == "write" else None))
        elif what == "sync":
            file = self.files[self.names[path]]
            file[:] = [applied(*file), []]
            self.sure, self.moves = dict(self.names), []

    def _move(self, changes):
        self.moves.append(changes)
        _moved(self.names, changes)

    def left(self, folder, chance):
        """Write what a crash now may leave into the folder."""
        names = dict(self.sure)
        for changes in self.moves[: chance.randint(0, len(self.moves))]:
            _moved(names, changes)
        self._write(names, folder, lambda file: applied(file[0], _some(file[1], chance)))

    def whole(self):
        """{path: content} as programs see it."""
        return {path: applied(*self.files[number]) for path, number in self.names.items() if number is not None}

    def _write(self, names, folder, content):
        shutil.rmtree(folder)
        folder.mkdir()
        for path, number in sorted(names.items()):
            if path.endswith("-shm"):  # lies in memory alone
                continue
            place = Path(path)
            (place if number is None else place.parent).mkdir(parents=True, exist_ok=True)
            if number is not None:
                place.write_bytes(content(self.files[number]))


def _moved(names, changes):
    for path, number in changes.items():
        if number is ...:
            names.pop(path, None)
        else:
            names[path] = number


def applied(content, changes):
    """A file after some changes: (place, data), or (size, None) where it is cut."""
    found = bytearray(content)
    for at, data in changes:
        if len(found) < at:
            found += bytes(at - len(found))
        if data is None:
            del found[at:]
        else:
            found[at : at + len(data)] = data
    return bytes(found)


def _some(changes, chance):
    """Those of the changes that reached the disk: none, the first ones, or any, the last one torn between sectors."""
    kind = chance.choice(("none", "first", "any", "all"))
    if kind in ("none", "all"):
        return changes if kind == "all" else []
    kept = changes[: chance.randint(0, len(changes))]
    if kind == "any":
        kept = [each for each in changes if chance.random() < 0.5]
    if kept and kept[-1][1] is not None and len(kept[-1][1]) > SECTOR:
        at, data = kept[-1]
        kept = [*kept[:-1], (at, data[: chance.randrange(SECTOR, len(data), SECTOR)])]
    return kept


# ---- moments -----------------------------------------------------------------------------------------------------


@dataclass
class Case:
    """A command, the class for which it is due, and what it comes to where nothing happens."""

    command: str
    ready: Path
    before: dict
    right: dict
    log: Path
    seconds: float
    shim: Path

    def room(self):
        """The class, ready anew, at its place: paths are part of what is remembered."""
        place = self.ready.with_name("room")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.ready, place)
        return Classroom(place, size=0)

    def started(self, room, log, die_at=0):
        """The command in processes of its own, each write of which is noted."""
        more = {"NOTED_BELOW": str(room.folder / "kept"), "NOTED_IN": str(log), "LD_PRELOAD": str(self.shim)}
        if die_at:
            more["NOTED_DIE"] = str(die_at)
        return subprocess.Popen(
            room.command(*COMMANDS[self.command]),
            cwd=room.folder,
            env={**room.environment(), **more},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def prepared(command, folder, shim):
    """The case of a command: made, and run once to its end."""
    folder.mkdir()
    made(command, folder / "room")
    (folder / "room").rename(folder / "ready")
    case = Case(command, folder / "ready", {}, {}, folder / "log", 0.0, shim)
    room = case.room()
    case.before = state(room)
    began = time.monotonic()
    ended = case.started(room, case.log).wait(timeout=600)
    case.seconds = time.monotonic() - began
    if ended not in (0, 1):
        message = f"{command} ended with {ended}"
        raise RuntimeError(message)
    disk = Disk(case.ready / "kept")
    _replay(case, disk, room)
    there = {str(path): path.read_bytes() for path in (room.folder / "kept").rglob("*") if path.is_file()}
    if {path: content for path, content in disk.whole().items() if not path.endswith("-shm")} != there:
        message = f"not all that {command} wrote was noted"
        raise RuntimeError(message)
    case.right = state(room)
    return case


def _replay(case, disk, room, until=None):
    """Let the disk take in the records up to one of them, with the names of the folder that was made ready."""
    own = {name.replace(str(case.ready), str(room.folder), 1): number for name, number in disk.names.items()}
    disk.sure, disk.names = dict(own), dict(own)
    for number, record in enumerate(noted(case.log)):
        if number == until:
            break
        disk.take(*record)


def crashed(case, chance, count):
    """The machine crashes at a random write."""
    records = sum(1 for _ in noted(case.log))
    cut = records if chance.random() < 0.15 else chance.randrange(records)
    room, disk = case.room(), Disk(case.ready / "kept")
    _replay(case, disk, room, cut)
    disk.left(room.folder / "kept", chance)
    _judge(case, room, count, f"{case.command} at write {cut} of {records}", ended=cut == records)


def killed(case, chance, count):
    """One process is killed: any at some time, or the one that writes."""
    room, log = case.room(), case.log.with_name("another")
    for each in (log, log.with_name("another.died")):
        each.unlink(missing_ok=True)
    by_write = chance.random() < 0.5
    die_at = chance.randint(1, case.log.stat().st_size) if by_write else 0
    running = case.started(room, log, die_at)
    who, tree = "who writes", _below(running.pid)
    if by_write:
        while running.poll() is None:
            tree |= _below(running.pid)
            time.sleep(0.02)
    else:
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(chance.uniform(0.05, case.seconds))
        tree |= _below(running.pid)
        alive = sorted(_below(running.pid) - {running.pid})
        target = running.pid if not alive or chance.random() < 0.5 else chance.choice(alive)
        who = "its first process" if target == running.pid else "one below it"
        if running.poll() is not None:
            return  # it was done already
        with contextlib.suppress(ProcessLookupError):
            os.kill(target, signal.SIGKILL)
    running.wait(timeout=600)
    if by_write and not log.with_name("another.died").exists():
        return  # it wrote less this time
    left = _gone(tree)
    moment = f"{case.command}, killed {who}" + (f" at byte {die_at}" if by_write else "")
    _judge(case, room, count, moment, ended=running.returncode == 0, also=left)


def _judge(case, room, count, moment, *, ended, also=()):
    lost, different = at_once(state(room), case.before, case.right, ended=ended)
    refused = again(room, case.command)
    more, doubled, others = compared(state(room), case.right)
    count.add(moment, [*lost, *more], doubled, [*different, *others, *refused, *also])


def _below(pid):
    found, waiting = set(), [pid]
    while waiting:
        each = waiting.pop()
        found.add(each)
        with contextlib.suppress(OSError):
            for children in Path(f"/proc/{each}/task").glob("*/children"):
                waiting += [int(child) for child in children.read_text().split()]
    return found


def _gone(tree, seconds=60):
    """What is left of some processes after a while."""
    until = time.monotonic() + seconds
    while alive := [pid for pid in tree if _alive(pid)]:
        if time.monotonic() > until:
            return [f"processes live on: {alive}"]
        time.sleep(0.05)
    return []


def _alive(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def tried(moments, seed=1, only=tuple(COMMANDS)):
    """Each (what happened, command) and its Count; of each command its share of the moments."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    with tempfile.TemporaryDirectory(prefix="labgrade-crashes-") as name:
        shim = noting(Path(name))
        for number, command in enumerate(only):
            share = moments // len(only) + (number < moments % len(only))
            if not share:
                continue
            case = prepared(command, Path(name, command), shim)
            for happened, once in (("killed", killed), ("machine", crashed)):
                count = Count()
                while count.tried < share:
                    once(case, chance, count)
                yield (happened, command), count


def row(names, count):
    """A line of the table, and what was wrong."""
    figures = "".join(f"{getattr(count, name):>11}" for name in FIGURES)
    return "\n".join([f"{', '.join(names):<20}{figures}", *count.said])


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=200, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(COMMANDS))
    options = parser.parse_args()
    print(f"{'':<20}" + "".join(f"{name:>11}" for name in FIGURES))
    found = {}
    for names, count in tried(options.moments, options.seed, options.only):
        found[names] = count
        print(row(names, count), flush=True)
    for happened in ("killed", "machine"):
        own = [count for (name, _), count in found.items() if name == happened]
        print(row((happened, "all"), Count(*(sum(getattr(count, name) for count in own) for name in FIGURES))))
    sys.exit(any(count.said for count in found.values()))


if __name__ == "__main__":
    main()
