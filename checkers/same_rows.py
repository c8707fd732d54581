"""The checker for tables: one row a layer, node or tensor."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from functools import partial as partial_of
from typing import TYPE_CHECKING, Annotated, Literal

from labgrade.values import Number, Row
from labgrade.verdict import Outcome, Verdict, correct, incorrect, partial, without_value

from ._abridged import realigned
from ._compared import compared, left_out
from ._names import NAMESPACE, bare, folded, in_namespace, is_total, without_prefix
from ._numbered import is_numbered, numbered
from ._wording import all_right, listed, of_all, shown, tally
from .equal import equal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labgrade.values import Scalar, Table
    from labgrade.verdict import ComparedRow

_CUT_AFTER = (10, 20, 30, 50, 100)  # rows, as profilers are asked to print
_NO_VALUE = frozenset(("", "-", "--", "nan", "n/a", "none", "null"))


def same_rows(  # noqa: PLR0913 - what a spec may set, each by its name
    answer: Table,
    expected: Table,
    *,
    abridged: bool = False,
    at_least: Annotated[int, {"minimum": 1}] | None = None,
    order: bool = False,
    others: Literal["wrong", "allowed", "unsure"] = "wrong",
    namespace: str | None = None,
    left_open: Literal["skipped", "wrong"] = "skipped",
    digits: Annotated[int, {"minimum": 1}] = 3,
    rtol: Annotated[float, {"minimum": 0}] = 0.0,
) -> Verdict:
    """The same rows with the same cells; the credit is the share of rows that are right.

    Rows are found by name, in any order unless `order` is asked for. A row that is not expected counts as a wrong one,
    unless `others` are allowed, it sums up the others, or all in it is zero; where others are `unsure` and nothing else
    is wrong, a person decides. Of a `namespace` (`aten::`) all rows are expected: those of another one are allowed, and
    those without any are unsure. A row that stands twice and says two things is wrong, whichever is right.
    A cell that was left open is not compared, unless most of its column was left open where something is expected;
    with `left_open: wrong`, every cell in which something is expected has to be there, and no other of those columns.
    With `abridged`, rows missing from a table that shows it leaves some out cost nothing, as long as half of the rows
    are there, or `at_least` that many. Numbers are compared as printed, with at least `digits` significant digits (as
    `equal` does); within `rtol` of the expected value, what was computed in floating point is right, too.
    """
    judged = _judge(answer, expected, order=order, near=_Near(digits, rtol), all_cells=left_open == "wrong")
    aside = {"extra": [], "aside": judged.extra} if others == "allowed" else {"extra": _asked(judged.extra, namespace)}
    judged = replace(judged, **aside)
    enough = max(1, (judged.required + 1) // 2 if at_least is None else at_least)
    forgiven = abridged and answer.abridged and judged.there >= enough
    hint = ""
    if judged.missing and not forgiven and answer.abridged:
        hint = f"the table leaves rows out: hand in {f'at least {enough} of them' if abridged else 'all of them'}"
    elif others == "allowed" and not abridged and _cut(judged, len(answer.rows)):
        hint = f"the table has {len(answer.rows)} rows, and seems to be cut off there: print all of them (row_limit=-1)"
    verdict = _sum_up(judged, forgiven=forgiven, hint=hint)
    unsure = others == "unsure" or (namespace is not None and not any(_is_of(name, namespace) for name in judged.extra))
    if unsure and judged.extra and _sum_up(replace(judged, extra=()), forgiven=forgiven, hint="").credit == 1:
        verdict = without_value(Outcome.MANUAL, verdict.reason)
    return verdict if verdict.credit == 1 else replace(verdict, rows=_beside(judged, answer, expected, forgiven))


def _cut(judged: _Judged, rows: int) -> bool:
    """Whether a table may have been cut: it has as many rows as those have, and what is left of it is all right.

    What is wrong, or of none of the expected names, is not left of this table, but another one.
    """
    whole = bool(judged.rows) and all(verdict.credit == 1 for _, verdict in judged.rows)
    return rows in _CUT_AFTER and whole and bool(judged.missing)


def _refuted(answer: Table, expected: Table, *, digits: int = 3, rtol: float = 0.0, **_: object) -> bool:
    """Whether a cell that is there is wrong, so that no table with it is right: known before all else that is wrong."""
    pairs, near = _pairs(answer.rows, expected.rows), _Near(digits, rtol)
    cells = (_cells(answer.rows[got], expected.rows[index], frozenset(), near) for index, got in pairs.items())
    return any(verdict.credit != 1 for found in cells for verdict in found.values())


vars(same_rows)["refuted"] = _refuted  # what a search asks first, which has thousands of tables to expect


@dataclass(frozen=True, slots=True)
class _Near:
    """How near a cell has to be: as printed with so many `digits`, or within `rtol`."""

    digits: int
    rtol: float

    @lru_cache(maxsize=1 << 12)  # noqa: B019 - frozen values, the same few in thousands of tables
    def judged(self, given: Scalar, right: Scalar) -> Verdict:
        """The verdict on a cell."""
        if self.rtol and isinstance(given, Number) and isinstance(right, Number):
            allowed = Fraction(repr(self.rtol)) * abs(right.written)
            if abs(given.written - right.written) <= allowed:
                return correct(got=shown(given), expected=shown(right))
        return equal(given, right, digits=self.digits)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """Every row that counts, by name: the judged, the missing, and those nobody expected; some are left `aside`.

    `there` and `required` count the rows that may not be left out: how many there are in the answer, and in all.
    """

    rows: Sequence[tuple[str, Verdict]]
    missing: Sequence[str]
    extra: Sequence[str]
    there: int
    required: int
    pairs: Mapping[int, int]
    cells: Mapping[int, Mapping[str, Verdict]]
    aside: Sequence[str] = ()


def _judge(answer: Table, expected: Table, *, order: bool, near: _Near, all_cells: bool) -> _Judged:
    pairs = _pairs(answer.rows, expected.rows)
    if answer.abridged:
        pairs = realigned(pairs, answer.rows, expected.rows, partial_of(_is_right, answer, expected, near))
    columns = frozenset(column for row in expected.rows for column in row.cells)
    found = [(answer.rows[got], expected.rows[index]) for index, got in pairs.items()]
    unanswered = columns if all_cells else _unanswered(found)
    cells = {index: _cells(answer.rows[got], expected.rows[index], unanswered, near) for index, got in pairs.items()}
    if all_cells:
        told = {column for row in expected.rows for column, cell in row.cells.items() if cell is not None}
        cells = {
            index: found
            | _zeros_left_open(answer.rows[pairs[index]], expected.rows[index])
            | _unasked(answer.rows[pairs[index]], expected.rows[index], told)
            for index, found in cells.items()
        }
    verdicts = {index: _row(found, expected.rows[index]) for index, found in cells.items()}
    if order:
        displaced = set(pairs) - _in_order(pairs)
        verdicts |= dict.fromkeys(displaced, incorrect("it is not in its place in the order of the rows"))
    contradicted, repeats = _contradicted(answer, expected, pairs)
    verdicts |= dict.fromkeys(contradicted, incorrect("it stands there more than once, with different values"))
    matched = {*pairs.values(), *repeats}
    required = [index for index, row in enumerate(expected.rows) if not row.optional]
    # A row that may be left out counts only where it is wrong.
    counted = [index for index in sorted(verdicts) if verdicts[index].credit != 1 or not expected.rows[index].optional]
    return _Judged(
        rows=[(expected.rows[index].name, verdicts[index]) for index in counted],
        missing=[expected.rows[index].name for index in required if index not in pairs],
        extra=[row.name for index, row in enumerate(answer.rows) if index not in matched and _claims(row)],
        there=sum(index in pairs for index in required),
        required=len(required),
        pairs=pairs,
        cells={index: found for index, found in cells.items() if index in counted},
    )


def _asked(names: Sequence[str], namespace: str | None) -> list[str]:
    """The names that are in no other namespace than this one."""
    return [name for name in names if namespace is None or _is_of(name, namespace) or NAMESPACE not in name]


def _is_of(name: str, namespace: str) -> bool:
    return folded(name).startswith(folded(namespace))


def _beside(judged: _Judged, answer: Table, expected: Table, forgiven: bool) -> tuple[ComparedRow, ...]:  # noqa: FBT001
    """Each row that counts beside the expected one, in the order of the expected rows; those too many come last."""
    found: list[ComparedRow] = []
    wrong = {name for name, verdict in judged.rows if verdict.credit < 1}
    missing, extra = frozenset(judged.missing), frozenset(judged.extra)
    for index, row in enumerate(expected.rows):
        cells = judged.cells.get(index)
        if cells is not None:
            found += compared(row, answer.rows[judged.pairs[index]], cells, right=row.name not in wrong)
        elif row.name in missing and index not in judged.pairs and not forgiven:
            found.append(left_out(row))
    for row in (row for row in answer.rows if row.name in extra):
        found += compared(None, row, {}, right=False)
    return tuple(found)


def _contradicted(answer: Table, expected: Table, pairs: Mapping[int, int]) -> tuple[set[int], set[int]]:
    """The expected rows whose row in the answer stands there again with other cells, and the places of those repeats.

    Where several rows of one name are expected, one too many of them contradicts none.
    """
    alone = Counter(folded(row.name) for row in expected.rows)
    judged = {folded(answer.rows[got].name): index for index, got in pairs.items()}
    contradicted, repeats, matched = set(), set(), set(pairs.values())
    for place, row in enumerate(answer.rows):
        index = judged.get(folded(row.name))
        if place in matched or index is None or alone[folded(expected.rows[index].name)] > 1:
            continue
        if _differ(row, answer.rows[pairs[index]]):
            contradicted.add(index)
            repeats.add(place)
    return contradicted, repeats


def _differ(row: Row, other: Row) -> bool:
    pairs = [(cell, other.cells.get(column)) for column, cell in row.cells.items()]
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def _sum_up(judged: _Judged, *, forgiven: bool, hint: str) -> Verdict:
    missing = () if forgiven else judged.missing
    wrong = [(name, verdict) for name, verdict in judged.rows if verdict.credit != 1]
    parts = len(judged.rows) + len(missing)
    abridged = f"; the table is abridged and shows {judged.there:,} of {judged.required:,} rows" if forgiven else ""
    if not (wrong or missing or judged.extra):
        return correct(all_right("rows", parts, "no rows are expected") + abridged)
    reasons = [(name, verdict.reason) for name, verdict in wrong]
    reason = tally("rows", parts, wrong=reasons, missing=missing, extra=judged.extra)
    reason += f"; what is there: {listed(judged.aside)}" if judged.aside and not judged.pairs else ""
    credit = sum((verdict.credit for _, verdict in judged.rows), Fraction(0)) / (parts + len(judged.extra))
    agrees = not (missing or judged.extra) and all(verdict.agrees for _, verdict in judged.rows)
    facts = {f"{key} ({name})": fact for name, verdict in wrong[:1] for key, fact in verdict.facts.items()}
    hint = hint or of_all(verdict.hint for _, verdict in wrong)
    return partial(credit, reason + abridged, hint=hint, agrees=agrees, **facts)


def _pairs(answer: Sequence[Row], expected: Sequence[Row]) -> Mapping[int, int]:
    """Which row of the answer stands for which expected row, by their places; in order of the expected rows.

    Names as they are come before names without spaces and case, and those before bare ones (`Conv2d` for `nn.Conv2d`);
    a row's own name comes before its other names. Rows of the same name are taken in order. Names of a type and
    a number are looked at together, before all others but what a row of the answer calls itself besides.
    """
    return _pairs_of(tuple(map(_names, answer)), tuple(map(_names, expected)))


@lru_cache(maxsize=128)
def _pairs_of(given_names: tuple[tuple[str, ...], ...], wanted: tuple[tuple[str, ...], ...]) -> Mapping[int, int]:
    """The same from names alone, which tables of a search share by thousands, and right ones of a class."""
    answer, expected = (
        [Row(name=own, cells={}, also_named=tuple(more)) for own, *more in each] for each in (given_names, wanted)
    )
    known = {name for row in expected for name in _names(row)}
    given = in_namespace(without_prefix([row.name.strip() for row in answer], known), known)
    pairs, taken = numbered(given, expected)
    besides = _besides(answer, expected)
    pairs, taken = pairs | besides, taken | set(besides.values())
    for key in (str.strip, folded, bare):
        waiting: defaultdict[str, deque[int]] = defaultdict(deque)
        for place, name in enumerate(given):
            if place not in taken:
                waiting[key(name)].append(place)
        for own in (True, False):
            for index, row in enumerate(expected):
                names = (row.name,) if own else row.also_named
                found = next((key(name) for name in names if waiting.get(key(name))), None)
                if index not in pairs and found is not None:
                    pairs[index] = waiting[found].popleft()
                    taken.add(pairs[index])
    return dict(sorted(pairs.items()))


def _besides(answer: Sequence[Row], expected: Sequence[Row]) -> dict[int, int]:
    """The expected rows that rows of the answer name besides their own name, which several may share (an operator).

    A number tells nothing, for each tool counts its own way, nor does a name that several expected rows have.
    """
    if not any(row.also_named for row in answer):
        return {}
    shared = Counter(name for row in expected for name in {*_names(row)})
    meant = {name: index for index, row in enumerate(expected) for name in _names(row) if shared[name] == 1}
    found: dict[int, int] = {}
    for place, row in enumerate(answer):
        index = next((meant[name] for name in row.also_named if name in meant and not is_numbered(name)), None)
        if index is not None:
            found.setdefault(index, place)
    return found


def _names(row: Row) -> tuple[str, ...]:
    return (row.name, *row.also_named)


def _claims(row: Row) -> bool:
    """Whether a row that nobody expected says something: it is no total, and not all zeros."""
    return not is_total(row.name) and any(_says_something(cell) for cell in row.cells.values())


def _unanswered(pairs: Sequence[tuple[Row, Row]]) -> frozenset[str]:
    """Columns left open in most of the rows where a value is expected: nobody answered those."""
    asked: defaultdict[str, int] = defaultdict(int)
    given: defaultdict[str, int] = defaultdict(int)
    for got, row in pairs:
        for column, cell in row.cells.items():
            if not row.optional and _says_something(cell):
                asked[column] += 1
                given[column] += got.cells.get(column) is not None
    return frozenset(column for column in asked if 2 * given[column] < asked[column])


def _says_something(cell: Scalar | None) -> bool:
    return cell is not None and not (isinstance(cell, Number) and not cell.value)


def _is_no_value(cell: Scalar | None) -> bool:
    return cell == () or (isinstance(cell, str) and folded(cell) in _NO_VALUE)


def _cells(got: Row, row: Row, unanswered: frozenset[str], near: _Near) -> dict[str, Verdict]:
    """The verdict on each cell that is compared."""
    verdicts: dict[str, Verdict] = {}
    for column, cell in row.cells.items():
        given = got.cells.get(column)
        rights = tuple(right for right in (cell, *row.also_right.get(column, ())) if right is not None)
        if not rights or (_is_no_value(given) and cell is None) or (given is None and not _says_something(cell)):
            continue
        if given is not None:
            best = _best([near.judged(given, right) for right in rights])
            verdicts[column] = best if cell is not None or best.credit == 1 else _superfluous(given)
        elif column in unanswered and not row.optional:
            verdicts[column] = incorrect("left open", got="left open", expected=shown(cell))
    return verdicts


def _unasked(got: Row, row: Row, told: set[str]) -> dict[str, Verdict]:
    """The verdict on each cell that says something where there is nothing to say, in columns `told` of other rows."""
    asked = {column for column, cell in row.cells.items() if cell is not None} | row.also_right.keys()
    return {
        column: _superfluous(cell)
        for column, cell in got.cells.items()
        if cell is not None and column in told - asked and _says_something(cell) and not _is_no_value(cell)
    }


def _superfluous(cell: Scalar) -> Verdict:
    return incorrect(f"got {shown(cell)}, but there is none", got=shown(cell), expected="left open")


def _zeros_left_open(got: Row, row: Row) -> dict[str, Verdict]:
    """The verdict on each zero that is expected and not there: where every cell is asked for, it is a value as well."""
    return {
        column: incorrect("left open", got="left open", expected=shown(cell))
        for column, cell in row.cells.items()
        if cell is not None and not (row.optional or _says_something(cell)) and got.cells.get(column) is None
    }


def _is_right(answer: Table, expected: Table, near: _Near, index: int, place: int) -> bool:
    found = _cells(answer.rows[place], expected.rows[index], frozenset(), near)
    return all(verdict.credit == 1 for verdict in found.values())


def _row(verdicts: Mapping[str, Verdict], row: Row) -> Verdict:
    """The verdict on the worst cell, its column named."""
    if not verdicts:
        return _nothing_to_compare(row)
    column, worst = min(verdicts.items(), key=lambda item: item[1].credit)
    return worst if worst.credit == 1 else _in_column(column, worst)


def _best(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict with the most credit, the first of several."""
    return max(verdicts, key=lambda verdict: verdict.credit)


def _nothing_to_compare(row: Row) -> Verdict:
    asked = [column for column, cell in row.cells.items() if _says_something(cell)]
    return correct() if row.optional or not asked else incorrect(f"{asked[0]}: left open")


def _in_column(column: str, verdict: Verdict) -> Verdict:
    facts: Mapping[str, str] = {f"{key} {column}": fact for key, fact in verdict.facts.items()}
    reason = f"{column}: {verdict.reason}"
    return partial(verdict.credit, reason, hint=verdict.hint, agrees=verdict.agrees, **facts)


def _in_order(pairs: Mapping[int, int]) -> set[int]:
    """The most expected rows whose places in the answer rise: those that are in order (longest rising subsequence)."""
    smallest: list[int] = []  # smallest[n]: the lowest last place of a rising run of n + 1 rows
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for index, place in pairs.items():
        length = bisect_left(smallest, place)
        before[index] = ends[length - 1] if length else None
        smallest[length : length + 1], ends[length : length + 1] = [place], [index]
    last = ends[-1] if ends else None
    kept: set[int] = set()
    while last is not None:
        kept.add(last)
        last = before[last]
    return kept
