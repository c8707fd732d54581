"""Runs through what torch.jit.trace recorded of a model."""
