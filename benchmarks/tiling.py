"""What the proof of a tiled AlexNet costs, beside running it; and which wrong graphs other checks let through.

    python benchmarks/tiling.py            the catch table, and time and memory of each way
    python benchmarks/tiling.py --quick    without ONNX Runtime on the whole AlexNet, which takes minutes
    python benchmarks/tiling.py --costs    time and memory alone

Times are CPU seconds (user and system) of a process of its own, without its imports, and how many times that is what
ONNX's reference implementation takes for both files; memory is its peak.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
SEEDS = 5
MSE = 1e-5

_MEASURED = """
import json, resource, sys, time
from pathlib import Path
import numpy as np, onnx
from onnx import helper, numpy_helper
sys.path.insert(0, {root!r})
{imports}
student, original = Path({student!r}), Path({original!r})
before = resource.getrusage(resource.RUSAGE_SELF)
result = ({code})
after = resource.getrusage(resource.RUSAGE_SELF)
cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
status = Path("/proc/self/status").read_text()  # ru_maxrss would count what the parent had when it forked
peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
print(json.dumps([cpu, peak, str(result)]))
"""
_FEED = "{'input': np.random.default_rng(0).standard_normal((1, 3, 224, 224)).astype(np.float32)}"
_ORT = (
    "[ort.InferenceSession(str(p), options({level!r}), providers=['CPUExecutionProvider'])"
    ".run(None, " + _FEED + ")[0].sum() for p in (student, original)]"
)
_ORT_IMPORTS = """
import onnxruntime as ort
def options(level):
    made = ort.SessionOptions()
    made.intra_op_num_threads = 1
    made.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    made.log_severity_level = 4
    return made
"""
WAYS = {
    "ReferenceEvaluator": (
        "from onnx.reference import ReferenceEvaluator",
        "[ReferenceEvaluator(str(p)).run(None, " + _FEED + ")[0].sum() for p in (student, original)]",
    ),
    "proof": ("from reference._tiling.prove import prove", "prove(student, original).is_proved"),
    "proof and run": (
        "from reference.tiling import tiling_findings",
        "tiling_findings(student, original=str(original))",
    ),
}
SLOW = {
    f"onnxruntime, {level[10:].lower()}": (_ORT_IMPORTS, _ORT.replace("{level!r}", repr(level)))
    for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
}


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--costs", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not options.costs:
            catches(Path(folder))
        costs(Path(folder), WAYS if options.quick or options.costs else {**WAYS, **SLOW})


def catches(folder: Path) -> None:
    """How many of the mutants each way rejects."""
    import numpy as np
    from onnx.reference import ReferenceEvaluator

    from reference._tiling.prove import prove
    from tests.reference.tiling.mutants import MUTANTS, make
    from tests.reference.tiling.networks import save
    from tests.reference.tiling.tilings import as_plain

    columns = ("MSE < 1e-5", "allclose", "proof")
    print(f"{'rejected of ' + str(SEEDS):44}" + "".join(f"{name:>16}" for name in columns))
    totals = [0] * len(columns)
    for kind in MUTANTS:
        counts = [0] * len(columns)
        for seed in range(SEEDS):
            original, mutant, _ = make(kind, seed)
            one, two = save(mutant, folder / "s.onnx"), save(original, folder / "o.onnx")
            data = np.random.default_rng(seed).standard_normal((3, 3, 10, 10)).astype(np.float32)
            (wanted,) = ReferenceEvaluator(original).run(None, {"x": data})
            try:
                with np.errstate(all="ignore"):
                    (got,) = ReferenceEvaluator(as_plain(mutant)).run(None, {"x": data})
                    runs = got.shape == wanted.shape
                    counts[0] += not (runs and float(np.mean((got - wanted) ** 2)) < MSE)
                    counts[1] += not (runs and np.allclose(got, wanted))
            except Exception:  # noqa: BLE001 - a graph that can't run is rejected by whoever runs it
                counts[0] += 1
                counts[1] += 1
            counts[2] += not prove(one, two).is_proved
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        print(f"{kind:44}" + "".join(f"{count:16}" for count in counts))
    print(f"{'all ' + str(len(MUTANTS) * SEEDS):44}" + "".join(f"{total:16}" for total in totals), end="\n\n")


def costs(folder: Path, ways: dict[str, tuple[str, str]]) -> None:
    """CPU seconds and peak memory of each way on a tiled AlexNet."""
    import onnx

    from labgrade.subjects import onnx_export
    from tests.reference.tiling.tilings import Way, tiled

    original = folder / "alexnet.onnx"
    subject = {"model": "torchvision/alexnet.onnx", "shape": [1, 3, 224, 224], "fill": "normal", "input_seed": 0}
    onnx_export.make(original, {**subject, "options": {}, "weight_seed": 0})
    whole = onnx.load(original)
    print(f"{'tiled AlexNet':26}{'way':30}{'CPU s':>8}{'times':>7}{'peak MB':>9}  result")
    for name, way in {
        "cut beforehand, Sum": Way(),
        "Split at run time": Way(weights="split"),
        "chains of Add": Way(total="chain"),
        "Gemm with bias": Way(weights="split", product="gemm", bias="first"),
    }.items():
        student = folder / "student.onnx"
        onnx.save(tiled(whole, way), student)
        alone = 0.0
        for title, (imports, code) in ways.items():
            script = _MEASURED.format(
                root=str(ROOT), imports=imports, student=str(student), original=str(original), code=code
            )
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
            lines = done.stdout.splitlines()
            if done.returncode or not lines:
                print(f"{name:26}{title:30} failed: {done.stderr[-200:]}")
                continue
            cpu, peak, result = json.loads(lines[-1])
            alone = cpu if title == "ReferenceEvaluator" else alone
            times = cpu / alone if alone else float("nan")
            print(f"{name:26}{title:30}{cpu:8.2f}{times:7.2f}{peak:9.0f}  {result[:60]}", flush=True)


if __name__ == "__main__":
    main()
