"""Endpoints some of which are terminal: what is known of the history of each row, and what a table says of whole subjects."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonium as hm
from harmonium.errors import EndpointWarning, TableError
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.histories import histories_of
from harmonium.table.ordered_endpoints import conclude_ordered, summarise_ordered
from harmonium.table.row_weights import RowWeights
from harmonium.table.state_graph import StateGraph
from tests.table.learning import stored_and_read

GRAPH = StateGraph(("recurrence", "death"), ("death",))
RECURRENCE, DEATH = 0, 1
INF = np.inf


def table(graph, *rows, entry=0.0):
    """Endpoints of rows, each of them (lower, upper) of every endpoint."""
    bounds = np.array(rows, dtype=float)
    return Endpoints(graph.names, bounds[..., 0], bounds[..., 1], np.full(bounds.shape[:2], entry), graph.terminal)


def sojourns(graph, found):
    """Of each row, the states that were left: the state, the endpoint that happened, how long after entry at least and at most."""
    out = []
    for row in range(len(found.state)):
        steps = np.flatnonzero(found.source[row] >= 0)
        begun = found.origin[row, steps]
        lasted = found.lower[row, steps] - begun, found.upper[row, steps] - begun
        names = (graph.names[e] for e in found.kind[row, steps])
        out.append(list(zip(found.source[row, steps].tolist(), names, *(own.tolist() for own in lasted), strict=True)))
    return out


# --- histories ---


def test_histories_of_rows():
    y = table(
        GRAPH,
        [(5, INF), (5, INF)],  # nothing until 5
        [(3, 3), (7, INF)],  # recurrence at 3, alive at 7
        [(3, 3), (8, 8)],  # recurrence at 3, death at 8
        [(6, INF), (6, 6)],  # death at 6 without recurrence
        [(0, INF), (0, INF)],  # nothing is known
    )
    found = histories_of(GRAPH, y)
    first = (0, "recurrence", 3, 3)
    assert sojourns(GRAPH, found) == [[], [first], [first, (1, "death", 5, 5)], [(0, "death", 6, 6)], []]
    np.testing.assert_array_equal(found.state, [0, 1, 1, 0, 0])
    np.testing.assert_array_equal(found.ended, [-1, -1, DEATH, DEATH, -1])
    np.testing.assert_array_equal(found.entered[found.ended < 0], [0, 3, 0])
    np.testing.assert_array_equal(found.until, [5, 7, 8, 6, 0])
    np.testing.assert_array_equal(found.alive, found.until)
    np.testing.assert_array_equal(found.dead, INF)
    np.testing.assert_array_equal(found.cause, -1)


def test_rules_where_bounds_do_not_say_it_exactly():
    y = table(
        GRAPH,
        [(2, 4), (9, INF)],  # recurrence between two visits: what follows is counted from the second
        [(5, INF), (9, 9)],  # recurrence followed for a shorter time: known until then
        [(5, INF), (9, INF)],  # the same, and alive
        [(3, 3), (0, INF)],  # recurrence, and nothing about death: alive until then
        [(0, INF), (9, INF)],  # nothing about recurrence, and alive
        [(6, INF), (6, 8)],  # death between two times
    )
    found = histories_of(GRAPH, y)
    assert sojourns(GRAPH, found) == [[(0, "recurrence", 2, 4)], [], [], [(0, "recurrence", 3, 3)], [], [(0, "death", 6, 8)]]
    np.testing.assert_array_equal(found.state, [1, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(found.ended, [-1, -1, -1, -1, -1, DEATH])
    np.testing.assert_array_equal(found.entered[[0, 3]], [4, 3])
    np.testing.assert_array_equal(found.until[:5], [9, 5, 5, 3, 0])
    np.testing.assert_array_equal(found.alive, [9, 9, 9, 3, 9, 8])
    np.testing.assert_array_equal(found.dead, [INF, 9, INF, INF, INF, INF])
    np.testing.assert_array_equal(found.cause, [-1, DEATH, -1, -1, -1, -1])


def test_competing_risks_have_one_state():
    graph = StateGraph(("relapse", "death", "other"), ("relapse", "death", "other"))
    found = histories_of(graph, table(graph, [(2, INF), (2, 2), (2, INF)], [(4, INF), (4, INF), (4, INF)]))
    assert sojourns(graph, found) == [[(0, "death", 2, 2)], []]
    np.testing.assert_array_equal(found.ended, [1, -1])
    np.testing.assert_array_equal(found.until, [2, 4])
    assert list(graph.states) == [0]
    assert [graph.label(path) for path in graph.paths] == ["event-free", "relapse", "death", "other"]


def test_several_intermediate_events_come_in_any_order():
    graph = StateGraph(("response", "relapse", "death"), ("death",))
    y = table(
        graph,
        [(2, 2), (5, 5), (9, 9)],  # response, relapse, death
        [(5, 5), (2, 2), (9, INF)],  # relapse, response, alive
        [(4, INF), (4, INF), (4, 4)],  # death first
        [(3, 3), (3, 3), (3, 3)],  # all at once, in the order of the table
    )
    found = histories_of(graph, y)
    assert sojourns(graph, found) == [
        [(0, "response", 2, 2), (1, "relapse", 3, 3), (3, "death", 4, 4)],
        [(0, "relapse", 2, 2), (2, "response", 3, 3)],
        [(0, "death", 4, 4)],
        [(0, "response", 3, 3), (1, "relapse", 0, 0), (3, "death", 0, 0)],
    ]
    np.testing.assert_array_equal(found.state, [3, 3, 0, 3])
    assert [graph.happened(state) for state in graph.states] == [(), ("response",), ("relapse",), ("response", "relapse")]
    assert graph.transitions == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 0), (2, 2), (3, 2)]


def test_late_entry_says_that_nothing_happened_before():
    found = histories_of(GRAPH, table(GRAPH, [(2, INF), (2, INF)], [(5, 5), (9, 9)], entry=2.0))
    np.testing.assert_array_equal(found.until, [2, 9])
    np.testing.assert_array_equal(found.origin[1], [0, 5])


def test_an_event_after_a_terminal_one_is_refused():
    with pytest.raises(TableError, match="death"):
        histories_of(GRAPH, table(GRAPH, [(7, 7), (5, 5)]))


def test_too_many_intermediate_events_are_refused():
    names = tuple("abcdefg")
    assert len(StateGraph((*names[:6], "death"), ("death",)).states) == 64
    with pytest.raises(TableError, match="at most 6 endpoints may come before a terminal one"):
        StateGraph((*names, "death"), ("death",))


# --- what a table says of subjects ---


def simulated(n, seed):
    """Recurrences of some, deaths of some, and the end of follow-up."""
    rng = np.random.default_rng(seed)
    recurrence, death, end = rng.integers(1, 9, n), rng.integers(1, 12, n), rng.integers(1, 10, n)
    last = np.minimum(death, end)
    rows = [
        [(r, r) if r <= d else (d, INF), (d, d) if dead else (d, INF)] for r, d, dead in zip(recurrence, last, death <= end, strict=True)
    ]
    return table(GRAPH, *rows)


def assert_same(one, other):
    assert (one.graph, one.happened, one.followed) == (other.graph, other.happened, other.followed)
    for name in one.subjects.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(one.subjects, name), getattr(other.subjects, name))


@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.data())
def test_merged_summaries_are_those_of_the_whole_table(n, seed, data):
    y, whole = simulated(n, seed), None
    part = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    for number in np.unique(part):
        own = summarise_ordered(y.part(part == number))
        whole = own if whole is None else whole.merged(own)
    assert_same(whole, summarise_ordered(y))
    assert whole.subjects.n_rows == n


def test_without_a_terminal_endpoint_there_is_nothing_to_say():
    y = simulated(20, 0)
    assert summarise_ordered(Endpoints(y.names, y.lower, y.upper, y.entry)) is None
    assert conclude_ordered(None, None) is None


def test_subjects_are_followed_until_the_end_of_observation_or_a_terminal_event():
    y = table(GRAPH, [(5, INF), (5, INF)], [(3, 3), (7, INF)], [(3, 3), (8, 8)], [(4, INF), (9, INF)])
    subjects = summarise_ordered(y).subjects
    np.testing.assert_array_equal(subjects.lower, [5, 7, 8, 9])
    np.testing.assert_array_equal(subjects.upper, [INF, INF, 8, INF])
    weighted = summarise_ordered(y, RowWeights(np.array([1.0, 2.0, 3.0, 4.0]))).subjects
    np.testing.assert_array_equal(weighted.count, [1, 2, 3, 4])
    learned = conclude_ordered(summarise_ordered(y), None)
    assert learned.graph == GRAPH
    assert learned.follow_up.last == 9.0


@pytest.mark.parametrize(
    ("rows", "warns"),
    [
        ([[(3, 3), (3, INF)], [(5, INF), (5, 5)]], True),  # observation ended with the recurrence
        ([[(3, 3), (4, INF)], [(5, INF), (5, 5)]], False),
        ([[(3, 3), (3, 3)], [(5, INF), (5, 5)]], False),  # death on the same day is a death after it
        ([[(4, INF), (4, INF)], [(5, INF), (5, 5)]], False),  # there was no recurrence
        ([[(2, 3), (3, INF)], [(5, INF), (5, 5)]], True),
    ],
)
def test_where_nobody_was_followed_after_an_event_a_warning_says_so(rows, warns, recwarn):
    conclude_ordered(summarise_ordered(table(GRAPH, *rows)), None)
    found = [str(warning.message) for warning in recwarn if issubclass(warning.category, EndpointWarning)]
    assert len(found) == warns
    if warns:
        assert found[0].startswith("nobody was observed after 'recurrence': the risk of 'death' after it cannot be estimated")
        assert "write terminal=('recurrence', 'death') (or add --terminal recurrence)" in found[0]


def test_those_who_were_followed_may_be_in_another_part_of_the_table(recwarn):
    parts = table(GRAPH, [(3, 3), (3, INF)]), table(GRAPH, [(3, 3), (9, INF)])
    one, other = map(summarise_ordered, parts)
    conclude_ordered(one.merged(other), None)
    assert not recwarn.list
    with pytest.warns(EndpointWarning, match="nobody was observed after 'recurrence'"):
        conclude_ordered(one, None)


def test_one_horizon_is_for_all_endpoints():
    found = summarise_ordered(simulated(20, 0))
    assert conclude_ordered(found, 30.0) == conclude_ordered(found, None)
    with pytest.raises(ValueError, match="the horizon must be one time for all endpoints; found a mapping"):
        conclude_ordered(found, {"death": 30.0})


# --- what a model keeps of it ---


def test_it_comes_back_from_a_file():
    learned = conclude_ordered(summarise_ordered(simulated(50, 1)), None)
    assert stored_and_read(learned) == learned


def test_other_terminal_endpoints_than_in_training_are_refused():
    learned = conclude_ordered(summarise_ordered(simulated(50, 1)), None)
    frame = pd.DataFrame({"r": [3.0], "yes": [1], "d": [3.0], "no": [0]})
    both = parse_endpoints(hm.endpoints(frame, recurrence=("r", "yes"), death=("d", "no"), terminal=("recurrence", "death")))
    with pytest.raises(ValueError, match=r"the model was fitted with terminal=\('death',\); found a table of endpoints with terminal="):
        learned.histories(both)
    plain = Endpoints(both.names, both.lower, both.upper, both.entry)
    assert learned.histories(plain).state.tolist() == [1]
