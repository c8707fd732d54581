"""What a forward pass does, found on the meta device: shared by the quantities and slips of this folder.

A network runs once, without data. `recorder.py` sees each call of a module and of a torch function. `rules.py` says
what the common ones count and return, so that their kernels need not run. All other kernels arrive in `kernels.py`:
`formulas.py` counts them; `operators.py` lists those that count nothing and those that are refused, each with its
reason. An operator in no list is refused by name. Where shapes are not enough (gradients inside of the forward
pass, autocast, values that decide), `engine.py` runs the network again in a slower way, in the end with its
weights. `samples.py` finds the batch dimension.
"""
