"""Runs functions of a student's files in another process, which holds no expected value, and gets plain data back."""
