"""Everything that runs inside the jail, beside students' code."""
