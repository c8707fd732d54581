"""How an outcome looks and reads on a page: a sign and a word beside the colour, for those who don't see it."""

from __future__ import annotations

from labgrade.verdict import Outcome

# sign, word, class of its colour
LOOKS = {
    Outcome.CORRECT: ("✓", "right", "right"),
    Outcome.PARTIAL: ("~", "partly right", "partly"),
    Outcome.INCORRECT: ("✗", "wrong", "wrong"),
    Outcome.MISSING: ("-", "not handed in", "missing"),
    Outcome.CRASHED: ("!", "crashed", "wrong"),
    Outcome.TIMEOUT: ("!", "took too long", "wrong"),
    Outcome.MEMORY: ("!", "needed too much memory", "wrong"),
    Outcome.OUTPUT: ("!", "printed too much", "wrong"),
    Outcome.SKIPPED: ("·", "not tried yet", "missing"),
    Outcome.MANUAL: ("?", "waits for a person", "waiting"),
    Outcome.FAULT: ("#", "failed on our side", "waiting"),
}
# What a row of tiles counts, and the outcomes that it sums up.
KINDS = {
    "right": ("right", {Outcome.CORRECT}),
    "partly": ("partly right", {Outcome.PARTIAL}),
    "wrong": ("wrong", {o for o, (_, _, kind) in LOOKS.items() if kind == "wrong"}),
    "missing": ("missing", {Outcome.MISSING}),
    "skipped": ("not tried yet", {Outcome.SKIPPED}),
    "waiting": ("waiting", {Outcome.MANUAL, Outcome.FAULT}),
}
