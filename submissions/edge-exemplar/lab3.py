"""ResNet-50 layer by layer on ExecuTorch. Run as a program, it writes all files that are handed in."""

import sys
from pathlib import Path

import torch
from torch import nn

CHOSEN = ("Conv2d_5", "BatchNorm2d_152", "ReLU_153", "AdaptiveAvgPool2d_157")


def called(model, size):
    """Each call of a layer without layers inside: name, layer, shapes of input and output."""
    found = []

    def note(layer, given, made):
        name = f"{type(layer).__name__}_{len(found) + 1}"
        found.append((name, layer, list(given[0].shape), list(made.shape)))

    handles = [each.register_forward_hook(note) for each in model.modules() if not list(each.children())]
    with torch.no_grad():
        model(torch.zeros(size))
    for handle in handles:
        handle.remove()
    return found


def layers(model, input_size):
    return [
        {"layer": name, "input": given, "output": made, "parameters": sum(each.numel() for each in layer.parameters())}
        for name, layer, given, made in called(model, input_size)
    ]


def in_place_modules(model, input_size):
    return sum(getattr(layer, "inplace", False) for layer in model.modules())


def in_place_calls(model, input_size):
    return sum(getattr(layer, "inplace", False) for _, layer, _, _ in called(model, input_size))


def replace_relu(model):
    for name, child in model.named_children():
        if isinstance(child, nn.ReLU) and child.inplace:
            setattr(model, name, nn.ReLU())
        else:
            replace_relu(child)
    return model


def export(layer, x, path):
    from executorch.exir import to_edge_transform_and_lower

    if getattr(layer, "inplace", False):
        layer.inplace = False
    program = to_edge_transform_and_lower(torch.export.export(layer.eval(), (x,))).to_executorch()
    with open(path, "wb") as file:
        file.write(program.buffer)


def main():
    """Write inputs, outputs, weights, programs, what they put out, and the comparison."""
    from executorch.runtime import Runtime
    from torchvision.models import resnet50

    torch.manual_seed(7)
    model = replace_relu(resnet50().eval())
    for folder in ("input_weight", "golden", "layer_weight", "export_model", "executorch_out", "diff"):
        Path(folder).mkdir(exist_ok=True)
    rows = []
    for name, layer, size, _ in called(model, (1, 3, 64, 64)):
        if name not in CHOSEN:
            continue
        if isinstance(layer, nn.BatchNorm2d):  # as after training, or it would hand on what it gets
            layer.running_mean.uniform_(-0.5, 0.5)
            layer.running_var.uniform_(0.5, 1.5)
        x = torch.randn(size)
        with torch.no_grad():
            golden = layer(x)
        torch.save(x, f"input_weight/{name}_input.pth")
        Path(f"input_weight/{name}.bin").write_bytes(x.numpy().tobytes())
        torch.save(golden, f"golden/{name}_golden.pth")
        if layer.state_dict():
            torch.save(layer.state_dict(), f"layer_weight/{name}.pth")
        export(layer, x, f"export_model/{name}.pte")
        (made,) = Runtime.get().load_program(f"export_model/{name}.pte").load_method("forward").execute([x])
        Path(f"executorch_out/{name}.out").write_bytes(made.numpy().tobytes())
        rows.append(f"{name}: {(made.double() - golden.double()).abs().sum().item()}\n")
    Path("diff/comparison_results.txt").write_text("".join(rows))


if __name__ == "__main__":
    sys.exit(main())
