"""Runs attacks with some layers of the jail, as the user that it was started by; prints what came of each as JSON.

`driver.py FOLDER LAYERS ATTACK...`: FOLDER is empty and this user's own; LAYERS are joined by commas.
"""

import json
import shutil
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parent.parent
sys.path[:0] = [str(PROJECT), str(HERE)]

from world import World, plant  # noqa: E402

from labgrade.core.errors import FaultError  # noqa: E402
from labgrade.core.task import Limits  # noqa: E402
from labgrade.sandbox import runner as runner_module  # noqa: E402
from labgrade.sandbox.jail.layers import METER  # noqa: E402
from labgrade.sandbox.requests import CallRequest  # noqa: E402
from labgrade.sandbox.runner import Runner  # noqa: E402

LIMITS = Limits(seconds=3.0, memory=300 << 20, output=1 << 20)
# What only its time stops is stopped soon.
BRIEF = replace(LIMITS, seconds=1.0)
# What is not to be stopped by its time has as much as the slowest disk takes for 12,000 files.
PATIENT = replace(LIMITS, seconds=60.0)


def headers(name):
    """The lines `key: value` of an attack's docstring."""
    lines = (HERE / "gallery" / f"{name}.py").read_text().split('"""')[1].splitlines()[1:]
    return {key: value.strip() for key, colon, value in (line.partition(":") for line in lines) if colon}


def call(runner, folder, limits=PATIENT, function="attack"):
    return runner.run(
        CallRequest(folder=folder, file="hw.py", function=function, given=(), subject=None, limits=limits)
    )


def limits_of(about, layers):
    """Of an attack: little time where that is to stop it, or where it succeeds by taking more than it may."""
    if METER not in layers:
        return LIMITS
    ended_by_time = {"timeout", "waited"} & set(about.get("outcome", "").replace(",", " ").split())
    return BRIEF if ended_by_time else PATIENT


class Holder(threading.Thread):
    """An attack that takes something and holds it, as it prints, until it is ended."""

    def __init__(self, runner, folder):
        super().__init__()
        self.runner, self.folder, self.child = runner, folder, None

    def run(self):
        follow = runner_module.follow

        def followed(child, *arguments):
            if threading.current_thread() is self:
                self.child = child
            return follow(child, *arguments)

        runner_module.follow = followed
        call(self.runner, self.folder)
        runner_module.follow = follow

    def __enter__(self):
        self.start()
        while self.is_alive() and not (self.child and b"holding" in self.child.output.data):
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        if self.child is not None:
            self.child.kill()
        self.join()


def beside(runner, folder):
    """What a class-mate gets alone, and beside the attack."""
    first = call(runner, folder, function="beside")
    with Holder(runner, folder):
        second = call(runner, folder, function="beside")
    return (first.status, first.value), (second.status, second.value)


def main():
    folder, layers, *attacks = sys.argv[1:]
    world = World(Path(folder), PROJECT)
    zoo = PROJECT / "tests/sandbox/zoo_light.py"
    wanted = tuple(layer for layer in layers.split(",") if layer)
    try:
        spare = 1.0 if METER in wanted else 30.0  # what computes needs its time where nothing else is to stop it
        with Runner(zoo=zoo, fresh=False, layers=wanted, spare_seconds=spare) as runner:
            print(json.dumps(attacked(runner, world, Path(folder), attacks)))  # noqa: T201
    finally:
        world.close()


def attacked(runner, world, folder, attacks):
    before = folder / "class/previous"
    before.mkdir()
    (before / "hw.py").write_text(f"def attack(): return {''.join(world.marks['previous'])!r}")
    call(runner, before)
    try:
        runner._servers.get("students")
    except FaultError as error:
        return {"layers": [], "attacks": {}, "why": str(error)}
    found = {"layers": sorted(runner._servers.get("students").state["layers"]), "attacks": {}}
    for name in attacks:
        submission = folder / "class" / name
        submission.mkdir()
        shutil.copy(HERE / "gallery" / f"{name}.py", submission / "hw.py")
        about = headers(name)
        plant(about.get("plant", ""), submission, world)
        found["attacks"][name] = attacked_by(runner, world, submission, limits_of(about, found["layers"]))
        shutil.rmtree(submission)
    return found


def attacked_by(runner, world, submission, limits):
    if "def beside" in (submission / "hw.py").read_text():
        first, second = beside(runner, submission)
        said = f"alone {first}, beside the attack {second}"
        return {"status": "returned", "value": said, "hit": first != second, "damage": world.damage(said)}
    execution = call(runner, submission, limits)
    said = repr(execution.value) + execution.printed + execution.reason
    return {
        "status": execution.status,
        "value": said[:2000],
        "hit": bool(execution.status == "returned" and execution.value),
        "damage": world.damage(said),
    }


if __name__ == "__main__":
    main()
