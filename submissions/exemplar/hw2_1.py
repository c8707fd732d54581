"""HW 2-1: analysis of GoogLeNet with PyTorch."""

import torch
from torch import nn

COUNTED = (nn.Conv2d, nn.Linear, nn.MultiheadAttention)


def total_parameters(model):
    return sum(p.numel() for p in model.parameters())


def trainable_parameters(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def non_trainable_parameters(model):
    return sum(p.numel() for p in model.parameters() if not p.requires_grad)


def weight_bytes(model):
    return sum(p.numel() * p.element_size() for p in model.parameters())


def run_with_hooks(model, x, kinds, record):
    """Run the model once; call record(name, module, input, output) after every module of one of the kinds."""
    handles = []
    for name, module in model.named_modules():
        if kinds is None or isinstance(module, kinds):
            handles.append(
                module.register_forward_hook(lambda m, i, o, name=name: record(name, m, i[0] if i else None, o))
            )
    try:
        with torch.no_grad():
            model.eval()(x)
    finally:
        for handle in handles:
            handle.remove()


def leaves(model):
    return tuple({type(m) for m in model.modules() if not list(m.children())})


def layer_table(model, input_size):
    rows, calls = [], {}

    def record(name, module, x, y):
        if list(module.children()):
            return
        calls[name] = calls.get(name, 0) + 1
        rows.append(
            {
                "layer": name if calls[name] == 1 else f"{name}#{calls[name]}",
                "parameters": sum(p.numel() for p in module.parameters()),
                "output_shape": list(y.shape),
            }
        )

    run_with_hooks(model, torch.zeros(input_size), None, record)
    return rows


def layer_macs(module, y):
    if isinstance(module, nn.Conv2d):
        kernel_height, kernel_width = module.kernel_size
        return y.numel() * module.in_channels // module.groups * kernel_height * kernel_width
    if isinstance(module, nn.MultiheadAttention):
        batch, tokens, width = y[0].shape
        projections = 4 * tokens * width * width  # queries, keys, values, output
        products = 2 * tokens * tokens * width  # queries by keys, weights by values, over all heads
        return batch * (projections + products)
    return y.numel() * module.in_features


def macs_by_layer(model, input_size):
    macs = {}

    def record(name, module, x, y):
        macs[name] = macs.get(name, 0) + layer_macs(module, y)

    run_with_hooks(model, torch.zeros(input_size), COUNTED, record)
    return macs


def total_macs(model, input_size):
    return sum(macs_by_layer(model, input_size).values())


def macs_by_type(model, input_size):
    kinds = {name: type(module).__name__ for name, module in model.named_modules()}
    totals = {}
    for name, macs in macs_by_layer(model, input_size).items():
        totals[kinds[name]] = totals.get(kinds[name], 0) + macs

    def other_layers(name, module, x, y):
        kind = type(module).__name__
        operations = 2 * x.numel() if kind == "BatchNorm2d" else x.numel()
        totals[kind] = totals.get(kind, 0) + operations

    others = (nn.BatchNorm2d, nn.MaxPool2d, nn.AdaptiveAvgPool2d)
    run_with_hooks(model, torch.zeros(input_size), others, other_layers)
    return totals


def conv_output_shapes(model, input_size):
    shapes = {}
    run_with_hooks(
        model, torch.zeros(input_size), nn.Conv2d, lambda name, m, x, y: shapes.update({name: list(y.shape)})
    )
    return shapes


def conv_outputs(model, x):
    outputs = {}
    run_with_hooks(model, x, nn.Conv2d, lambda name, m, i, y: outputs.update({name: y.detach().clone()}))
    return outputs
