"""Rows of a text: tables and listings, their heads and cells."""
