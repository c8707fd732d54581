"""A YAML file to a Task: the course, its registries, the language, its rules."""
