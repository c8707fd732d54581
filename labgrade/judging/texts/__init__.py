"""What a free text says of an answer, chosen by the values that would be right or known to be wrong."""
