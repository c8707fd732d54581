"""What is wrong with a wrong answer: the slip, and the smallest network that shows it."""
