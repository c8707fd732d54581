"""The hand-in holds a link to the answers.

stopped by: copy
plant: symlink
"""


def attack():
    return open("planted.txt").read()
