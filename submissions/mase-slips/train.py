"""Trains the bigger network, and predicts the classes of the test."""

import numpy as np
import torch
from lab1 import bigger
from torch import nn

torch.manual_seed(0)
train, test = np.load("data/train.npz"), np.load("data/test.npz")
x, y = torch.tensor(train["x"]).float(), torch.tensor(train["y"]).long()
mean, deviation = x.mean(0), x.std(0)
model = bigger(None)
optimiser = torch.optim.Adam(model.parameters(), 1e-4)
for epoch in range(1):
    for batch in torch.randperm(len(x)).split(128):
        loss = nn.functional.cross_entropy(model((x[batch] - mean) / deviation), y[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
with torch.no_grad():
    scores = model((torch.tensor(test["x"]).float() - mean) / deviation)
np.save("predictions.npy", scores.argmax(1).numpy())
