"""Changes whatever a process shares: folder, environment, seeds, default dtype, modules, the model."""

import os
import random
import sys

import torch


def total_macs(model, input_size):
    os.chdir("/")
    os.environ.clear()
    os.environ["LABGRADE"] = "changed"
    random.seed(99)
    torch.manual_seed(99)
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.nn.Conv2d.forward = None
    sys.modules["math"] = None
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    return 1
