"""Tied event times are intervals."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from harmonium.table.endpoints import Endpoints
from harmonium.training.ties import ties_as_intervals

INF = np.inf


def table(lower, upper, entry=None):
    lower, upper = np.array(lower, dtype=float)[:, None], np.array(upper, dtype=float)[:, None]
    return Endpoints(("os",), lower, upper, np.zeros_like(lower) if entry is None else np.array(entry, dtype=float)[:, None])


def widened(lower, upper, entry=None):
    y = ties_as_intervals(table(lower, upper, entry))
    return list(zip(y.lower[:, 0].tolist(), y.upper[:, 0].tolist(), strict=True))


def test_untied_times_are_untouched():
    assert widened([1, 2, 4], [1, 2, 4]) == [(1, 1), (2, 2), (4, 4)]


def test_tied_times_reach_back_to_the_recording_before():
    assert widened([1, 2, 2, 4], [1, 2, 2, 4]) == [(1, 1), (1, 2), (1, 2), (4, 4)]


def test_neighbouring_ties_share_a_border():
    assert widened([1, 1, 2, 2], [1, 1, 2, 2]) == [(0, 1), (0, 1), (1, 2), (1, 2)]


def test_censored_recordings_are_neighbours_too_but_stay_as_they_are():
    assert widened([1, 2, 2, 2], [INF, 2, 2, INF]) == [(1, INF), (1, 2), (1, 2), (2, INF)]


def test_intervals_and_unknown_times_stay_as_they_are():
    assert widened([1, 1, 0, 5, 5], [3, 3, INF, 5, 5])[:3] == [(1, 3), (1, 3), (0, INF)]


def test_repeated_censoring_is_no_tie():
    assert widened([2, 2, 3], [INF, INF, 3]) == [(2, INF), (2, INF), (3, 3)]


def test_events_at_zero_stay_as_they_are():
    assert widened([0, 0, 3], [0, 0, 3]) == [(0, 0), (0, 0), (3, 3)]


def test_a_single_time_that_repeats_becomes_an_interval_since_the_start():
    assert widened([4, 4], [4, 4]) == [(0, 4), (0, 4)]


def test_no_interval_begins_before_entry():
    assert widened([2, 2, 1], [2, 2, 1], [1.9, 0, 0]) == [(1.9, 2), (1, 2), (1, 1)]


def test_endpoints_do_not_mix_and_the_table_given_is_not_changed():
    lower = np.array([[1.0, 2.0], [3.0, 2.0]])
    y = Endpoints(("a", "b"), lower, lower.copy(), np.zeros((2, 2)))
    out = ties_as_intervals(y)
    assert out.lower.tolist() == [[1.0, 0.0], [3.0, 0.0]]
    assert lower.tolist() == [[1.0, 2.0], [3.0, 2.0]]


@given(
    st.lists(
        st.tuples(st.one_of(st.integers(1, 6), st.floats(1e-6, 1e9)), st.booleans(), st.sampled_from([0.0, 0.5, 0.99])),
        min_size=1,
        max_size=30,
    )
)
def test_every_interval_contains_its_time_and_no_other(rows):
    time, event, entry = (np.array(part, dtype=float) for part in zip(*rows, strict=True))
    entry *= time
    y = table(time, np.where(event, time, INF), entry)
    out = ties_as_intervals(y)
    lower, upper = out.lower[:, 0], out.upper[:, 0]
    distinct = np.unique(time)
    assume((np.diff(distinct) > 1e-6 * distinct[1:]).all())
    tied = (event == 1) & np.array([np.sum((time == t) & (event == 1)) > 1 for t in time])
    assert (lower[~tied] == time[~tied]).all()
    assert (upper[~tied] == y.upper[~tied, 0]).all()
    assert (lower >= entry).all()
    assert (out.entry == y.entry).all()
    for i in np.flatnonzero(tied):
        assert lower[i] < time[i] == upper[i]
        others = time[time != time[i]]
        assert not ((others > lower[i]) & (others < upper[i])).any()


@given(st.lists(st.tuples(st.integers(1, 8), st.booleans()), min_size=2, max_size=40), st.integers(0, 2**32 - 1))
def test_a_jitter_of_the_times_is_still_a_tie(rows, seed):
    time, event = (np.array(part, dtype=float) for part in zip(*rows, strict=True))
    jitter = time * (1.0 + 1e-9 * np.random.default_rng(seed).uniform(-1.0, 1.0, time.size))
    exact, moved = (ties_as_intervals(table(own, np.where(event, own, INF))) for own in (time, jitter))
    np.testing.assert_allclose(moved.lower, exact.lower, rtol=1e-8)
    np.testing.assert_allclose(moved.upper, exact.upper, rtol=1e-8)
