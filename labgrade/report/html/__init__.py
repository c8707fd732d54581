"""The report as HTML: one page for a student, one for a class. Each is one file that asks for nothing else."""
