"""What is found wrong with a lab's files on ExecuTorch: the exemplar's, each time with one mistake."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from labgrade.subjects import models
from reference import layer_files, programs

SAMPLE = Path(__file__).parents[2] / "submissions" / "edge-exemplar"
CONV, NORM, RELU, POOL = LAYERS = ["Conv2d_5", "BatchNorm2d_152", "ReLU_153", "AdaptiveAvgPool2d_157"]
OF = {"layers": LAYERS, "network": "resnet50", "input_shape": [1, 3, 64, 64]}
GROUPS = {
    "input": "input_weight/*_input.pth",
    "golden": "golden/*_golden.pth",
    "raw": "input_weight/*.bin",
    "weight": "layer_weight/*.pth",
    "program": "export_model/*.pte",
    "made": "executorch_out/*.out",
    "table": "diff/*.txt",
}
needs_executorch = pytest.mark.skipif(
    importlib.util.find_spec("executorch") is None, reason="needs ExecuTorch: docs/labs.md says how to install it"
)
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch.export and ExecuTorch, many


@pytest.fixture
def work(tmp_path):
    models.import_torchvision()
    shutil.copytree(SAMPLE, tmp_path, dirs_exist_ok=True)
    return tmp_path


def found(work, quantity, **of):
    groups = {name: sorted(work.glob(pattern)) for name, pattern in GROUPS.items()}
    return [each["says"] for each in getattr(layer_files, quantity)(groups, **of)]


def tensor(work, path, change):
    torch.save(change(torch.load(work / path)), work / path)


def raw(work, path, change):
    (work / path).write_bytes(change(np.fromfile(work / path, "f4")).tobytes())


def mended(work, layer, mode):
    """The layer with the sample's weights, by itself."""
    module = nn.BatchNorm2d(512)
    module.load_state_dict(torch.load(work / f"layer_weight/{layer}.pth"))
    return module.train(mode == "train")


def trained(work):
    x = torch.load(work / f"input_weight/{NORM}_input.pth")
    tensor(work, f"golden/{NORM}_golden.pth", lambda _: mended(work, NORM, "train")(x).detach())


RECORDED = {
    "ReLU of what it puts out": lambda w: tensor(w, f"golden/{NORM}_golden.pth", torch.relu),
    "that of training": trained,
    "off by": lambda w: tensor(w, f"golden/{CONV}_golden.pth", lambda x: x * 1.001),
    "has the shape [1, 64, 16], not": lambda w: tensor(w, f"golden/{CONV}_golden.pth", lambda x: x[..., 0]),
    "in another order": lambda w: raw(w, f"input_weight/{CONV}.bin", lambda x: x.reshape(64, -1).T.copy()),
    "(float64?)": lambda w: raw(w, f"input_weight/{POOL}.bin", lambda x: x.astype("f8")),
    "holds other values": lambda w: raw(w, f"input_weight/{RELU}.bin", lambda x: x + 1),
    "no values of float32": lambda w: (w / f"input_weight/{RELU}.bin").write_bytes(b"12345"),
    "in the network it gets [1, 2048, 2, 2]": lambda w: tensor(
        w, f"input_weight/{POOL}_input.pth", lambda x: x[..., :1]
    ),
    "one value everywhere": lambda w: tensor(w, f"input_weight/{RELU}_input.pth", torch.ones_like),
    "no golden output was handed in": lambda w: (w / f"golden/{RELU}_golden.pth").unlink(),
    "and BatchNorm2d has bias, num_batches_tracked, running_mean, running_var, weight": lambda w: torch.save(
        {name: x for name, x in torch.load(w / f"layer_weight/{NORM}.pth").items() if name != "weight"},
        w / f"layer_weight/{NORM}.pth",
    ),
    "holds objects, not only tensors": lambda w: torch.save(nn.ReLU(), w / f"golden/{RELU}_golden.pth"),
    "no file of tensors": lambda w: (w / f"golden/{RELU}_golden.pth").write_bytes(b"PK\3\4 cut off"),
}


