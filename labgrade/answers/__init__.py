"""Answers: reading what students handed in, one module a form, each to typed plain data."""
