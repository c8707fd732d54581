"""The network of a report: 1,997 parameters, 17.07 times as many."""

from torch import nn


def bigger(model):
    return nn.Sequential(
        nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 40), nn.BatchNorm1d(40), nn.ReLU(), nn.Linear(40, 25),
        nn.BatchNorm1d(25), nn.ReLU(), nn.Linear(25, 5),
    )
