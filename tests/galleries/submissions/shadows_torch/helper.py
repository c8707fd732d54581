"""A module of the student's own."""

TWENTY = 20
