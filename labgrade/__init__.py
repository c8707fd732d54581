"""labgrade: a declarative, spec-driven grading toolkit for deep-learning model-analysis labs."""

__version__ = "1.0.0"
