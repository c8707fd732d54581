"""Multiply-accumulate operations (MACs): in all, by layer, by type of layer; and what else might be counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from ._counting.costs import Conventions, cost, counted, layer_aliases, unsealed
from ._counting.engine import analyse
from ._counting.samples import of_one_sample

if TYPE_CHECKING:
    from ._counting.engine import CountedSubject

Norm = Literal["none", "one_per_input", "two_per_input", "four_per_input", "five_per_input"]
Pooling = Literal["none", "one_per_input", "one_per_output"]
Activation = Literal["none", "one_per_output"]
Per = Literal["batch", "sample"]


def macs(  # noqa: PLR0913 - conventions
    subject: CountedSubject,
    *,
    layers: list[str] | None = None,
    bias: bool = False,
    norm: Norm = "none",
    pooling: Pooling = "none",
    activation: Activation = "none",
    of_weights: bool = True,
    per: Per = "batch",
) -> int:
    """How many multiply-accumulate operations one forward pass takes.

    A convolution takes output elements x in_channels / groups x kernel elements, a linear layer output elements x
    in_features, a matrix product output elements x the dimension summed over; a transposed convolution counts by its
    input elements. Attention's two products, einsum and functional calls count, too, wherever they stand.

    `layers` counts only what these types of module do themselves (Conv2d, Linear, ...; derived types, too); without it
    everything counts. `bias` adds one for each element to which a bias is added. `norm`, `pooling` and `activation` say
    what those layers cost for each element of their input or output; the softmax of an attention counts as an
    activation. `of_weights` counts what is multiplied to make a weight of weights, as spectral norm does.
    `per: sample` counts a batch of one; it is refused where the inputs do not tell which dimension is the batch: an
    LSTM whose first dimension is time, or a second input that might have a batch or none.

    With no convention set this agrees with the GMACs that torchvision publishes (`_ops` in `weights.meta`) and with
    torch.utils.flop_counter on the meta device.

    Also right: {"of_weights": false} without the products that make a layer's weight, such as those of spectral norm
    """
    rule = Conventions(layers, bias=bias, norm=norm, pooling=pooling, activation=activation, of_weights=of_weights)
    return sum(n for _, n in counted(_trace(subject, per), rule))


def macs_by_layer(  # noqa: PLR0913 - conventions
    subject: CountedSubject,
    *,
    layers: list[str] | None = None,
    bias: bool = False,
    norm: Norm = "none",
    pooling: Pooling = "none",
    activation: Activation = "none",
    of_weights: bool = True,
    per: Per = "batch",
) -> list[dict[str, Any]]:
    """How many multiply-accumulate operations each layer takes, a row a layer, in the order of execution.

    Conventions as for `macs`. All calls of a layer are added up. What a container computes itself (the products of an
    attention written by hand) is a row under the container's name; a layer that counts nothing has no row. One that is
    alone of its class may be called by that, too.

    Also right: {"of_weights": false} without the products that make a layer's weight, such as those of spectral norm
    """
    trace = _trace(subject, per)
    rule = Conventions(layers, bias=bias, norm=norm, pooling=pooling, activation=activation, of_weights=of_weights)
    rows: dict[str, dict[str, Any]] = {}
    aliases = layer_aliases(trace)
    for operation, n in counted(trace, rule):
        if n:
            layer = trace.layer(operation.call)
            first = {"layer": layer, "type": operation.call.type, "macs": 0, "also_named": aliases.get(layer, [])}
            rows.setdefault(layer, first)["macs"] += n
    of_class = Counter(row["type"] for row in rows.values())
    for row in rows.values():
        own = row["type"]
        row["also_named"] = [*row["also_named"], *({own, own.rstrip("d123")} if of_class[own] == 1 else ())]
    return list(rows.values())


def macs_by_type(  # noqa: PLR0913 - conventions
    subject: CountedSubject,
    *,
    layers: list[str] | None = None,
    bias: bool = False,
    norm: Norm = "none",
    pooling: Pooling = "none",
    activation: Activation = "none",
    of_weights: bool = True,
    per: Per = "batch",
) -> dict[str, int]:
    """How many multiply-accumulate operations each type of layer takes, by the name of its class.

    Conventions as for `macs`. A type that counts nothing is left out.

    Also right: {"of_weights": false} without the products that make a layer's weight, such as those of spectral norm
    """
    rule = Conventions(layers, bias=bias, norm=norm, pooling=pooling, activation=activation, of_weights=of_weights)
    total: Counter[str] = Counter()
    trace = _trace(subject, per)
    unsealed(trace)
    for operation, n in counted(trace, rule):
        total[operation.call.type] += n
    return {kind: n for kind, n in total.items() if n}


def operations_by_layer(
    subject: CountedSubject,
    *,
    bias: bool = False,
    norm: Norm = "four_per_input",
    pooling: Pooling = "none",
    activation: Activation = "one_per_output",
    per: Per = "batch",
) -> list[dict[str, Any]]:
    """How many operations each layer takes, a row a layer: those of `macs_by_layer` with norms and activations.

    A multiply-accumulate is one operation, a batch norm four for each input element, an activation one for each output
    element, as MASE's FLOPs pass counts for one sample. Rows of other activations than ReLU are optional.
    """
    rows = macs_by_layer(subject, bias=bias, norm=norm, pooling=pooling, activation=activation, per=per)
    others = {type(one).__name__ for one in subject.on_meta()[0].modules() if _is_other_activation(one)}
    return [
        {"operations" if key == "macs" else key: value for key, value in row.items()}
        | ({"optional": True} if row["type"] in others else {})
        for row in rows
    ]


def _is_other_activation(module: Any) -> bool:
    from torch import nn

    return type(module).__module__ == nn.ReLU.__module__ and type(module) not in (nn.ReLU, nn.MultiheadAttention)


def flops(  # noqa: PLR0913 - conventions
    subject: CountedSubject,
    *,
    layers: list[str] | None = None,
    bias: bool = False,
    norm: Norm = "none",
    pooling: Pooling = "none",
    activation: Activation = "none",
    of_weights: bool = True,
    per: Per = "batch",
) -> int:
    """How many floating-point operations one forward pass takes: two for each multiply-accumulate of `macs`.

    Twice: macs

    Also right: {"of_weights": false} without the products that make a layer's weight, such as those of spectral norm

    Slip of: macs
    Hint: This is twice the number: FLOPs, which count a multiply-accumulate as two operations, or every layer
    counted twice. The task asks for MACs.
    Credit: 0.8
    """
    rule = Conventions(layers, bias=bias, norm=norm, pooling=pooling, activation=activation, of_weights=of_weights)
    return 2 * sum(n for _, n in counted(_trace(subject, per), rule))


def operations(subject: CountedSubject) -> list[dict[str, Any]]:
    """Everything that `macs` can count, by layer and operation: the columns before any convention is chosen.

    `macs` without bias; `bias`: elements to which a bias is added; `norm_inputs`, `pooling_inputs`, `pooling_outputs`,
    `activation_outputs`: elements; `affine`: a normalisation with a scale of its own. `layer` has `/` and the
    operation's name behind it, and a number where a layer does the same again.
    """
    times: Counter[str] = Counter()
    rows = []
    trace = analyse(subject)
    for operation, _ in counted(trace, Conventions(None, bias=True, norm="one_per_input")):
        name = f"{trace.layer(operation.call)}/{operation.name}"
        times[name] += 1
        row = {"layer": name if times[name] == 1 else f"{name}#{times[name]}", "type": operation.call.type}
        rows.append(row | cost(operation))
    return rows


def _trace(subject: CountedSubject, per: Per) -> Any:
    return of_one_sample(subject) if per == "sample" else analyse(subject)
