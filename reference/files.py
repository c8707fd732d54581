"""What files of the field hold, whichever format they have: TFLite, ExecuTorch, safetensors, GGUF, ONNX and ORT.

Each quantity is computed of every format that holds what it asks for; of any other the message names what the file is.
No weight is read. ONNX models and those in ONNX Runtime's own format (.ort) are measured by the `onnx_` quantities,
which have more conventions.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ._files import pte, tflite
from ._files.kinds import GGUF, ORT, PTE, SAFETENSORS, TFLITE, kind_of_file
from ._files.weights import stored

if TYPE_CHECKING:
    from pathlib import Path

    from ._files.tflite import Graph

_STORED = (SAFETENSORS, GGUF)
_ONNX = "ONNX"  # or of no known kind: then what reads ONNX files says what is wrong


def _kind(artifact: Path) -> str:
    kind = kind_of_file(artifact)[0]
    return _ONNX if kind in ("", ORT) else kind


def _holds_no(artifact: Path, what: str) -> ValueError:
    """What is said of a file whose format does not hold what is asked for."""
    message = f"this file holds no {what}: it is {kind_of_file(artifact)[1]}"
    return ValueError(message)


def _graph(artifact: Path, subgraph: int | None) -> Graph:
    graphs, signatures = tflite.read(artifact)
    if subgraph is None and len(set(signatures.values())) > 1:
        named = ", ".join(f"'{name[:80]}' ({at})" for name, at in sorted(signatures.items())[:8])
        message = f"this TFLite model has several signatures; say which subgraph is meant: {named}"
        raise ValueError(message)
    chosen = min(signatures.values(), default=0) if subgraph is None else subgraph
    if not 0 <= chosen < len(graphs):
        message = f"this TFLite model has {len(graphs)} subgraphs, counted from 0; there is no subgraph {chosen}"
        raise ValueError(message)
    return graphs[chosen]


def file_format(artifact: Path) -> str:
    """Which format a file has, by its first bytes: TFLite, ExecuTorch, safetensors, GGUF, zip, ...

    Raises:
        ValueError: it is of no kind that is known by its first bytes, such as an ONNX model.
    """
    kind = kind_of_file(artifact)[0]
    if kind:
        return kind
    from ._onnx.load import load

    load(artifact)
    return _ONNX


def file_operator_counts(artifact: Path, *, subgraph: int | None = None) -> dict[str, int]:
    """How often each operator stands in a model, under the format's own name for it: CONV_2D, aten::add.out, Conv.

    `subgraph` is one of a TFLite model's, counted from 0; without it, the one that its signature runs. Of a program of
    ExecuTorch these are the kernels that its methods call; what delegates do is not in it.

    Raises:
        ValueError: the file holds no operators, or is damaged.
    """
    match _kind(artifact):
        case kind if kind == TFLITE:
            return dict(Counter(each.name.lstrip("*!") for each in _graph(artifact, subgraph).operators))
        case kind if kind == PTE:
            return dict(Counter(name for method in pte.read(artifact) for name in method.kernels))
        case kind if kind == _ONNX:
            from .onnx_nodes import onnx_operator_counts

            return onnx_operator_counts(artifact)
    raise _holds_no(artifact, "operators")


def file_tensors(
    artifact: Path, *, input_shape: list[int] | None = None, subgraph: int | None = None
) -> list[dict[str, Any]]:
    """The tensors of a file in its order, a row each: `tensor`, `kind`, `type`, `shape`, `bytes`.

    `kind` is weight, constant (a shape or an axis) or activation; of a program of ExecuTorch weight, state, planned or
    input. `bytes` are those of the format: of GGUF blocks with their scales. Of an ONNX model this is `onnx_tensors`.

    Raises:
        ValueError: the file holds no tensors, or is damaged.
    """
    match _kind(artifact):
        case kind if kind in _STORED:
            return [_row(each.name, "weight", each.type, each.shape, each.bytes) for each in stored(artifact)]
        case kind if kind == TFLITE:
            graph = _graph(artifact, subgraph)
            return [_row(each.name, _role(each), each.type, each.shape, each.size) for each in graph.tensors]
        case kind if kind == PTE:
            held = [each for method in pte.read(artifact) for each in method.values]
            return [_row(str(at), each.kind, each.type, each.shape, each.bytes) for at, each in enumerate(held)]
        case kind if kind == _ONNX:
            from .onnx_memory import onnx_tensors

            return onnx_tensors(artifact, input_shape=input_shape)
    raise _holds_no(artifact, "tensors that can be listed")


def _row(name: str, kind: str, word: str, shape: tuple[int, ...], size: int) -> dict[str, Any]:
    return {"tensor": name, "kind": kind, "type": word, "shape": list(shape), "bytes": size}


def _role(tensor: tflite.Tensor) -> str:
    return "activation" if tensor.held is None else "weight" if tensor.is_parameter else "constant"


def _weights(artifact: Path, *, integers: bool) -> list[tuple[str, int, int]]:
    """Type, elements and bytes of each weight of a file."""
    match _kind(artifact):
        case kind if kind in _STORED:
            return [(each.type, each.elements, each.bytes) for each in stored(artifact)]
        case kind if kind == TFLITE:
            tensors = [each for graph in tflite.read(artifact)[0] for each in graph.tensors if each.held is not None]
            return [(each.type, each.elements, each.size) for each in tensors if integers or each.is_parameter]
        case kind if kind == PTE:
            methods = pte.read(artifact)
            if any(method.delegates for method in methods):
                message = "this program hands parts of its work to delegates, which keep weights of their own"
                raise ValueError(message)
            held = [each for method in methods for each in method.values if each.kind == "weight"]
            return [(each.type, each.elements, each.bytes) for each in held]
        case kind if kind == _ONNX:
            from ._onnx.weights import held_by

            return held_by(artifact, integers=integers)
    raise _holds_no(artifact, "weights that can be listed")


def file_parameters(artifact: Path, *, integers: bool = False) -> int:
    """How many parameters a file holds: the elements of all its weights.

    Of safetensors and GGUF these are all tensors; of a TFLite model its constants but for shapes and axes, which are
    whole numbers without a scale: `integers` counts them, too. Of an ONNX model this is `onnx_parameters`.

    Raises:
        ValueError: the file holds no weights, or a part of them in a form that says nothing of their number.
    """
    if _kind(artifact) == _ONNX:
        from .onnx_memory import onnx_parameters

        return onnx_parameters(artifact, integers=integers)
    return sum(elements for _, elements, _ in _weights(artifact, integers=integers))


def file_weight_bytes(artifact: Path, *, integers: bool = False) -> int:
    """How many bytes the weights of a file take in it, without its header; see `file_parameters`.

    Raises:
        ValueError: the file holds no weights, or a part of them in a form that says nothing of their size.
    """
    return sum(size for _, _, size in _weights(artifact, integers=integers))


def file_parameters_by_type(artifact: Path, *, integers: bool = False) -> dict[str, int]:
    """How many parameters a file holds of each type, as the format calls it: F16, Q4_K, int8; see `file_parameters`.

    Raises:
        ValueError: the file holds no weights, or a part of them in a form that says nothing of their number.
    """
    found: Counter[str] = Counter()
    for word, elements, _ in _weights(artifact, integers=integers):
        found[word] += elements
    return dict(found)


def file_macs(artifact: Path, *, input_shape: list[int] | None = None, subgraph: int | None = None) -> int:
    """How many multiply-accumulate operations running a model once takes.

    Of a TFLite model a convolution takes output elements x filter elements of one output channel, a transposed one
    input elements x filter elements of one input channel, a product output elements x the dimension summed over, a
    recurrent layer each weight once a step. A first size that the file leaves open counts as 1, as TFLite's interpreter
    takes it until a program sets another. Of an ONNX model this is `onnx_macs`, for inputs of `input_shape`.

    Raises:
        ValueError: the file holds no operators, or one of them may multiply and no rule says how often.
    """
    if _kind(artifact) == _ONNX:
        from .onnx_macs import onnx_macs

        return onnx_macs(artifact, input_shape=input_shape)
    return sum(row["macs"] for row in file_macs_by_layer(artifact, subgraph=subgraph))


def file_macs_by_layer(
    artifact: Path, *, input_shape: list[int] | None = None, subgraph: int | None = None
) -> list[dict[str, Any]]:
    """The multiply-accumulate operations of each operator, a row each: `layer`, `type`, `macs`; see `file_macs`.

    A layer has the name of the tensor that it makes.

    Raises:
        ValueError: the file holds no operators, or one of them may multiply and no rule says how often.
    """
    match _kind(artifact):
        case kind if kind == _ONNX:
            from .onnx_macs import onnx_macs_by_layer

            return onnx_macs_by_layer(artifact, input_shape=input_shape)
        case kind if kind == TFLITE:
            graph = _graph(artifact, subgraph)
            rows = [(each, tflite.macs(graph, each)) for each in graph.operators]
            return [
                {
                    "layer": graph.tensors[each.outputs[0]].name if each.outputs else "",
                    "type": each.name.lstrip("*!"),
                    "macs": count,
                }
                for each, count in rows
            ]
    raise _holds_no(artifact, "operators with sizes")


def file_activation_bytes(artifact: Path, *, input_shape: list[int] | None = None, subgraph: int | None = None) -> int:
    """How many bytes all tensors take that the operators of a model make, together and at their own types.

    Of an ONNX model this is `onnx_activation_bytes`, for inputs of `input_shape`.

    Raises:
        ValueError: the file holds no operators, or sizes are open.
    """
    match _kind(artifact):
        case kind if kind == _ONNX:
            from .onnx_memory import onnx_activation_bytes

            return onnx_activation_bytes(artifact, input_shape=input_shape)
        case kind if kind == TFLITE:
            graph = _graph(artifact, subgraph)
            made = {at for each in graph.operators for at in each.outputs if at >= 0}
            left_open = [graph.tensors[at].name for at in made if any(place > 0 for place in graph.tensors[at].open)]
            if left_open:
                message = f"the file leaves sizes of '{left_open[0][:80]}' open"
                raise ValueError(message)
            return sum(graph.tensors[at].size for at in made)
    raise _holds_no(artifact, "operators with sizes")


def file_quantisation(artifact: Path, *, subgraph: int | None = None) -> list[dict[str, Any]]:
    """How the tensors of a TFLite model are quantised: `tensor`, `type`, `scales`, `axis`, `scale`, `zero_point`.

    `scales` is how many there are: 1, or one for each place along `axis`; `scale` and `zero_point` are the first.

    Raises:
        ValueError: it is no TFLite model, or is damaged.
    """
    if _kind(artifact) != TFLITE:
        raise _holds_no(artifact, "quantised tensors of TFLite's")
    return [
        {"tensor": each.name, "type": each.type, "scales": len(each.scales), "axis": each.axis,
         "scale": each.scales[0], "zero_point": each.zero_points[0] if each.zero_points else 0}
        for each in _graph(artifact, subgraph).tensors if each.scales
    ]  # fmt: skip


def file_memory_plan(artifact: Path) -> list[dict[str, Any]]:
    """The buffers that a program of ExecuTorch plans for its activations, a row each: `method`, `buffer`, `bytes`.

    A buffer is counted from 1, as the file does it; one is used again by tensors that are not needed at a time.

    Raises:
        ValueError: it is no program of ExecuTorch, or is damaged.
    """
    return [
        {"method": method.name, "buffer": at, "bytes": size}
        for method in pte.read(artifact)
        for at, size in enumerate(method.planned, 1)
    ]
