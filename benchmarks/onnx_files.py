"""ONNX files: labgrade beside onnx.load + infer_shapes, onnx-tool and onnx-opcounter. Time, memory, exact or not.

    python benchmarks/onnx_files.py            # five files, some minutes: exporting them takes longest
    python benchmarks/onnx_files.py --quick    # AlexNet (244 MB) and MobileNetV2 alone

Each pair of tool and file runs in a process of its own, on a file that the disk cache holds. `ms` is one run, after
the imports; `MB` is the peak of the resident memory above what it was after them. labgrade's run is all of it:
shapes of all tensors, MACs, traffic, activations. "exact" compares MACs with torchvision's published figures (as
`reference/macs.py` computes them) and the bytes of all activations with onnxruntime's outputs; a dash says that the
tool has no such figure. A tool that is not installed says so: pip install 'labgrade[bench]'.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# Activations: what onnxruntime puts out when every node's output is exposed (tests/reference/onnx_witness.py).
FILES: dict[str, tuple[dict[str, Any], int, int]] = {
    "alexnet": ({"opset": 17}, 714_188_480, 4_376_480),
    "mobilenet_v2": ({"opset": 17, "dynamic_batch": True}, 300_774_272, 52_015_392),
    "googlenet": ({"opset": 17}, 1_498_376_192, 36_433_696),
    "resnet50": ({"opset": 17}, 4_089_184_256, 105_791_392),
    "vit_b_16": ({"opset": 17}, 17_563_828_224, 585_745_483),
}
SHAPE = [1, 3, 224, 224]
OURS, BASELINE = "labgrade", "onnx.load + infer_shapes"


def labgrade(path: Path) -> dict[str, int]:
    """Everything that labgrade says of a file."""
    from reference.onnx_macs import onnx_macs
    from reference.onnx_memory import onnx_activation_bytes, onnx_traffic_bytes

    onnx_traffic_bytes(path, input_shape=SHAPE)
    return {
        "macs": onnx_macs(path, input_shape=SHAPE),
        "activations": onnx_activation_bytes(path, input_shape=SHAPE),
    }


def load_and_infer(path: Path) -> dict[str, int]:
    """What most scripts begin with; sizes as they read them, `dim_value` multiplied up."""
    import math

    import onnx

    graph = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
    made = {name for node in graph.node if node.op_type != "Constant" for name in node.output}
    total = 0
    for each in (*graph.value_info, *graph.output):
        kind = each.type.tensor_type
        if each.name in made:
            size = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).itemsize
            total += size * math.prod(dim.dim_value for dim in kind.shape.dim)
    return {"activations": total}


def onnx_tool(path: Path) -> dict[str, int]:
    """Its MACs count biases and element-wise operators; its memory is weights and activations."""
    import numpy as np
    import onnx
    from onnx_tool import Model

    name = onnx.load(path, load_external_data=False).graph.input[0].name
    model = Model(str(path), {"verbose": False})
    model.graph.shape_infer({name: np.zeros(SHAPE, np.float32)})
    model.graph.profile()
    return {"macs": int(model.graph.macs[0]), "activations": int(model.graph.memory) - _weights(path)}


def _weights(path: Path) -> int:
    from reference.onnx_memory import onnx_tensors

    return sum(row["bytes"] for row in onnx_tensors(path, input_shape=SHAPE) if row["kind"] == "weight")


def onnx_opcounter(path: Path) -> dict[str, int]:
    """MACs and parameters."""
    import onnx
    import onnx_opcounter

    return {"macs": int(onnx_opcounter.calculate_macs(onnx.load(path)))}


TOOLS = {OURS: labgrade, BASELINE: load_and_infer, "onnx-tool": onnx_tool, "onnx-opcounter": onnx_opcounter}
IMPORTS = {OURS: ("onnx", "reference.onnx_macs", "reference.onnx_memory"), BASELINE: ("onnx",),
           "onnx-tool": ("onnx_tool",), "onnx-opcounter": ("onnx_opcounter",)}  # fmt: skip


def measure(tool: str, path: Path) -> dict[str, Any]:
    """One run in this process: figures, milliseconds and megabytes, or why there are none."""
    import importlib

    warnings.simplefilter("ignore")
    try:
        for name in IMPORTS[tool]:
            importlib.import_module(name)
    except ImportError as error:
        return {"failed": f"not installed ({error})"}
    before, start = _peak(), time.perf_counter()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            found = TOOLS[tool](path)
    except Exception as error:  # noqa: BLE001 - a tool that fails is a row of the table
        return {"failed": f"{type(error).__name__}: {str(error)[:60]}"}
    return {**found, "ms": (time.perf_counter() - start) * 1e3, "mb": (_peak() - before) / 1e3}


def _peak() -> int:
    """The peak of the resident memory so far, in kilobytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


def export(name: str, options: dict[str, Any], folder: Path) -> Path:
    """The file, made by a process of its own."""
    path = folder / f"{name}.onnx"
    subject = {"model": f"torchvision/{name}.onnx", "shape": SHAPE, "fill": "normal", "input_seed": 0,
               "options": options, "weight_seed": 0}  # fmt: skip
    begin = "from pathlib import Path; from labgrade.subjects.onnx_export import make"
    code = f"{begin}; make(Path({str(path)!r}), {subject!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return path


def row(tool: str, found: dict[str, Any], macs: int, activations: int, base: dict[str, Any]) -> str:
    """A line of the table."""
    if "failed" in found:
        return f"  {tool:<26}{found['failed']}"
    said = [_exact(found.get("macs"), macs), _exact(found.get("activations"), activations)]
    faster = f"{base['ms'] / found['ms']:.1f} x" if "ms" in base else ""
    less = f"{base['mb'] / max(found['mb'], 0.1):.1f} x" if "mb" in base else ""
    return f"  {tool:<26}{found['ms']:>9.1f}{found['mb']:>9.1f}{faster:>9}{less:>9}   {said[0]:<28}{said[1]}"


def _exact(found: int | None, right: int) -> str:
    if found is None:
        return "-"
    return "exact" if found == right else f"{found:,} ({(found - right) / right:+.2%})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", nargs=2, metavar=("TOOL", "FILE"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], Path(options.one[1]))))
        return
    print(f"{'':28}{'ms':>9}{'MB':>9}{'faster':>9}{'less':>9}   {'MACs':<28}bytes of activations")
    chosen = list(FILES)[:2] if options.quick else list(FILES)
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            exported, macs, activations = FILES[name]
            path = export(name, exported, Path(folder))
            print(f"{path.name}, {path.stat().st_size / 1e6:,.0f} MB")
            results = {}
            for tool in TOOLS:
                command = [sys.executable, __file__, "--one", tool, str(path)]
                done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
                lines = done.stdout.strip().splitlines()
                results[tool] = json.loads(lines[-1]) if lines else {"failed": done.stderr.strip()[-80:]}
            for tool, found in results.items():
                print(row(tool, found, macs, activations, results[BASELINE]), flush=True)
            path.unlink()


if __name__ == "__main__":
    main()
