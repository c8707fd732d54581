"""What one node puts out: types and shapes by ONNX's own inference, values by ONNX's own reference implementation."""

from __future__ import annotations

import functools
import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import checker, defs, helper, shape_inference

from . import microsoft, sequences
from .problems import ModelError, label
from .settled import believed, disputed, settle
from .tensors import MOST_ELEMENTS, PLAIN, Tensor, checked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .tensors import Value

# Their values differ from run to run, so that nothing may be computed from them in advance.
_RANDOM = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout"}
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
_GRAPHS = frozenset({onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS})
# Their shapes alone are never enough, so that ONNX's inference is asked once.
_SIZED_BY_VALUE = frozenset({"Reshape", "Expand", "ConstantOfShape"})
Opsets = tuple[tuple[str, int], ...]
_PLAIN = {name: number for number, name in PLAIN.items()}
_Given = tuple[int, "tuple[int, ...] | None", "tuple[bytes, tuple[int, ...], np.dtype[Any]] | None"]
_Found = tuple[tuple[int, "tuple[int, ...] | None"], ...]


class _InvalidError(Exception):
    """What ONNX's inference says is wrong with a node."""


def outputs(node: onnx.NodeProto, inputs: Sequence[Tensor | None], opsets: Opsets) -> list[Tensor]:
    """The tensors that a node puts out, one for each of its output names; an output without a name is left out.

    Raises:
        ModelError: there is no such operator, or the node is not valid; names it.
    """
    schema = _schema(node, opsets)
    if schema is None:
        return _foreign(node, inputs)
    _check(node)
    if sequences.handled(node, inputs):
        return sequences.outputs(node, inputs)
    found = _typed(schema, node, inputs, opsets)
    value = functools.partial(_value, node, tuple(inputs), opsets)
    result = []
    for at, (name, (data_type, shape)) in enumerate(zip(node.output, found, strict=True)):
        if not name:
            continue
        tensor = Tensor(name=name, data_type=data_type, shape=None if shape is None else checked(shape, name))
        if tensor.shape is None:
            settle(tensor, at, node, inputs, dict(opsets).get("", 99), functools.partial(value, name))
        if tensor.shape is not None and math.prod(tensor.shape) <= MOST_ELEMENTS:
            tensor.source = functools.partial(value, name)
        result.append(tensor)
    return result


