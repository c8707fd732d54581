"""A whole class: every submission graded into one ledger, side by side."""
