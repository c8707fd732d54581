"""Which commit counts, by what fetches saw and what commits claim: each case by hand, none by a server."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from labgrade.collect.counting import Commit, History, Sighting, choose
from labgrade.collect.forges import Push
from labgrade.collect.pushes import REFUTED, with_pushes
from labgrade.review.roster import Student
from labgrade.spec.lab import Deadline, LateRule, days_late, last_moment

DUE = datetime(2026, 11, 20, 12, tzinfo=UTC)
RULE = LateRule(per_day=Fraction(1, 10), cap=Fraction(3, 10), grace=timedelta(minutes=15))
LATE = Deadline(lab="lab", due=DUE, rule=RULE)
DAY = timedelta(days=1)


def at(hours):
    return DUE + timedelta(hours=hours)


def seen(*rows):
    """Fetches at these hours after the deadline, each taking a minute, and what the branch was."""
    return [Sighting(began=at(hours), ended=at(hours) + timedelta(minutes=1), tip=tip) for hours, tip in rows]


def graph(**rows):
    """Commits: the hour that each claims, and its parents."""
    return {name: Commit(tuple(parents), at(hours)) for name, (hours, *parents) in rows.items()}


def counted(fetches, commits, deadline=LATE, *students, is_work=lambda _: True):
    found = choose(History(seen=seen(*fetches), graph=graph(**commits), is_work=is_work), deadline, students)
    return found and (found.commit, round((found.at - DUE) / timedelta(hours=1), 2), found.days_late)


LINE = {"a": (-5,), "b": (-1, "a"), "c": (2, "b"), "d": (30, "c")}


@pytest.mark.parametrize(
    ("why", "fetches", "commits", "right"),
    [
        ("one fetch, long after: dates tell", [(100, "d")], LINE, ("b", -1, 0)),
        ("a fetch in time is a witness", [(-0.5, "b"), (100, "d")], LINE, ("b", -1, 0)),
        ("in the grace", [(100, "b")], {"a": (-1,), "b": (0.2, "a")}, ("b", 0.2, 0)),
        ("after the grace", [(100, "b")], {"a": (-1,), "b": (0.3, "a")}, ("a", -1, 0)),
        ("only late", [(100, "c")], {"c": (2,)}, ("c", 2, 1)),
        ("of late ones the cheapest, not the last", [(100, "d")], {"c": (2,), "d": (30, "c")}, ("c", 2, 1)),
        ("past the cap all cost the same: the last", [(999, "f")], {"e": (100,), "f": (200, "e")}, ("f", 200, 9)),
        ("backdated after a fetch saw it absent", [(1, "a"), (9, "b")], {"a": (-5,), "b": (-1, "a")}, ("a", -5, 0)),
        ("backdated, and nothing else", [(1, None), (9, "b")], {"b": (-1,)}, ("b", 1, 1)),
        ("claimed before a fetch in the grace saw it absent", [(0.1, None), (9, "b")], {"b": (-1,)}, ("b", 0.1, 0)),
        ("a date builds on a later one", [(9, "b")], {"a": (3,), "b": (-2, "a")}, ("b", 3, 1)),
        ("rewritten after the deadline", [(0.5, "a"), (9, "x")], {"a": (-5,), "x": (-1,)}, ("a", -5, 0)),
        ("rewritten before it", [(-9, "a"), (-1, "x")], {"a": (-20,), "x": (-30,)}, ("x", -9, 0)),
        (
            "rewritten, nobody knows when: what it claims",
            [(-9, "a"), (9, "x")],
            {"a": (-20,), "x": (-2,)},
            ("x", -2, 0),
        ),
        ("taken back in time", [(-9, "b"), (-1, "a")], {"a": (-30,), "b": (-20, "a")}, ("a", -30, 0)),
        ("deleted", [(-1, "a"), (9, None)], {"a": (-2,)}, ("a", -2, 0)),
        ("gone and back", [(-1, "a"), (1, None), (9, "a")], {"a": (-2,)}, ("a", -2, 0)),
        ("a clock in the future", [(-1, "a")], {"a": (500,)}, ("a", -0.98, 0)),
        (
            "merged after the deadline: what was there at it",
            [(-1, "t"), (9, "m")],
            {"r": (-9,), "t": (-2, "r"), "mine": (-0.5, "r"), "m": (3, "mine", "t")},
            ("t", -2, 0),
        ),
        (
            "two histories merged in time",
            [(9, "m")],
            {"r": (-9,), "other": (-8,), "m": (-1, "r", "other")},
            ("m", -1, 0),
        ),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_which_counts(why, fetches, commits, right):
    assert counted(fetches, commits) == right


def test_a_commit_that_was_there_on_another_branch_was_there():
    rows = [
        Sighting(began=at(0.5), ended=at(0.6), tip="a", others=("b",)),
        Sighting(began=at(9), ended=at(9.1), tip="c"),
    ]
    commits = graph(a=(-5,), b=(-1, "a"), c=(-0.5, "b"))
    found = choose(History(seen=rows, graph=commits), LATE, ())
    assert (found.commit, found.at) == ("b", at(-1))
    assert [each[:14] for each in found.staff] == ["c claims to be", "1 later commit"]
    early = [
        Sighting(began=at(-1), ended=at(-0.9), tip=None, others=("b",)),
        Sighting(began=at(9), ended=at(9.1), tip="b"),
    ]
    assert choose(History(seen=early, graph=commits), LATE, ()).by.startswith("the fetch of 2026-11-20 11:06:00+00:00")


def test_an_extension_and_that_of_a_group():
    extended = Student(id="x", extensions={"lab": 3 * DAY})
    assert counted([(100, "d")], LINE, LATE, extended) == ("d", 30, 0)
    assert counted([(100, "d")], LINE, LATE, Student(id="y"), extended) == ("d", 30, 0)


def test_without_a_rule_the_last_in_time_else_the_last_of_all():
    plain = Deadline(lab="lab", due=DUE)
    assert counted([(100, "d")], LINE, plain) == ("b", -1, 0)
    assert counted([(100, "d")], {"c": (2,), "d": (30, "c")}, plain) == ("d", 30, 2)
    assert counted([(100, "d")], LINE, None) == ("d", 30, 0)


def test_what_holds_no_work_does_not_count():
    assert counted([(100, "c")], LINE, is_work=lambda name: name == "c") == ("c", 2, 1)
    assert counted([(100, "c")], LINE, is_work=lambda _: False) is None
    assert counted([(100, "given")], LINE) is None


def test_staff_are_told_what_was_refuted_rewritten_and_left():
    history = History(seen=seen((1, "a"), (9, "x")), graph=graph(a=(-5,), x=(-1,), y=(900, "a")))
    found = choose(history, LATE, ())
    assert [each.split(" (")[0].split(" of 2026")[0] for each in found.staff] == [
        "the branch was rewritten",
        "x claims to be",
        "1 later commit does not count; the last is x",
    ]
    assert "was not there in the fetch of 2026-11-20 13:00:00+00:00: late" in found.staff[1]


@pytest.mark.parametrize(
    ("fetches", "by"),
    [
        ([(-1, "a")], "the fetch of 2026-11-20 11:01:00+00:00, which found it there"),
        ([(1, None), (9, "a")], "the fetch of 2026-11-20 13:00:00+00:00, in which it was not there yet"),
        (
            [(9, "a")],
            "its committer date, which the student's machine wrote; first seen in the fetch of 2026-11-20 21:01",
        ),
        ([(-9, None), (9, "a")], "its committer date, which the student's machine wrote; first seen"),
    ],
)
def test_what_tells_the_moment(fetches, by):
    assert choose(History(seen=seen(*fetches), graph=graph(a=(-2,))), LATE, ()).by.startswith(by)


@pytest.mark.parametrize("days", range(1, 9))
def test_the_last_moment_of_a_day_is_that_of_the_late_rule(days):
    limit = last_moment(DUE, days, RULE.grace)
    assert (days_late(DUE, limit, RULE.grace), days_late(DUE, limit + timedelta(seconds=1), RULE.grace)) == (
        days,
        days + 1,
    )


def test_a_long_history_takes_no_time_and_no_stack():
    commits = {f"c{n}": (-5 + n / 1000, *([f"c{n - 1}"] if n else [])) for n in range(20_000)}
    assert counted([(h, "c19999") for h in range(1, 60)], commits)[0] == "c5250"


def pushed(*rows):
    return [Push(at=at(hours), branch=branch, before=before, after=after) for hours, branch, before, after in rows]


def merged(fetches, commits, *pushes, deadline=LATE):
    known = graph(**commits)
    history, odd = with_pushes(seen(*fetches), pushed(*pushes), "main", known)
    found = choose(History(seen=history, graph=known), deadline, ())
    return found and (found.commit, round((found.at - DUE) / (at(1) - DUE), 2), found.days_late), odd


def main(*rows):
    return [(hours, "main", before, after) for hours, before, after in rows]


@pytest.mark.parametrize(
    ("why", "fetches", "commits", "pushes", "right"),
    [
        ("as dates say", [(100, "d")], LINE, main((-5, "", "a"), (-1, "a", "b"), (2, "b", "d")), ("b", -1, 0)),
        ("pushed later than it claims", [(9, "b")], LINE, main((-4, "", "a"), (3, "a", "b")), ("a", -4, 0)),
        ("all of it late", [(99, "b")], LINE, main((3, "", "b")), ("b", 3, 1)),
        ("two days late", [(99, "b")], LINE, main((30, "", "b")), ("b", 30, 2)),
        ("a commit on the way of one push", [(9, "c")], LINE, main((-0.5, "", "b"), (3, "b", "c")), ("b", -0.5, 0)),
        ("force-pushed away", [(9, "x")], {"a": (-5,), "x": (-4,)}, main((-3, "", "a"), (1, "a", "x")), ("a", -3, 0)),
        ("forced in time", [(9, "x")], {"a": (-5,), "x": (-4,)}, main((-3, "", "a"), (-2, "a", "x")), ("x", -2, 0)),
        ("a push without a record: its date", [(9, "c")], LINE, main((-4, "", "a"), (1, "b", "c")), ("b", -1, 0)),
        ("no record at all", [(9, "b")], LINE, [], ("b", -1, 0)),
        ("an old record of a template", [(9, "b")], LINE, main((-9, "", "t")), ("b", -1, 0)),
        ("in the grace", [(9, "b")], LINE, main((-4, "", "a"), (0.2, "a", "b")), ("b", 0.2, 0)),
        ("deleted in the end", [(9, None)], LINE, main((-1, "", "b"), (5, "b", "")), ("b", -1, 0)),
        (
            "in time on another branch, and merged late",
            [(9, "b")],
            LINE,
            [(-4, "main", "", "a"), (-0.5, "dev", "a", "b"), (3, "main", "a", "b")],
            ("b", -0.5, 0),
        ),
        (
            "in time only on another branch",
            [(9, "b")],
            LINE,
            [(-0.5, "dev", "", "b"), (3, "main", "", "b")],
            ("b", -0.5, 0),
        ),
    ],
)  # fmt: skip
def test_which_commit_counts_where_pushes_are_recorded(why, fetches, commits, pushes, right):
    assert merged(fetches, commits, *pushes) == (right, ()), why


@pytest.mark.parametrize(
    ("why", "fetches", "pushes"),
    [
        ("pushed, and a fetch did not see it", [(1, "a"), (9, "b")], main((-4, "", "a"), (-1, "a", "b"))),
        ("and there was no branch", [(-2, None), (9, "b")], main((-3, "", "b"))),
        ("deleted, and there it is", [(1, "a"), (9, "a")], main((-4, "", "a"), (-1, "a", ""))),
    ],
)  # fmt: skip
def test_a_fetch_is_believed_before_a_record(why, fetches, pushes):
    found, odd = merged(fetches, LINE, *pushes)
    assert (found, odd) == (counted(fetches, LINE), (REFUTED,)), why


def test_clocks_differ_a_little():
    """A fetch that began a minute after a push, by clocks of two machines, and did not see it."""
    found, odd = merged([(-0.02, "a"), (9, "b")], LINE, *main((-4, "", "a"), (-0.03, "a", "b")))
    assert odd == ()
    assert found[0] == "b"  # in the grace
    strict = Deadline(lab="lab", due=DUE, rule=LateRule(per_day=Fraction(1, 10)))
    fetches = [(-0.001, "a"), (9, "b")]
    assert merged(fetches, LINE, *main((-4, "", "a"), (-0.002, "a", "b")), deadline=strict)[0][0] == "a"
