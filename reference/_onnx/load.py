"""A file on disk -> the model without its weights, with what makes a file useless said in words."""

from __future__ import annotations

import mmap
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError

from .._files import ort
from .._files.kinds import ORT, kind_of_file
from .problems import ModelError
from .wire import KEPT_BYTES, size_of, without_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST_FILE = (1 << 31) - 1  # protobuf's own limit: no program reads a longer message


def load(path: Path) -> onnx.ModelProto:
    """The model in a file, without payloads over 8 KiB and without what it declares of inner shapes.

    Raises:
        ModelError: it is no ONNX model, is damaged, is 2 GiB or larger, or its external data is not beside it.
    """
    model = _model(path)
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        message = "this is not an ONNX model: it has no graph (field 7 of ModelProto)"
        raise ModelError(message)
    if not model.opset_import:
        message = "the model says no opset version (its field opset_import is empty)"
        raise ModelError(message)
    for graph in (*graphs_of(model), *model.functions):
        if not all(isinstance(name, str) for name in _names(graph)):  # protobuf gives bytes
            message = "a name in the file is not UTF-8: the file is damaged"
            raise ModelError(message)
    for graph in graphs_of(model):
        for tensor in graph.initializer:
            _complete(tensor, path.parent)
    return model


def _model(path: Path) -> onnx.ModelProto:
    try:
        kind, words = kind_of_file(path)
        if kind == ORT:
            return ort.model(path)
    except ValueError as error:
        raise ModelError(str(error)) from None
    if kind:
        message = f"this is not an ONNX model: it is {words}"
        raise ModelError(message)
    content, model = _content(path), onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        message = f"this is not an ONNX model: its protobuf can't be decoded ({error})"
        raise ModelError(message) from None
    return model


def _names(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[object]:
    yield graph.name
    for node in graph.node:
        yield from (node.op_type, node.domain, node.name, *node.input, *node.output)
        yield from (each.name for each in node.attribute)
    for values in (graph.input, graph.output, graph.value_info, getattr(graph, "initializer", ())):
        yield from (getattr(each, "name", each) for each in values)  # a function's own are names alone


def _content(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            message = (
                f"the file has {size / 1e9:.2f} GB; protobuf ends at 2 GiB. Save the weights as external data: "
                "onnx.save(model, path, save_as_external_data=True)"
            )
            raise ModelError(message)
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return without_weights(data)
    except OSError as error:
        message = f"the file can't be read: {error.strerror}"
        raise ModelError(message) from None


def graphs_of(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The model's graph and every graph inside its nodes, each before those inside it."""
    waiting = [model.graph]
    while waiting:
        graph = waiting.pop()
        yield graph
        inner = [each for node in graph.node for each in _inside(node)]
        waiting += reversed(inner)


def _inside(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def nodes_of(model: onnx.ModelProto, *, nested: bool, functions: bool = False) -> Iterator[onnx.NodeProto]:
    """The nodes of the model's graph in the file's order; with `nested`, those inside a node right behind it.

    With `functions`, those of model-local functions come last.
    """
    inside = [node for function in model.functions for node in function.node] if functions else []
    waiting = [*reversed(inside), *reversed(model.graph.node)]
    while waiting:
        node = waiting.pop()
        yield node
        if nested:
            waiting += [each for graph in reversed(list(_inside(node))) for each in reversed(graph.node)]


def _complete(tensor: onnx.TensorProto, folder: Path) -> None:
    """Check where external data lies, and read it where it is as small as what shapes are computed from."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL or not tensor.external_data:
        return
    entries = {entry.key: str(entry.value) for entry in tensor.external_data}  # bytes where it is no UTF-8
    wanted = size_of(tensor.data_type, tuple(tensor.dims))
    try:
        offset = int(entries.get("offset", "0"))
        length = int(entries["length"]) if "length" in entries else None
    except ValueError:
        offset, length = -1, None
    file = beside(folder, entries.get("location", ""), tensor.name)
    room = file.stat().st_size - offset
    length = room if length is None and wanted is None else wanted if length is None else length
    if offset < 0 or length is None or not 0 <= length <= room or (wanted is not None and length != wanted):
        message = (
            f"the external data of tensor '{tensor.name}' does not fit: '{file.name}' holds {room:,} bytes from where "
            f"it begins, the file says {length:,}, its shape needs {'?' if wanted is None else f'{wanted:,}'}"
        )
        raise ModelError(message)
    if length <= KEPT_BYTES:
        with file.open("rb") as reader:
            reader.seek(offset)
            tensor.raw_data = reader.read(length)
        tensor.ClearField("external_data")
        tensor.data_location = onnx.TensorProto.DEFAULT


def beside(folder: Path, location: str, name: str) -> Path:
    """The file of external data: below the model's own folder, and no link.

    Raises:
        ModelError: it points elsewhere, or there is no such file.
    """
    parts = PurePosixPath(location).parts
    outside = not parts or ".." in parts or PurePosixPath(location).is_absolute() or "\\" in location
    file = folder.joinpath(*parts) if not outside else folder
    if outside or not file.resolve().is_relative_to(folder.resolve()):
        message = f"the external data of tensor '{name}' lies outside the model's folder: '{location[:200]}'"
        raise ModelError(message)
    if not file.is_file():
        message = f"the external data of tensor '{name}' is missing: there is no '{location[:200]}' beside the model"
        raise ModelError(message)
    return file
