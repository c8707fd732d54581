"""Stands in for labgrade/subjects/models.py where starting must be quick: no torch, and a model that is a list."""


def import_torchvision():
    return None


class Subject:
    has_weights = False

    def __init__(self, *, shape, model, **_):
        self.shape = shape
        self.real = [model, 1, 2, 3], [0.5]

    def with_weights(self):
        return self.real

    def with_weights_of(self, other, *, for_good=False):
        assert for_good
        return self
