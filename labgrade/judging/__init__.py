"""One check, one verdict."""
