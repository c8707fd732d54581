import torch
import torch.nn as nn

# ---- 2-1-1, 2-1-2 ----


def total_parameters(model):
    return sum(p.numel() for p in model.parameters())


def trainable_parameters(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def non_trainable_parameters(model):
    return total_parameters(model) - trainable_parameters(model)


def weight_bytes(model):
    return total_parameters(model) * 4


# ---- 2-1-3 ----


def layer_table(model, input_size):
    rows = []
    seen = {}
    handles = []

    def hook(name):
        def f(module, inputs, output):
            seen[name] = seen.get(name, 0) + 1
            label = name if seen[name] == 1 else name + "#" + str(seen[name])
            rows.append((label, sum(p.numel() for p in module.parameters()), tuple(output.shape)))

        return f

    for name, module in model.named_modules():
        if len(list(module.children())) == 0:
            handles.append(module.register_forward_hook(hook(name)))
    with torch.no_grad():
        model(torch.randn(*input_size))
    for h in handles:
        h.remove()
    return rows


# ---- 2-1-4: the sizes follow from the formula, so there is no need to run the model ----


def out_size(size, kernel, stride, padding):
    return (size + 2 * padding - kernel) // stride + 1


def pair(x):
    return x if isinstance(x, tuple) else (x, x)


def macs_by_layer(model, input_size):
    batch, _, h, w = input_size
    macs = {}
    for name, m in model.named_modules():
        if isinstance(m, (nn.Conv2d, nn.MaxPool2d)):
            k, s, p = pair(m.kernel_size), pair(m.stride), pair(m.padding)
            h, w = out_size(h, k[0], s[0], p[0]), out_size(w, k[1], s[1], p[1])
            if isinstance(m, nn.Conv2d):
                macs[name] = batch * m.out_channels * h * w * (m.in_channels // m.groups) * k[0] * k[1]
        elif isinstance(m, nn.Linear):
            macs[name] = batch * m.in_features * m.out_features
    return macs


def total_macs(model, input_size):
    return sum(macs_by_layer(model, input_size).values())


# ---- 2-1-5 ----


def conv_outputs(model, x):
    out = {}
    handles = []
    for name, m in model.named_modules():
        if isinstance(m, nn.Conv2d):
            handles.append(m.register_forward_hook(lambda m, i, o, name=name: out.__setitem__(name, o.clone())))
    with torch.no_grad():
        model(x)
    for h in handles:
        h.remove()
    return out


def conv_output_shapes(model, input_size):
    return {name: list(t.shape) for name, t in conv_outputs(model, torch.zeros(input_size)).items()}


if __name__ == "__main__":
    import torchvision.models as models

    net = models.googlenet(weights=None, aux_logits=False).eval()
    print("Total MACs:", total_macs(net, (1, 3, 224, 224)))
