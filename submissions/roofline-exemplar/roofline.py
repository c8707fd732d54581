import math

import torch
from torch import nn


def rows_of(model, given, weights_move):
    rows, handles = {}, []

    def watch(name):
        def hook(layer, x, y):
            flops = 2 * y.numel() * layer.weight[0].numel()
            numbers = x[0].numel() + y.numel()
            if weights_move:
                numbers += sum(p.numel() for p in layer.parameters())
            rows[name] = {"flops": flops, "bytes": 4 * numbers, "intensity": flops / (4 * numbers)}

        return hook

    for name, layer in model.named_modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            handles.append(layer.register_forward_hook(watch(name)))
    with torch.no_grad():
        model(given)
    for handle in handles:
        handle.remove()
    return rows


def by_layer(model, given):
    return rows_of(model, given, True)


def kept(model, given):
    return rows_of(model, given, False)


def roofs(config):
    found = {"compute": config["peak"]}
    for memory, speed in config["bandwidth"].items():
        found[memory] = speed * config["flops"] / config["bytes"][memory]
    return found


def attainable(config):
    return min(roofs(config).values())


def bound(config):
    found = roofs(config)
    return min(found, key=found.get)


def vgg_table(config):
    channels, height, width = config["input"]
    table, convs, pools = {}, 0, 0
    for each in config["layers"]:
        if each == "M":
            pools += 1
            height, width = height // 2, width // 2
            table[f"pool{pools}"] = {"memory": channels * height * width, "parameters": 0, "macs": 0}
        else:
            convs += 1
            weights = each * channels * 3 * 3
            table[f"conv{convs}"] = {
                "memory": each * height * width,
                "parameters": weights + each,
                "macs": weights * height * width,
            }
            channels = each
    inputs = channels * height * width
    for place, each in enumerate(config["linear"], 1):
        table[f"fc{place}"] = {"memory": each, "parameters": each * inputs + each, "macs": each * inputs}
        inputs = each
    return table


def energy(config):
    costs, pixels = config["costs"], config["batch"] * config["size"] ** 2
    weights = config["filters"] * config["channels"] * config["kernel"] ** 2
    computing = pixels * weights * (costs["mac"] + 4 * costs["register"])
    numbers = pixels * (config["channels"] + config["filters"]) + weights
    return computing + numbers * (costs["dram"] + 2 * costs["buffer"])


def mapping(config):
    m, k, n = config["m"], config["k"], config["n"]
    return (m, n, k) if config["dataflow"] == "os" else (k, n, m)


def cycles(config):
    along, across, through = mapping(config)
    rows, columns = config["rows"], config["columns"]
    folds = math.ceil(along / rows) * math.ceil(across / columns)
    return folds * (2 * rows + columns + through - 2)


def utilisation(config):
    work = config["m"] * config["k"] * config["n"]
    return work / (cycles(config) * config["rows"] * config["columns"])
