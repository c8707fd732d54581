"""Slips in counting buffers, and their bytes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from torch import nn

from .common import BYTE_UNITS, UNITS, without
from .compose import Library, Slip
from .held import per_element
from .held_parts import ALL_KINDS, BUFFER, COUNTER, PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .compose import Factors, Part

_SUM = "Sum over model.buffers()."


def _instead(test: Callable[[Part], bool]) -> Callable[[Sequence[Part]], Factors]:
    """Count the parts that pass the test, and no other."""
    return lambda parts: [int(test(part)) - int(part.counted) for part in parts]


def _of_norm(part: Part) -> bool:
    return isinstance(part.source.module, nn.modules.batchnorm._NormBase)  # noqa: SLF001 - the base of norms with state


BUFFERS: Library = {
    "counters": Slip(
        of="left out",
        change=without(lambda held: not held.tensor.is_floating_point(), (COUNTER,)),
        says="Counters (num_batches_tracked) are left out, or these are batch norm's weights and biases, which are as "
        f"many as its running means and variances. {_SUM}",
    ),
    "means": Slip(
        of="left out",
        change=without(lambda held: held.name != "running_mean", (BUFFER, COUNTER)),
        says=f"Only running_mean is counted. running_var and num_batches_tracked are buffers, too. {_SUM}",
    ),
    "parameters": Slip(
        of="which",
        change=_instead(lambda part: part.kind == ""),
        says=f"These are the parameters. Buffers are state that is not trained, such as running statistics. {_SUM}",
    ),
    "state": Slip(
        of="which",
        change=_instead(lambda part: part.kind in ALL_KINDS),
        says=f"This is all of state_dict(), parameters and buffers. {_SUM}",
    ),
    "norm_state": Slip(
        of="which",
        change=_instead(lambda part: part.kind in ALL_KINDS and _of_norm(part)),
        says=f"All that batch norm holds is counted. Its weight and bias are parameters. {_SUM}",
    ),
    "frozen": Slip(
        of="which",
        change=_instead(lambda part: part.kind in PARAMETERS and not part.source.tensor.requires_grad),
        says=f"These are parameters that require no gradient. Buffers are no parameters. {_SUM}",
    ),
    "tensors": Slip(
        of="factor",
        change=lambda parts: [Fraction(1, part.count) if part.count else 1 for part in parts],
        says="Tensors are counted, not their elements. Add up numel().",
    ),
    **UNITS,
}
BUFFER_BYTES: Library = {
    **{name: slip for name, slip in BUFFERS.items() if name not in (*UNITS, "tensors")},
    **{
        name: Slip(of="size of an element", change=per_element(size), says=says)
        for name, size, says in (
            ("elements", 1, "This is the number of elements. Multiply each buffer's numel() by its element_size()."),
            ("four", 4, "Every element counts four bytes, batch norm's 64-bit counters, too: take element_size()."),
            ("eight", 8, "Every element counts eight bytes. Running statistics have four: take element_size()."),
        )
    },
    **{name: unit for name, unit in BYTE_UNITS.items() if name not in ("twice", "half")},
}
