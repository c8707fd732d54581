"""The machinery behind the ONNX quantities: reads a file without its weights, runs its graph on shapes alone."""
