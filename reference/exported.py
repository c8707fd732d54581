"""Files that a network was exported to, ONNX or TorchScript: what they take and put out, and how far off they are."""

from __future__ import annotations

import io
import pathlib
import warnings
from typing import TYPE_CHECKING, Any, Literal

from ._networks import largest_error, scripted
from ._torchscript_file import cause

if TYPE_CHECKING:
    from pathlib import Path

    import onnx
    import torch

_IN_PLACE = frozenset(
    f"aten::{name}_" for name in ("relu", "relu6", "hardtanh", "hardswish", "silu", "leaky_relu", "elu")
)
_OPEN = -1  # a size that a file leaves open


# ---- ONNX ------------------------------------------------------------------------------------------------------------


def onnx_input_names(artifact: Path, *, weights: bool = False) -> str:
    """The names of the inputs of an ONNX file, joined by commas; with `weights`, also those that have a value in it."""
    model = _model(artifact)
    return ", ".join(each.name for each in (model.graph.input if weights else _inputs(model)))


def onnx_output_names(artifact: Path) -> str:
    """The names of the outputs of an ONNX file, joined by commas."""
    return ", ".join(each.name for each in _model(artifact).graph.output)


def onnx_input_sizes(artifact: Path) -> list[int]:
    """The shape of the first input of an ONNX file; -1 is a size that it leaves open."""
    inputs = _inputs(_model(artifact))
    if not inputs:
        message = "it has no input"
        raise ValueError(message)
    dims = inputs[0].type.tensor_type.shape.dim
    return [each.dim_value if each.HasField("dim_value") else _OPEN for each in dims]


def onnx_opset(artifact: Path) -> int:
    """The version of ONNX' own operators that a file asks for."""
    versions = [each.version for each in _model(artifact).opset_import if each.domain in ("", "ai.onnx")]
    if len(versions) != 1:
        message = f"it names {len(versions)} versions of ONNX' own operators"
        raise ValueError(message)
    return int(versions[0])


def onnx_relative_error(
    artifact: Path,
    *,
    original: str = "",
    input_shape: list[int] | None = None,
    own_weights: bool = False,
    draws: int = 2,
) -> float:
    """How far an ONNX file's output is from the network's on fresh inputs, as a share of its largest value.

    The largest difference over `draws` inputs, drawn from a normal distribution; onnxruntime runs the file. With
    `own_weights` the network gets the file's weights first, where these are its own in order: so a file of downloaded
    weights is judged by what it computes with them.

    Raises:
        ValueError: the file is none that onnxruntime runs on such an input, or its output has another shape.
    """
    from ._tiling.runtimes import RefusedError, by_onnxruntime

    network = scripted(artifact.parent / original)
    inputs = _inputs(_model(artifact))
    if len(inputs) != 1:
        message = f"it takes {len(inputs)} inputs, and the network takes one"
        raise ValueError(message)
    if own_weights:
        _take_initializers(network, artifact)

    def run(x: torch.Tensor) -> torch.Tensor:
        import torch

        try:
            outputs = by_onnxruntime(str(artifact), {inputs[0].name: x.numpy()})
        except RefusedError as error:
            sizes = ["?" if size == _OPEN else size for size in onnx_input_sizes(artifact)]
            message = f"it does not run on an input of {list(x.shape)}; it takes {sizes}: {error}"
            raise ValueError(message) from None
        return torch.from_numpy(next(iter(outputs.values())))

    return largest_error(lambda given: [run(x) for x in given], network, input_shape, draws)


def onnx_recorded_error(artifact: Path, *, record: Literal["float", "int8"]) -> float:
    """How far an ONNX file's outputs are from those that were recorded of a network, as a share of the largest.

    `record` names inputs and outputs in `_recorded/`: `float` and `int8` are of the tutorial's small networks, as
    TensorFlow 2.21 ran them.

    Raises:
        ValueError: the file does not run on the recorded inputs, or its output has another shape.
    """
    import numpy as np

    got, wanted = _on_recorded(artifact, record)
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def onnx_recorded_steps(artifact: Path, *, record: Literal["float", "int8"]) -> int:
    """By how many steps of a quantised output an ONNX file is off at most, of what was recorded of a network.

    Raises:
        ValueError: as `onnx_recorded_error`.
    """
    import numpy as np

    got, wanted = _on_recorded(artifact, record)
    return int(np.abs(got - wanted).max())


