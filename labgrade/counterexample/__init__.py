"""Random networks, and the smallest of them on which a student's function is wrong."""
