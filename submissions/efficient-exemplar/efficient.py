import numpy as np
import torch
from torch import nn

LAYERS = ("fc1", "fc2", "fc3")


def weights(model):
    kinds = (nn.Conv2d, nn.Linear)
    return {name: each.weight.detach() for name, each in model.named_modules() if isinstance(each, kinds)}


def sparsity(model):
    found = weights(model).values()
    return sum(int((w == 0).sum()) for w in found) / sum(w.numel() for w in found)


def patterns(model):
    rows = {}
    for name, w in weights(model).items():
        flat = w.reshape(w.shape[0], -1)
        groups = flat[:, : flat.shape[1] // 4 * 4].reshape(-1, 4)
        rows[name] = {
            "zeros": int((w == 0).sum()),
            "channels": int((flat.abs().sum(1) == 0).sum()),
            "against": int(((groups != 0).sum(1) > 2).sum()),
        }
    return rows


def smallest_go(sizes, sparsity):
    mask = torch.ones(sizes.numel())
    mask[sizes.flatten().argsort()[: round(sparsity * sizes.numel())]] = 0
    return mask.reshape(sizes.shape)


def masks(model, sparsity):
    return {name: smallest_go(w.abs(), sparsity) for name, w in weights(model).items()}


def masks_of_all(model, sparsity):
    found = weights(model)
    mask = smallest_go(torch.cat([w.abs().flatten() for w in found.values()]), sparsity)
    parts = mask.split([w.numel() for w in found.values()])
    return {name: part.reshape(found[name].shape) for name, part in zip(found, parts)}


def right_rows(network):
    x = network["x"]
    for name in LAYERS:
        x = x @ network[name + "_weight"].T + network[name + "_bias"]
        if name != LAYERS[-1]:
            x = np.maximum(x, 0)
    return int((x.argmax(1) == network["y"]).sum())


def scan(data):
    whole = dict(np.load(data))
    rows = {}
    for name in LAYERS:
        rows[name] = {}
        for share in (0.3, 0.5, 0.7, 0.9):
            w = whole[name + "_weight"].copy()
            order = np.argsort(np.abs(w), axis=None, kind="stable")
            w.flat[order[: round(share * w.size)]] = 0
            rows[name][f"at_{round(100 * share)}"] = right_rows({**whole, name + "_weight": w})
    return rows


def correct(data, bits):
    network = dict(np.load(data))
    for name in LAYERS:
        w = network[name + "_weight"].astype(np.float64)
        scale = np.abs(w).max() / (2 ** (bits - 1) - 1)
        network[name + "_weight"] = scale * np.rint(w / scale)
    return right_rows(network)


def grid(w, bits, scheme):
    if scheme == "symmetric":
        return float(w.abs().max()) / (2 ** (bits - 1) - 1), 0
    lowest, highest = min(float(w.min()), 0), max(float(w.max()), 0)
    scale = (highest - lowest) / (2**bits - 1)
    return scale, round(-lowest / scale)


def parameters(model, bits):
    found = {name: grid(w.double(), bits, "asymmetric") for name, w in weights(model).items()}
    return {name: {"scale": scale, "zero_point": zero} for name, (scale, zero) in found.items()}


def whole(w, bits, scheme):
    scale, zero = grid(w, bits, scheme)
    q = torch.round(w / scale) + zero
    return q if scheme == "symmetric" else q.clamp(0, 2**bits - 1)


def quantise(model, bits, scheme, per):
    made = {}
    for name, w in weights(model).items():
        parts = [w.double()] if per == "tensor" else list(w.double())
        made[name] = torch.stack([whole(part, bits, scheme) for part in parts]).reshape(w.shape)
    return made


def product(data):
    d = np.load(data)
    x, w = d["x"].astype(np.int32) - d["x_zero"], d["w"].astype(np.int32) - d["w_zero"]
    sums = x @ w.T + d["bias"]
    outputs = np.clip(np.rint(d["multiplier"] * sums) + d["y_zero"], -128, 127)
    return {"sums": sums, "outputs": outputs.astype(np.int64)}


def codebook(data, bits):
    numbers = np.load(data).astype(np.float64)
    values = np.linspace(numbers.min(), numbers.max(), 2**bits)
    while True:
        nearest = np.abs(numbers[:, None] - values[None]).argmin(axis=1)
        new = values.copy()
        for i in range(len(values)):
            if (nearest == i).any():
                new[i] = numbers[nearest == i].mean()
        if np.array_equal(new, values):
            return {"values": values}
        values = new


def with_scales(model, bits):
    return sum(-(-w.numel() * bits // 8) + 4 * w.shape[0] for w in weights(model).values())


def with_codebooks(model, bits):
    return sum(-(-w.numel() * bits // 8) + 4 * 2**bits for w in weights(model).values())
