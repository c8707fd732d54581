"""The proof that a tiled ONNX graph computes what the original computes. Public quantities: `reference/tiling.py`."""
