"""A class graded on other machines: what travels, what runs there, and how they are reached."""
