"""What one node puts out: types and shapes by ONNX's own inference, values by ONNX's own reference implementation."""

from __future__ import annotations

import functools
import math
import warnings
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import checker, defs, helper, shape_inference

from .problems import ModelError
from .tensors import MOST_ELEMENTS, Tensor, checked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .tensors import Value

# Their values differ from run to run, so that nothing may be computed from them in advance.
_RANDOM = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout"}
)
_SIZED_BY_VALUE = frozenset({"NonZero", "Unique", "Compress"})
# Before opset 6, ONNX has no rule for these: their output is like their first input.
_LIKE_FIRST = frozenset(
    [
        "Abs",
        "Add",
        "BatchNormalization",
        "Ceil",
        "Clip",
        "Div",
        "Dropout",
        "Elu",
        "Exp",
        "Floor",
        "HardSigmoid",
        "InstanceNormalization",
        "LeakyRelu",
        "Log",
        "Mul",
        "Neg",
        "PRelu",
        "Reciprocal",
        "Relu",
        "Selu",
        "Sigmoid",
        "Sqrt",
        "Sub",
        "Tanh",
        "Max",
        "Mean",
        "Min",
        "Sum",
    ]
)
_POSITIVE = ("kernel_shape", "strides", "dilations")
_INFERENCE_ERRORS = (
    shape_inference.InferenceError,
    checker.ValidationError,
    ArithmeticError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
Opsets = tuple[tuple[str, int], ...]


def label(node: onnx.NodeProto) -> str:
    """A node as messages call it: `node 'Conv_3' (Conv)`."""
    kind = f"{node.domain}::{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
    if node.name:
        return f"node '{node.name[:80]}' ({kind[:80]})"
    return f"the node that makes '{node.output[0][:80] if node.output else ''}' ({kind[:80]})"


def outputs(node: onnx.NodeProto, inputs: Sequence[Tensor | None], opsets: Opsets) -> list[Tensor]:
    """The tensors that a node puts out, one for each of its output names; an output without a name is left out.

    Raises:
        ModelError: there is no such operator, or the node is not valid; names it.
    """
    schema = _schema(node, opsets)
    if schema is None:
        reason = f"{label(node)} is of the domain '{node.domain[:80]}', which ONNX does not define"
        return [Tensor(name=name, unknown=reason) for name in node.output if name]
    _check(node)
    found = _typed(schema, node, inputs, opsets)
    result = []
    for name in filter(None, node.output):
        tensor = _tensor(name, found.get(name))
        if tensor.shape is None:
            _settle(tensor, node, inputs, opsets)
        if tensor.shape is not None and math.prod(tensor.shape) <= MOST_ELEMENTS:
            tensor.source = functools.partial(_value, node, tuple(inputs), opsets, name)
        result.append(tensor)
    return result


def _schema(node: onnx.NodeProto, opsets: Opsets) -> defs.OpSchema | None:
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = dict(opsets).get(domain)
    if version is None:
        if domain:
            return None
        message = f"{label(node)} is of a domain that the model imports no opset of (its field opset_import)"
        raise ModelError(message)
    try:
        schema = defs.get_schema(node.op_type, version, domain)
    except (defs.SchemaError, TypeError):  # TypeError: the version is no number of 32 bits
        if domain not in _domains():
            return None
        message = f"{label(node)}: there is no operator of that name in opset {version}"
        raise ModelError(message) from None
    if schema.deprecated:
        message = f"{label(node)}: opset {version} no longer has this operator"
        raise ModelError(message)
    return schema


@functools.cache
def _domains() -> frozenset[str]:
    return frozenset(schema.domain for schema in defs.get_all_schemas())


def _check(node: onnx.NodeProto) -> None:
    """What ONNX's inference takes for granted."""
    for attribute in node.attribute:
        wrong = attribute.name in _POSITIVE and any(size < 1 for size in attribute.ints)
        if wrong or (attribute.name == "group" and attribute.i < 1 and attribute.type == onnx.AttributeProto.INT):
            given = list(attribute.ints) if wrong else attribute.i
            message = f"{label(node)}: its attribute '{attribute.name}' is {given}"
            raise ModelError(message)


def _typed(
    schema: defs.OpSchema, node: onnx.NodeProto, inputs: Sequence[Tensor | None], opsets: Opsets
) -> Mapping[str, onnx.TypeProto]:
    """The types of the outputs: first from shapes alone, then, where those are not enough, with the known values."""
    present = {name: tensor for name, tensor in zip(node.input, inputs, strict=True) if tensor is not None}
    signature = tuple((name, each.data_type, each.shape) for name, each in present.items())
    message = node.SerializeToString(deterministic=True)
    found = _inferred(schema, message, signature, (), opsets)
    if all(_complete(found.get(name)) for name in node.output if name):
        return found
    values = ((name, each.known()) for name, each in present.items())
    known = tuple((name, (v.tobytes(), v.shape, str(v.dtype))) for name, v in values if v is not None)
    return _inferred(schema, message, signature, known, opsets) if known else found


@functools.lru_cache(maxsize=8192)
def _inferred(
    schema: defs.OpSchema,
    message: bytes,
    signature: tuple[tuple[str, int, tuple[int, ...] | None], ...],
    known: tuple[tuple[str, tuple[bytes, tuple[int, ...], str]], ...],
    opsets: Opsets,
) -> Mapping[str, onnx.TypeProto]:
    node = onnx.NodeProto.FromString(message)
    types = {name: _type(data_type, shape) for name, data_type, shape in signature}
    data = {
        name: onnx.numpy_helper.from_array(np.frombuffer(content, dtype=dtype).reshape(shape))
        for name, (content, shape, dtype) in known
    }
    imports = [onnx.OperatorSetIdProto(domain=domain, version=version) for domain, version in opsets]
    try:
        return shape_inference.infer_node_outputs(schema, node, types, data, opset_imports=imports)
    except _INFERENCE_ERRORS as error:
        said = " ".join(str(error).split())[:300]
        problem = f"{label(node)} is not valid: {said}"
        raise ModelError(problem) from None


def _type(data_type: int, shape: tuple[int, ...] | None) -> onnx.TypeProto:
    made = onnx.TypeProto()
    if data_type:
        made.tensor_type.elem_type = data_type
        if shape is not None:
            made.tensor_type.shape.SetInParent()  # of a scalar, too
            for size in shape:
                made.tensor_type.shape.dim.add().dim_value = size
    return made


def _complete(found: onnx.TypeProto | None) -> bool:
    if found is None or not found.HasField("tensor_type") or not found.tensor_type.HasField("shape"):
        return False
    return all(dim.HasField("dim_value") for dim in found.tensor_type.shape.dim)


def _tensor(name: str, found: onnx.TypeProto | None) -> Tensor:
    data_type = found.tensor_type.elem_type if found is not None else 0
    if found is None or not _complete(found):
        return Tensor(name=name, data_type=data_type)
    shape = tuple(dim.dim_value for dim in found.tensor_type.shape.dim)
    return Tensor(name=name, data_type=data_type, shape=checked(shape, name))


def _settle(tensor: Tensor, node: onnx.NodeProto, inputs: Sequence[Tensor | None], opsets: Opsets) -> None:
    """The shape where ONNX's inference found none, or why there is none."""
    first = inputs[0] if inputs else None
    if node.op_type in _LIKE_FIRST and dict(opsets).get("", 99) < 6 and first is not None:  # noqa: PLR2004
        tensor.data_type, tensor.shape, tensor.unknown = first.data_type, first.shape, first.unknown
        return
    if node.op_type in _SIZED_BY_VALUE:
        value = _value(node, tuple(inputs), opsets, tensor.name)
        if value is not None:
            tensor.data_type, tensor.shape = helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            return
    causes = [each.unknown for each in inputs if each is not None and each.unknown]
    tensor.unknown = causes[0] if causes else f"the size of what {label(node)} puts out depends on data"


def _value(node: onnx.NodeProto, inputs: tuple[Tensor | None, ...], opsets: Opsets, name: str) -> Value | None:
    """The value of an output, where all inputs' values are known; of Shape and Size, where the input's shape is."""
    if node.op_type in ("Shape", "Size") and inputs and inputs[0] is not None and inputs[0].shape is not None:
        return _shape_value(node, inputs[0].shape)
    if node.op_type in _RANDOM or node.domain not in ("", "ai.onnx") or not inputs:
        return None
    feeds = {}
    for given, tensor in zip(node.input, inputs, strict=True):
        value = tensor.known() if tensor is not None else None
        if tensor is not None and value is None:
            return None
        if value is not None:
            feeds[given] = value
    return _evaluated(node, feeds, opsets, name)


def _shape_value(node: onnx.NodeProto, shape: tuple[int, ...]) -> Value:
    if node.op_type == "Size":
        return np.array(math.prod(shape), dtype=np.int64)
    bounds = {attribute.name: attribute.i for attribute in node.attribute}
    return np.array(shape[bounds.get("start", 0) : bounds.get("end", len(shape))], dtype=np.int64)


def _evaluated(node: onnx.NodeProto, feeds: Mapping[str, Value], opsets: Opsets, name: str) -> Value | None:
    from onnx.reference import ReferenceEvaluator

    types = [helper.make_tensor_value_info(given, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
             for given, v in feeds.items()]  # fmt: skip
    graph = helper.make_graph([node], "node", types, [onnx.ValueInfoProto(name=name)])
    imports = [onnx.OperatorSetIdProto(domain=domain, version=version) for domain, version in opsets]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            evaluator = ReferenceEvaluator(helper.make_model(graph, opset_imports=imports))
            (value,) = evaluator.run(None, dict(feeds))
    except Exception:  # noqa: BLE001 - an operator that the reference can't run only leaves its value unknown
        return None
    return value if isinstance(value, np.ndarray) else np.asarray(value) if np.isscalar(value) else None
