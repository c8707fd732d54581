"""Value numbering: two tensors of the same number are equal for every input.

The number of an operator's output follows from the operator, its attributes and the numbers of its operands; that of a
constant from its content. So what a graph does outside the tiled layers is compared without running it.
"""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from .values import Opaque, OutsideError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from .values import Array, Shape

Key: TypeAlias = "tuple[Hashable, ...]"

# Operators that have meant the same since this version of the default opset, for float32.
_SAME_SINCE: Mapping[str, int] = {
    "Relu": 6, "LeakyRelu": 6, "Sigmoid": 6, "Tanh": 6, "HardSigmoid": 6, "HardSwish": 14, "Elu": 6,
    "Conv": 1, "MaxPool": 1, "AveragePool": 7, "GlobalAveragePool": 1, "GlobalMaxPool": 1, "LRN": 1,
    "BatchNormalization": 9, "Softmax": 13, "Add": 7, "Sub": 7, "Mul": 7, "Div": 7, "MatMul": 1, "Gemm": 7,
    "Sum": 8, "Concat": 4, "Transpose": 1, "Flatten": 1, "Identity": 1, "Reshape": 5, "Squeeze": 13, "Unsqueeze": 13,
    "Clip": 11, "Slice": 10, "Split": 13, "Pad": 11, "Gather": 1, "ReduceMean": 18,
}  # fmt: skip
_RANDOM = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout"}
)
_NEUTRAL: Mapping[str, int] = {"dilations": 1, "strides": 1, "pads": 0}  # what these lists mean where they are left out


class Numbers:
    """Gives numbers. `closed`: the original has been read, and a new number is one that it does not have."""

    def __init__(self) -> None:
        self.closed = False
        self._given: dict[Key, int] = {}
        self._keys: list[Key] = []
        self._names: dict[int, str] = {}
        self._shapes: dict[int, Shape | None] = {}

    def of(self, key: Key, name: str = "", shape: Shape | None = None) -> int:
        """The number of what the key describes; a name and a shape are kept from the first time."""
        number = self._given.setdefault(key, len(self._given))
        if number == len(self._keys):
            self._keys.append(key)
        if name:
            self._names.setdefault(number, name)
        if number not in self._shapes:
            self._shapes[number] = shape
        return number

    def unshaped(self, number: int, shape: Shape) -> tuple[int, Shape]:
        """The tensor that this number is only another shape of, and its own shape; itself where it is none."""
        key = self._keys[number]
        if key[0] != "shape":
            return number, shape
        root = cast("int", key[1])
        return root, self._shapes[root] or ()

    def known(self, key: Key) -> Opaque | None:
        """The tensor of this key, where there is one."""
        number = self._given.get(key)
        return None if number is None else Opaque(number, self._shapes[number])

    def name(self, number: int) -> str:
        """What a number is called: the tensor of the original that has it."""
        return self._names.get(number, "another value")

    def shape(self, number: int) -> Shape | None:
        """The shape of the tensor of this number, where it is known."""
        return self._shapes.get(number)

    def of_constant(self, constant: Array) -> int:
        """The number of a constant, by its type, shape and content; -0 is 0."""
        constant = constant + constant.dtype.type(0) if constant.dtype.kind == "f" else constant
        content = hashlib.blake2b(np.ascontiguousarray(constant).data, digest_size=16).digest()
        return self.of(("constant", constant.dtype.str, constant.shape, content))


def operator_key(op: str, version: int, attributes: Mapping[str, Any], operands: tuple[int, ...], outputs: int) -> Key:
    """What the outputs of an operator follow from. An attribute that has its default is as good as left out.

    Raises:
        OutsideError: the operator draws random numbers, holds graphs, or is not one of this opset.
    """
    if op in _RANDOM:
        message = "its result is random"
        raise OutsideError(message)
    since, defaults = _schema(op, version)
    kept = {name: value for name, value in attributes.items() if not _says_nothing(name, value, defaults)}
    if "ceil_mode" not in kept and since >= _SAME_SINCE.get(op, 1 << 30):
        since = _SAME_SINCE[op]
    described = tuple(sorted((name, _described(value)) for name, value in kept.items()))
    return ("operator", op, since, described, operands, outputs)


def _says_nothing(name: str, value: Any, defaults: Mapping[str, Any]) -> bool:
    if name in _NEUTRAL and isinstance(value, list):
        return all(item == _NEUTRAL[name] for item in value)
    return name in defaults and bool(defaults[name] == value)


def _described(value: Any) -> str:
    if hasattr(value, "node") or (isinstance(value, list) and value and hasattr(value[0], "node")):
        message = "it holds a graph of its own"
        raise OutsideError(message)
    return repr(value.SerializeToString(deterministic=True) if hasattr(value, "SerializeToString") else value)


@functools.cache
def _schema(op: str, version: int) -> tuple[int, Mapping[str, Any]]:
    """Since which version the operator is as it is, and the defaults of its attributes."""
    from onnx import defs, helper

    try:
        schema = defs.get_schema(op, version, "")
    except defs.SchemaError:
        message = f"opset {version} has no such operator"
        raise OutsideError(message) from None
    defaults = {
        name: helper.get_attribute_value(attribute.default_value)
        for name, attribute in schema.attributes.items()
        if attribute.default_value.name
    }
    return schema.since_version, defaults
