"""Runs attacks with some layers of the jail, as the user that it was started by; prints what came of each as JSON.

`driver.py FOLDER LAYERS ATTACK...`: FOLDER is empty and this user's own; LAYERS are joined by commas.
"""

import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parent.parent
sys.path[:0] = [str(PROJECT), str(HERE)]

from world import World, plant  # noqa: E402

from labgrade.errors import FaultError  # noqa: E402
from labgrade.model import Limits  # noqa: E402
from labgrade.sandbox.request import CallRequest  # noqa: E402
from labgrade.sandbox.runner import Runner  # noqa: E402

LIMITS = Limits(seconds=3.0, memory=300 << 20, output=1 << 20)


def headers(name):
    """The lines `key: value` of an attack's docstring."""
    lines = (HERE / "gallery" / f"{name}.py").read_text().split('"""')[1].splitlines()[1:]
    return {key: value.strip() for key, colon, value in (line.partition(":") for line in lines) if colon}


def call(runner, folder):
    return runner.run(
        CallRequest(folder=folder, file="hw.py", function="attack", given=(), subject=None, limits=LIMITS)
    )


def main():
    folder, layers, *attacks = sys.argv[1:]
    world = World(Path(folder), PROJECT)
    zoo = PROJECT / "tests/sandbox/zoo_light.py"
    wanted = tuple(layer for layer in layers.split(",") if layer)
    try:
        spare = 3.0 if "meter" in wanted else 30.0  # what computes needs its time where nothing else is to stop it
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
        plant(headers(name).get("plant", ""), submission, world)
        execution = call(runner, submission)
        said = repr(execution.value) + execution.printed + execution.reason
        found["attacks"][name] = {
            "status": execution.status,
            "value": said[:2000],
            "hit": bool(execution.status == "returned" and execution.value),
            "damage": world.damage(said),
        }
        shutil.rmtree(submission)
    return found


if __name__ == "__main__":
    main()
