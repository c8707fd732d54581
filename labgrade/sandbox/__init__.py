"""The door to students' code: requests go in, outcomes come out."""
