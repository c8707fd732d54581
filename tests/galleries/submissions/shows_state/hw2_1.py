"""Returns whatever a process shares."""

import os
import random
import sys
import tempfile

import torch


def total_macs(model, input_size):
    return {
        "folder": os.path.basename(os.getcwd()),
        "temporary": os.path.relpath(tempfile.gettempdir()),
        "variables": sorted(os.environ),
        "modules": sorted({name.partition(".")[0] for name in sys.modules}),
        "python": random.random(),
        "torch": torch.rand(1).item(),
        "dtype": str(torch.get_default_dtype()),
        "grad": torch.is_grad_enabled(),
        "weights": sum(parameter.abs().sum().item() for parameter in model.parameters()),
        "path": sys.path,
        "name": __name__,
        "argv": sys.argv,
        "descriptors": len(os.listdir("/proc/self/fd")) - 1,
    }