def _on_recorded(artifact: Path, record: str) -> tuple[Any, Any]:
    """What the file makes of the recorded inputs, one by one, and what the network made of them, in float64."""
    import numpy as np

    from ._tiling.runtimes import RefusedError, by_onnxruntime

    with np.load(pathlib.Path(__file__).parent / "_recorded" / "small_networks.npz") as held:
        given, wanted = held[f"{record}_in"], held[f"{record}_out"]
    inputs = _inputs(_model(artifact))
    if len(inputs) != 1:
        message = f"it takes {len(inputs)} inputs, and the network takes one"
        raise ValueError(message)
    made = []
    for x in given:
        try:
            outputs = by_onnxruntime(str(artifact), {inputs[0].name: x[None]})
        except RefusedError as error:
            message = f"it does not run on {x.dtype} of the shape {[1, *x.shape]}, which the network takes: {error}"
            raise ValueError(message) from None
        made.append(np.asarray(next(iter(outputs.values()))).astype(np.float64))
    if any(each.shape != (1, *wanted.shape[1:]) for each in made):
        message = f"it puts out {list(made[0].shape)}, and the network {[1, *wanted.shape[1:]]}"
        raise ValueError(message)
    return np.concatenate(made), wanted.astype(np.float64)


def _model(artifact: Path) -> onnx.ModelProto:
    """The file without what lies beside it: nothing of a graph's signature does."""
    import onnx

    try:
        return onnx.load(str(artifact), load_external_data=False)
    except Exception as error:  # noqa: BLE001 - what protobuf raises of a broken file has no common base
        message = f"this is no ONNX file: {type(error).__name__}"
        raise ValueError(message) from None


def _take_initializers(network: Any, artifact: Path) -> None:
    """Give a network the weights of an ONNX file where names, or shapes in order, say whose each is."""
    import onnx
    import torch

    try:
        held = onnx.load(str(artifact)).graph.initializer
        arrays = {each.name: onnx.numpy_helper.to_array(each) for each in held}
    except Exception as error:  # noqa: BLE001 - what protobuf raises of a broken file has no common base
        message = f"its weights can't be read: {type(error).__name__}"
        raise ValueError(message) from None
    state = {name: tensor for name, tensor in network.state_dict().items() if tensor.is_floating_point()}
    shapes = {tuple(tensor.shape) for tensor in state.values()}
    found = [array for array in arrays.values() if array.dtype.kind == "f" and array.shape in shapes]
    if state.keys() <= arrays.keys():
        found = [arrays[name] for name in state]
    if [array.shape for array in found] == [tuple(tensor.shape) for tensor in state.values()]:
        with torch.no_grad():
            for tensor, array in zip(state.values(), found, strict=True):
                tensor.copy_(torch.from_numpy(array.copy()))


def _inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    weights = {each.name for each in model.graph.initializer}
    return [each for each in model.graph.input if each.name not in weights]


# ---- TorchScript -----------------------------------------------------------------------------------------------------


def torchscript_relative_error(
    artifact: Path,
    *,
    original: str = "",
    input_shape: list[int] | None = None,
    own_weights: bool = False,
    draws: int = 2,
) -> float:
    """How far a TorchScript file's output is from the network's on fresh inputs, as a share of its largest value.

    With `own_weights` the network gets the file's weights first, so that a file of weights drawn at random is judged by
    what it computes with them. Those of a frozen file are constants of its graph.

    Raises:
        ValueError: the file is none that torch loads and runs on such an input, its output has another shape, or it
            holds other tensors than the network.
    """
    import torch

    network, made = scripted(artifact.parent / original), scripted(artifact)
    if own_weights:
        network = _with_weights_of(made, network)

    def run(x: torch.Tensor) -> torch.Tensor:
        try:
            output = made(x)
        except RuntimeError as error:
            message = f"it does not run on an input of {list(x.shape)}: {cause(error)}"
            raise ValueError(message) from None
        if not isinstance(output, torch.Tensor):
            message = f"it puts out {type(output).__name__}, not a tensor"
            raise ValueError(message)  # noqa: TRY004 - the file is wrong, which a ValueError says
        return output

    return largest_error(lambda given: [run(x) for x in given], network, input_shape, draws)


