"""Slips: ways of being wrong that compose, for the quantities in the folder above."""
