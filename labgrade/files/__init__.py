"""labgrade's own files: YAML, validation, caches, output, trusted processes."""
