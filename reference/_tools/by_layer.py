"""What tools print of each layer: a tool's rule for one layer alone, where these add up to what it prints of all."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from .._counting.costs import layer_aliases
from .net import Net, UnknownRuleError, right
from .sentences import difference, listed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from .._counting.trace import Trace
    from .net import Piece
    from .table import Counted

Pieces: TypeAlias = "dict[str, list[Piece]]"
_OF_ONE = ", each divided by the size of the batch"
_AS_FLOPS = " as FLOPs, of which a multiply-accumulate is two"


def tables(trace: Trace, found: Sequence[Counted], scale: dict[str, Fraction], right: Pieces) -> list[dict[str, Any]]:
    """Each table once: its `rows` (`names`, `value`), what is said of the `layers` that count, and of `all` rows.

    `found`: what tools make of all layers. `scale`: what one of a unit is in what is asked for. `right`: by layer.
    """
    names = layer_aliases(trace)
    made: dict[str, tuple[list[str], dict[str, Any]]] = {}
    for each in found:
        layers = _layers(trace, each)
        if layers is not None:
            table = _table(layers, right, names, scale[each.tool.unit])
            for row in table["rows"]:
                row["value"] = int(row["value"] * each.share)
            how = _AS_FLOPS if scale[each.tool.unit] != 1 else _OF_ONE if each.share != 1 else ""
            made.setdefault(str(table["rows"]), ([], {**table, "how": how}))[0].append(each.tool.name)
    return [_said(list(dict.fromkeys(tools)), table) for tools, table in made.values()]


def right_by_layer(trace: Trace, *, layers: Sequence[str] | None, bias: bool, each: int) -> Pieces:
    """What is right of each layer."""
    found: Pieces = defaultdict(list)
    for function in trace.functions:
        own = replace(trace, calls=[function.call], functions=[function])
        found[trace.layer(function.call)] += right(Net(own), layers=layers, bias=bias, each=each)
    return found


def _layers(trace: Trace, counted: Counted) -> Pieces | None:
    """What a tool counts for each layer; None where a layer alone is something else than the same among others."""
    rule = counted.tool.rule
    found: Pieces = defaultdict(list)
    for call in trace.calls:
        functions = [each for each in trace.functions if each.call is call]
        try:
            pieces = list(rule(Net(replace(trace, calls=[call], functions=functions))))
        except (UnknownRuleError, LookupError):
            return None
        found[trace.layer(call)] += pieces
    whole = sum(piece.count for piece in counted.pieces)
    same = sum(piece.count for pieces in found.values() for piece in pieces) == whole
    return found if same else None


def _table(made: Pieces, right: Pieces, names: dict[str, list[str]], scale: Fraction) -> dict[str, Any]:
    sums = {layer: sum(piece.count for piece in pieces) for layer, pieces in made.items()}
    rows: list[dict[str, Any]] = [
        {"names": [layer, *names.get(layer, [])], "value": count} for layer, count in sums.items()
    ]
    inner = [layer for layer in made if "." in layer]
    for around in dict.fromkeys(layer[:at] for layer in inner for at, sign in enumerate(layer) if sign == "."):
        below = sum(count for layer, count in sums.items() if layer.startswith(f"{around}."))
        if around not in sums or not sums[around]:
            rows = [row for row in rows if row["names"][0] != around]
            rows.append({"names": [around, *names.get(around, [])], "value": below})
    counting = [layer for layer in made if sum(piece.count for piece in right.get(layer, ()))]
    wanted = [piece for pieces in right.values() for piece in pieces]
    all_rows = difference([piece for pieces in made.values() for piece in pieces], wanted, scale=scale)
    of_layers = difference([piece for layer in counting for piece in made[layer]], wanted, scale=scale)
    return {"rows": rows, "all": all_rows, "layers": of_layers}


def _said(tools: list[str], table: dict[str, Any]) -> dict[str, Any]:
    many = len(tools) > 1
    said = {
        key: f"{listed(tools)} {'give' if many else 'gives'} these rows{table['how']}. "
        f"{table[key].says(many=many, amounts=False)}"
        if table[key]
        else ""
        for key in ("all", "layers")
    }
    return {"tools": tools, "rows": table["rows"], **said}
