"""Files of the field: what each is, what it holds, and that a hostile one is refused in words."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from helpers.flat_files import (
    ADD,
    BATCH_MATMUL,
    CONV,
    CUSTOM,
    DENSE,
    DEPTHWISE,
    FLOAT32,
    INT8,
    INT32,
    LSTM,
    T,
    pte,
    tensor,
    tflite,
)
from helpers.flat_files import flat as flat_file

from labgrade.subjects import onnx_small
from reference import files, onnx_macs, onnx_memory, onnx_nodes, programs, tensors
from reference._files import tflite as tflite_reader

TFLITE_FILES = Path(__file__).parents[2] / "specs/acal-lab2-tutorial"
HEADER = b'{"w":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]}}'
SAFETENSORS = len(HEADER).to_bytes(8, "little") + HEADER + bytes(24)
KINDS = {
    "net.tflite": (b"\x1c\0\0\0TFL3" + bytes(56), "a TFLite model"),
    "net.ort": (b"\x1c\0\0\0ORTM" + bytes(56), "model in ONNX Runtime's own format"),
    "net.pte": (b"\x1c\0\0\0ET12" + bytes(56), "a program of ExecuTorch"),
    "net.ptd": (b"\x1c\0\0\0FT01" + bytes(56), "a file of tensors of ExecuTorch's"),
    "w.safetensors": (SAFETENSORS, "a safetensors file"),
    "w.gguf": (b"GGUF\x03\0\0\0" + bytes(16), "a GGUF file"),
    "w.ggml": (b"tjgg\x03\0\0\0" + bytes(16), "before GGUF"),
    "w.h5": (b"\x89HDF\r\n\x1a\n" + bytes(40), "an HDF5 file, as Keras writes"),
    "w.npy": (b"\x93NUMPY\x01\0" + bytes(40), "an array of NumPy's"),
    "w.onnx.gz": (b"\x1f\x8b\x08" + bytes(40), "a gzip archive"),
    "w.onnx.zst": (b"(\xb5/\xfd" + bytes(40), "a zstd archive"),
    "net.engine": (b"ftrt" + bytes(40), "a TensorRT engine"),
    "net.param": (b"7767517\n75 83\n", "a network of ncnn's"),
    "net.png": (b"\x89PNG\r\n\x1a\n" + bytes(40), "a picture"),
    "report.pdf": (b"%PDF-1.7\n" + bytes(40), "a PDF document"),
    "a.out": (b"\x7fELF\x02" + bytes(40), "a program or library for Linux"),
    "net.pkl": (b"\x80\x04\x95" + bytes(40), "a Python pickle"),
    "pointer.onnx": (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    "page.onnx": (b"\n <!DOCTYPE html>", "a web page"),
    "net.json": (b' {"nodes": []}', "JSON"),
}
OF_TENSORS = {"w.safetensors", "w.gguf"}


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    "quantity", [onnx_macs.onnx_macs, programs.pte_operators, files.file_macs, files.file_parameters]
)
def test_a_file_of_another_kind_is_named_as_what_it_is(tmp_path, name, quantity):
    content, words = KINDS[name]
    path = written(tmp_path, name, content)
    if quantity is files.file_parameters and name in OF_TENSORS:
        return
    with pytest.raises(ValueError, match=r"this is|this file|this TFLite|this program|this model") as refused:
        quantity(path)
    damaged = {
        "net.tflite": "this TFLite model",
        "net.pte": "this program of ExecuTorch",
        "net.ort": "ONNX Runtime's own",
    }
    assert words in str(refused.value) or damaged.get(name, "no such words") in str(refused.value)


@pytest.mark.parametrize("name", sorted(KINDS.keys() - {"net.pkl"} - OF_TENSORS))
def test_what_holds_no_tensors_of_torchs_is_named(tmp_path, name):
    with pytest.raises(ValueError, match=r"this is no file of tensors that torch.save wrote: it is") as refused:
        tensors.tensors(written(tmp_path, name, KINDS[name][0]))
    assert KINDS[name][1] in str(refused.value)
    assert "UnpicklingError" not in str(refused.value)


@pytest.mark.parametrize(("name", "package"), [("w.safetensors", "safetensors"), ("w.gguf", "gguf")])
def test_a_missing_package_is_named_with_what_installs_it(tmp_path, monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    path = written(tmp_path, name, KINDS[name][0])
    with pytest.raises(ValueError, match=f"takes the package '{package}'.*: pip install {package}$"):
        files.file_parameters(path)


def test_running_a_program_says_which_package_it_takes(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    from reference import _programs

    monkeypatch.setitem(sys.modules, "executorch.runtime", None)
    path = written(tmp_path, "net.pte", pte([("aten::add", "out")], [0], [(6, [2], 0, False)], [64]))
    with pytest.raises(ValueError, match="pip install executorch"):
        _programs.run(path, [torch.zeros(2)])


# ---- TFLite ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["small-float", "small-int8"])
def test_a_tflite_model_counts_as_the_network_that_it_was_made_of(name):
    path = TFLITE_FILES / f"{name}.tflite"  # TensorFlow wrote it: 3x3x3x8 + 8, 3x3x8 + 8, 8x16 + 16, 16x10
    assert files.file_format(path) == "TFLite"
    assert files.file_macs(path) == 16 * 16 * (8 * 27 + 8 * 9 + 16 * 8) + 160
    assert files.file_parameters(path) == 224 + 80 + 144 + 160
    assert files.file_operator_counts(path)["CONV_2D"] == 2
    assert {row["type"]: row["macs"] for row in files.file_macs_by_layer(path)}["DEPTHWISE_CONV_2D"] == 18_432


def test_what_is_quantised_is_listed():
    rows = files.file_quantisation(TFLITE_FILES / "small-int8.tflite")
    axes = [row["scales"] for row in rows if row["type"] == "int8" and row["scales"] > 1]
    assert sorted(axes) == [8, 8, 10, 16]  # one scale a channel that each layer makes
    assert files.file_quantisation(TFLITE_FILES / "small-float.tflite") == []
    assert set(files.file_parameters_by_type(TFLITE_FILES / "small-int8.tflite")) == {"int8", "int32"}


@pytest.mark.parametrize("name", ["small-float", "small-int8"])
def test_what_a_tflite_model_holds_is_what_the_published_schema_reads(name):
    published = pytest.importorskip("tflite")
    path = TFLITE_FILES / f"{name}.tflite"
    model = published.Model.GetRootAsModel(path.read_bytes(), 0)
    graph = model.Subgraphs(0)
    held = [graph.Tensors(at) for at in range(graph.TensorsLength())]
    rows = files.file_tensors(path)
    assert [row["tensor"] for row in rows] == [each.Name().decode() for each in held]
    assert [row["shape"] for row in rows] == [
        list(map(int, each.ShapeAsNumpy())) if each.ShapeLength() else [] for each in held
    ]
    sizes = [model.Buffers(each.Buffer()).DataLength() for each in held]
    assert [row["bytes"] for row in rows if row["kind"] != "activation"] == [size for size in sizes if size]


def test_each_operator_of_the_published_schema_has_its_place():
    published = pytest.importorskip("tflite")
    known = {number: name for name, number in vars(published.BuiltinOperator).items() if isinstance(number, int)}
    ours = {number: name.lstrip("*!") for number, name in enumerate(tflite_reader.OPERATORS)}
    assert {number: ours.get(number) for number in known} == known
    types = {number: name for name, number in vars(published.TensorType).items() if isinstance(number, int)}
    assert {number: tflite_reader.TYPES[number][0].upper() for number in types} == types


def test_each_operator_with_a_star_has_a_rule():
    starred = {name.lstrip("*") for name in tflite_reader.OPERATORS if name.startswith("*")}
    assert starred == tflite_reader._RULES.keys()


COUNTED = {
    "conv": (CONV, [(1, 8, 8, 3), (4, 3, 3, 3), (4,)], (1, 6, 6, 4), 6 * 6 * 4 * 27),
    "grouped conv": (CONV, [(1, 8, 8, 4), (4, 3, 3, 2), (4,)], (1, 6, 6, 4), 6 * 6 * 4 * 18),
    "conv of a batch": (CONV, [(5, 8, 8, 3), (4, 1, 1, 3), (4,)], (5, 8, 8, 4), 5 * 64 * 12),
    "depthwise": (DEPTHWISE, [(1, 8, 8, 3), (1, 3, 3, 6), (6,)], (1, 8, 8, 6), 64 * 6 * 9),
    "dense": (DENSE, [(7, 16), (10, 16), (10,)], (7, 10), 7 * 160),
    "dense without a bias": (DENSE, [(2, 3, 16), (10, 16)], (2, 3, 10), 6 * 160),
    "transposed conv": (67, [(4,), (6, 3, 3, 5), (1, 4, 4, 5)], (1, 8, 8, 6), 16 * 5 * 6 * 9),
    "matmul": (BATCH_MATMUL, [(2, 4, 5), (2, 5, 6)], (2, 4, 6), 2 * 4 * 5 * 6),
    "conv 3d": (132, [(1, 4, 8, 8, 3), (2, 3, 3, 3, 7)], (1, 3, 6, 6, 7), 3 * 36 * 7 * 54),
    "conv 3d transposed": (141, [(5,), (2, 3, 3, 7, 3), (1, 2, 4, 4, 3)], (1, 3, 6, 6, 7), 32 * 3 * 2 * 9 * 7),
    "rnn": (35, [(2, 5, 3), (4, 3), (4, 4), (4,), (2, 4)], (2, 5, 4), 10 * (12 + 16)),
    "svdf": (27, [(2, 8), (6, 8), (6, 10), (6,), (2, 60)], (2, 6), 2 * (48 + 60)),
    "lstm": (44, [(5, 2, 3), *[(4, 3)] * 4, *[(4, 4)] * 4, *[(4,)] * 3, *[(4,)] * 4], (5, 2, 4), 10 * 4 * (12 + 16)),
    "basic lstm": (LSTM, [(2, 3), (2, 4), (16, 7), (16,), (2, 4)], (2, 4), 2 * 16 * 7),
    "add": (ADD, [(2, 3), (2, 3)], (2, 3), 0),
}


def one_step(number, inputs, output, *more):
    made = [tensor(f"t{at}", shape) for at, shape in enumerate((*inputs, output))]
    return tflite([(number, range(len(inputs)), [len(inputs)], *more)], made)


@pytest.mark.parametrize("name", COUNTED)
def test_each_rule_counts(tmp_path, name):
    number, inputs, output, macs = COUNTED[name]
    assert files.file_macs(written(tmp_path, "net.tflite", one_step(number, inputs, output))) == macs


def test_a_transposed_product_sums_over_the_other_size(tmp_path):
    options = T({0: ("?", True)})
    content = one_step(BATCH_MATMUL, [(2, 5, 4), (2, 5, 6)], (2, 4, 6), options)
    assert files.file_macs(written(tmp_path, "net.tflite", content)) == 2 * 4 * 5 * 6


def test_what_may_multiply_and_has_no_rule_is_named(tmp_path):
    made = [tensor("x", (2, 3)), tensor("y", (2, 3))]
    path = written(tmp_path, "net.tflite", tflite([(CUSTOM, [0], [1])], made, custom="Own"))
    with pytest.raises(ValueError, match=r"the operator that makes 'y' \(CUSTOM:Own\) multiplies is not known"):
        files.file_macs(path)
    assert files.file_operator_counts(path) == {"CUSTOM:Own": 1}
    numbers = [tflite_reader.OPERATORS.index(f"!{name}") for name in ("IF", "WHILE", "STABLEHLO_DOT_GENERAL")]
    for number in (*numbers, 300):  # the last one nobody knows
        with pytest.raises(ValueError, match="is not known"):
            files.file_macs(written(tmp_path, "net.tflite", tflite([(number, [0], [1])], made)))


def test_which_of_several_signatures_is_meant_has_to_be_said(tmp_path):
    graphs = [
        T({0: [tensor("x", (2, 3)), tensor("w", (size, 3)), tensor("y", (2, size))], 3: [
            T({0: ("I", 0), 1: ("i", [0, 1]), 2: ("i", [2])})]})
        for size in (4, 5)
    ]  # fmt: skip
    signatures = [T({2: name, 4: ("I", at)}) for at, name in enumerate(("encode", "decode"))]
    model = T({1: [T({0: ("b", DENSE), 3: ("i", DENSE)})], 2: graphs, 4: [T({})], 7: signatures})
    path = written(tmp_path, "net.tflite", flat_file(model, b"TFL3"))
    with pytest.raises(
        ValueError, match=r"several signatures; say which subgraph is meant: 'decode' \(1\), 'encode' \(0\)"
    ):
        files.file_macs(path)
    assert [files.file_macs(path, subgraph=at) for at in (0, 1)] == [24, 30]


def test_a_size_that_is_open_is_named_and_an_open_batch_is_one(tmp_path):
    made = [tensor("x", (1, 3), signature=(-1, 3)), tensor("w", (4, 3)), tensor("y", (1, 4), signature=(-1, 4))]
    assert files.file_macs(written(tmp_path, "net.tflite", tflite([(DENSE, [0, 1], [2])], made))) == 12
    made[0] = tensor("x", (1, 1), signature=(-1, -1))
    with pytest.raises(ValueError, match="works on 'x', whose sizes the file leaves open"):
        files.file_macs(written(tmp_path, "net.tflite", tflite([(DENSE, [0, 1], [2])], made)))


def test_shapes_and_axes_are_no_parameters(tmp_path):
    made = [
        tensor("x", (2, 3)),
        tensor("axis", (1,), 1, INT32),
        tensor("w", (4,), 2),
        tensor("q", (3,), 3, INT8, scales=[0.5]),
    ]
    path = written(tmp_path, "net.tflite", tflite([(ADD, [0, 2], [0])], made, [bytes(4), bytes(16), bytes(3)]))
    assert (files.file_parameters(path), files.file_parameters(path, integers=True)) == (7, 8)
    assert files.file_weight_bytes(path) == 19
    assert [row["kind"] for row in files.file_tensors(path)] == ["activation", "constant", "weight", "weight"]


# ---- ExecuTorch ------------------------------------------------------------------------------------------------------


def test_a_program_says_its_operators_and_its_memory_plan(tmp_path):
    held = [(6, [1, 3, 8, 8], 0, False), (6, [4, 3], 1, False), (6, [1, 4], 0, True), (11, [2], 2, True)]
    path = written(tmp_path, "net.pte", pte([("aten::add", "out"), ("aten::mm", "out")], [0, 1, 0], held, [192, 64]))
    assert programs.pte_operators(path) == files.file_operator_counts(path) == {"aten::add.out": 2, "aten::mm.out": 1}
    assert files.file_memory_plan(path) == [
        {"method": "forward", "buffer": 1, "bytes": 192},
        {"method": "forward", "buffer": 2, "bytes": 64},
    ]
    assert [row["kind"] for row in files.file_tensors(path)] == ["input", "weight", "planned", "state"]
    assert (files.file_parameters(path), files.file_weight_bytes(path)) == (12, 48)
    assert programs.pte_delegates(path) == 0


def test_weights_within_a_delegate_are_not_counted_as_none(tmp_path):
    path = written(tmp_path, "net.pte", pte([], [], [(6, [1], 0, True)], [16], ["XnnpackBackend"]))
    assert programs.pte_delegates(path) == 1
    with pytest.raises(ValueError, match="delegates, which keep weights of their own"):
        files.file_parameters(path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_executorch_itself_reads_the_same(tmp_path):
    serialize = pytest.importorskip("executorch.exir._serialize._program")
    exir, torch = pytest.importorskip("executorch.exir"), pytest.importorskip("torch")
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 10)
    )
    exported = torch.export.export(network.eval(), (torch.ones(1, 3, 8, 8),))
    path = written(tmp_path, "net.pte", exir.to_edge(exported).to_executorch().buffer)
    plan = serialize.deserialize_pte_binary(path.read_bytes()).program.execution_plan[0]
    assert [0, *(row["bytes"] for row in files.file_memory_plan(path))] == list(plan.non_const_buffer_sizes)
    named = [f"{each.name}.{each.overload}" for each in plan.operators]
    assert sorted(named) == sorted(files.file_operator_counts(path))
    assert files.file_parameters(path) == sum(each.numel() for each in network.parameters())


# ---- ONNX Runtime's own format ---------------------------------------------------------------------------------------

SAVED = ("branch_and_loop", "dynamic_batch", "functions", "int8_float16", "mixed_types", "open_image", "pools",
         "scanned", "shape_chain", "split_in_three", "squared", "if_in_loop")  # fmt: skip


@pytest.mark.parametrize("name", SAVED)
def test_a_model_in_onnx_runtimes_own_format_counts_as_the_one_that_it_was_made_of(tmp_path, name):
    made, path, own = (tmp_path / each for each in ("made.onnx", "net.onnx", "net.ort"))
    onnx_small.make(name, made)
    for kind, target in (("ONNX", path), ("ORT", own)):  # onnxruntime writes the same graph in both
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.optimized_model_filepath = str(target)
        options.add_session_config_entry("session.save_model_format", kind)
        ort.InferenceSession(str(made), options, providers=["CPUExecutionProvider"])
    for quantity in (onnx_macs.onnx_macs, onnx_memory.onnx_activation_bytes, files.file_macs):
        for shape in (None, [2, 3, 8, 8]):
            assert said(quantity, own, shape) == said(quantity, path, shape)
    assert onnx_nodes.onnx_operator_counts(own) == onnx_nodes.onnx_operator_counts(path)
    assert onnx_memory.onnx_parameters(own) == onnx_memory.onnx_parameters(path)


def said(quantity, path, shape):
    try:
        return quantity(path, input_shape=shape)
    except ValueError as refused:
        return str(refused).partition(":")[0].partition(" (")[0]


# ---- safetensors and GGUF --------------------------------------------------------------------------------------------


def test_safetensors_are_listed_as_their_library_wrote_them(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    held = {"a.weight": np.ones((3, 4), np.float32), "b": np.zeros((), np.float16), "c": np.arange(6, dtype=np.int8)}
    library.save_file(held, str(tmp_path / "w.safetensors"))
    rows = {row["tensor"]: row for row in files.file_tensors(tmp_path / "w.safetensors")}
    assert {name: row["bytes"] for name, row in rows.items()} == {name: each.nbytes for name, each in held.items()}
    assert {name: tuple(row["shape"]) for name, row in rows.items()} == {
        name: each.shape for name, each in held.items()
    }
    assert files.file_parameters(tmp_path / "w.safetensors") == 19
    assert files.file_parameters_by_type(tmp_path / "w.safetensors") == {"F32": 12, "F16": 1, "I8": 6}


def test_tensors_reads_safetensors(tmp_path):
    pytest.importorskip("safetensors")
    found = tensors.tensors(written(tmp_path, "w.safetensors", SAFETENSORS))
    assert {name: tuple(each.shape) for name, each in found.items()} == {"w": (3, 2)}


@pytest.mark.parametrize(
    "block", ["F32", "F16", "Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q2_K", "Q4_K", "Q6_K", "IQ4_NL", "BF16", "TQ1_0"]
)
def test_gguf_blocks_are_counted_as_its_library_wrote_them(tmp_path, block):
    library = pytest.importorskip("gguf")
    kind = library.GGMLQuantizationType[block]
    elements, size = library.GGML_QUANT_SIZES[kind]
    path = tmp_path / "w.gguf"
    writer = library.GGUFWriter(str(path), "llama")
    writer.add_array("tokenizer.ggml.tokens", ["a", "b", "long" * 50])
    writer.add_uint32("llama.block_count", 2)
    writer.add_tensor("blk.0.weight", np.zeros((6, 512 // elements * size), np.uint8), raw_dtype=kind)
    writer.add_tensor("norm.weight", np.ones(512, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    read = library.GGUFReader(str(path)).tensors
    rows = files.file_tensors(path)
    assert [(row["tensor"], row["type"], row["bytes"]) for row in rows] == [
        (each.name, each.tensor_type.name, int(each.n_bytes)) for each in read
    ]
    assert [row["shape"] for row in rows] == [[int(size) for size in reversed(each.shape)] for each in read]
    assert files.file_parameters(path) == sum(int(each.n_elements) for each in read) == 6 * 512 + 512
    assert files.file_weight_bytes(path) == sum(int(each.n_bytes) for each in read)


def gguf_of(*parts):
    return b"GGUF" + struct.pack("<I", 3) + b"".join(parts)


HOSTILE = {
    "more tensors than bytes.gguf": gguf_of(struct.pack("<QQ", 1 << 60, 0)),
    "more values than bytes.gguf": gguf_of(struct.pack("<QQ", 1, 1 << 60)),
    "a long key.gguf": gguf_of(struct.pack("<QQQ", 0, 1, 1 << 63)),
    "a long array.gguf": gguf_of(struct.pack("<QQQ", 0, 1, 1), b"k", struct.pack("<IIQ", 9, 8, 1 << 62)),
    "arrays in arrays.gguf": gguf_of(struct.pack("<QQQ", 0, 1, 1), b"k", struct.pack("<IIQ", 9, 9, 1) * 100),
    "many axes.gguf": gguf_of(struct.pack("<QQQ", 1, 0, 1), b"w", struct.pack("<I", 1 << 31)),
    "version 1.gguf": b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
    "a tensor outside.gguf": gguf_of(struct.pack("<QQQ", 1, 0, 1), b"w", struct.pack("<IQIQ", 1, 1 << 40, 0, 0)),
    "a long header.safetensors": struct.pack("<Q", (17 << 20) + 2) + b"{}" + b" " * (17 << 20),
    "no json.safetensors": struct.pack("<Q", 8) + b'{"a":[[[' + bytes(8),
    "deep json.safetensors": struct.pack("<Q", 4001) + b"{" + b"[" * 4000,
    "outside.safetensors": struct.pack("<Q", 53) + b'{"w":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}}'[:53],
    "a root outside.tflite": struct.pack("<I", 0xFFFFFFF0) + b"TFL3" + bytes(60),
    "a root before.tflite": struct.pack("<I", 8) + b"TFL3" + struct.pack("<i", 1 << 30) + bytes(60),
    "a long vector.tflite": flat_file(T({2: ("i", [1 << 30] * 4)}), b"TFL3"),
    "a tensor of none.tflite": tflite([(ADD, [7], [9])], [tensor("x", (1,))]),
    "a size below none.tflite": tflite([(ADD, [0], [0])], [tensor("x", (-5,))]),
    "a buffer of none.tflite": tflite([(ADD, [0], [0])], [tensor("x", (1,), 77)]),
    "a type of none.tflite": tflite([(ADD, [0], [0])], [tensor("x", (1,), 0, 99)]),
    "values cut off.tflite": tflite([(ADD, [0], [0])], [tensor("x", (100,), 1)], [bytes(12)]),
    "an operator of none.pte": pte([("aten::add", "out")], [5], [], [16]),
    "less than no bytes.pte": pte([("aten::add", "out")], [0], [], [-16]),
    "a type of none.pte": pte([], [], [(99, [1], 0, True)], [16]),
    "no method.pte": flat_file(T({0: ("I", 0)}), b"ET12"),
    "no graph.ort": flat_file(T({0: "1.2", 1: T({})}), b"ORTM"),
    "nodes in a ring.ort": flat_file(T({1: T({1: [T({1: ("q", 17)})], 7: T({2: [
        T({5: "Relu", 8: ["a"], 9: ["b"]}), T({5: "Relu", 8: ["b"], 9: ["a"]})]})})}), b"ORTM"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_words(tmp_path, name):
    if Path(name).suffix in (".gguf", ".safetensors"):
        pytest.importorskip(Path(name).suffix[1:])
    path = written(tmp_path, Path(name).name, HOSTILE[name])
    with pytest.raises(ValueError, match=r"\w+ \w+ \w+"):
        json.dumps(
            files.file_operator_counts(path) if path.suffix in (".tflite", ".pte", ".ort") else files.file_tensors(path)
        )


def test_types_are_those_of_the_schema():
    assert (tflite_reader.TYPES[FLOAT32][0], tflite_reader.TYPES[INT32][0], tflite_reader.TYPES[INT8][0]) == (
        "float32", "int32", "int8",
    )  # fmt: skip


# ---- damaged files ---------------------------------------------------------------------------------------------------

DAMAGED = int(os.environ.get("LABGRADE_FUZZ", "200"))
FUZZ = Path(__file__).parents[1] / "helpers/fuzz_files.py"


def seeds_of(kind, folder):
    """Whole files of a format: each that is damaged is one of these."""
    if kind == "tflite":
        for name in ("small-float", "small-int8"):
            shutil.copy(TFLITE_FILES / f"{name}.tflite", folder / f"seed-{name}.tflite")
        written(folder, "seed-lstm.tflite", one_step(*COUNTED["lstm"][:3]))
    elif kind == "pte":
        held = [(6, [1, 3], 0, False), (6, [4, 3], 1, False), (6, [1, 4], 0, True)]
        written(folder, "seed.pte", pte([("aten::add", "out"), ("aten::mm", "out")], [0, 1], held, [192]))
    elif kind == "ort":
        for name in ("pools", "branch_and_loop"):
            onnx_small.make(name, folder / "net.onnx")
            options = ort.SessionOptions()
            options.log_severity_level = 4
            options.optimized_model_filepath = str(folder / f"seed-{name}.ort")
            options.add_session_config_entry("session.save_model_format", "ORT")
            ort.InferenceSession(str(folder / "net.onnx"), options, providers=["CPUExecutionProvider"])
    elif kind == "safetensors":
        written(folder, "seed.safetensors", SAFETENSORS)
    else:
        values = struct.pack("<Q", 17) + b"general.alignment" + struct.pack("<II", 4, 32)
        words = struct.pack("<Q", 1) + b"t" + struct.pack("<IIQ", 9, 8, 2) + (struct.pack("<Q", 3) + b"abc") * 2
        held = struct.pack("<Q", 1) + b"w" + struct.pack("<IQQIQ", 2, 64, 3, 2, 0)
        written(folder, "seed.gguf", gguf_of(struct.pack("<QQ", 1, 2), values, words, held) + bytes(300))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tflite", "pte", "ort", "gguf", "safetensors"])
def test_damaged_files_are_refused_in_words_and_in_no_time(tmp_path, kind):
    if kind in ("gguf", "safetensors"):
        pytest.importorskip(kind)
    seeds_of(kind, tmp_path)
    done = subprocess.run(
        [sys.executable, str(FUZZ), kind, str(DAMAGED), "41", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["refused"] > DAMAGED  # of several questions each
    assert found["longest"] < 2.0
