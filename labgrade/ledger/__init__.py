"""The record of what was graded: one row a verdict, found again by all that it depends on."""
