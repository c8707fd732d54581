"""Grading as a pytest run."""
