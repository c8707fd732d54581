"""Where a text speaks of a task: its headings, their sections, and mentions of its number where it has none."""
