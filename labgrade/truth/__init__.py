"""Expected values, computed in a process of their own and remembered by content."""
