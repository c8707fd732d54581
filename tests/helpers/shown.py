"""What a terminal shows, without how it is laid out."""


def unframed(text):
    """The words alone: without line ends, and without the gutter before what a student may have had a hand in."""
    return " ".join(text.replace("│", " ").split())
