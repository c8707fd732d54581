"""The checker for a choice: it keeps a limit, and nothing else that does is better."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

from labgrade.values import Table, show
from labgrade.verdict import Verdict, correct, incorrect, partial

from ._names import folded
from ._runs import number, with_gaps
from ._wording import clip, listed, shown

if TYPE_CHECKING:
    from labgrade.values import Findings


def feasible(
    answer: Table | Findings,
    expected: Table,
    *,
    limit: Annotated[str, {"format": "column"}],
    at_most: float,
    best: Annotated[str, {"format": "column"}],
    want: Literal["largest", "smallest"] = "largest",
    slack: Annotated[float, {"minimum": 0}] = 0.0,
) -> Verdict:
    """The one row that was chosen keeps a limit, and no other row that does is better.

    `limit` is the column that is to be `at_most` so large, `best` the one of which the `want` value is wanted; `slack`:
    by how much another row may be better. `expected` has every row that could be chosen, with its right values: these
    count, not those handed in. A row that keeps the limit and is not the best earns half.
    """
    if not isinstance(answer, Table) or len(answer.rows) != 1:
        count = f"{len(answer.rows)} rows" if isinstance(answer, Table) else shown(answer)
        return incorrect(f"got {count}; hand in the one row that you choose")
    if with_gaps(expected, [limit, best]):
        message = f"a row of the course's own table has no number in {limit} or {best}"
        raise ValueError(message)
    rows = {folded(row.name): row for row in expected.rows}
    chosen = rows.get(folded(answer.rows[0].name))
    if chosen is None:
        return incorrect(f"'{clip(answer.rows[0].name)}' is none of {listed([row.name for row in expected.rows])}")
    most = Fraction(repr(at_most))
    facts = {f"{column} (the course's)": show(number(chosen, column)) for column in (limit, best)}
    facts |= {"got": chosen.name, "allowed": f"{limit} of at most {at_most:,}, the {want} {best}"}
    if number(chosen, limit) > most:
        return incorrect(f"'{chosen.name}' has {limit} above {at_most:,}", **facts)
    sign = 1 if want == "largest" else -1
    allowed = [row for row in expected.rows if number(row, limit) <= most]
    better = max((sign * number(row, best) for row in allowed), default=Fraction(0)) - sign * number(chosen, best)
    if better > Fraction(repr(slack)):
        reason = f"'{chosen.name}' keeps the limit, but another choice within it has a better {best}"
        return partial(Fraction(1, 2), reason, agrees=False, **facts)
    return correct(f"'{chosen.name}' keeps the limit, and no choice within it is better", **facts)
