"""What the prover makes of many right and wrong graphs: a count, and each case that is not as it should be."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path

import onnx

from reference.tiling import tiling_findings
from tests.reference.tiling.conftest import DECLARED


def verdict(submitted, original, **options):
    """CORRECT, INCORRECT, MANUAL or FAULT, and what is said; CRASH where the prover raises."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        onnx.save(original, folder / "o.onnx")
        (folder / "s.onnx").write_bytes(submitted.SerializeToString())
        return verdict_of(folder / "s.onnx", **options)


def verdict_of(path, **options):
    try:
        found = tiling_findings(path, original="o.onnx", products=[*DECLARED], **options)
    except Exception as error:  # noqa: BLE001 - that is what is counted
        return "CRASH", f"{type(error).__name__}: {error}"
    if not found:
        return "CORRECT", ""
    said = " / ".join(each["says"] for each in found)
    if any(each["kind"] == "fault" for each in found):
        return "FAULT", said
    certain = any(each["certain"] for each in found)
    return ("INCORRECT" if certain else "MANUAL"), said + "".join(
        f" [run: {e['opinion']}]" for e in found[:1] if "opinion" in e
    )


def tally(cases):
    """Count the verdicts of (name, submitted, original, options); returns the counts and the lines of each case."""
    counts, lines = Counter(), []
    for name, submitted, original, options in cases:
        start = time.process_time()
        outcome, said = verdict(submitted, original, **options)
        counts[outcome] += 1
        lines.append((name, outcome, said, time.process_time() - start))
    return counts, lines
