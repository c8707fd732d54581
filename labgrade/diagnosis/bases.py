"""What hypotheses about a wrong answer start from, and what slips make of it.

A quantity has slips where a function `<quantity>_slips` stands beside it, or where `<quantity>_by_layer` gives its
rows: a sum over layers can be wrong in the ways of all sums over layers (`by_layer_slips`). One of a config has a
formula, which can be wrong in the ways of all formulas (`formula_slips`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import FaultError
from labgrade.core.task import CONFIG, InputSpec, QuantityCall, SubjectSpec
from labgrade.diagnosis.explain import companion
from labgrade.spec.in_full import slips
from labgrade.spec.registry import SLIPS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labgrade.core.task import Check, Plain
    from labgrade.spec.registry import Registry

_ROWS, _FORMULA = "by_layer" + SLIPS, "formula" + SLIPS
_MOST_SLIPS, _MOST_OF_FORMULA = 3, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The right value, or one that is right by another convention.

    `rows` is the quantity that gives it by layer, if it has no slips of its own. `formula`: of a quantity of a config,
    where its formula is and what is known of it.
    """

    call: QuantityCall
    says: str = ""
    rows: QuantityCall | None = None
    formula: Mapping[str, Plain] | None = None

    @property
    def quantities(self) -> tuple[str, ...]:
        """Return the names of the quantities that are computed for it."""
        if self.formula is not None:
            return (_FORMULA,)
        return (self.call.quantity + SLIPS,) if self.rows is None else (self.rows.quantity, _ROWS)

    @property
    def most(self) -> int:
        """Return how many slips at once are looked for: few, because a formula can go wrong in hundreds of ways."""
        return _MOST_SLIPS if self.formula is None else _MOST_OF_FORMULA


def bases_of(check: Check, quantities: Registry) -> list[Base]:
    """Return the expected value first, then other right ones, as far as their slips are known."""
    sources = [(check.expected, ""), *((each.source, each.says) for each in check.also_right if not each.implied)]
    found = []
    for source, says in sources:
        if isinstance(source, QuantityCall):
            entry = quantities.entries.get(source.quantity + SLIPS)
            rows = companion(source, quantities) if _ROWS in quantities.entries else None
            if entry is not None and not set(source.parameters) - set(entry.parameters):
                found.append(Base(call=source, says=says))
            elif rows is not None:
                found.append(Base(call=source, says=says, rows=rows))
            elif (formula := _formula(source, quantities)) is not None:
                found.append(Base(call=source, says=says, formula=formula))
    return found


def _formula(source: QuantityCall, quantities: Registry) -> Mapping[str, Plain] | None:
    """Return where the formula of a quantity of a config is, if it has no conventions; else None."""
    entry = quantities.entries.get(source.quantity)
    if entry is None or _FORMULA not in quantities.entries or source.parameters or entry.takes[:1] != (CONFIG,):
        return None
    known: dict[str, Plain] = {
        each.name: each.slip.hint for each in slips.slips_of(quantities.entries, entry.name) if each.slip is not None
    }
    return {"file": str(entry.file), "of": entry.name, "known": known, "digest": entry.source_digest()}


def slipped(
    base: Base,
    subject: SubjectSpec,
    asked: Mapping[str, Plain],
    value_of: Callable[[QuantityCall, SubjectSpec], object],
) -> dict[str, Any]:
    """Return the `values` that slips give for a base on a subject, by name, and what each slip `says`.

    Raises:
        FaultError: it can't be computed.
    """
    if base.formula is not None:
        options: dict[str, Plain] = {**base.formula, CONFIG: dict(subject.options)}
        of = SubjectSpec(model=CONFIG, options=options, input=InputSpec(shape=()), passing=True)
        made: Any = value_of(QuantityCall(quantity=_FORMULA, parameters=dict(asked)), of)
        return dict(made)
    if base.rows is None:
        parameters = {**base.call.parameters, **asked}
        call = replace(base.call, quantity=base.call.quantity + SLIPS, parameters=parameters, published=None)
        answer: Any = value_of(call, subject)
        return dict(answer)
    rows: Any = value_of(base.rows, subject)
    if not isinstance(rows, list):
        message = f"'{base.rows.quantity}' gives no rows"
        raise FaultError(message)
    config: dict[str, Plain] = {
        "rows": rows,
        "batch": next(iter(subject.input.shape), 1),
        "table": base.rows.quantity == base.call.quantity,
    }
    of = SubjectSpec(model=CONFIG, options=config, input=InputSpec(shape=()), passing=True)
    answer = value_of(replace(base.rows, quantity=_ROWS, parameters=dict(asked)), of)
    return dict(answer)
