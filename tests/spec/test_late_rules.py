"""When a lab is due: moments with their zones, spans, days by the clock on the wall, and what lab.yaml may say."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labgrade.core.errors import SpecError
from labgrade.spec import load
from labgrade.spec.lab import LateRule, NoMomentError, days_late, extended, parse_duration, parse_moment, share

TAIPEI = timezone(timedelta(hours=8))
DUE = datetime(2026, 11, 20, 23, 59, tzinfo=TAIPEI)
BERLIN = ZoneInfo("Europe/Berlin")
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("2026-11-20T23:59+08:00", DUE),
        ("2026-11-20 23:59:00+08:00", DUE),
        ("2026-11-20T15:59Z", DUE),
        ("2026-11-20T23:59 Asia/Taipei", DUE),
        ("2028-02-29T12:00Z", datetime(2028, 2, 29, 12, tzinfo=UTC)),
    ],
)
def test_a_moment_has_a_zone(text, means):
    assert parse_moment(text) == means


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2026-11-20T23:59", "has no time zone; write 2026-11-20T23:59+08:00, or a place"),
        ("2026-11-20", "is not a moment such as"),
        ("20.11.2026 23:59 Asia/Taipei", "is not a moment such as"),
        ("2026-02-29T12:00Z", "is no moment: day "),  # Python says more, in words of each version
        ("1026-11-20T23:59Z", "is in the year 1026; one from 2000 to 2099 is meant"),
        ("2026-11-20T24:01Z", "is no moment: "),
        ("2016-12-31T23:59:60Z", "is no moment: second must be in 0..59"),
        ("2026-11-20T23:59 Asia/Taipeh", "there is no time zone 'Asia/Taipeh'"),
        ("2026-11-20T23:59 ../../etc/passwd", "is not a moment such as"),
        ("2026-03-29T02:30 Europe/Berlin", "is left out, as clocks are set forward; say which is meant by an offset"),
        ("2026-10-25T02:30 Europe/Berlin", "comes twice, as clocks are set back; say which is meant by an offset: "),
    ],
)
def test_what_is_no_moment_says_why(text, says):
    with pytest.raises(NoMomentError, match=re.escape(says)):
        parse_moment(text)


def test_an_hour_that_comes_twice_names_both_offsets():
    with pytest.raises(NoMomentError, match=r"\+02:00 or \+01:00$"):
        parse_moment("2026-10-25T02:30 Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("15 min", timedelta(minutes=15)),
        ("1 minute", timedelta(minutes=1)),
        ("2h", timedelta(hours=2)),
        ("1.5 hours", timedelta(minutes=90)),
        ("3 days", 3 * DAY),
        ("1 week", 7 * DAY),
        ("0.01 min", timedelta(milliseconds=600)),
        ("15", None),
        ("15 mins", None),
        ("-1 day", None),
        ("two days", None),
    ],
)
def test_spans(text, takes):
    assert parse_duration(text) == takes


@pytest.mark.parametrize(
    ("after", "grace", "days"),
    [
        (timedelta(0), timedelta(0), 0),
        (-SECOND, timedelta(0), 0),
        (timedelta(microseconds=1), timedelta(0), 1),
        (SECOND, timedelta(0), 1),
        (timedelta(minutes=15), timedelta(minutes=15), 0),
        (timedelta(minutes=15, seconds=1), timedelta(minutes=15), 1),
        (DAY, timedelta(0), 1),
        (DAY + SECOND, timedelta(0), 2),
        (DAY + SECOND, 2 * DAY, 0),
        (2 * DAY + SECOND, 2 * DAY, 3),  # days count from the deadline, not from the end of grace
    ],
)
def test_days_begin_right_after_the_deadline(after, grace, days):
    assert days_late(DUE, DUE + after, grace) == days
    assert days_late(DUE, (DUE + after).astimezone(UTC), grace) == days


def test_a_day_ends_by_the_clock_on_the_wall():
    due = datetime(2026, 10, 24, 23, 59, tzinfo=BERLIN)  # the next day has 25 hours
    end = datetime(2026, 10, 25, 23, 59, tzinfo=BERLIN)
    assert end.astimezone(UTC) - due.astimezone(UTC) == timedelta(hours=25)
    assert days_late(due, end, timedelta(0)) == 1
    assert days_late(due, end.astimezone(UTC) + SECOND, timedelta(0)) == 2
    fixed = due.astimezone(timezone(timedelta(hours=2)))
    assert days_late(fixed, end, timedelta(0)) == 2  # an offset knows nothing of clocks that change
    spring = datetime(2026, 3, 28, 23, 59, tzinfo=BERLIN)  # the next day has 23 hours
    assert days_late(spring, spring.astimezone(UTC) + timedelta(hours=23, seconds=1), timedelta(0)) == 2


def test_extensions_move_the_deadline_and_never_forward():
    assert extended(DUE, None) == DUE
    assert extended(DUE, 2 * DAY) == DUE + 2 * DAY
    assert extended(DUE, DUE - DAY) == DUE
    assert extended(DUE, DUE + 3 * DAY) == DUE + 3 * DAY
    due = datetime(2026, 10, 24, 23, 59, tzinfo=BERLIN)
    assert extended(due, DAY).isoformat() == "2026-10-25T23:59:00+01:00"
    assert extended(due, DAY + timedelta(hours=2)).isoformat() == "2026-10-26T01:59:00+01:00"


@pytest.mark.parametrize(
    ("rule", "days", "taken"),
    [
        (LateRule(per_day=Fraction(1, 10)), 0, "0"),
        (LateRule(per_day=Fraction(1, 10)), 3, "3/10"),
        (LateRule(per_day=Fraction(1, 10)), 11, "1"),
        (LateRule(per_day=Fraction(1, 10), cap=Fraction(1, 2)), 5, "1/2"),
        (LateRule(per_day=Fraction(1, 10), cap=Fraction(1, 2)), 6, "1/2"),
        (LateRule(per_day=Fraction(1, 10), cap=Fraction(1, 2), after_cap="nothing"), 5, "1/2"),
        (LateRule(per_day=Fraction(1, 10), cap=Fraction(1, 2), after_cap="nothing"), 6, "1"),
        (LateRule(per_day=Fraction(0), cap=Fraction(0), after_cap="nothing"), 9, "0"),
    ],
)
def test_the_share_stops_at_the_cap(rule, days, taken):
    assert share(rule, days) == Fraction(taken)


ZONES = st.sampled_from([TAIPEI, UTC, BERLIN, ZoneInfo("America/New_York"), ZoneInfo("Australia/Lord_Howe")])
MOMENTS = st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2035, 1, 1))  # noqa: DTZ001 - the zone is drawn
SPANS = st.timedeltas(min_value=-5 * DAY, max_value=40 * DAY)


@given(MOMENTS, ZONES, SPANS, st.timedeltas(min_value=timedelta(0), max_value=3 * DAY))
def test_days_never_shrink_as_time_goes_on(plain, zone, after, grace):
    due = plain.replace(tzinfo=zone)
    instant = due.astimezone(UTC) + after
    days = days_late(due, instant, grace)
    assert (days == 0) == (after <= grace)
    assert days <= days_late(due, instant + SECOND, grace) <= days + 1 + grace // DAY + 1
    assert days_late(due, instant.astimezone(BERLIN), grace) == days
    if days:
        assert due.astimezone(UTC) + (days - 1) * DAY - timedelta(hours=1) < instant
        assert instant <= due.astimezone(UTC) + days * DAY + timedelta(hours=1)


@pytest.mark.slow
@given(st.integers(0, 400), st.fractions(0, 1), st.fractions(0, 1), st.sampled_from(["stays", "nothing"]))
def test_shares_are_exact_and_within_bounds(days, per_day, cap, after_cap):
    rule = LateRule(per_day=per_day, cap=max(cap, per_day), after_cap=after_cap)
    taken = share(rule, days)
    assert 0 <= taken <= 1
    assert taken <= share(rule, days + 1)
    assert (
        taken == per_day * days if per_day * days <= rule.cap else taken == (1 if after_cap == "nothing" else rule.cap)
    )


def lab(tmp_path, text):
    (tmp_path / "lab").mkdir(exist_ok=True)
    (tmp_path / "lab" / "lab.yaml").write_text(f"title: Lab\n{text}")
    return load.deadlines(tmp_path)


def test_a_lab_says_when_it_is_due(tmp_path):
    whole = (
        "due: 2026-11-20T23:59+08:00\nlate: {per_day: 10 %, of: earned, cap: 50%, after_cap: nothing, grace: 15 min}\n"
    )
    (found,) = lab(tmp_path, whole).values()
    assert (found.lab, found.due) == ("lab", DUE)
    assert found.rule == LateRule(
        per_day=Fraction(1, 10), of="earned", cap=Fraction(1, 2), after_cap="nothing", grace=timedelta(minutes=15)
    )
    (short,) = lab(tmp_path, "due: 2026-11-20T23:59+08:00\nlate: {per_day: 12.5 %}\n").values()
    assert short.rule == LateRule(per_day=Fraction(1, 8))
    assert lab(tmp_path, "due: 2026-11-20T23:59+08:00\n")["lab"].rule is None
    assert lab(tmp_path, "") == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("due: 2026-11-20T23:59\n", "lab.yaml:2:6: '2026-11-20T23:59' has no time zone; write 2026-11-20T23:59+08:00"),
        ("due: 2026\n", "lab.yaml:2:6: 'due' (a moment such as 2026-11-20T23:59+08:00"),
        ("due: tomorrow\n", "lab.yaml:2:6: 'tomorrow' is not a moment such as 2026-11-20T23:59+08:00"),
        ("late: {per_day: 10 %}\n", "lab.yaml:2:1: 'late' needs 'due': say when the lab is due"),
        ("due: 2026-11-20T23:59Z\nlate: {cap: 10 %}\n", "lab.yaml:3:7: late needs 'per_day'"),
        ("due: 2026-11-20T23:59Z\nlate: {per_day: 10}\n", "'per_day' needs its unit: write it as in 'per_day: 10 %'"),
        ("due: 2026-11-20T23:59Z\nlate: {per_day: ten %}\n", "'ten %' is not a share such as '10 %'"),
        ("due: 2026-11-20T23:59Z\nlate: {per_day: 101 %}\n", "'per_day' is at most 100 %, not 101 %"),
        (
            "due: 2026-11-20T23:59Z\nlate: {per_day: 10 %, grace: 15}\n",
            "'grace' needs its unit: write it as in 'grace: 15 min'",
        ),
        ("due: 2026-11-20T23:59Z\nlate: {per_day: 10 %, grace: soon}\n", "'soon' is not a span such as '15 min'"),
        (
            "due: 2026-11-20T23:59Z\nlate: {per_day: 10 %, cap: 5 %}\n",
            "lab.yaml:3:28: the cap of 5 % is less than a single day, 10 %",
        ),
        ("due: 2026-11-20T23:59Z\nlate: {per_day: 10 %, after_cap: stays}\n", "'after_cap' needs a 'cap'"),
        (
            "due: 2026-11-20T23:59Z\nlate: {per_day: 10 %, of: point}\n",
            "no of is called 'point'; did you mean 'points'?",
        ),
        ("due: 2026-11-20T23:59Z\nlate: {per_dya: 10 %}\n", "late takes no 'per_dya'; did you mean 'per_day'?"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said_at_its_place(tmp_path, monkeypatch, text, says):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError) as error:
        lab(tmp_path, text)
    assert says in str(error.value)
