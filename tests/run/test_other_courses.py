"""Two courses of other people's kind: what a model leaves behind on small devices, and a training on data kept back.

Each task gets a right hand-in, a wrong one, one whose files are cut off, and a hostile one: nothing of these may be
right, nothing of the last run, and nothing be labgrade's own fault.
"""

import importlib.util
import io
import json
import struct
import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from helpers import own_course
from onnx import TensorProto, helper

NETS = '''
from torch import nn

def small(*, width: int = 6) -> nn.Module:
    """A convolution, a norm, a ReLU and a linear layer."""
    body = (nn.Conv2d(1, width, 3), nn.BatchNorm2d(width), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
    return nn.Sequential(*body, nn.Linear(4 * width, 3))
'''
KEPT = '''
"""Facts of this course."""
import struct

def off_grid(artifact, *, width: int = 8, fraction: int = 4) -> float:
    """The share of the weights in a file of torch.save that no fixed-point number is equal to."""
    import torch
    try:
        state = torch.load(str(artifact), weights_only=True, map_location="cpu")
        weights = torch.cat([each.double().flatten() for each in state.values() if each.dim() > 1])
    except Exception as error:
        raise ValueError(f"this is no state dict that torch.save wrote: {type(error).__name__}") from None
    steps = weights * 2**fraction
    fits = (steps == steps.round()) & (steps >= -(2 ** (width - 1))) & (steps < 2 ** (width - 1))
    return 1 - float(fits.double().mean())

def loss_drop(artifact) -> float:
    """By which share of its first value a logged loss has fallen, of records `step, value` behind their length."""
    data, at, values = artifact.read_bytes(), 0, []
    while at < len(data):
        if at + 8 > len(data):
            raise ValueError("the log is cut off")
        (size,) = struct.unpack_from("<Q", data, at)
        if size != 12 or at + 8 + size > len(data):
            raise ValueError("the log is cut off or damaged")
        values.append(struct.unpack_from("<qf", data, at + 8)[1])
        at += 8 + size
    if not values:
        raise ValueError("the log is empty")
    return (values[0] - values[-1]) / values[0]

def kept_labels(config) -> list[int]:
    """The classes of the rows that are predicted."""
    return [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
'''
HEAD = "id: {id}\ntitle: A task\npoints: 2\nstatement: What was left behind?\n"
NET = "subject: {model: nets/small, input: [2, 1, 8, 8]}\n"
ONE = "checks:\n  - {{id: it, points: 2, answer: it, {checker}}}\n"
TASKS = {
    "trace": (
        "answers: {it: {type: file, from: [{file: 'log/*.pt.trace.json'}]}}\n",
        (
            "measured: {quantity: trace_calls, with: {operators: ['aten::conv2d', 'Optimizer.step#SGD.step']}}, "
            "checker: equal, expected: {literal: {'aten::conv2d': 6, 'Optimizer.step#SGD.step': 3}}"
        ),
    ),
    "kinds": (
        NET + "answers: {it: {type: histogram, call: 'passes.py:kinds(model)'}}\n",
        "checker: equal, expected: {quantity: fx_opcodes}, misconceptions: known",
    ),
    "study": (
        (
            "answers: {it: {type: {table: {row: run, columns: {batch: count, seed: count, accuracy: number}}}, "
            "from: [{file: runs.csv}]}}\n"
        ),
        "checker: {trend: {column: accuracy, along: batch, goes: falls, seed: seed, least: 3}}",
    ),
    "size": (
        "answers: {it: {type: onnx, from: [{file: bigger.onnx}]}}\n",
        "measured: {quantity: onnx_parameters}, checker: {between: {low: 80, high: 120}}",
    ),
    "grid": (
        "answers: {it: {type: file, from: [{file: weights.pth}]}}\n",
        "measured: {quantity: off_grid, with: {width: 8}}, checker: {at_most: {limit: 0}}",
    ),
    "rounding": (
        NET + "answers: {it: {type: {table_of: tensor}, call: 'quant.py:quantise(model)'}}\n",
        (
            "checker: {close: {rtol: 0, atol: 0}}, misconceptions: known, "
            "expected: {quantity: fixed_point_weights, with: {width: 8, fraction: 4}}"
        ),
    ),
    "log": (
        "answers: {it: {type: file, from: [{file: 'runs/*.log'}]}}\n",
        "measured: {quantity: loss_drop}, checker: {between: {low: 0.5, high: 1}}",
    ),
    "train": (
        (
            "subject: {config: {classes: 3}}\nanswers: {it: {type: tensor, from: [{run: {command: python train.py, "
            "provide: {data/x.npy: ./x.npy}}, file: predictions.npy}]}}\n"
        ),
        "checker: {accuracy: {at_least: 0.9}}, expected: {quantity: kept_labels}",
    ),
}
PROGRAM = (
    "packages: [executorch]\nenvironment: {preload: [executorch.exir, executorch.runtime]}\n"
    "limits: {seconds: 120, memory: 4 GB}\n" + NET + "answers: {it: {type: file, from: "
    "[{call: 'lab.py:export(model, input, save_to)'}, {file: small.pte}]}}\n",
    "measured: {quantity: pte_relative_error}, checker: {at_most: {limit: 2.0e-5}}",
)
X = np.eye(3, dtype="f4")[[0, 1, 2, 0, 1, 2, 0, 1, 2, 0]]


