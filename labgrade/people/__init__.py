"""What people decide, and time: marks, overrides, releases, groups, names, late hand-ins."""
