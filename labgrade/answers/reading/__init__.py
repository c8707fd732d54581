"""Free text to typed values: sections, phrases, tables, numbers."""
