"""What people decide: marks, overrides, releases, late days, groups."""
