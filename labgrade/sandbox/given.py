"""The closed list of arguments that a task may hand to a student's function."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

GIVEN_FOLDER = ".given"  # within a hand-in: files of ours, such as a subject's
GIVEN: Mapping[str, str] = MappingProxyType(
    {
        "model": "the subject's model (torch.nn.Module): seeded weights, on the CPU, in eval mode",
        "input": "the subject's input (torch.Tensor), drawn as the task's `input` says",
        "model_path": "the path of the subject's ONNX file (str)",
        "config": "what the task's `config` says (dict): plain data by name",
        "input_size": "the shape of the input (tuple of int), with the batch: (1, 3, 224, 224)",
    }
)
