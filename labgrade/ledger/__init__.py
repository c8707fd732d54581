"""The record of a class: what was graded, on what each verdict depends, and why it changed."""
