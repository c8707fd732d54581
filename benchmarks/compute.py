"""`labgrade compute` on a file, beside onnx-tool and onnxruntime: CPU time and memory of whole processes, in one run.

    python benchmarks/compute.py [--rounds 3] [--peers /path/to/python] [--files FOLDER] [FILE ...]

Each command is a process of its own with all that it starts, on files that the disk cache holds: `labgrade compute
onnx_macs --file FILE`, with its jail; onnx-tool, which loads, infers shapes and profiles; onnxruntime, which loads and
runs the file once, on zeros. Of several rounds the cheapest counts, which other programs disturbed least. MB is the
peak of the proportional set sizes (PSS) of all processes of the command together, sampled. A tool that fails on a file
has a dash there, and the file is left out of its sum. `--peers` names the Python that has onnx-tool: it is in the extra
`bench`, best in an environment of its own. `--files`: where the 24 files are made, and found the next time. The last
rows are the analysis of ViT-B/16 alone, after the imports, beside loading and running it; and `compute macs --model` on
a first call, with an empty cache, beside `import torch`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

MICRO = ("open_image", "dynamic_batch", "shape_chain", "pools", "int8_float16", "mixed_types", "branch_and_loop",
         "functions", "int4", "scanned")  # fmt: skip
NETWORKS = ("alexnet", "densenet121", "efficientnet_b0", "googlenet", "mnasnet0_5", "mobilenet_v2",
            "mobilenet_v3_small", "regnet_y_400mf", "resnet18", "resnet50", "shufflenet_v2_x0_5", "squeezenet1_1",
            "vgg11", "vit_b_16")  # fmt: skip
LARGE = "vit_b_16"
ONNX_TOOL = """
import sys, contextlib, io
import numpy as np, onnx, onnx_tool
path, given = sys.argv[1], {}
for each in onnx.load(path, load_external_data=False).graph.input:
    kind = each.type.tensor_type
    shape = [dim.dim_value or 1 for dim in kind.shape.dim]
    given[each.name] = np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
with contextlib.redirect_stdout(io.StringIO()):
    model = onnx_tool.Model(path, {"verbose": False})
    known = set(model.graph.initials)
    model.graph.shape_infer({name: value for name, value in given.items() if name not in known})
    model.graph.profile()
"""
ONNXRUNTIME = """
import sys
import numpy as np, onnxruntime as ort
session = ort.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
kinds = {"float16": "float16", "float": "float32", "double": "float64"}
def zeros(each):
    word = each.type.removeprefix("tensor(").removesuffix(")")
    return np.zeros([dim if isinstance(dim, int) else 1 for dim in each.shape], kinds.get(word, word))
