"""Whether a verdict depends on the hand-in alone: the same reports judged again and again, in other circumstances.

    python tests/soak/alike.py [--times N] [--busy N] [NAME ...]

judges the galleries (or those of these names) with the real jailed reader: with fresh and warm memory, in one process
and in four, alone and beside busy processes. It prints what differs, and exits with 1 if anything does.
"""

import argparse
import itertools
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUSY = "while True: pass"


def said(name, *, rounds):
    """What is said of each check of a gallery, in some rounds of one process: its memory is warm from the second on."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]
    from helpers import report_figures

    from labgrade.run.grader import Grader

    with Grader(report_figures.COURSE) as grader:
        return [
            {
                (section.name, check): (str(verdict.outcome), verdict.reason, str(verdict.suggestion))
                for section in report_figures.sections(name)
                for check, verdict in report_figures.judged(grader, section).items()
            }
            for _ in range(rounds)
        ]


def judged(names, workers, rounds):
    """The rounds of all galleries, judged by so many processes."""
    with ProcessPoolExecutor(workers) as pool:
        found = list(pool.map(partial(said, rounds=rounds), names))
    return [dict(itertools.chain.from_iterable(each[at].items() for each in found)) for at in range(rounds)]


def main():
    """Judge, compare, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--busy", type=int, default=8)
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in (ROOT / "tests/galleries/reports").glob("*.txt"))
    found = []
    ways = itertools.cycle([(1, 0), (4, 0), (1, options.busy), (4, options.busy)])
    while len(found) < options.times:
        workers, busy = next(ways)
        others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(busy)]
        try:
            found += judged(names, workers, min(2, options.times - len(found)))
        finally:
            for each in others:
                each.kill()
                each.wait()
    differing = [key for key in found[0] if len({each.get(key) for each in found}) > 1]
    for key in differing:
        print(*key, *{each.get(key) for each in found}, sep="\n  ")  # noqa: T201
    print(f"{len(found)} times {len(found[0])} checks: {len(differing)} differ")  # noqa: T201
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
