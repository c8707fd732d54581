"""Stands in for labgrade/zoo.py where torch is not installed."""

import no_such_module  # noqa: F401
