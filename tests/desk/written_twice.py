"""Code of three students of whom two wrote the same."""

import re

OWN = '''
def macs(layers):
    """Count."""
    total = 0
    for layer in layers:
        if layer.kind == "conv":  # each output once
            total += layer.out * layer.kernel ** 2 * layer.channels // layer.groups
        elif layer.kind == "linear":
            total += layer.inputs * layer.outputs
    return total

def memory(layers, size=4):
    found = {}
    while layers:
        layer = layers.pop()
        found[layer.name] = sum(size * each for each in layer.shapes if each > 1)
    return found
'''
OTHER = """
def macs(layers):
    costs = [one.out * one.k * one.k * (one.inputs if one.dense else one.groups) for one in layers]
    return sum(costs)

def memory(layers, size=4):
    return {one.name: max(size, *map(len, one.shapes)) for one in sorted(layers, key=str) if one is not None}
"""


def renamed(code):
    """The functions in another order, with other names and strings, and comments."""
    words = {name: f"{name}_2" for name in ("macs", "memory", "layer", "layers", "total", "found", "size", "each")}
    changed = re.sub(r"\b\w+\b", lambda word: words.get(word[0], word[0]), code).replace('"', "'")
    first, second = changed.strip().split("\n\n")
    return f"# my own\n\n{second}\n\n\n{first}\n"
