"""The commands that collect from repositories by git, and return results into them."""
