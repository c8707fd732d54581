"""Brings its own torch.py, numpy.py, json.py, colorsys.py and sitecustomize.py, and a helper module that it needs."""

import colorsys
import json

import numpy
import torch
from helper import TWENTY


def total_macs(model, input_size):
    ours = [module.__name__ for module in (colorsys, json, numpy, torch) if hasattr(module, "SHADOW")]
    return {"shadowed": ours, "twenty": TWENTY, "ones": torch.ones(2)}
