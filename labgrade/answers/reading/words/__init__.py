"""The words of languages: one file of data each, and what looks them up."""