session.run(None, {each.name: zeros(each) for each in session.get_inputs()})
"""
MINE, TOOL, RUNTIME = "labgrade", "onnx-tool", "onnxruntime"
# As an installation keeps compiled modules, whatever this machine's environment says.
ENVIRONMENT = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def commands(path: Path, peers: str) -> dict[str, list[str]]:
    """What is measured on a file."""
    own = [sys.executable, "-m", "labgrade.cli", "compute", "onnx_macs", "--file", str(path)]
    return {
        MINE: [*own, "--input", "1,3,224,224"] if path.stem in NETWORKS else own,
        TOOL: [peers, "-c", ONNX_TOOL, str(path)],
        RUNTIME: [sys.executable, "-c", ONNXRUNTIME, str(path)],
    }


def measured(command: list[str], environment: dict[str, str] | None = None) -> tuple[float, float, float] | None:
    """CPU seconds, seconds and megabytes of a command with all that it starts; None where it fails."""
    before, start, peak = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), 0
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment or ENVIRONMENT
    )
    while process.poll() is None:
        peak = max(peak, _held(process.pid))
        time.sleep(0.01)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return None if process.returncode else (cpu, wall, peak / 1e3)


def _held(root: int) -> int:
    """Kilobytes that a process and its descendants hold: what several share counts once."""
    total, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError, StopIteration):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
            total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text(encoding="ascii").split())
    return total


def least(command: list[str], rounds: int, **fresh: bool) -> tuple[float, float, float] | None:
    """The cheapest of several runs; with `fresh` each has a cache of its own."""
    best = None
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            found = measured(command, {**ENVIRONMENT, "LABGRADE_CACHE": cache} if fresh else None)
        if found is None:
            return None
        best = found if best is None else (min(found[0], best[0]), min(found[1], best[1]), min(found[2], best[2]))
    return best


def make(name: str, folder: Path) -> Path:
    """A file of the zoo, made by a process of its own where it is not there yet."""
    path = folder / f"{name}.onnx"
    if not path.is_file():
        model = f"torchvision/{name}.onnx" if name in NETWORKS else f"micro/{name}.onnx"
        subject = {"model": model, "shape": [1, 3, 224, 224], "fill": "normal", "input_seed": 0, "options": {},
                   "weight_seed": 0}  # fmt: skip
        begin = "from pathlib import Path; from labgrade.subjects.onnx_export import make"
        code = f"{begin}; make(Path({str(path)!r}), {subject!r})"
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
    return path


def of_files(files: list[Path], peers: str, rounds: int) -> None:
    """A row a file, and their sums: those of files that both tools analyse."""
    print(f"{'':24}{'CPU s':>27}{'MB':>27}{'of onnx-tool':>17}{'faster than':>14}")
    print(f"{'':24}" + f"{MINE:>9}{TOOL:>9}{'runtime':>9}" * 2 + f"{'CPU':>9}{'MB':>8}{'onnxruntime':>14}")
    sums = [0.0] * 4
    worst = [0.0, 0.0]
    for path in files:
        found = {name: least(command, rounds) for name, command in commands(path, peers).items()}
        cells = [f"{each[at]:>9.{2 - at}f}" if each else f"{'-':>9}" for at in (0, 2) for each in found.values()]
        mine, tool, runtime = (found[name] for name in (MINE, TOOL, RUNTIME))
        ratios = [mine[0] / tool[0], mine[2] / tool[2]] if mine and tool else []
        if mine and tool:
            sums = [a + b for a, b in zip(sums, (mine[0], tool[0], mine[2], tool[2]), strict=True)]
            worst = [max(a, b) for a, b in zip(worst, ratios, strict=True)]
        shown = f"{ratios[0]:>9.2f}{ratios[1]:>8.2f}" if ratios else f"{'-':>9}{'-':>8}"
        faster = f"{runtime[0] / mine[0]:>12.1f} x" if mine and runtime else f"{'-':>14}"
        print(f"{path.stem:24}{''.join(cells)}{shown}{faster}", flush=True)
    if sums[1]:
        print(f"{'all together':78}{sums[0] / sums[1]:>9.2f}{sums[2] / sums[3]:>8.2f}")
        print(f"{'the worst':78}{worst[0]:>9.2f}{worst[1]:>8.2f}")


def alone(path: Path, rounds: int) -> None:
    """The analysis of one file without any start, beside loading and running it in onnxruntime: wall, after imports."""
    timed = "import time; start = time.perf_counter()\n{0}\nprint(time.perf_counter() - start)"
    analysis = f"onnx_macs(Path({str(path)!r}), input_shape=[1, 3, 224, 224])"
    begin = (
        "from pathlib import Path; from reference.onnx_macs import onnx_macs; import numpy, onnx.reference; numpy.ones"
    )
    head, _, rest = ONNXRUNTIME.partition("session = ")
    programs = {MINE: f"{begin}\n{timed.format(analysis)}", RUNTIME: head + timed.format("session = " + rest)}
    found = {}
    for name, program in programs.items():
        command = [sys.executable, "-c", program, str(path)]
        done = [subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True) for _ in range(rounds)]
        found[name] = min(float(each.stdout.split()[-1]) for each in done)
    seconds = f"{MINE} {found[MINE]:.2f} s, {RUNTIME} {found[RUNTIME]:.2f} s"
    print(f"{path.stem} without any start: {seconds}, {found[RUNTIME] / found[MINE]:.1f} x faster")


def of_models(rounds: int) -> None:
    """A first call on a model in memory, beside importing torch."""
    torch = least([sys.executable, "-c", "import torch"], rounds)
    first = [sys.executable, "-m", "labgrade.cli", "compute", "macs", "--model", "torchvision/resnet18"]
    found = least(first, rounds, fresh=True)
    if torch and found:
        print(f"{'import torch':24}{torch[0]:>9.2f}{'':18}{torch[2]:>9.0f}")
        print(f"{'compute macs, first':24}{found[0]:>9.2f}{'':18}{found[2]:>9.0f}   {found[0] / torch[0]:.2f} x")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--files", type=Path)
    parser.add_argument("file", nargs="*", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.files or Path(temporary)
        folder.mkdir(exist_ok=True)
        files = options.file or [make(name, folder) for name in (*MICRO, *NETWORKS)]
        for path in files:
            path.read_bytes()  # from now on the disk cache holds it
        of_files([path.absolute() for path in files], options.peers, options.rounds)
        for path in files:
            if path.stem == LARGE:
                alone(path.absolute(), options.rounds)
    if not options.file:
        of_models(options.rounds)


if __name__ == "__main__":
    main()
