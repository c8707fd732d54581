"""Its function comes from a module of its own, by a star import."""

from parts import *
