"""What large models need, counted from their configurations."""

from torch import nn


def matrices(config):
    """The weights of the matrices of a layer."""
    heads = 2 * config["heads"] + 2 * config["kv_heads"]
    return config["width"] * (heads * config["head_dim"] + config.get("ff_matrices", 3) * config["ff"])


def parameters(config):
    width = config["width"]
    layer = matrices(config) + 2 * width
    embeddings = 1 if config.get("tied", False) else 2
    return config["layers"] * layer + width + embeddings * config["vocab"] * width


def forward_flops(config):
    tokens, batch = config["tokens"], config["batch"]
    layer = 2 * tokens * matrices(config) + 2 * 2 * tokens * tokens * config["heads"] * config["head_dim"]
    return batch * (config["layers"] * layer + 2 * tokens * config["width"] * config["vocab"])


def training_bytes(config):
    each = config["weight_bytes"] + config["gradient_bytes"] + config["moment_bytes"] * 2
    return parameters(config) * (each + config["copy_bytes"])


def cache_bytes(config):
    token = 2 * config["layers"] * config["kv_heads"] * config["head_dim"] * config["bytes"]
    return token * config["tokens"] * config["batch"]


def lora_parameters(config):
    width, ff = config["width"], config["ff"]
    queries, keys = config["heads"] * config["head_dim"], config["kv_heads"] * config["head_dim"]
    both = {"q": width + queries, "k": width + keys, "v": width + keys, "o": queries + width}
    both |= {"gate": width + ff, "up": width + ff, "down": ff + width}
    return config["layers"] * config["rank"] * sum(both[name] for name in config["targets"])


def packed_bytes(config):
    def whole(bits):
        return (bits + 7) // 8

    groups = (config["columns"] + config["group"] - 1) // config["group"]
    row = whole(config["columns"] * config["bits"]) + whole(groups * config["bits"]) + 2 * groups
    return config["rows"] * row


def sent_bytes(config):
    chunk = (config["elements"] + config["workers"] - 1) // config["workers"]
    return 2 * (config["workers"] - 1) * chunk * config["bytes"]


def counted(model, x):
    flops = moved = 0

    def count(layer, inputs, output):
        nonlocal flops, moved
        flops += 2 * output.numel() * layer.weight[0].numel()
        moved += 4 * (inputs[0].numel() + output.numel() + sum(p.numel() for p in layer.parameters()))

    for layer in model.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            layer.register_forward_hook(count)
    model(x)
    return flops, moved


def intensity(model, x):
    flops, moved = counted(model, x)
    return flops / moved


def attained(model, x):
    return min(6e11, 2.5e10 * intensity(model, x))
