"""MACs by layer: labgrade beside six other counters. Time, memory, and whether the count is exact.

    python benchmarks/macs.py            # five models, some minutes: fvcore and ptflops run on real tensors
    python benchmarks/macs.py --quick    # GoogLeNet alone, under a minute

Each pair of tool and model runs in a process of its own. `ms` is the fastest of up to 20 runs within 3 seconds, the
model already built; `MB` is the peak of the resident memory above what it was after the imports, the model's building
included. A tool runs on the meta device if it can do that without changing its count. "exact" is a sum of products
by convolutions, linear layers and matrix products alone, which is what torchvision publishes as `_ops`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    Count = Callable[[], int]

MODELS = ("googlenet", "resnet50", "vit_b_16", "vgg16", "convnext_large")
BASELINE = "FlopCounterMode"
OURS = "labgrade"
SECONDS, RUNS = 3.0, 20


def labgrade(module: torch.nn.Module, x: torch.Tensor) -> Count:
    """Ours: rows by layer with their names, types and MACs."""
    from reference.macs import macs_by_layer

    class Built:
        def on_meta(self) -> tuple[torch.nn.Module, torch.Tensor]:
            return module, x

        def with_weights(self) -> tuple[torch.nn.Module, torch.Tensor]:
            return module, x

    return lambda: sum(row["macs"] for row in macs_by_layer(Built()))


def flop_counter_mode(module: torch.nn.Module, x: torch.Tensor) -> Count:
    """Torch's own, which counts two floating-point operations for a MAC."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    def count() -> int:
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            module(x)
        return counter.get_total_flops() // 2

    return count


def torchinfo(module: torch.nn.Module, x: torch.Tensor) -> Count:
    """Its mult-adds."""
    from torchinfo import summary

    return lambda: int(summary(module, input_data=x, verbose=0, device=x.device).total_mult_adds)


def ptflops(module: torch.nn.Module, x: torch.Tensor) -> Count:
    """Its default backend; on the meta device it would count each linear layer twice."""
    from ptflops import get_model_complexity_info

    options = {"as_strings": False, "print_per_layer_stat": False, "verbose": False}
    return lambda: int(get_model_complexity_info(module, tuple(x.shape[1:]), **options)[0])


def fvcore(module: torch.nn.Module, x: torch.Tensor) -> Count:
    """Its total; it traces the model, which the meta device does not let it do."""
    import logging

    from fvcore.nn import FlopCountAnalysis

    logging.disable()
    return lambda: int(FlopCountAnalysis(module, x).total())


def calflops(module: torch.nn.Module, x: torch.Tensor) -> Count:
    """Its MACs."""
    from calflops import calculate_flops

    options = {"print_results": False, "output_as_string": False}
    return lambda: int(calculate_flops(module, args=[x], **options)[1])


def thop(module: torch.nn.Module, x: torch.Tensor) -> Count:
    """Its MACs."""
    from thop import profile

    return lambda: int(profile(module, inputs=(x,), verbose=False)[0])


# What counts, what it imports, and where it runs.
TOOLS: dict[str, tuple[Callable[..., Count], str, str]] = {
    BASELINE: (flop_counter_mode, "torch.utils.flop_counter", "meta"),
    OURS: (labgrade, "reference.macs", "meta"),
    "torchinfo": (torchinfo, "torchinfo", "meta"),
    "ptflops": (ptflops, "ptflops", "cpu"),
    "fvcore": (fvcore, "fvcore.nn", "cpu"),
    "calflops": (calflops, "calflops", "meta"),
    "thop": (thop, "thop", "meta"),
}


def measure(tool: str, model: str) -> dict[str, Any]:
    """Run one tool on one model, in this process."""
    from labgrade.subjects import models

    models.import_torchvision()
    prepare, imported, device = TOOLS[tool]
    importlib.import_module(imported)
    subject = models.Subject(model=f"torchvision/{model}", shape=(1, 3, 224, 224))
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak of the imports
    count = prepare(*(subject.on_meta() if device == "meta" else subject.with_weights()))
    times, n = [], 0
    while len(times) < RUNS and sum(times) < SECONDS:
        start = time.perf_counter()
        n = count()
        times.append(time.perf_counter() - start)
    return {"ms": min(times) * 1e3, "runs": len(times), "mb": (resident("VmHWM") - before) / 1e6, "macs": n}


def resident(name: str) -> int:
    """A line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def child(tool: str, model: str) -> dict[str, Any]:
    """Measure in a process of its own; what goes wrong there is the result."""
    command = [sys.executable, __file__, "--measure", tool, model]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT)
    except subprocess.TimeoutExpired:
        return {"reason": "took more than 300 seconds"}
    last = run.stdout.strip().rpartition("\n")[2]
    return json.loads(last) if last.startswith("{") else {"reason": f"exit status {run.returncode}"}


def main() -> None:
    """Print the table and the ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="GoogLeNet alone")
    parser.add_argument("--measure", nargs=2, metavar=("TOOL", "MODEL"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        in_child(*arguments.measure)
        return
    results = {}
    print(f"{'model':<15} {'tool':<16} {'device':<6} {'ms':>9} {'MB':>7}  {'MACs':>15}  off")
    for model in MODELS[:1] if arguments.quick else MODELS:
        for tool, (_, _, device) in TOOLS.items():
            found = results[model, tool] = child(tool, model)
            exact = results[model, BASELINE]["macs"]
            print(f"{model:<15} {tool:<16} {device:<6} {line(found, exact)}", flush=True)
    ratio = results["googlenet", BASELINE]["ms"] / results["googlenet", OURS]["ms"]
    print(f"\n{OURS} analyses GoogLeNet {ratio:.1f} times as fast as {BASELINE} on the meta device")


def line(found: dict[str, Any], exact: int) -> str:
    """The figures of a tool, or why there are none."""
    if "reason" in found:
        return f"not run: {found['reason']}"
    off = "exact" if found["macs"] == exact else f"{(found['macs'] - exact) / exact:+.2%}"
    return f"{found['ms']:>9.1f} {found['mb']:>7.1f}  {found['macs']:>15,}  {off}"


def in_child(tool: str, model: str) -> None:
    """Measure, with whatever the tool prints and warns kept off the result."""
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            found = measure(tool, model)
        except ModuleNotFoundError as error:
            found = {"reason": f"it needs {error.name}, which is not installed"}
        except Exception as error:  # noqa: BLE001 - another tool's failure is a line of the table
            found = {"reason": f"{type(error).__name__}: {error}".partition("\n")[0][:90]}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
