"""Files of the field that are no ONNX models: known by their first bytes, and read without their weights."""
