"""Stands in for labgrade/subjects/models.py where torch is not installed."""

import no_such_module  # noqa: F401
