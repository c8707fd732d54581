"""Not the real one."""

SHADOW = True
