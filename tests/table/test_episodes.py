"""Endpoints as episodes: durations and kinds of events, and what is known of a course where bounds do not say it exactly."""

import numpy as np
import pytest

from harmonium.errors import TableError
from harmonium.table.state_graph import StateGraph
from harmonium.table.endpoints import Endpoints
from harmonium.table.episodes import durations_of, kinds_of
from harmonium.table.histories import histories_of

COURSE = StateGraph(("recurrence", "death"), ("death",))
INF = np.inf


def episodes(graph, *rows, entry=0.0):
    """Durations and kinds of rows, each of them (lower, upper) of every endpoint."""
    bounds = np.array(rows, dtype=float)
    lower, upper = bounds[..., 0], bounds[..., 1]
    y = Endpoints(graph.names, lower, upper, np.full_like(lower, entry))
    found = histories_of(graph, y)
    times = durations_of(graph, found, y)
    return np.stack([times.lower, times.upper], axis=2), kinds_of(graph, found), found


def test_the_table_of_cells():
    times, kinds, _ = episodes(
        COURSE,
        [(5, INF), (5, INF)],  # nothing until 5
        [(3, 3), (7, INF)],  # recurrence at 3, alive at 7
        [(3, 3), (8, 8)],  # recurrence at 3, death at 8
        [(6, INF), (6, 6)],  # death at 6 without recurrence
        [(0, INF), (0, INF)],  # nothing is known
    )
    free = (0, INF)
    expected = [[(5, INF), free], [(3, 3), (4, INF)], [(3, 3), (5, 5)], [(6, 6), free], [free, free]]
    np.testing.assert_array_equal(times, expected)
    np.testing.assert_array_equal(kinds[:, 0], [np.nan, 0, 0, 1, np.nan])


def test_rules_where_bounds_do_not_say_it_exactly():
    times, kinds, found = episodes(
        COURSE,
        [(2, 4), (9, INF)],  # recurrence between two visits: what follows is counted from the second
        [(5, INF), (9, 9)],  # recurrence followed for a shorter time: known until then
        [(5, INF), (9, INF)],  # the same, and alive
        [(3, 3), (0, INF)],  # recurrence, and nothing about death: alive until then
        [(0, INF), (9, INF)],  # nothing about recurrence, and alive
        [(6, INF), (6, 8)],  # death between two times
    )
    free = (0, INF)
    expected = [[(2, 4), (5, INF)], [(5, INF), free], [(5, INF), free], [(3, 3), free], [free, free], [(6, 8), free]]
    np.testing.assert_array_equal(times, expected)
    np.testing.assert_array_equal(kinds[:, 0], [0, np.nan, np.nan, 0, np.nan, 1])
    np.testing.assert_array_equal(found.alive, [9, 9, 9, 3, 9, 8])
    np.testing.assert_array_equal(found.dead, [INF, 9, INF, INF, INF, INF])


def test_competing_risks_are_one_episode():
    graph = StateGraph(("relapse", "death", "other"), ("relapse", "death", "other"))
    times, kinds, _ = episodes(graph, [(2, INF), (2, 2), (2, INF)], [(4, INF), (4, INF), (4, INF)])
    np.testing.assert_array_equal(times, [[(2, 2)], [(4, INF)]])
    np.testing.assert_array_equal(kinds[:, 0], [1, np.nan])
    assert [graph.label(path) for path in graph.paths] == ["event-free", "relapse", "death", "other"]


def test_several_passing_events_are_further_episodes():
    graph = StateGraph(("response", "relapse", "death"), ("death",))
    times, kinds, _ = episodes(
        graph,
        [(2, 2), (5, 5), (9, 9)],  # response, relapse, death
        [(5, 5), (2, 2), (9, INF)],  # relapse, response, alive
        [(4, INF), (4, INF), (4, 4)],  # death first
        [(3, 3), (3, 3), (3, 3)],  # all at once, in the order of the table
    )
    free = (0, INF)
    expected = [
        [(2, 2), (3, 3), free, (4, 4)],
        [(2, 2), free, (3, 3), (4, INF)],
        [(4, 4), free, free, free],
        [(3, 3), (0, 0), free, (0, 0)],
    ]
    np.testing.assert_array_equal(times, expected)
    assert graph.branching == (1, 2, 0)  # after response, after relapse, and at first
    np.testing.assert_array_equal(kinds, [[0, np.nan, 0], [np.nan, 0, 1], [np.nan, np.nan, 2], [0, np.nan, 0]])


def test_late_entry_belongs_to_the_first_episode():
    bounds = np.array([[(5, 5), (9, 9)]], dtype=float)
    y = Endpoints(COURSE.names, bounds[..., 0], bounds[..., 1], np.array([[2.0, 2.0]]))
    times = durations_of(COURSE, histories_of(COURSE, y), y)
    np.testing.assert_array_equal(times.entry, [[2.0, 0.0]])


def test_too_many_passing_events_are_refused():
    with pytest.raises(TableError, match="at most 3 endpoints may come before a terminal one"):
        StateGraph(("a", "b", "c", "d", "death"), ("death",))
