"""Stands in for labgrade/subjects/models.py, and starts a thread, so that forking is unsafe."""

import threading
import time


def import_torchvision():
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


class Subject:
    has_weights = False

    def __init__(self, *, shape, model, **_):
        self.shape = shape
        self.real = [model, 1, 2, 3], [0.5]

    def with_weights(self):
        return self.real
