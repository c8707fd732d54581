"""Lab 2-4-1: without eval()."""

import torch
import torchvision

model = torchvision.models.resnet18()
traced = torch.jit.trace(model, torch.rand(1, 3, 224, 224))
traced.save("traced_resnet_model.pt")
