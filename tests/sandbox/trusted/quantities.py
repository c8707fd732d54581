"""Stands in for a file of reference/: quantities of an artifact."""

import os
import time

from ._private import words


def count_words(artifact, *, longer_than=0):
    """How many words the file has."""
    return sum(len(word) > longer_than for word in words(artifact.read_text()))


def refuses(artifact):
    """Declares that the file is at fault."""
    message = f"{artifact.name} is no model"
    raise ValueError(message)


def breaks(artifact):
    """Fails in a way that nobody foresaw."""
    return artifact.nothing


def dies(artifact):
    """What a hostile file may make a reader do."""
    os.abort()


def takes_long(artifact):
    while True:
        time.process_time()


def takes_memory(artifact):
    return len(bytes(1 << 40))


def fills_memory(artifact):
    return len(b"x" * (1 << 30))


def looks_around(artifact):
    """What else is to be seen."""
    return {"beside": sorted(os.listdir(artifact.parent)), "root": sorted(os.listdir("/")), "name": artifact.name}


def returns_an_object(artifact):
    return object()


def tries_to_write(artifact):
    """What a reader can't do to the file that it is given, and how many names that has."""
    names = artifact.stat().st_nlink
    try:
        with artifact.open("r+b") as writer:
            writer.write(b"changed")
    except OSError as error:
        return {"names": names, "error": error.strerror}
    return {"names": names, "error": ""}
