"""Everything that a task may hand to a student's function: the sandbox's list, and what a function that writes gets."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from labgrade.sandbox.given import GIVEN

if TYPE_CHECKING:
    from collections.abc import Mapping

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
