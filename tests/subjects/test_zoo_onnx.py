"""The zoo's ONNX files: named without torch, made once, remembered by content, written for students."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from labgrade.cli import main
from labgrade.core.task import InputSpec, SubjectSpec
from labgrade.files.external_data import files_beside
from labgrade.spec import course
from labgrade.subjects import models, onnx_export, onnx_small
from labgrade.truth.oracle import Oracle

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def plain(model, **options):
    seeds = {"fill": "normal", "input_seed": 0, "weight_seed": 0}
    return {"model": model, "shape": [1, 3, 64, 64], "options": options, **seeds}


def test_every_classifier_has_an_onnx_file_and_names_cost_nothing():
    classifiers = {name for name in models.names() if name.startswith("torchvision/")}
    assert {
        name.removesuffix(".onnx") for name in onnx_export.names() if name.startswith("torchvision/")
    } == classifiers
    assert {f"micro/{name}.onnx" for name in onnx_small.FILES} < set(onnx_export.names())
    begin = "import sys; from labgrade.subjects import onnx_export; onnx_export.models()"
    code = f"{begin}; print({{'torch', 'onnx'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("name", onnx_small.FILES)
def test_a_small_file_is_valid(tmp_path, name):
    onnx_small.make(name, tmp_path / "m.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "m.onnx"), full_check=True)
    assert bool(files_beside(tmp_path / "m.onnx")) == (name == "external_data")


@pytest.mark.parametrize(
    "name", sorted(set(onnx_small.FILES) - {"functions", "pools"})
)  # onnx.reference knows no LpPool
def test_onnx_own_evaluator_runs_a_small_file(tmp_path, name):
    onnx_small.make(name, tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    held = {each.name for each in model.graph.initializer}
    types = {each.name: each.type.tensor_type for each in model.graph.input if each.name not in held}
    kinds = {name: onnx.helper.tensor_dtype_to_np_dtype(each.elem_type) for name, each in types.items()}
    feeds = {name: np.ones([d.dim_value or 1 for d in types[name].shape.dim], kinds[name]) for name in types}
    assert ReferenceEvaluator(model).run(None, feeds)


def test_an_exported_file_is_as_asked_for_and_merges_no_biases(tmp_path):
    path = tmp_path / "m.onnx"
    onnx_export.make(path, plain("torchvision/squeezenet1_1.onnx", opset=11, dynamic_batch=True, num_classes=7))
    model = onnx.load(path)
    assert model.opset_import[0].version == 11
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert not [node for node in model.graph.node if node.op_type == "Identity"]
    assert [list(each.dims) for each in model.graph.initializer if "classifier" in each.name] == [[7, 512, 1, 1], [7]]


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("torchvision/squeezenet1_1.onnx", {"exporter": "carrier pigeon"}, "no exporter 'carrier pigeon'"),
        ("torchvision/squeezenet1_1.onnx", {"classes": 7}, "has no option 'classes'"),
        ("torchvision/nothing.onnx", {}, "the zoo has no ONNX file"),
    ],
)
def test_what_can_t_be_made_is_said(tmp_path, model, options, words):
    with pytest.raises(ValueError, match=words):
        onnx_export.make(tmp_path / "m.onnx", plain(model, **options))


def test_a_file_is_made_once(tmp_path):
    wanted = SubjectSpec(model="micro/external_data.onnx", input=InputSpec(shape=(1, 3, 8, 8)))
    with Oracle(course.find(ROOT).quantities, tmp_path) as oracle:
        path = oracle.file(wanted)
        made = path.stat().st_mtime_ns
        assert sorted(files_beside(path)) == ["external_data.onnx.data"]
        assert path.is_relative_to(tmp_path)
    with Oracle(course.find(ROOT).quantities, tmp_path) as oracle:
        assert oracle.file(wanted).stat().st_mtime_ns == made


def test_a_task_s_file_is_written_for_students(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["subject", "lab-2-3-1-conv-inputs", "--to", str(tmp_path / "here")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "here" / "lenet.onnx")
    assert len(onnx.load(tmp_path / "here" / "lenet.onnx").graph.node) == 10
    assert main(["subject", "2-1-4-macs"]) == 2
    assert main(["subject", "2-2-1-operator"]) == 2
    assert "did you mean '2-2-1-operators'?" in capsys.readouterr().err


def test_quantities_of_a_file_of_one_s_own_are_printed(tmp_path, capsys):
    onnx_small.make("int4", tmp_path / "m.onnx")
    (tmp_path / "no.onnx").write_text("nothing")
    assert main(["compute", "onnx_macs", "--file", str(tmp_path / "m.onnx")]) == 0
    assert capsys.readouterr().out.strip() == "100"
    assert main(["compute", "onnx_macs", "--file", str(tmp_path / "no.onnx")]) == 2
    assert "'no.onnx': this is not an ONNX model" in capsys.readouterr().err
    assert main(["compute", "macs", "--file", str(tmp_path / "m.onnx")]) == 2
    assert "'macs' is computed of a model, such as torchvision/resnet18" in capsys.readouterr().err


def test_external_data_has_any_name_and_lies_in_the_model_s_folder_itself(tmp_path):
    names = [
        "w",
        "deep/w",
        "long" * 50,
        "w.bin",
        "../out",
        str(tmp_path / "w"),
        "link",
        "linked/w",
        "m.onnx",
        "nothing",
        "a\0b",
    ]
    (tmp_path / "m" / "deep").mkdir(parents=True)
    (tmp_path / "m" / "linked").symlink_to("deep")
    for name in ("../out", "../w", "w", "deep/w", "long" * 50, "w.bin"):
        (tmp_path / "m" / name).write_bytes(b"weights")
    (tmp_path / "m" / "link").symlink_to("w")
    model = onnx_small.FILES["lenet"]()
    for name in names:
        entries = [onnx.StringStringEntryProto(key="location", value=name)]
        model.graph.initializer.append(onnx.TensorProto(name="t", external_data=entries))
    (tmp_path / "m" / "m.onnx").write_bytes(model.SerializeToString())
    assert sorted(files_beside(tmp_path / "m" / "m.onnx")) == ["deep/w", "long" * 50, "w", "w.bin"]