def torchscript_training_nodes(artifact: Path) -> int:
    """How many normalisations and dropouts of a TorchScript file compute as they do while a network is trained."""
    flags = {"aten::batch_norm": 5, "aten::instance_norm": 5, "aten::dropout": 2, "aten::dropout_": 2}
    graph = _with_attributes_told(scripted(artifact))
    nodes = [node for kind in flags for node in graph.findAllNodes(kind)]
    return sum(list(node.inputs())[flags[node.kind()]].toIValue() is not False for node in nodes)


def torchscript_in_place(artifact: Path) -> int:
    """How many activations of a TorchScript file write into their input: `aten::relu_` and the like, a call each."""
    graph = scripted(artifact).inlined_graph
    return sum(len(list(graph.findAllNodes(kind))) for kind in _IN_PLACE)


def _with_attributes_told(made: Any) -> Any:
    """The graph of a file; where it was scripted, with the value of `self.training` in place of the question."""
    import torch

    graph = made.inlined_graph
    if not any(node.s("name") == "training" for node in graph.findAllNodes("prim::GetAttr")):
        return graph
    frozen: Any = torch._C._freeze_module(made._c)  # noqa: SLF001 - torch.jit.freeze refuses training
    return frozen._get_method("forward").graph  # noqa: SLF001


def _with_weights_of(made: Any, network: Any) -> Any:
    """The network with the weights of a file made of it.

    Those of a frozen one are constants of its graph, in which batch norms are as they were, or part of the convolutions
    before them. Where they are not as many and as large as the network's, it keeps its own.
    """
    theirs = made.graph
    given = [node.t("value") for node in _constants(theirs)]
    if made.state_dict() or not given:
        _take_weights(network, made)
        return network
    for folded in (True, False):
        own = _frozen(network, folded=folded)
        graph = own.graph
        places = _constants(graph)
        if [node.t("value").shape for node in places] == [each.shape for each in given]:
            for node, tensor in zip(places, given, strict=True):
                node.t_("value", tensor)
            return own
    return network


def _frozen(network: Any, *, folded: bool) -> Any:
    """The network as a frozen file, read again: its constants stand in the order in which files have them."""
    import torch

    written = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about a format that courses still use
        frozen = torch.jit.freeze(network, optimize_numerics=folded)
        torch.jit.save(frozen, written)
        return torch.jit.load(io.BytesIO(written.getvalue()))  # type: ignore[no-untyped-call]


def _constants(graph: Any) -> list[Any]:
    """The tensors of a graph, which they do not outlive."""
    nodes = graph.findAllNodes("prim::Constant")
    return [node for node in nodes if node.hasAttribute("value") and node.kindOf("value") == "t"]


def _take_weights(network: Any, made: Any) -> None:
    """Give a network the weights of a file made of it."""
    here, there = dict(network.state_dict()), dict(made.state_dict())
    lacking, extra = sorted(here.keys() - there.keys()), sorted(there.keys() - here.keys())
    if lacking or extra:
        which = f"no '{lacking[0]}'" if lacking else f"'{extra[0]}', which the network has not"
        message = f"it holds other tensors than the network: {which} ({len(lacking)} missing, {len(extra)} more)"
        raise ValueError(message)
    try:
        network.load_state_dict(there)
    except RuntimeError as error:
        message = f"its tensors have other shapes than the network's: {str(error).strip().splitlines()[-1].strip()}"
        raise ValueError(message) from None
