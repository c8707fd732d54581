"""Words that every package uses: tasks, results, errors, points, text, arguments."""
