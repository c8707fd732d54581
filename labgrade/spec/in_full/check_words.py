"""The words below a check: `picture`, what pages draw of an answer, and `counterexample`."""

from __future__ import annotations

from labgrade.core.task import FAMILIES
from labgrade.spec import kinds
from labgrade.spec.kinds import OTHERS, TEXT, Kind, Word, ref

PICTURE_WORDS = (
    Word("x", TEXT, "The column along which the points stand; of sizes, small ones are better."),
    Word("y", TEXT, "The column that says how high they stand; large ones are better."),
    Word("peak", kinds.NUMBER, "What no `y` exceeds, in its unit: a roof."),
    Word(
        "slopes",
        kinds.NUMBERS,
        "Further roofs by name: `{memory: 33.3}` is 33.3 times `x`, what a memory allows.",
    ),
    Word("step", kinds.STEP, "A histogram of all numbers, with lines at multiples of this; 0 draws no lines."),
    Word("measured", ref("quantity"), "For a file: a quantity that gives the two columns, as a dict or rows."),
)
PICTURE = Word(
    "picture",
    OTHERS,
    "What pages draw of the answer: `{x: n, y: gflops}`, two columns as points, with roofs if you give them; or "
    "`{step: 1}`, how many of its numbers lie where. A table that is not right is drawn as bars without this.",
)
COUNTEREXAMPLE_WORDS = (
    Word(
        "among",
        kinds.one_of("a family of networks", FAMILIES),
        "The family of networks that is searched: cnn, linear, attention, sizes.",
        required=True,
    ),
    Word("tries", Kind({"type": "integer", "minimum": 1, "maximum": 10_000}, int), "100 unless given."),
)