@pytest.mark.slow
def test_recorded_outputs_are_those_of_the_layers_by_themselves(work):
    assert found(work, "recorded_layer_findings", **OF) == []
    for says, damage in RECORDED.items():
        shutil.copytree(SAMPLE, work, dirs_exist_ok=True)
        damage(work)
        (line,) = found(work, "recorded_layer_findings", **OF)
        assert says in line


def test_what_torch_computes_by_hand():
    """The sample's golden outputs, written out: what a mean, a maximum and an affine map are."""
    load = lambda path: torch.load(SAMPLE / path).double()  # noqa: E731
    pool = load(f"input_weight/{POOL}_input.pth").sum((2, 3), keepdim=True) / 4
    assert torch.allclose(load(f"golden/{POOL}_golden.pth"), pool, atol=1e-6)
    w = {name: each.double()[:, None, None] for name, each in torch.load(SAMPLE / f"layer_weight/{NORM}.pth").items()
         if each.dim()}  # fmt: skip
    norm = (load(f"input_weight/{NORM}_input.pth") - w["running_mean"]) / (w["running_var"] + 1e-5).sqrt()
    assert torch.allclose(load(f"golden/{NORM}_golden.pth"), norm * w["weight"] + w["bias"], atol=1e-5)
    kernel, x = (
        torch.load(SAMPLE / f"layer_weight/{CONV}.pth")["weight"].double(),
        load(f"input_weight/{CONV}_input.pth"),
    )
    conv = torch.einsum("oi,nihw->nohw", kernel[..., 0, 0], x)
    assert torch.allclose(load(f"golden/{CONV}_golden.pth"), conv, atol=1e-5)


def test_the_table_is_summed_from_the_own_files(work):
    table = work / "diff/comparison_results.txt"
    golden, made = (
        torch.load(work / f"golden/{CONV}_golden.pth"),
        np.fromfile(work / f"executorch_out/{CONV}.out", "f4"),
    )
    off = golden.double().numpy().ravel() - made.astype("f8")
    right = dict.fromkeys(LAYERS, 0.0) | {NORM: 5.95864e-05}

    def said(number, ending=""):
        table.write_text("".join(f"{each}: {value}\n" for each, value in {**right, CONV: number}.items()) + ending)
        return found(work, "comparison_findings", layers=LAYERS)

    assert said(abs(off).sum()) == []
    assert said(f"{abs(off).sum():.2e}", "\nDone in 3 s\n") == []
    assert said(f"{abs(off).sum():.4f}") == []
    for number, says in {
        abs(off).mean(): "their mean",
        abs(off).max(): "the largest of them",
        (off**2).sum(): "of their squares",
        off.sum(): "without abs()",
        0.0: "a file compared with itself",
        17: "the sum of absolute differences is",
        "nan": "the sum of absolute differences is",
    }.items():
        (line,) = said(number)
        assert says in line, number
    table.write_text(f"| {CONV.lower()} | {abs(off).sum()} |\n")
    assert found(work, "comparison_findings", layers=[CONV]) == []
    assert found(work, "comparison_findings", layers=[CONV, RELU]) == [f"{RELU}: the table has no row of it"]
    table.write_text("Comparing output\n")
    with pytest.raises(ValueError, match="no line says"):
        found(work, "comparison_findings", layers=LAYERS)


# ---- with ExecuTorch -------------------------------------------------------------------------------------------------


def exported(module, x, path):
    from executorch.exir import to_edge_transform_and_lower

    path.write_bytes(to_edge_transform_and_lower(torch.export.export(module, (x,))).to_executorch().buffer)


class Canned(nn.Module):
    def __init__(self, kept):
        super().__init__()
        self.register_buffer("kept", kept)

    def forward(self, x):
        return self.kept + 0 * x.sum()


