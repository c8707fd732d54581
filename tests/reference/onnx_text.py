"""ONNX files written in onnx's own text format, and what onnxruntime says of them."""

from __future__ import annotations

import onnx
from onnx import parser

from tests.reference.package_files import compared

_DOMAINS = {"ai.onnx.ml": 3, "com.microsoft": 1}


def saved(tmp_path, text, *, opset=17, weights=None, domains=None, name="model.onnx"):
    """A file of `(inputs) => (outputs) {nodes}`; `weights` are arrays by name, held as initializers."""
    imports = {"": opset, **_DOMAINS, **(domains or {})}
    said = ", ".join(f'"{domain}": {version}' for domain, version in imports.items())
    model = parser.parse_model(f"<ir_version: 8, opset_import: [{said}]> g {text}")
    for each, array in (weights or {}).items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, each))
    path = tmp_path / name
    onnx.save(model, path)
    return path


def differences(path, *said):
    """Of the 21 values that labgrade and onnxruntime have of a file, those that are not equal."""
    return {value: word for value, word in compared(path, said).items() if word != "equal"}
