"""Answers of a submission: one module a form of handing in."""