def canned(work):
    x, kept = (torch.load(work / path) for path in (f"input_weight/{RELU}_input.pth", f"golden/{RELU}_golden.pth"))
    exported(Canned(kept), x, work / f"export_model/{RELU}.pte")


PROGRAMS = {
    "the same for every input": canned,
    "off by": lambda w: exported(nn.Tanh(), torch.ones(1, 512, 2, 2), w / f"export_model/{RELU}.pte"),
    "puts out [1, 512, 1, 1]": lambda w: exported(
        nn.AdaptiveAvgPool2d(1), torch.ones(1, 512, 2, 2), w / f"export_model/{RELU}.pte"
    ),
    "does not run on an input of": lambda w: exported(nn.ReLU(), torch.ones(4, 4), w / f"export_model/{RELU}.pte"),
    "no program of ExecuTorch": lambda w: (w / f"export_model/{RELU}.pte").write_bytes(b"nothing" * 99),
    "more than one program": lambda w: shutil.copyfile(w / f"export_model/{RELU}.pte", w / f"export_model/{RELU}b.pte"),
}


@needs_executorch
@pytest.mark.slow
def test_programs_are_run_on_inputs_that_nobody_knew(work):
    assert found(work, "program_findings", **OF) == []
    assert found(work, "program_output_findings", **OF) == []
    for says, damage in PROGRAMS.items():
        shutil.copytree(SAMPLE, work, dirs_exist_ok=True)
        damage(work)
        (line,) = found(work, "program_findings", **OF)
        assert line.startswith(RELU)
        assert says in line
        (work / f"export_model/{RELU}b.pte").unlink(missing_ok=True)
    shutil.copytree(SAMPLE, work, dirs_exist_ok=True)
    raw(work, f"executorch_out/{NORM}.out", lambda x: x[::-1].copy())
    (line,) = found(work, "program_output_findings", **OF)
    assert line.startswith(f"{NORM}: its .out is off by")


@needs_executorch
@pytest.mark.slow
def test_a_damaged_program_is_refused_whatever_becomes_of_the_runtime(work):
    """Every mutant gives a verdict: a number, or a ValueError; a runtime that dies is one, too."""
    source, generator = (work / f"export_model/{CONV}.pte").read_bytes(), np.random.default_rng(0)
    torch.jit.script(nn.Conv2d(64, 64, 1, bias=False)).save(work / "subject.pt")
    outcomes = set()
    of = {"original": "subject.pt", "input_shape": [1, 64, 16, 16]}
    for reach in (*[1600] * 8, *[len(source)] * 8):
        data = np.frombuffer(source, "u1").copy()
        data[generator.integers(0, reach, 3)] = generator.integers(0, 256, 3)
        (work / "mutant.pte").write_bytes(data.tobytes()[: generator.integers(1, 4 * reach)])
        try:
            outcomes.add(type(programs.pte_relative_error(work / "mutant.pte", **of)))
        except ValueError as error:
            outcomes.add(type(error))
    assert outcomes == {float, ValueError}


@needs_executorch
def test_a_runtime_that_dies_is_the_files_fault(work, monkeypatch):
    from reference import _programs

    monkeypatch.setattr(_programs, "_outputs", lambda *_: __import__("os").abort())
    with pytest.raises(ValueError, match=r"ends ExecuTorch's runtime \(SIGABRT\)"):
        _programs.run(work / f"export_model/{RELU}.pte", [torch.ones(1, 512, 2, 2)])


@needs_executorch
def test_what_a_program_is_made_of(work, monkeypatch):
    from reference import _programs

    assert programs.pte_operators(work / f"export_model/{CONV}.pte") == {"aten::convolution.out": 1}
    assert programs.pte_delegates(work / f"export_model/{CONV}.pte") == 0
    monkeypatch.setattr(_programs, "plan", lambda _: _programs.Plan({}, ("QnnBackend",)))
    with pytest.raises(ValueError, match="hands work to 'QnnBackend', which is not run here"):
        _programs.run(work / f"export_model/{CONV}.pte", [torch.ones(1)])
