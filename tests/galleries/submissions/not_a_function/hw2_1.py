"""The name is taken by a number."""

total_macs = 1498376192