def specs(tasks):
    files = {f"specs/lab/{name}.yaml": HEAD.format(id=name) + top + ONE.format(checker=checker)
             for name, (top, checker) in tasks.items()}  # fmt: skip
    return {**files, "models/nets.py": NETS, "reference/kept.py": KEPT, "specs/lab/x.npy": saved(np.save, X)}


def saved(write, value):
    buffer = io.BytesIO()
    write(buffer, value)
    return buffer.getvalue()


def trace(steps):
    calls = ["aten::conv2d", "aten::conv2d", "Optimizer.step#SGD.step"] * steps
    return json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": each} for each in calls]})


def runs(means):
    rows = [(f"r{at}{seed}", 16 * 4**at, seed, mean + seed / 500) for at, mean in enumerate(means) for seed in range(3)]
    return "run,batch,seed,accuracy\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


def net(width, data=None):
    weight = helper.make_tensor("w", TensorProto.FLOAT, [10, width], np.ones(10 * width, "f4"))
    if data is not None:
        weight.ClearField("float_data")
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value=data)
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size]) for name, size in (("x", 10), ("y", width))
    ]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", ends[:1], ends[1:], [weight])
    return onnx.helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def log(values):
    return b"".join(struct.pack("<Qqf", 12, step, value) for step, value in enumerate(values))


def quantise(how):
    return (
        "import torch\nfrom torch import nn\n\ndef quantise(model):\n    return {n: torch.clamp(torch."
        f"{how}(m.weight.detach() * 16), -128, 127) / 16\n            for n, m in model.named_modules() "
        "if isinstance(m, (nn.Conv2d, nn.Linear))}\n"
    )


def train(predicted):
    return f'import numpy as np\nx = np.load("data/x.npy")\nnp.save("predictions.npy", {predicted})\n'


RAN = Path(tempfile.gettempdir(), "labgrade-ran-what-was-pickled")
SAMPLE = Path(__file__).parents[2] / "submissions" / "edge-exemplar" / "export_model"


class Evil:
    def __reduce__(self):
        return exec, (f"open({str(RAN)!r}, 'w')",)


