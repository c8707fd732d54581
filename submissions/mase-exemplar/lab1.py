"""A network with about ten times as many parameters as the toy network."""

from torch import nn


def bigger(model):
    return nn.Sequential(
        nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 14), nn.ReLU(), nn.Linear(14, 5)
    )
