"""Wrong values on purpose of buffers and their bytes. None of these is ever right; they are as in `slips.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ._slips import held
from ._slips.buffers import BUFFER_BYTES, BUFFERS
from ._slips.compose import WantedProducts
from ._slips.kept import kept
from ._slips.likely import with_pairs
from .state import buffers, parameters

if TYPE_CHECKING:
    from ._counting.engine import CountedSubject
    from ._slips.compose import Composition


Names = list[str] | None


def buffers_slips(
    subject: CountedSubject, *, most: int = 1, among: Names = None, between: Names = None
) -> dict[str, Any]:
    """What slips make of `buffers`."""
    return _totals(subject, WantedProducts(most=most, among=among, between=between), as_bytes=False)


def buffer_bytes_slips(
    subject: CountedSubject, *, most: int = 1, among: Names = None, between: Names = None
) -> dict[str, Any]:
    """What slips make of `buffer_bytes`."""
    return _totals(subject, WantedProducts(most=most, among=among, between=between), as_bytes=True)


def _totals(subject: CountedSubject, wanted: WantedProducts, *, as_bytes: bool) -> dict[str, Any]:
    def make() -> Composition:
        library = BUFFER_BYTES if as_bytes else BUFFERS
        return held.composition(subject, which="none", as_bytes=as_bytes, buffers=True, library=library)

    found = kept(wanted, make, subject, "buffers", as_bytes)
    return with_pairs(found, wanted)


def buffers_and_parameters(subject: CountedSubject, *, which: Literal["all"] = "all") -> int | None:
    """Buffers and parameters together; None where there are no buffers, or others than `all` are asked for.

    Slip of: buffers
    Hint: This is all of state_dict(), parameters and buffers. Sum over model.buffers().
    Credit: 0.3
    """
    held_too = buffers(subject)
    return held_too + parameters(subject) if held_too and which == "all" else None


def buffer_count_as_bytes(subject: CountedSubject, *, which: Literal["all", "saved", "not_saved"] = "all") -> int:
    """The number of elements, given as bytes.

    Slip of: buffer_bytes
    Hint: This is the number of elements. Multiply each buffer's numel() by its element_size().
    Credit: 0.5
    """
    return buffers(subject, which=which)
