"""The proof that a tiled ONNX graph computes what the original computes. Public quantities: `reference/tiling.py`.

`docs/tiling-proof.md` has the claim and the method. What the modules do:

- read the file, check that it is valid: read.py, valid.py
- the original: its layers, a number for every other tensor: original.py, layers.py, numbers.py, own_layer.py
- abstract values: values.py, elements.py
- the run: interpreter.py, control.py, graph.py, budget.py
- operators in one form: rewrites.py, trivial_ops.py
- constants: constants.py, constant_ops.py, move_arrays.py
- operators on rectangles: evaluation.py, move_ops.py, sums.py, products.py, geometry.py
- operators on elements: element_ops.py, contractions.py, move_arrays.py, signs.py
- is this value that layer?: tile_equal.py, element_layers.py, exact_sums.py, settlement.py
- the report: explain.py, other_differences.py, findings.py, picture.py, report.py
- the execution: execution.py, runtimes.py, node_kinds.py
"""
