"""What slips make of any sum over layers: for quantities that have no slips of their own."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ._slips.common import UNITS, first_left_out, last_left_out, times
from ._slips.compose import Composition, Library, Part, Slip, WantedProducts, answered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._slips.compose import Factors

Names = list[str] | None
_WITHOUT, _ALONE = "without ", "alone "
_TWO = 2  # types, of which one alone is without the other


def by_layer_slips(
    config: dict[str, Any], *, most: int = 1, among: Names = None, between: Names = None
) -> dict[str, Any]:
    """What slips make of `rows`, each with `layer`, perhaps `type`, and one whole number, for an input of a `batch`.

    With `table` they are made of the rows, else of their sum.
    """
    rows, wanted = config["rows"], WantedProducts(most=most, among=among, between=between)
    column = _column(rows)
    parts = [Part(row=row["layer"], count=row[column], source=row) for row in rows]
    library = _library(rows, among or (), int(config["batch"]))
    found = Composition(library=library, make=lambda _: parts)
    if not config["table"]:
        return answered(library, found.totals(wanted))
    tables = (
        (names, [{"layer": layer, column: count} for layer, count in kept.items()])
        for names, kept in found.tables(wanted)
    )
    return answered(library, tables)


def _column(rows: Sequence[dict[str, Any]]) -> str:
    """The column that is summed.

    Raises:
        ValueError: not each row has one whole number.
    """
    names = {name for row in rows for name, value in row.items() if type(value) is int}
    if len(names) != 1:
        message = "rows of a table by layer have one whole number each"
        raise ValueError(message)
    return names.pop()


def _library(rows: Sequence[dict[str, Any]], among: Sequence[str], batch: int) -> Library:
    named = {name for names in among for name in names.split("+")}
    types = dict.fromkeys(str(row["type"]) for row in rows if row.get("type"))
    several = len(types) > _TWO
    types |= dict.fromkeys(name.removeprefix(start) for start in (_WITHOUT, _ALONE) for name in named if start in name)
    found = dict(_LIBRARY)
    for kind in types:
        found[_WITHOUT + kind] = Slip(
            of="left out", change=_of_type(kind, kept=False), says=f"{kind} layers are left out. They count, too."
        )
        if several or _ALONE + kind in named:
            found[_ALONE + kind] = Slip(
                of="left out",
                change=_of_type(kind, kept=True),
                says=f"Only {kind} layers are counted. Those of other types count, too.",
            )
    if batch > 1 or named & {"batch", "batch_twice"}:
        found["batch"] = Slip(
            of="batch",
            change=times(lambda _: Fraction(1, batch)),
            says="Counted for one sample of the batch; the task asks for the whole input. Multiply by the batch size.",
        )
        found["batch_twice"] = Slip(
            of="batch", change=times(lambda _: batch), says="The batch is counted twice. Sizes already have it."
        )
    return found


def _of_type(kind: str, *, kept: bool) -> Callable[[Sequence[Part]], Factors]:
    return times(lambda row: int((row.get("type") == kind) is kept))


def _again(parts: Sequence[Part]) -> Factors:
    return [int("#" not in part.row) for part in parts]


_LIBRARY: Library = {
    "last_layer": Slip(
        of="left out", change=last_left_out, says="The last layer is left out. Look at where your loop ends."
    ),
    "first_layer": Slip(
        of="left out", change=first_left_out, says="The first layer is left out. Look at where your loop begins."
    ),
    "repeats": Slip(
        of="left out",
        change=_again,
        says="A module that is called several times is counted once. Count each call: add up in the hook.",
    ),
    "containers": Slip(
        of="walk",
        change=times(lambda row: row["layer"].count(".") + 1),
        says="What lies in a container is counted again for each container around it. Count modules without children "
        "only.",
    ),
    "containers_and_root": Slip(
        of="walk",
        change=times(lambda row: row["layer"].count(".") + 2),
        says="What lies in a container is counted again for each container around it, the model itself among them. "
        "Count modules without children only.",
    ),
    "layers": Slip(
        of="factor",
        change=lambda parts: [Fraction(1, part.count) if part.count else 1 for part in parts],
        says="Layers are counted, not what each of them has. Add up their numbers.",
    ),
    **UNITS,
}
