"""Every way of counting that is nearly right."""

from torch import nn


def parameters(config):
    width = config["width"]
    attention = 4 * width * config["heads"] * config["head_dim"]
    return config["layers"] * (attention + 3 * width * config["ff"] + 2 * width) + width + 2 * config["vocab"] * width


def forward_flops(config):
    width, keys = config["width"], config["kv_heads"] * config["head_dim"]
    layer = 2 * width * config["heads"] * config["head_dim"] + 2 * width * keys + 3 * width * config["ff"]
    return 2 * config["tokens"] * config["batch"] * (config["layers"] * layer + width * config["vocab"])


def training_bytes(config):
    width, keys = config["width"], config["kv_heads"] * config["head_dim"]
    layer = 2 * width * config["heads"] * config["head_dim"] + 2 * width * keys + 3 * width * config["ff"] + 2 * width
    return 14 * (config["layers"] * layer + width + 2 * config["vocab"] * width)


def cache_bytes(config):
    return 2 * config["layers"] * config["heads"] * config["head_dim"] * config["tokens"] * config["batch"] * config["bytes"]


def lora_parameters(config):
    outputs = config["heads"] * config["head_dim"]
    return config["layers"] * config["rank"] * len(config["targets"]) * (config["width"] + outputs)


def packed_bytes(config):
    groups = config["columns"] // config["group"]
    return config["rows"] * (config["columns"] * config["bits"] // 8 + (groups * config["bits"] + 7) // 8 + 2 * groups)


def sent_bytes(config):
    return 2 * config["elements"] * config["bytes"]


def intensity(model, x):
    macs = moved = 0

    def count(layer, inputs, output):
        nonlocal macs, moved
        macs += output.numel() * layer.weight[0].numel()
        moved += 4 * (inputs[0].numel() + output.numel() + sum(p.numel() for p in layer.parameters()))

    for layer in model.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            layer.register_forward_hook(count)
    model(x)
    return macs / moved


def attained(model, x):
    return 2.5e10 * 2 * intensity(model, x)
