import torch
import torch.nn as nn
import torchvision.models as models
from torchvision.models import GoogLeNet_Weights
from util import print_hw_result, run_with_hooks

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = models.googlenet(weights=GoogLeNet_Weights.DEFAULT).to(device).eval()
x = torch.zeros(1, 3, 224, 224, device=device)

# 2-1-1
total = sum(p.numel() for p in model.parameters())
trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
print_hw_result(
    "2-1-1",
    "Calculate model parameters",
    f"Total parameters: {total}",
    f"Trainable parameters: {trainable}",
    f"Non-trainable parameters: {total - trainable}",
)

# 2-1-2
size = sum(p.numel() * p.element_size() for p in model.parameters())
print_hw_result("2-1-2", "Memory for the weights", f"Total memory for parameters: {size} bytes")

# 2-1-3
rows = []
leaves = tuple({type(layer) for layer in model.modules() if not list(layer.children())})
run_with_hooks(
    model,
    x,
    leaves,
    lambda name, layer, y: rows.append((name, sum(p.numel() for p in layer.parameters()), list(y.shape))),
)
print_hw_result(
    "2-1-3",
    "Layers of the model",
    "Layer | Param # | Output Shape",
    "--- | --- | ---",
    *(f"{name} | {count:,} | {shape}" for name, count, shape in rows),
)

# 2-1-4
macs = {"Conv2d": 0, "Linear": 0}


def count(name, layer, y):
    if isinstance(layer, nn.Conv2d):
        kernel = layer.kernel_size[0] * layer.kernel_size[1]
        macs["Conv2d"] += y.numel() * layer.in_channels // layer.groups * kernel
    else:
        macs["Linear"] += layer.in_features * layer.out_features + layer.out_features


run_with_hooks(model, x, (nn.Conv2d, nn.Linear), count)
print_hw_result(
    "2-1-4",
    "Calculate computation requirements",
    f"Total MACs is {sum(macs.values()) / 1e9:.9f} GMac",
    *(f"MACs for [ {kind:^17} ] layers is {number:>11}" for kind, number in macs.items()),
)

# 2-1-5
torch.set_printoptions(edgeitems=1)
lines = []
run_with_hooks(model, x, nn.Conv2d, lambda name, layer, y: lines.append(f"{name}: {list(y.shape)}"))
print_hw_result("2-1-5", "Output activations of the Conv2d layers", *lines)
