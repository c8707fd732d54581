"""All of it: every right way and wrong kind on every network, PyTorch's exports, random edits, damaged files.

    python -m tests.reference.tiling.whole                   (make proof)
    python -m tests.reference.tiling.whole --only bytes edits --files 10000

Prints a line for each case that is not as it should be, and the figures of docs/tiling-proof.md. Ends with 1 where
something wrong was called right, or something crashed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import onnx

from tests.reference.tiling import right_torch, right_wholes
from tests.reference.tiling.edits import edit
from tests.reference.tiling.networks import mlp
from tests.reference.tiling.right_ways import WAYS
from tests.reference.tiling.tally import verdict, verdict_of
from tests.reference.tiling.written import NETWORKS
from tests.reference.tiling.wrong_kinds import KINDS, differs, is_wrong

assert right_wholes  # it adds its ways
PARTS = ("right", "torch", "wrong", "edits", "bytes")


class Figures:
    """Counts, and what must not be."""

    def __init__(self):
        self.bad = 0
        self.slowest = 0.0

    def count(self, part, cases):
        counts, start = Counter(), time.process_time()
        for name, outcome, said, is_bad in cases:
            counts[outcome] += 1
            if is_bad:
                self.bad += is_bad == "bad"
                print(f"  {part}: {name}: {outcome} {said[:300]}", flush=True)
        total = sum(counts.values())
        shares = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.most_common())
        print(f"{part}: {total:,} graphs: {shares} ({time.process_time() - start:.0f} s of CPU)", flush=True)


def judged_right(name, submitted, original):
    outcome, said = verdict(submitted, original)
    return (
        name,
        outcome,
        said,
        "" if outcome == "CORRECT" else "bad" if outcome in ("CRASH", "FAULT", "INCORRECT") else "note",
    )


def right():
    for network, make in NETWORKS.items():
        original = make()
        for name, way in WAYS.items():
            yield judged_right(f"{network} {name}", way(original), original)


def exports():
    for activations in (("relu",), ("clamp", "maximum", "in blocks")):
        styles = tuple(right_torch.STYLES) if activations == ("relu",) else ("cat",)
        for name, submitted, original in right_torch.cases(styles, activations):
            yield judged_right(name, submitted, original)


def wrong():
    for network, make in NETWORKS.items():
        original = make()
        for name, kind in KINDS.items():
            submitted = kind(original)
            if submitted is None or not is_wrong(name, submitted, original):
                continue
            outcome, said = verdict(submitted, original)
            yield f"{network} {name}", outcome, said, "bad" if outcome in ("CORRECT", "CRASH", "FAULT") else ""


def edits(files, seed):
    """Right graphs with one change, judged by running them."""
    originals = {name: make() for name, make in NETWORKS.items()}
    for number in range(files):
        rng = np.random.default_rng([seed, number])
        network = sorted(originals)[rng.integers(len(originals))]
        way = sorted(WAYS)[rng.integers(len(WAYS))]
        submitted = WAYS[way](originals[network])
        what = edit(submitted, rng)
        outcome, said = verdict(submitted, originals[network])
        is_bad = outcome in ("CRASH", "FAULT") or (outcome == "CORRECT" and differs(submitted, originals[network]))
        yield f"{seed}/{number} {network} {way}: {what}", outcome, said, "bad" if is_bad else ""


def damaged(files, seed):
    """Files with some bytes changed; what is accepted must run as the original does."""
    original = mlp([70, 66], batch=2, seed=8)
    ways = {name: WAYS[name](original).SerializeToString() for name in sorted(WAYS)}
    with tempfile.TemporaryDirectory() as place:
        onnx.save(original, Path(place) / "o.onnx")
        path = Path(place) / "s.onnx"
        for number in range(files):
            rng = np.random.default_rng([seed, 1, number])
            name = sorted(ways)[rng.integers(len(ways))]
            content = spoilt(bytearray(ways[name]), rng)
            path.write_bytes(content)
            outcome, said = verdict_of(path)
            is_bad = outcome in ("CRASH", "FAULT")
            if outcome == "CORRECT":
                is_bad = differs(onnx.load_model_from_string(bytes(content)), original)
            yield f"{seed}/{number} {name}", outcome, said, "bad" if is_bad else ""


def spoilt(content, rng):
    """Bits, bytes, pieces left out, exchanged or written twice; more often in what is not a weight."""
    for _ in range(int(rng.integers(1, 4))):
        place = _structural(content, rng) if rng.integers(4) else int(rng.integers(len(content)))
        match rng.integers(6):
            case 0 | 1:
                content[place] ^= 1 << int(rng.integers(8))
            case 2:
                content[place] = int(rng.integers(256))
            case 3:
                content[place : place + 4] = rng.bytes(4)
            case 4:
                del content[place : place + int(rng.integers(1, 20))]
            case _:
                size = int(rng.integers(1, 60))
                content[place:place] = content[place : place + size]
    return content


def _structural(content, rng):
    """A place near a letter: names, operators and attributes lie there."""
    for _ in range(50):
        place = int(rng.integers(len(content)))
        if bytes(content[place : place + 3]).isalpha():
            return place
    return int(rng.integers(len(content)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--files", type=int, default=5_000, help="how many edits, and how many damaged files")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    figures = Figures()
    for part, cases in {
        "right": right, "torch": exports, "wrong": wrong,
        "edits": lambda: edits(options.files, options.seed), "bytes": lambda: damaged(options.files, options.seed),
    }.items():  # fmt: skip
        if part in options.only:
            figures.count(part, cases())
    return figures.bad > 0


if __name__ == "__main__":
    sys.exit(main())
