"""One submission, or a class, through everything."""