KINDS = "from collections import Counter\nfrom torch import fx\n\ndef kinds(model):\n    return dict(Counter({}))\n"
NODES = "node.op for node in fx.symbolic_trace(model).graph.nodes"
ADA = {
    "log/host.pt.trace.json": trace(3),
    "passes.py": KINDS.format(NODES),
    "runs.csv": runs([0.96, 0.92, 0.8, 0.4]),
    "bigger.onnx": net(10),
    "weights.pth": saved(lambda file, x: torch.save(x, file), {"w": torch.tensor([[0.5, -0.0625, 7.9375, -8]])}),
    "quant.py": quantise("round"),
    "runs/a.log": log([2.0, 1.0, 0.5]),
    "train.py": train("x.argmax(1)"),
}
BOB = {
    "log/host.pt.trace.json": trace(2),
    "passes.py": KINDS.format('"call_module" for m in model.modules() if not list(m.children())'),
    "runs.csv": runs([0.92, 0.96, 0.8, 0.4]),
    "bigger.onnx": net(17),
    "weights.pth": saved(lambda file, x: torch.save(x, file), {"w": torch.tensor([[0.5, -0.0923]])}),
    "quant.py": quantise("floor"),
    "runs/a.log": log([2.0, 1.9]),
    "train.py": train("x.argmin(1)"),
}
CUT = {name: text[: len(text) * 3 // 5] for name, text in ADA.items()}
EVE = {
    "log/host.pt.trace.json": "[" * 200_000,
    "passes.py": "import sys\n\ndef kinds(model):\n    sys.exit(0)\n",
    "runs.csv": "run,batch,seed,accuracy\n=cmd|' /C calc'!A0,1e999,-1,nan\n" + "\0" * 9,
    "bigger.onnx": net(10, "../../../../etc/passwd"),
    "weights.pth": saved(lambda file, x: torch.save(x, file), {"w": Evil()}),
    "quant.py": "class Equal(dict):\n    __eq__ = lambda *_: True\n\ndef quantise(model):\n    return Equal()\n",
    "runs/a.log": struct.pack("<Q", 2**63),
    "train.py": "print(open('../reference/kept.py').read())\n",
}


@pytest.mark.slow
def test_right_wrong_cut_off_and_hostile_hand_ins(tmp_path):
    hand_ins = {"ada": ADA, "bob": BOB, "cut": CUT, "eve": EVE}
    files = {f"submissions/{who}/{name}": text for who, own in hand_ins.items() for name, text in own.items()}
    own_course.write(tmp_path, {**specs(TASKS), **files})
    assert own_course.findings(tmp_path) == []
    with own_course.grading(tmp_path) as grade:
        found = {who: {name.split(".")[0]: each for name, each in grade(who).items()} for who in hand_ins}
    assert {task: str(each.outcome) for task, each in found["ada"].items()} == dict.fromkeys(TASKS, "CORRECT")
    assert "ounded down" in found["bob"]["rounding"].hint
    for who in ("bob", "cut", "eve"):
        outcomes = {task: str(each.outcome) for task, each in found[who].items()}
        assert not {"CORRECT", "FAULT"} & set(outcomes.values()), outcomes
    assert not RAN.exists()


def exported(network):
    return f"""
import torch
from executorch.exir import to_edge_transform_and_lower

def export(model, x, path):
    program = to_edge_transform_and_lower(torch.export.export({network}, (x,))).to_executorch()
    open(path, "wb").write(program.buffer)
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("executorch") is None, reason="needs ExecuTorch: docs/labs.md says how")
def test_programs_of_a_courses_own_network(tmp_path):
    hand_ins = {
        "ada": {"lab.py": exported("model.eval()")},
        "bob": {"lab.py": exported("torch.nn.Sequential(model, torch.nn.ReLU()).eval()")},
        "cut": {"small.pte": (SAMPLE / "Conv2d_5.pte").read_bytes()[:9000]},
        "eve": {"small.pte": b"\x28\0\0\0ET12" + b"\xff" * 5000},
    }
    files = {f"submissions/{who}/{name}": text for who, own in hand_ins.items() for name, text in own.items()}
    own_course.write(tmp_path, {**specs({"program": PROGRAM}), **files})
    with own_course.grading(tmp_path) as grade:
        found = {who: str(grade(who)["program.it"].outcome) for who in hand_ins}
    assert found == {"ada": "CORRECT", "bob": "INCORRECT", "cut": "INCORRECT", "eve": "INCORRECT"}
