"""answers.yaml and answers.json: how the file is parsed, where an entry stands in it, and what is meant by it."""
