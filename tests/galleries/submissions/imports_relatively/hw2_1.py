"""Imports a file beside it as if both were in a package."""

from .parts import total_macs