def _foreign(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> list[Tensor]:
    """What a node puts out of which ONNX says nothing."""
    if node.domain == microsoft.DOMAIN:
        return microsoft.outputs(node, inputs)
    reason = f"{label(node)} is of the domain '{node.domain[:80]}', which ONNX does not define"
    return [Tensor(name=name, unknown=reason) for name in node.output if name]


def _schema(node: onnx.NodeProto, opsets: Opsets) -> defs.OpSchema | None:
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = dict(opsets).get(domain)
    if version is None:
        if domain:
            return None
        message = f"{label(node)} is of a domain that the model imports no opset of (its field opset_import)"
        raise ModelError(message)
    schema, gone = _defined(node.op_type, version, domain)
    if schema is None:
        if domain not in _domains():
            return None
        message = f"{label(node)}: there is no operator of that name in opset {version}"
        raise ModelError(message)
    if gone:
        message = f"{label(node)}: opset {version} no longer has this operator"
        raise ModelError(message)
    return schema


@functools.lru_cache(maxsize=1024)
def _defined(kind: str, version: int, domain: str) -> tuple[defs.OpSchema | None, bool]:
    """What ONNX defines, and whether this version took it away."""
    try:
        schema = defs.get_schema(kind, version, domain)
    except (defs.SchemaError, TypeError):  # TypeError: the version is no number of 32 bits
        return None, False
    own: Any = schema
    return schema, schema.deprecated and not own.has_context_dependent_function  # GroupNormalization 18 still runs


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
        if attribute.name == "num_outputs" and attribute.i != len(node.output) and node.op_type == "Split":
            message = f"{label(node)} has {len(node.output)} outputs, and its attribute 'num_outputs' is {attribute.i}"
            raise ModelError(message)


def _typed(schema: defs.OpSchema, node: onnx.NodeProto, inputs: Sequence[Tensor | None], opsets: Opsets) -> _Found:
    """Type and shape of each output: from shapes alone, then, where those are not enough, with the known values."""
    nothing = ((0, None),) * len(node.output)
    if node.op_type == "Range" and inputs and inputs[0] is not None:
        # Inference refuses numbers in [1], which runtimes take, and float ones: `settled.py` has the rule.
        return ((inputs[0].data_type, None),) * len(node.output)
    if disputed(node) or not schema.has_type_and_shape_inference_function:
        return nothing
    asked, own = believed(schema, node)
    infer = functools.partial(_inferred, asked, _by_place(own))
    shapes = tuple(None if each is None else (each.data_type, each.shape, None) for each in inputs)
    whole = all(each is None or each.data_type for each in inputs)
    found = None
    try:
        if not whole or node.op_type not in _SIZED_BY_VALUE:
            found = infer(shapes, opsets)
            if not whole or all(shape is not None for name, (_, shape) in zip(node.output, found, strict=True) if name):
                return found
        valued = tuple(map(_with_value, inputs))
        return found if found is not None and valued == shapes else infer(valued, opsets)
    except _InvalidError as error:
        # Inference can't be asked of what has no type: what is unknown then is unknown because of that.
        if not whole:
            return nothing
        message = f"{label(node)} is not valid: {error}"
        raise ModelError(message) from None


def _by_place(node: onnx.NodeProto) -> bytes:
    """A node whose inputs and outputs are called by their places: layers that are alike are inferred once."""
    if any(each.type in _GRAPHS for each in node.attribute):  # which may read the inputs by their names
        return bytes(node.SerializeToString(deterministic=True))
    made = onnx.NodeProto(op_type=node.op_type, domain=node.domain, attribute=node.attribute)
    made.input.extend([name and f"i{at}" for at, name in enumerate(node.input)])
    made.output.extend([name and f"o{at}" for at, name in enumerate(node.output)])
    return bytes(made.SerializeToString(deterministic=True))


def _with_value(tensor: Tensor | None) -> _Given | None:
    if tensor is None:
        return None
    value = tensor.known()
    if value is None or value.dtype == object:
        return tensor.data_type, tensor.shape, None
    return tensor.data_type, tensor.shape, (value.tobytes(), value.shape, value.dtype)


@functools.lru_cache(maxsize=8192)
def _inferred(schema: defs.OpSchema, message: bytes, inputs: tuple[_Given | None, ...], opsets: Opsets) -> _Found:
    """What ONNX's inference says of each output.

    Raises:
        _InvalidError: that the node is not valid, in its words.
    """
    node = onnx.NodeProto.FromString(message)
    types, data = {}, {}
    for name, each in zip(node.input, inputs, strict=True):
        if each is not None:
            data_type, shape, known = each
            types[name] = _type(data_type, shape)
            if known is not None:
                data[name] = _as_proto(*known)
    imports = [onnx.OperatorSetIdProto(domain=domain, version=version) for domain, version in opsets]
    try:
        found = shape_inference.infer_node_outputs(schema, node, types, data, opset_imports=imports)
    except _INFERENCE_ERRORS as error:
        said = " ".join(str(error).split())[:300]
        raise _InvalidError(said) from None
    return tuple(_read(found.get(name)) for name in node.output)


def _as_proto(content: bytes, shape: tuple[int, ...], dtype: np.dtype[Any]) -> onnx.TensorProto:
    if dtype.str in _PLAIN:
        return onnx.TensorProto(dims=shape, data_type=_PLAIN[dtype.str], raw_data=content)
    return onnx.numpy_helper.from_array(np.frombuffer(content, dtype=dtype).reshape(shape))


def function_of(node: onnx.NodeProto, inputs: Sequence[Tensor | None], opsets: Opsets) -> onnx.FunctionProto | None:
    """What ONNX says that an operator is made of, in nodes of the model's opset; None where it says nothing."""
    schema: Any = _schema(node, opsets)  # whose methods onnx declares nowhere
    version = dict(opsets).get("" if node.domain == "ai.onnx" else node.domain, 0)
    content = b""
    if schema is not None and schema.has_function:
        content = schema.get_function_with_opset_version(version)
    elif schema is not None and schema.has_context_dependent_function:
        if any(each is not None and not each.data_type for each in inputs):
            return None
        types = [_type(each.data_type, each.shape) if each is not None else onnx.TypeProto() for each in inputs]
        said = [each.SerializeToString() for each in types]
        latest = max((each for each in schema.context_dependent_function_opset_versions if each <= version), default=0)
        content = schema.get_context_dependent_function_with_opset_version(latest, node.SerializeToString(), said)
    if not content:
        return None
    function: onnx.FunctionProto = onnx.FunctionProto.FromString(content)
    defaults = [each.default_value for name, each in schema.attributes.items() if name in function.attribute]
    function.attribute_proto.extend(each for each in defaults if each.name)
    return function


def _type(data_type: int, shape: tuple[int, ...] | None) -> onnx.TypeProto:
    made = onnx.TypeProto()
    if data_type:
        made.tensor_type.elem_type = data_type
        if shape is not None:
            made.tensor_type.shape.SetInParent()  # of a scalar, too
            for size in shape:
                made.tensor_type.shape.dim.add().dim_value = size
    return made


def _read(found: onnx.TypeProto | None) -> tuple[int, tuple[int, ...] | None]:
    """Type and shape, the latter where every size is known."""
    if found is None or not found.HasField("tensor_type"):
        return 0, None
    own = found.tensor_type
    if not own.HasField("shape") or not all(dim.HasField("dim_value") for dim in own.shape.dim):
        return own.elem_type, None
    return own.elem_type, tuple(dim.dim_value for dim in own.shape.dim)


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
    # Here, because it needs numpy, and most files do not.
    from . import small

    own = small.value_of(node, [feeds.get(given) for given in node.input])
    return own if own is not None else _evaluated(node, feeds, opsets, name)


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
