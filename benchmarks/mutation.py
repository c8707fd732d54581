"""How many deliberate bugs in checkers/ and reference/ the tests notice; the survivors by name.

python benchmarks/mutation.py [checkers reference] [--sample N] [--seed S]

Cosmic Ray mutates one place at a time in a copy of the project and runs the folder's own tests. All mutants of
checkers/ take about an hour on two cores, those of reference/ a day, so a seeded sample is drawn. Mutants of `|` are
left out: nearly all stand in annotations, which change nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome

ROOT = Path(__file__).parents[1]
CONFIG = """
[cosmic-ray]
module-path = "{folder}"
timeout = 300.0
excluded-modules = []
test-command = "{python} -m pytest -q -x -p no:cacheprovider tests/{folder}"

[cosmic-ray.distributor]
name = "local"
"""


def copy_project(target: Path) -> None:
    """Copy what git knows, so that mutating in place touches nothing of ours."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S607
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def mutate(project: Path, folder: str, sample: int, seed: int) -> WorkDB:
    """Run a sample of the mutants of one folder; the results are in the returned database."""
    (project / "mutation.toml").write_text(CONFIG.format(folder=folder, python=sys.executable), encoding="utf-8")
    session = f"{folder}.sqlite"
    environment = {**os.environ, "PYTHONPATH": str(project), "PYTHONDONTWRITEBYTECODE": "1"}

    def cosmic_ray(verb: str) -> None:
        command = [sys.executable, "-m", "cosmic_ray.cli", verb, "mutation.toml", session]
        subprocess.run(command, cwd=project, env=environment, check=True)

    cosmic_ray("init")
    with use_db(project / session, WorkDB.Mode.open) as database:
        every = [item for item in database.pending_work_items if "BitOr" not in item.mutations[0].operator_name]
        drawn = random.Random(seed).sample(every, min(sample, len(every)))  # noqa: S311 - a draw, no secret
        print(f"{folder}: {len(drawn)} of {len(every)} mutants", flush=True)
        database.clear()
        database.add_work_items(drawn)
    cosmic_ray("exec")
    return WorkDB(project / session, WorkDB.Mode.open)


def main() -> None:
    """Print the score of each folder and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", default=["checkers", "reference"])
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for folder in options.folders:
        with tempfile.TemporaryDirectory(prefix="labgrade-mutation-") as where:
            project = Path(where)
            copy_project(project)
            found = list(mutate(project, folder, options.sample, options.seed).completed_work_items)
        survivors = [item for item, result in found if result.test_outcome == TestOutcome.SURVIVED]
        print(f"{folder}: {len(found) - len(survivors)} of {len(found)} killed")
        for item in survivors:
            change = item.mutations[0]
            print(f"  {change.module_path}:{change.start_pos[0]} {change.definition_name} {change.operator_name}")


if __name__ == "__main__":
    main()
