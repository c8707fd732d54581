"""New tasks and kits: sources, samples, slips, mutants, pictures."""
