"""What a free text says of an answer, looked at with all that is known of the task."""
