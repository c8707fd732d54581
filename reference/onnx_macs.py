"""Multiply-accumulate operations (MACs) of an ONNX model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._onnx.multiplications import macs
from ._onnx.run import run

if TYPE_CHECKING:
    from pathlib import Path


def onnx_macs(
    artifact: Path,
    *,
    input_shape: list[int] | list[list[int]] | None = None,
    inputs: list[str] | None = None,
    operators: list[str] | None = None,
) -> int:
    """How many multiply-accumulate operations running an ONNX model once takes.

    A convolution takes output elements x input channels / groups x kernel elements (transposed: by its input
    elements); Gemm and MatMul take output elements x the dimension summed over, quantized ones too; Einsum of two
    operands takes the product of all sizes that it names; RNN, GRU and LSTM take steps x batch x directions x gates x
    hidden x (inputs + hidden). Attention takes its two products, over all keys whatever is masked; linear models take
    samples x coefficients; onnxruntime's own fused and quantized operators count as what they are made of. Biases,
    activations, pooling and normalisation count nothing. What runs inside If, Loop, Scan and model-local functions
    counts as often as it runs. `operators` counts nodes of these types only. `inputs` says shapes and values of the
    graph's inputs, by place or by name.

    Raises:
        ValueError: a shape is unknown, or an operator multiplies in a way that has no rule here; names the node.
    """
    steps = run(artifact, input_shape, inputs).followed().steps
    return sum(macs(step) for step in steps if operators is None or step.node.op_type in operators)


def onnx_macs_by_layer(
    artifact: Path,
    *,
    input_shape: list[int] | list[list[int]] | None = None,
    inputs: list[str] | None = None,
    operators: list[str] | None = None,
) -> list[dict[str, Any]]:
    """The multiply-accumulate operations of each node, a row a node: `layer`, `type`, `macs`. They add up to all.

    Conventions as for `onnx_macs`. A node is called by its name, or by its first output where it has none; what runs
    several times is added up. Nodes that count nothing have no row.
    """
    rows: dict[str, dict[str, Any]] = {}
    for step in run(artifact, input_shape, inputs).followed().steps:
        count = macs(step) if operators is None or step.node.op_type in operators else 0
        if count:
            name = step.node.name or next(filter(None, step.node.output), "")
            rows.setdefault(name, {"layer": name, "type": step.node.op_type, "macs": 0})["macs"] += count
    return list(rows.values())
