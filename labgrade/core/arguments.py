"""Everything that a task may hand to a student's function: the sandbox's list, and what a function that writes gets."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MODEL = "model_path"
GIVEN_FOLDER = ".given"  # within a hand-in: files of labgrade's, such as a subject's
GIVEN: Mapping[str, str] = MappingProxyType(
    {
        "model": "the subject's model (torch.nn.Module): seeded weights, on the CPU, in eval mode",
        "input": "the subject's input (torch.Tensor), drawn as the task's `input` says; a tuple of several",
        MODEL: "the path of the subject's ONNX file (str)",
        "config": "what the task's `config` says (dict): plain data by name",
        "input_size": "the shape of the input (tuple of int), with the batch: (1, 3, 224, 224); a tuple of several",
    }
)


SAVE_TO = "save_to"
TRANSFORMED = "transformed_path"
WRITERS: Mapping[str, str] = MappingProxyType(
    {
        SAVE_TO: "the path to which the function writes its file (str): the file is the answer",
        "m": "the rows of the input of the subject's linear layer (int)",
        "k": "the columns of that input (int)",
        "n": "the outputs of that layer (int)",
        TRANSFORMED: "the path of a tiling of the subject, right or wrong (str): the function is called for each",
    }
)
ALL: Mapping[str, str] = MappingProxyType({**GIVEN, **WRITERS})
