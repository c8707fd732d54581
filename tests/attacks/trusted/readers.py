"""Careless readers of artifacts: what they do with a hostile file is stopped by the jail alone."""

import onnx
import torch


def reads_external_data(artifact):
    """The text of the first initializer, which may lie in another file."""
    model = onnx.load(str(artifact), load_external_data=False)
    tensor = model.graph.initializer[0]
    location = next(entry.value for entry in tensor.external_data if entry.key == "location")
    return (artifact.parent / location).read_bytes().decode("latin-1")


def unpickles(artifact):
    """Whatever lies in the file, code as well."""
    return repr(torch.load(str(artifact), weights_only=False))


def reads_properly(artifact):
    """As our own quantities do."""
    return len(onnx.load(str(artifact)).graph.initializer)
