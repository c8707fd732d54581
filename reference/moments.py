"""Statistics of what a network holds and computes: means and variances of weights, quantiles of activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._counting.calls import chosen
from .layers import module_outputs

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from ._counting.engine import CountedSubject

    Row = dict[str, Any]


def weight_moments(subject: CountedSubject, *, layers: list[str]) -> list[Row]:
    """Mean and variance of the weight of each layer of some types, a row a layer.

    The variance divides by n - 1, as torch.var does. `layers` are types such as Linear; computed in float64.
    """
    return _moments(subject, layers, lambda weight: weight.var())


def weight_moments_biased(subject: CountedSubject, *, layers: list[str]) -> list[Row]:
    """The variance divided by n, as numpy.var does.

    Slip of: weight_moments
    Hint: The variance is divided by n. Of a sample it is divided by n - 1: torch.var, or numpy.var with ddof=1.
    Credit: 0.7
    """
    return _moments(subject, layers, lambda weight: weight.var(correction=0))


def weight_moments_deviation(subject: CountedSubject, *, layers: list[str]) -> list[Row]:
    """The standard deviation in place of the variance.

    Slip of: weight_moments
    Hint: This is the standard deviation; the variance is its square.
    Credit: 0.6
    """
    return _moments(subject, layers, lambda weight: weight.std())


def weight_moments_second(subject: CountedSubject, *, layers: list[str]) -> list[Row]:
    """The mean of the squares in place of the variance.

    Slip of: weight_moments
    Hint: This is the mean of the squares: the mean was not subtracted before squaring.
    Credit: 0.5
    """
    return _moments(subject, layers, lambda weight: weight.square().mean())


def weight_moments_of_rows(subject: CountedSubject, *, layers: list[str]) -> list[Row]:
    """The mean of the variances of a weight's rows in place of its variance.

    Slip of: weight_moments
    Hint: The variance is taken of each row of a weight, and these are averaged. Take it of all its numbers at once:
    weight.var().
    Credit: 0.5
    """
    return _moments(
        subject, layers, lambda weight: (weight.flatten(1).var(1) if weight[0].numel() > 1 else weight.var()).mean()
    )


def activation_quantiles(subject: CountedSubject, *, layers: list[str], quantile: float = 0.97) -> list[Row]:
    """A quantile of all values that each layer of some types puts out for the given input, a row a call.

    Between two values it is interpolated, as torch.quantile and numpy.quantile do. The weights are the subject's.
    """
    return _outputs(subject, layers, lambda values: _quantile(values, quantile))


def activation_quantiles_largest(subject: CountedSubject, *, layers: list[str], quantile: float = 0.97) -> list[Row]:
    """The largest value in place of the quantile.

    Slip of: activation_quantiles
    Hint: This is the largest value. A quantile of 0.97 leaves the largest 3 % out, which is what makes it steady.
    Credit: 0.3
    """
    del quantile
    return _outputs(subject, layers, lambda values: values.max())


def activation_quantiles_scaled(subject: CountedSubject, *, layers: list[str], quantile: float = 0.97) -> list[Row]:
    """The largest value times the quantile.

    Slip of: activation_quantiles
    Hint: This is 0.97 times the largest value. A quantile is the value below which 97 % of all values lie: sort them,
    or use torch.quantile.
    Credit: 0.2
    """
    return _outputs(subject, layers, lambda values: values.max() * quantile)


def activation_quantiles_of_positive(
    subject: CountedSubject, *, layers: list[str], quantile: float = 0.97
) -> list[Row]:
    """The quantile of the values above zero alone.

    Slip of: activation_quantiles
    Hint: The zeros that the activation puts out are left out. They are values, too: take the quantile of all.
    Credit: 0.5
    """
    return _outputs(subject, layers, lambda values: _quantile(values[values > 0], quantile))


def activation_quantiles_other_end(subject: CountedSubject, *, layers: list[str], quantile: float = 0.97) -> list[Row]:
    """The quantile counted from the largest value.

    Slip of: activation_quantiles
    Hint: This is the quantile from the other end: 97 % of the values are larger, not smaller.
    Credit: 0.4
    """
    return _outputs(subject, layers, lambda values: _quantile(values, 1 - quantile))


def activation_quantiles_of_features(
    subject: CountedSubject, *, layers: list[str], quantile: float = 0.97
) -> list[Row]:
    """The mean of the quantiles of single features, each along the batch.

    Slip of: activation_quantiles
    Hint: The quantile is taken along the batch, feature by feature, and these are averaged. Take it of all values at
    once.
    Credit: 0.4
    """
    import numpy as np

    found = module_outputs(subject, layers=layers)
    return [
        {"layer": name, "quantile": float(np.quantile(each.double().numpy(), quantile, axis=0).mean())}
        for name, each in found.items()
    ]


def _moments(subject: CountedSubject, layers: list[str], variance: Callable[[torch.Tensor], torch.Tensor]) -> list[Row]:
    module, _ = subject.with_weights()
    wanted = chosen(module, layers)
    rows = []
    for name, layer in module.named_modules():
        if wanted(layer) and layer.weight is not None:
            weight = layer.weight.detach().double()
            rows.append({"layer": name, "mean": float(weight.mean()), "variance": float(variance(weight))})
    return rows


def _outputs(subject: CountedSubject, layers: list[str], of: Callable[[torch.Tensor], Any]) -> list[Row]:
    found = module_outputs(subject, layers=layers)
    return [{"layer": name, "quantile": float(of(each.double().flatten()))} for name, each in found.items()]


def _quantile(values: torch.Tensor, quantile: float) -> float:
    import numpy as np

    return float(np.quantile(values.numpy(), quantile))  # torch.quantile takes at most 16 million values
