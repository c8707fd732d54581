"""Helpers that every homework uses."""

import os

HERE = os.path.dirname(os.path.abspath(__file__))


def print_hw_result(mark, title, *lines):
    """Print a result, and write it to hw<mark>-output.txt, too."""
    text = "\n".join([f"[{mark}] {title}", *(f"\t{line}" for line in lines), ""])
    print(text)
    with open(os.path.join(HERE, f"hw{mark}-output.txt"), "w", encoding="utf-8") as file:
        file.write(text + "\n")


def run_with_hooks(model, x, kinds, record):
    """Run the model once and call record(name, layer, output) behind each layer of these kinds."""
    handles = [
        layer.register_forward_hook(lambda m, i, o, name=name: record(name, m, o))
        for name, layer in model.named_modules()
        if isinstance(layer, kinds)
    ]
    model(x)
    for handle in handles:
        handle.remove()
