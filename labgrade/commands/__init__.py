"""The commands of `labgrade`: arguments and printing."""
