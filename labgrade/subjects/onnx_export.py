"""Makes the ONNX files of the zoo: exported torchvision classifiers, and small files made node by node.

`torchvision/resnet18.onnx` is the zoo's `torchvision/resnet18`, exported; `micro/<name>.onnx` are those of
`onnx_small`. Names cost nothing; torch and onnx are imported when a file is made.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from labgrade.subjects import linear, networks, onnx_nested, onnx_small, tilings
from labgrade.subjects import models as zoo

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import torch

SUFFIX = ".onnx"
EXPORTERS = ("torchscript", "dynamo")
# What may be said of the export; every other option goes to the function that builds the model.
DEFAULTS: Mapping[str, object] = {
    "opset": 17,
    "exporter": "torchscript",
    "dynamic_batch": False,
    "external_data": False,
}


def names() -> tuple[str, ...]:
    """The ONNX files of the zoo, sorted."""
    exported = (name + SUFFIX for name in zoo.names() if name.startswith(zoo.COLLECTION))
    return tuple(sorted([*exported, *(f"micro/{name}{SUFFIX}" for name in onnx_small.FILES), *linear.NAMES]))


def sources(model: str) -> tuple[str, ...]:
    """Return labgrade's source files that decide what the zoo's file `model` holds."""
    if model.startswith(linear.FOLDER):
        return (linear.__file__, tilings.__file__)
    small = (onnx_small.__file__, onnx_nested.__file__)
    return small if model.startswith("micro/") else (*map(str, zoo.SOURCES), __file__)


def models() -> tuple[str, ...]:
    """Return everything in the zoo, sorted: models in memory and ONNX files."""
    return tuple(sorted([*zoo.names(), *names()]))


def input_names(given: tuple[torch.Tensor, ...]) -> list[str]:
    """Return the input names of an exported file: `input`, or `input_1`, `input_2`, ... for several."""
    return [f"input_{place}" for place in range(1, len(given) + 1)] if len(given) > 1 else ["input"]


def make(path: Path, subject: Mapping[str, Any]) -> None:
    """Write the file of a subject, as `zoo.Subject` takes it, and its external data beside it.

    All parameters are drawn before the export, biases and batch norms too: where they have their untouched values, the
    exporter merges equal ones, and the graph is another than that of a trained model.

    Raises:
        ValueError: there is no such model, option, opset or exporter.
    """
    model = str(subject["model"])
    if not subject.get("code") and model not in (*names(), networks.GENERATED + SUFFIX):
        message = f"the zoo has no ONNX file '{model}'"
        raise ValueError(message)
    chosen = {**DEFAULTS, **{key: value for key, value in subject["options"].items() if key in DEFAULTS}}
    if model.startswith(linear.FOLDER):
        linear.make(model, path, subject)
    elif model.startswith("micro/"):
        onnx_small.make(model.partition("/")[2].removesuffix(SUFFIX), path)
    else:
        _export(path, subject, chosen)


def _export(path: Path, subject: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    import torch

    rest = {key: value for key, value in subject["options"].items() if key not in DEFAULTS}
    plain = {**subject, "model": subject["model"].removesuffix(SUFFIX), "options": rest}
    plain["shape"] = tuple(subject["shape"])
    module, own = zoo.Subject(**plain).with_weights()
    given = own if isinstance(own, tuple) else (own,)
    _perturb(module, int(subject["weight_seed"]))
    if chosen["exporter"] not in EXPORTERS:
        message = f"there is no exporter '{chosen['exporter']}'; it is one of {', '.join(EXPORTERS)}"
        raise ValueError(message)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about which exporter it would rather be asked for
        how = _by_dynamo(given, chosen) if chosen["exporter"] == "dynamo" else _by_torchscript(given, chosen)
        torch.onnx.export(module, given, path, input_names=input_names(given), output_names=["output"], **how)
    if chosen["external_data"]:
        import onnx

        onnx.save(onnx.load(path), path, save_as_external_data=True, location=path.name + ".data", size_threshold=1024)


def _by_torchscript(given: tuple[torch.Tensor, ...], chosen: Mapping[str, Any]) -> dict[str, Any]:
    names = [*input_names(given), "output"]
    open_batch = {name: {0: "batch"} for name in names} if chosen["dynamic_batch"] else None
    return {"opset_version": chosen["opset"], "dynamic_axes": open_batch, "dynamo": False}


def _by_dynamo(given: tuple[torch.Tensor, ...], chosen: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    batch = {0: torch.export.Dim("batch")}
    open_batch = (batch,) * len(given) if chosen["dynamic_batch"] else None
    opset = max(int(chosen["opset"]), 18)
    quiet = {"external_data": False, "verbose": False}
    return {"opset_version": opset, "dynamic_shapes": open_batch, "dynamo": True, **quiet}


def _perturb(module: torch.nn.Module, seed: int) -> None:
    """Move every parameter a little, so that no two are equal."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        parameter.data += 0.02 * (torch.rand(parameter.shape, generator=generator) - 0.5)
